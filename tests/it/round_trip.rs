//! What goes through hames comes out as it was, known or not.

use hames_log::seed::read_event;
use hames_log::{Draft, Log};
use hames_tests::conformance::diff;
use hames_types::chunk::{FinishReason, StreamChunk};
use hames_types::content::ContentBlock;
use hames_types::event::EventBody;
use hames_types::json::{FromJson, Json, JsonMap, check_lossless, to_json};
use hames_types::message::MessageSource;
use hames_types::turn::{TurnEndReason, TurnTrigger};
use proptest::prelude::*;
use serde::Serialize;

use crate::generate;
use crate::recorded::{EVENTS, LOGS};

/// Fails unless the two are one value.
fn assert_same(before: &Json, after: &Json) -> Result<(), TestCaseError> {
    match diff::first(before, after) {
        Some(difference) => Err(TestCaseError::fail(difference.to_string())),
        None => Ok(()),
    }
}

#[test]
fn every_recorded_event_is_written_as_it_was_read() {
    for event in EVENTS.iter() {
        let read = read_event(event.clone()).unwrap();
        assert_eq!(diff::first(event, &to_json(&read).unwrap()), None, "{event}");
        assert!(
            read.body().is_some(),
            "a recorded payload must fit its kind: {event}"
        );
    }
    assert!(LOGS.len() < EVENTS.len());
}

/// Puts an unknown field into an object of a payload, wherever the route leads.
fn with_unknown_field(mut event: Json, route: &[prop::sample::Index], value: &Json) -> Json {
    let data = event.get_mut("data").expect("a recorded event has a payload");
    for end in (0..=route.len()).rev() {
        if let Json::Object(fields) = generate::node(data, &route[..end]) {
            fields.insert("x:unknown".to_owned(), value.clone());
            break;
        }
    }
    event
}

fn tagged(tag: &str, kind: &str, fields: Json) -> Json {
    let mut object = JsonMap::new();
    object.insert(tag.to_owned(), kind.into());
    if let Json::Object(more) = fields {
        object.extend(more.into_iter().filter(|(key, _)| key != tag));
    }
    Json::Object(object)
}

fn through<T: FromJson + Serialize>(value: &Json) -> Result<(), TestCaseError> {
    let typed = T::from_json(value.clone()).map_err(|fault| TestCaseError::fail(fault.to_string()))?;
    assert_same(value, &to_json(&typed).unwrap())
}

proptest! {
    #[test]
    fn lossless_json_survives_text(value in generate::json()) {
        prop_assert_eq!(check_lossless(&value, "value"), Ok(()));
        let read: Json = serde_json::from_str(&value.to_string()).unwrap();
        prop_assert_eq!(read.to_string(), value.to_string());
        prop_assert_eq!(read, value);
    }

    #[test]
    fn an_unknown_field_survives_anywhere_in_a_payload(
        event in generate::recorded_event(), route in generate::route(), value in generate::json(),
    ) {
        let event = with_unknown_field(event, &route, &value);
        let read = read_event(event.clone()).map_err(|problem| TestCaseError::fail(problem.to_string()))?;
        prop_assert!(read.body().is_some(), "an unknown field must not make a known kind unreadable");
        assert_same(&event, &to_json(&read).unwrap())?;
    }

    #[test]
    fn an_unknown_kind_survives_whole(kind in "[a-z]{1,8}:[a-z]{1,8}", fields in generate::json()) {
        through::<ContentBlock>(&tagged("type", &kind, fields.clone()))?;
        through::<MessageSource>(&tagged("kind", &kind, fields.clone()))?;
        through::<FinishReason>(&tagged("kind", &kind, fields.clone()))?;
        through::<TurnTrigger>(&tagged("kind", &kind, fields.clone()))?;
        through::<TurnEndReason>(&tagged("kind", &kind, fields.clone()))?;
        // Stream chunks are closed.
        prop_assert!(StreamChunk::from_json(tagged("type", &kind, fields.clone())).is_err());
        let event = serde_json::json!({"type": kind, "seq": 0, "time": 0, "data": fields});
        assert_same(&event, &to_json(&read_event(event.clone()).unwrap()).unwrap())?;
    }

    #[test]
    fn a_damaged_event_is_kept_or_refused_and_never_changed(event in generate::damaged_event()) {
        if let Ok(read) = read_event(event.clone()) {
            assert_same(&event, &to_json(&read).unwrap())?;
            if let Err(fault) = read.data.body() {
                prop_assert!(fault.to_string().contains(read.kind()) || fault.sum().is_some(), "{}", fault);
            }
        }
    }
}

/// 1 in that many arrays.
fn nested(levels: usize) -> Json {
    (0..levels).fold(Json::from(1), |inner, _| Json::Array(vec![inner]))
}

#[test]
fn what_a_log_accepts_can_be_read_again_however_deep_it_is() {
    let user = |block: Json, extra: Json| serde_json::json!({"content": [block], "source": {"kind": "user"}, "x:extra": extra});
    let text = serde_json::json!({"type": "text", "text": "t"});
    for levels in 100..=130 {
        let deep = nested(levels);
        let block = serde_json::json!({"type": "x:block", "value": deep});
        for (kind, data) in [
            ("plugin/x", deep.clone()),
            ("user/message", user(text.clone(), deep.clone())),
            ("user/message", user(block, Json::Null)),
        ] {
            let placement = (kind == "user/message").then(|| serde_json::json!("append"));
            let raw = Draft::read(kind, data.clone(), placement, None);
            // The same as a live session gets it: typed already, never read from a record.
            let body = EventBody::decode(kind, data).unwrap();
            let typed = if kind == "user/message" {
                Draft::message(body)
            } else {
                Draft::log_only(body)
            };
            for draft in [raw, Ok(typed)] {
                let mut log = Log::new();
                let accepted = draft.and_then(|draft| log.append(draft, 0)).is_ok();
                assert_eq!(accepted, log.len() == 1);
                assert!(accepted || levels > 120, "{kind} with {levels} levels is refused");
                // A store writes an event as one line.
                for event in log.events() {
                    let line = serde_json::to_string(event).unwrap();
                    let record: Json = serde_json::from_str(&line).unwrap();
                    assert!(
                        Log::from_records(vec![record]).is_ok(),
                        "{kind} with {levels} levels"
                    );
                }
            }
        }
    }
}
