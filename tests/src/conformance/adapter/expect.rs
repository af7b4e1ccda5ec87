//! Where does our adapter differ from the recorded one on purpose, seen from what a case holds?

use hames_types::json::Json;

use super::super::rules::{self, Rule};
use super::server::body_of;

/// What a recorded answer's events say, as far as the decisions need it.
#[derive(Debug, Default)]
struct Events {
    /// The payloads in front of the terminal marker.
    payloads: Vec<Payload>,
    /// Whether the terminal marker came.
    done: bool,
}

#[derive(Debug)]
enum Payload {
    Object(Json),
    OtherJson,
    NotJson,
    /// Of an event named `error`.
    Error,
}

/// What our adapter must do in place of what was recorded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Instead {
    /// End in a failure of one of these codes; empty: any code of its own.
    Fail(&'static [&'static str]),
    /// Keep an earlier id and name.
    KeepIdentity,
    /// Count nothing below zero.
    ClampUsage,
    /// Wait as long as `retry-after-ms` says.
    WaitMs(u64),
    /// Keep the HTTP status, with this code.
    KeepStatus(&'static [&'static str]),
}

/// The decision that a decode case falls under, if any.
pub(super) fn decision(case: &Json) -> Option<(&'static Rule, Instead)> {
    let response = case.get("response")?;
    let status = response.get("status").and_then(Json::as_u64).unwrap_or(200);
    if status >= 400 {
        return refusal(case, response, status);
    }
    let recorded_code = case.pointer("/failure/code").and_then(Json::as_str);
    let end = response.get("end").and_then(Json::as_str).unwrap_or("close");
    let events = Events::read(&String::from_utf8_lossy(&body_of(response).ok()?));
    if events.has_error() {
        return Some((&rules::STREAM_ERROR, Instead::Fail(&[])));
    }
    if recorded_code == Some("TRANSPORT") && end == "close" && events.has_wrong_shape() {
        return Some((&rules::WRONG_SHAPE, Instead::Fail(&["MALFORMED_RESPONSE"])));
    }
    if recorded_code.is_some() {
        return None;
    }
    if events.has_wrong_shape() {
        return Some((&rules::WRONG_SHAPE, Instead::Fail(&["MALFORMED_RESPONSE"])));
    }
    if events.done && !events.has_finish_reason() {
        return Some((&rules::FINISH_REASON, Instead::Fail(&["STREAM_CLOSED"])));
    }
    if events.loses_identity() {
        return Some((&rules::CALL_IDENTITY, Instead::KeepIdentity));
    }
    let negative = case.get("chunks").is_some_and(has_negative_count);
    negative.then_some((&rules::COUNTS, Instead::ClampUsage))
}

fn refusal(case: &Json, response: &Json, status: u64) -> Option<(&'static Rule, Instead)> {
    if case.pointer("/failure/status").is_none() {
        let codes: &[&str] = match status {
            400 => &["INVALID_REQUEST"],
            500.. => &["SERVER"],
            429 => &["RATE_LIMIT"],
            401 | 403 => &["AUTH"],
            _ => &[],
        };
        return Some((&rules::KEEP_STATUS, Instead::KeepStatus(codes)));
    }
    if let Some(wait_ms) = response.pointer("/headers/retry-after-ms").and_then(Json::as_str)
        && let Ok(wait_ms @ 1..) = wait_ms.parse()
    {
        return Some((&rules::RETRY_AFTER_MS, Instead::WaitMs(wait_ms)));
    }
    let error: Json = serde_json::from_str(response.get("body")?.as_str()?).ok()?;
    let named = ["code", "type"].iter().any(|key| {
        error.pointer(&format!("/error/{key}")).and_then(Json::as_str) == Some("context_length_exceeded")
    });
    let plain =
        case.pointer("/failure/code").and_then(Json::as_str) == Some(format!("HTTP_{status}").as_str());
    (named && plain && status < 500).then_some((
        &rules::OVERFLOW_STATUS,
        Instead::KeepStatus(&["CONTEXT_WINDOW_EXCEEDED"]),
    ))
}

impl Events {
    /// Reads the events as the recorded adapter did: lines end with LF or CRLF.
    fn read(body: &str) -> Self {
        let mut events = Self::default();
        let body = body.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        for block in body.split("\n\n") {
            let data: Vec<&str> = block
                .lines()
                .filter_map(|line| line.strip_prefix("data:"))
                .collect();
            if data.is_empty() {
                continue;
            }
            let data: Vec<&str> = data
                .iter()
                .map(|line| line.strip_prefix(' ').unwrap_or(line))
                .collect();
            let data = data.join("\n");
            if data == "[DONE]" {
                events.done = true;
                break;
            }
            let is_error = block.lines().any(|line| line.trim_end() == "event: error");
            events.payloads.push(match serde_json::from_str(&data) {
                _ if is_error => Payload::Error,
                Ok(object @ Json::Object(_)) => Payload::Object(object),
                Ok(_) => Payload::OtherJson,
                Err(_) => Payload::NotJson,
            });
        }
        events
    }

    fn objects(&self) -> impl Iterator<Item = &Json> {
        self.payloads.iter().filter_map(|payload| match payload {
            Payload::Object(object) => Some(object),
            Payload::OtherJson | Payload::NotJson | Payload::Error => None,
        })
    }

    fn has_error(&self) -> bool {
        let named = self
            .payloads
            .iter()
            .any(|payload| matches!(payload, Payload::Error));
        named
            || self
                .objects()
                .any(|object| object.get("error").is_some_and(|error| !error.is_null()))
    }

    /// A payload that is no object, or one whose fields the protocol doesn't have.
    fn has_wrong_shape(&self) -> bool {
        let no_object = self
            .payloads
            .iter()
            .any(|payload| matches!(payload, Payload::OtherJson));
        no_object || self.objects().any(wrong_shape)
    }

    fn choices(&self) -> impl Iterator<Item = &Json> {
        self.objects()
            .filter_map(|object| object.get("choices")?.as_array())
            .flatten()
    }

    fn has_finish_reason(&self) -> bool {
        self.choices()
            .filter_map(|choice| choice.get("finish_reason")?.as_str())
            .any(|reason| !reason.is_empty())
    }

    /// A later delta of a call that says its id or name again, and says nothing.
    fn loses_identity(&self) -> bool {
        let empty = |value: Option<&Json>| value.is_some_and(|value| value.is_null() || *value == "");
        let mut seen = Vec::new();
        self.choices()
            .filter_map(|choice| choice.pointer("/delta/tool_calls")?.as_array())
            .flatten()
            .any(|call| {
                let index = call.get("index");
                let later = seen.contains(&index);
                seen.push(index);
                later && (empty(call.get("id")) || empty(call.pointer("/function/name")))
            })
    }
}

fn wrong_shape(payload: &Json) -> bool {
    let Some(choices) = payload.get("choices").filter(|choices| !choices.is_null()) else {
        return false;
    };
    let Some(choices) = choices.as_array() else {
        return true;
    };
    choices.iter().any(|choice| {
        let delta = choice.get("delta");
        let not_text = |key: &str| {
            let value = delta.and_then(|delta| delta.get(key));
            value.is_some_and(|value| !value.is_null() && !value.is_string())
        };
        !choice.is_object()
            || delta.is_some_and(|delta| !delta.is_null() && !delta.is_object())
            || not_text("content")
            || not_text("reasoning_content")
            || wrong_calls(delta)
    })
}

fn wrong_calls(delta: Option<&Json>) -> bool {
    let Some(calls) = delta
        .and_then(|delta| delta.get("tool_calls"))
        .filter(|calls| !calls.is_null())
    else {
        return false;
    };
    let Some(calls) = calls.as_array() else {
        return true;
    };
    calls.iter().any(|call| {
        let not_text = |pointer: &str| {
            let value = call.pointer(pointer);
            value.is_some_and(|value| !value.is_null() && !value.is_string())
        };
        !call.is_object() || not_text("/id") || not_text("/function/name") || not_text("/function/arguments")
    })
}

fn has_negative_count(chunks: &Json) -> bool {
    let chunks = chunks.as_array().into_iter().flatten();
    chunks
        .filter_map(|chunk| chunk.get("usage")?.as_object())
        .flatten()
        .any(|(_, count)| count.as_f64().is_some_and(|count| count < 0.0))
}
