//! Looking into a payload that is JSON: the few questions every decoder asks.

use hames_types::chunk::{FailedFinish, FinishReason};
use hames_types::failure::LlmFailure;
use hames_types::json::{Extra, Json};
use smol_str::SmolStr;

use crate::classify::Wording;
use crate::fail::malformed;
use crate::sse::SseEvent;
use crate::status::words_of;
use crate::text::{not_the_protocol, object};

/// The payload of an event, which must be an object.
pub(crate) fn read(event: &SseEvent<'_>) -> Result<Json, LlmFailure> {
    serde_json::from_str(&object(&event.data)?).map_err(|error| not_the_protocol(&error))
}

/// A text, empty if there is none.
pub(crate) fn text<'a>(value: &'a Json, key: &str) -> &'a str {
    value.get(key).and_then(Json::as_str).unwrap_or_default()
}

/// A part that must be there.
pub(crate) fn part<'a>(value: &'a Json, key: &str) -> Result<&'a Json, LlmFailure> {
    let part = value.get(key).filter(|part| part.is_object());
    part.ok_or_else(|| {
        malformed(format_args!(
            "an event of the provider's stream lacks the object `{key}`"
        ))
    })
}

/// A number that must be there.
pub(crate) fn number(value: &Json, key: &str) -> Result<u64, LlmFailure> {
    let number = value.get(key).and_then(Json::as_u64);
    number.ok_or_else(|| {
        malformed(format_args!(
            "an event of the provider's stream lacks the number `{key}`"
        ))
    })
}

/// An error the provider reports inside its stream.
pub(crate) fn reported(payload: &Json, wording: &Wording) -> LlmFailure {
    let words = words_of(payload);
    let message = if words.message.is_empty() {
        "the provider reported an error inside its stream"
    } else {
        words.message
    };
    LlmFailure::new(words.stream_code(wording), message)
}

/// An answer that ended in a way that is no success; `word` is the provider's for it.
pub(crate) fn failed_finish(code: impl Into<SmolStr>, word: &str) -> FinishReason {
    FinishReason::Error(Box::new(FailedFinish {
        failure: LlmFailure::new(code, format!("the provider ended the answer with `{word}`")),
        extra: Extra::NONE,
    }))
}
