//! From the errors of a script to faults and back to what the data says of them.

use hames_types::failure::LlmFailure;
use hames_types::fault::Fault;
use hames_types::json::{FromJson, Json};
use serde_json::Number;

/// The error a script throws (part 4 of the format).
pub(super) fn thrown(error: &Json) -> Fault {
    let text = |key: &str| error.get(key).and_then(Json::as_str);
    let message = text("message").unwrap_or_default();
    let mut fault = match text("class").unwrap_or("Error") {
        "HarnessError" => {
            let fault = Fault::plain(message).with_name(text("name").unwrap_or("HarnessError"));
            match text("code") {
                Some(code) => fault.with_code(code),
                None => fault,
            }
        }
        "LlmError" => {
            let mut failure = LlmFailure::new(text("code").unwrap_or_default(), message);
            failure.status = error.get("status").and_then(Json::as_u64);
            failure.provider_retry_after_ms = error
                .get("providerRetryAfterMs")
                .and_then(|value| Number::from_json(value.clone()).ok());
            failure.request_id = text("requestId").map(Into::into);
            Fault::llm(failure)
        }
        "string" | "object" => Fault::not_an_error(message),
        _ => {
            let fault = Fault::foreign(message);
            match text("code") {
                Some(code) => fault.with_code(code),
                None => fault,
            }
        }
    };
    if let Some(cause) = error.get("cause") {
        fault = fault.with_cause(thrown(cause));
    }
    fault
}
