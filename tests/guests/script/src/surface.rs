//! Which appends of a script replace a part of the history as a plugin may?

use hames_sdk::error::Error;
use hames_sdk::serde_json::Value;
use hames_sdk::session::{self, EventBody, StandIn};

use crate::values;

/// Does an append that replaces a part of the history, if a verb of the contract does the same.
///
/// # Errors
/// If the session can't be looked at.
pub fn replace(op: &Value) -> Result<Option<Result<(), Error>>, Error> {
    let (data, range) = (&op["data"], &op["surfaceOp"]);
    let (Some(first), Some(last)) = (range["start"].as_u64(), range["end"].as_u64()) else {
        return Ok(None);
    };
    let content = values::blocks(&data["content"]);
    let kind = match op["type"].as_str() {
        Some("user/message") => StandIn::Prompt,
        Some("context/message") => StandIn::Context,
        Some("tool/result") if first == last && keeps_the_rest(first, data)? => {
            return Ok(Some(session::replace_result_with(first, &content).map(drop)));
        }
        Some(_) | None => return Ok(None),
    };
    let listed = op["sourceEventSeqs"].as_array();
    let sources: Vec<u64> = listed.into_iter().flatten().filter_map(Value::as_u64).collect();
    let done = session::replace_as(kind, first..=last, &content, &sources);
    Ok(Some(done.map(drop)))
}

/// Whether a result in the log differs from this one in nothing but its content.
fn keeps_the_rest(seq: u64, data: &Value) -> Result<bool, Error> {
    let page = session::read(seq, 1, &[])?;
    Ok(match page.events.first().map(|event| &event.body) {
        Some(EventBody::ToolResult(result)) => {
            data["turn"] == result.turn
                && data["step"] == result.step
                && data["callId"] == result.call_id.as_str()
                && data["isError"] == result.is_error
                && data.get("error").is_none()
                && result.error.is_none()
        }
        Some(_) | None => false,
    })
}
