//! What does an HTTP answer that isn't a success mean? Status, headers and body become one failure (R-DS-9).

use hames_types::failure::LlmFailure;
use hames_types::json::Json;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Number;
use smol_str::{SmolStr, format_smolstr};

use crate::classify::{Worded, Wording};
use crate::date::retry_after_ms;
use crate::fail::code;

/// What tells one provider's errors from another's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ErrorDialect {
    /// How it words an overflow, beside what all say.
    pub(crate) wording: &'static Wording,
    /// The headers that hold the request's id; the first that is there counts, even if it is empty.
    pub(crate) request_id_headers: &'static [&'static str],
}

/// The failure an answer stands for. `body` may be cut short or nothing at all.
pub(crate) fn failure_of(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    dialect: &ErrorDialect,
    now_ms: u64,
) -> LlmFailure {
    let body: Json = serde_json::from_slice(body).unwrap_or_default();
    let words = words_of(&body);
    let mut failure = LlmFailure::new(
        code_of(status, words, dialect.wording),
        message(status, words.message),
    );
    failure.status = Some(u64::from(status.as_u16()));
    failure.provider_retry_after_ms = wait(headers, now_ms);
    failure.request_id = request_id(headers, dialect);
    failure
}

fn message(status: StatusCode, message: &str) -> SmolStr {
    if message.is_empty() {
        format_smolstr!("the provider answered {status}")
    } else {
        SmolStr::new(message)
    }
}

fn code_of(status: StatusCode, words: Worded<'_>, wording: &Wording) -> SmolStr {
    let fixed = match status.as_u16() {
        401 | 403 => code::AUTH,
        _ if words.is_quota() => code::QUOTA,
        400..=499 if words.is_overflow(wording) => code::CONTEXT_WINDOW_EXCEEDED,
        429 => code::RATE_LIMIT,
        400 => code::INVALID_REQUEST,
        500.. => code::SERVER,
        other => return format_smolstr!("HTTP_{other}"),
    };
    SmolStr::new_static(fixed)
}

fn wait(headers: &HeaderMap, now_ms: u64) -> Option<Number> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    retry_after_ms(text("retry-after-ms"), text("retry-after"), now_ms).map(Number::from)
}

fn request_id(headers: &HeaderMap, dialect: &ErrorDialect) -> Option<SmolStr> {
    let value = dialect
        .request_id_headers
        .iter()
        .find_map(|name| headers.get(*name))?;
    value.to_str().ok().filter(|id| !id.is_empty()).map(SmolStr::new)
}

/// The words of an error object, wherever the provider puts them: `{"error": {..}}`, `{"error": "text"}`, a list of one
/// of these, or the object itself.
pub(crate) fn words_of(body: &Json) -> Worded<'_> {
    let body = match body {
        Json::Array(items) => items.first().unwrap_or(body),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_) => body,
    };
    let error = match body.get("error") {
        Some(Json::String(message)) => {
            return Worded {
                message,
                ..Worded::default()
            };
        }
        Some(error) => error,
        None => body,
    };
    let text = |name: &str| error.get(name).and_then(Json::as_str).unwrap_or_default();
    // Gemini's `code` is the status as a number; its word stands in `status`.
    let kind = if text("type").is_empty() {
        text("status")
    } else {
        text("type")
    };
    Worded {
        message: text("message"),
        kind,
        code: text("code"),
    }
}
