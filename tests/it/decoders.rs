//! Whatever bytes come, a decoder answers with a value or an error.

use hames_log::Log;
use hames_log::assemble::BlockAssembler;
use hames_log::grammar::Grammar;
use hames_log::seed::read_event;
use hames_types::chunk::{FinishReason, StreamChunk};
use hames_types::content::ContentBlock;
use hames_types::event::EventData;
use hames_types::failure::LlmFailure;
use hames_types::header::SessionHeader;
use hames_types::json::{FromJson, Json};
use hames_types::message::{Message, MessageSource, Provenance};
use hames_types::request::RequestHeader;
use hames_types::turn::{TurnEndReason, TurnTrigger};
use hames_types::usage::TokenUsage;
use proptest::prelude::*;

use crate::generate;

/// Every decoder of the two lowest crates on one value. An error must say something.
fn decode_all(value: &Json) {
    fn decode<T: FromJson>(value: &Json) -> Option<T> {
        T::from_json(value.clone())
            .inspect_err(|fault| assert!(!fault.to_string().is_empty()))
            .ok()
    }
    decode::<ContentBlock>(value);
    decode::<MessageSource>(value);
    decode::<FinishReason>(value);
    decode::<TurnTrigger>(value);
    decode::<TurnEndReason>(value);
    decode::<Message>(value);
    decode::<Provenance>(value);
    decode::<RequestHeader>(value);
    decode::<TokenUsage>(value);
    if let Some(failure) = decode::<LlmFailure>(value) {
        let _valid = failure.validate().is_ok();
    }
    if let Some(chunk) = decode::<StreamChunk>(value) {
        assemble(&[chunk]);
    }
    let _header = SessionHeader::read(value.clone()).is_ok();
    let _event = read_event(value.clone()).is_ok();
    let _log = Log::from_records(vec![value.clone()]).is_ok();
    for kind in [
        "turn/start",
        "assistant/message",
        "tool/result",
        "todo/write",
        "plugin/x",
    ] {
        let _body = EventData::read(kind, value.clone()).body().is_ok();
    }
}

fn assemble(chunks: &[StreamChunk]) {
    let (mut assembler, mut grammar) = (BlockAssembler::new(), Grammar::new());
    for chunk in chunks {
        assembler.push(chunk);
        let _follows = grammar.push(chunk).is_ok();
    }
    let _ended = grammar.end().is_ok();
    let _assembled = assembler.finish().is_ok();
}

fn recorded_chunks() -> impl Strategy<Value = Vec<StreamChunk>> {
    prop::collection::vec(generate::recorded_event(), 0..40).prop_map(|events| {
        events
            .iter()
            .filter_map(|event| StreamChunk::from_json(event["data"]["chunk"].clone()).ok())
            .collect()
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(value) = serde_json::from_slice::<Json>(&bytes) {
            decode_all(&value);
        }
    }

    #[test]
    fn arbitrary_json_never_panics(value in generate::json()) {
        decode_all(&value);
    }

    #[test]
    fn damaged_records_never_panic(event in generate::damaged_event()) {
        decode_all(&event);
        decode_all(&event["data"]);
        decode_all(&event["data"]["chunk"]);
        decode_all(&event["data"]["content"][0]);
        decode_all(&event["data"]["header"]);
    }

    #[test]
    fn damaged_text_of_a_record_never_panics(
        event in generate::recorded_event(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut text = event.to_string().into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        if let Ok(value) = serde_json::from_slice::<Json>(&text) {
            decode_all(&value);
        }
    }

    #[test]
    fn chunks_in_any_order_assemble_or_say_why_not(chunks in recorded_chunks()) {
        assemble(&chunks);
    }
}

#[test]
fn hostile_nesting_is_an_error_and_not_a_stack_overflow() {
    let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    for levels in [127, 128, 1_000, 100_000] {
        match serde_json::from_str::<Json>(&nested(levels)) {
            Ok(value) => decode_all(&value),
            Err(_) => assert!(levels > 127, "{levels} levels must still be read"),
        }
    }
}

#[test]
fn an_error_repeats_no_more_of_its_input_than_a_person_reads() {
    let long = "x".repeat(100_000);
    let deep = (0..120).fold(
        Json::from(1),
        |inner, _| serde_json::json!({ long.get(..500).unwrap(): inner }),
    );
    let event = |kind: &str, data: Json| serde_json::json!({"type": kind, "seq": 0, "time": 0, "data": data});
    let number: Json = serde_json::from_str(&format!("1{}", "0".repeat(100_000))).unwrap();
    for value in [
        Json::from(long.clone()),
        serde_json::json!({"type": long, "kind": long, "version": long, "id": long}),
        serde_json::json!({"version": 0, "id": "a", "createdAt": 1, "cwd": long}),
        serde_json::json!({"type": long, "seq": 0, "time": 0, "data": 1, "surfaceOp": long}),
        event(&long, number.clone()),
        event("plugin/x", deep),
        serde_json::json!({"type": "x", "seq": 0, "time": 0, "data": 1, long.as_str(): 1}),
        serde_json::json!({
            "type": "user/message", "seq": 0, "time": 0, "data": 1, "surfaceOp": {long.as_str(): 1}
        }),
        event("user/message", number.clone()),
        serde_json::json!({ long.as_str(): number }),
    ] {
        for text in errors(&value) {
            assert!(text.len() < 1_000, "{} bytes: {}", text.len(), &text[..300]);
        }
    }
}

/// What every decoder says against a value.
fn errors(value: &Json) -> Vec<String> {
    fn said<T: FromJson>(value: &Json) -> Option<String> {
        T::from_json(value.clone()).err().map(|fault| fault.to_string())
    }
    [
        said::<ContentBlock>(value),
        said::<MessageSource>(value),
        said::<StreamChunk>(value),
        said::<Message>(value),
        said::<RequestHeader>(value),
        SessionHeader::read(value.clone())
            .err()
            .map(|fault| fault.to_string()),
        Log::from_records(vec![value.clone()])
            .err()
            .map(|fault| fault.to_string()),
        EventData::read("todo/write", value.clone())
            .body()
            .err()
            .map(ToString::to_string),
    ]
    .into_iter()
    .flatten()
    .collect()
}
