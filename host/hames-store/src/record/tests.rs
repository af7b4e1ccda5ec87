//! Does the fast way read what the general way reads?

use hames_types::event::{EventBody, EventData};
use hames_types::json::Json;
use hames_types::open::OpenSum;
use proptest::prelude::*;
use serde_json::json;

use super::{hot, payload};

/// Values that are plain payloads, nearly plain ones, and anything else.
fn odd_value() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        Just(json!(-1)),
        Just(json!(1.5)),
        Just(json!(9_007_199_254_740_992_u64)),
        (0_u64..3).prop_map(Json::from),
        "[a-z\"\\\\]{0,3}".prop_map(Json::from),
        Just(json!({"type": "text", "text": "x"})),
        Just(json!({"type": "reasoning", "text": "x", "more": 1})),
        Just(json!({"type": "tool-call", "id": "c", "name": "n", "arguments": "{}"})),
        Just(json!({"kind": "stop"})),
        Just(json!({"kind": "stop", "x": 1})),
        Just(json!({"kind": "error"})),
        Just(json!({"kind": "user"})),
        Just(json!({"kind": "completed"})),
        Just(json!({"kind": "message", "source": {"kind": "user"}})),
        Just(json!([{"type": "text", "text": "x"}])),
        Just(json!([{"type": "text", "text": 1}])),
        Just(json!({"provider": "p", "model": "m"})),
        Just(json!({"inputTokens": 1, "outputTokens": 2})),
        Just(json!({"inputTokens": 1, "outputTokens": -2})),
        Just(json!({"inputTokens": 1, "outputTokens": 2, "more": 1})),
        Just(json!({"provider": "p", "model": "m", "replayState": null})),
        Just(json!({"kind": "message", "source": {"kind": "plugin", "plugin": "x"}})),
    ]
}

const KEYS: &[&str] = &[
    "turn",
    "step",
    "chunk",
    "type",
    "index",
    "text",
    "blockType",
    "id",
    "name",
    "argumentsDelta",
    "block",
    "reason",
    "usage",
    "trigger",
    "source",
    "content",
    "provenance",
    "replayState",
    "kind",
    "odd",
];

const WORDS: &[&str] = &[
    "text-delta",
    "reasoning-delta",
    "tool-call-delta",
    "block-start",
    "block-end",
    "finish",
    "usage",
    "other",
];

fn record(keys: usize) -> impl Strategy<Value = Json> {
    prop::collection::vec((prop::sample::select(KEYS), odd_value()), 0..keys).prop_map(|fields| {
        Json::Object(
            fields
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
        )
    })
}

fn chunk() -> impl Strategy<Value = Json> {
    (prop::sample::select(WORDS), record(6), any::<bool>()).prop_map(|(word, mut fields, with_index)| {
        fields["type"] = json!(word);
        if with_index {
            fields["index"] = json!(1);
        }
        fields
    })
}

fn data() -> impl Strategy<Value = Json> {
    (record(5), chunk(), any::<bool>(), any::<bool>()).prop_map(|(mut fields, chunk, numbered, streamed)| {
        if numbered {
            fields["turn"] = json!(1);
            fields["step"] = json!(2);
        }
        if streamed {
            fields = json!({"turn": 1, "step": 2, "chunk": chunk});
        }
        fields
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn both_ways_read_the_same(kind in prop::sample::select(EventBody::KINDS), data in data()) {
        let text = data.to_string();
        prop_assert_eq!(payload(kind, &text)?, EventData::read(kind, data));
    }
}

#[test]
fn plain_deltas_take_the_fast_way() {
    for chunk in [
        json!({"type": "text-delta", "index": 0, "text": "a\n"}),
        json!({"type": "reasoning-delta", "index": 0, "text": ""}),
        json!({"type": "tool-call-delta", "index": 1, "id": "c", "argumentsDelta": "{"}),
        json!({"type": "block-start", "index": 1, "blockType": "text"}),
        json!({"type": "block-end", "index": 1, "block": {"type": "text", "text": "t"}}),
        json!({"type": "block-end", "index": 1, "block": {"type": "tool-call", "id": "c", "name": "n", "arguments": ""}}),
        json!({"type": "usage", "usage": {"inputTokens": 1, "outputTokens": 2, "reasoningTokens": 0}}),
        json!({"type": "finish", "reason": {"kind": "stop"}}),
    ] {
        let data = json!({"turn": 1, "step": 1, "chunk": chunk}).to_string();
        assert!(hot::body("assistant/chunk", &data).is_some(), "{data}");
    }
}

#[test]
fn plain_turns_take_the_fast_way() {
    let text = json!([{"type": "text", "text": "x"}]);
    for (kind, data) in [
        (
            "turn/start",
            json!({"turn": 1, "trigger": {"kind": "message", "source": {"kind": "user"}}}),
        ),
        ("turn/end", json!({"turn": 1, "reason": {"kind": "completed"}})),
        ("step/end", json!({"turn": 1, "step": 1})),
        (
            "user/message",
            json!({"content": text, "source": {"kind": "user"}}),
        ),
        (
            "assistant/message",
            json!({"turn": 1, "step": 1, "content": text, "provenance": {"provider": "p", "model": "m"},
                   "usage": {"inputTokens": 1, "outputTokens": 2}}),
        ),
    ] {
        let text = data.to_string();
        let fast = hot::body(kind, &text).expect(kind);
        assert_eq!(EventData::Typed(fast), EventData::read(kind, data));
    }
}

/// Chunks that often continue each other, and often nearly do.
fn chunks() -> impl Strategy<Value = Vec<Json>> {
    let piece = prop_oneof![
        4 => Just(json!({"type": "text-delta", "index": 0, "text": "a"})),
        1 => Just(json!({"type": "text-delta", "index": 1, "text": "\u{1f600}\n"})),
        2 => Just(json!({"type": "reasoning-delta", "index": 0, "text": ""})),
        1 => Just(json!({"type": "text-delta", "index": 0, "text": "a", "more": null})),
        2 => Just(json!({"type": "tool-call-delta", "index": 0, "id": "c", "argumentsDelta": "{"})),
        2 => Just(json!({"type": "tool-call-delta", "index": 0, "id": "c", "name": "", "argumentsDelta": "{"})),
        1 => Just(json!({"type": "tool-call-delta", "index": 0, "id": "d", "name": "n", "argumentsDelta": "}"})),
        1 => Just(json!({"type": "block-start", "index": 0, "blockType": "text"})),
    ];
    let event = (piece, 1_usize..8, 1_u64..3, -5_i64..9);
    prop::collection::vec(event, 0..40).prop_map(|runs| {
        let mut events = Vec::new();
        let mut time = 1_000_i64;
        for (piece, times, step, gap) in runs {
            for _ in 0..times {
                time += gap;
                let seq = events.len();
                let data = json!({"turn": 1, "step": step, "chunk": piece});
                events.push(json!({"type": "assistant/chunk", "seq": seq, "time": time, "data": data}));
            }
        }
        events
    })
}

proptest! {
    #[test]
    fn packing_and_unpacking_gives_the_same_bytes(records in chunks()) {
        let mut events = Vec::new();
        for record in &records {
            super::read(&record.to_string(), &mut events)?;
        }
        let packed = super::pack(&events);
        let mut back = Vec::new();
        for record in &packed {
            super::read(&serde_json::to_string(record)?, &mut back)?;
        }
        prop_assert_eq!(serde_json::to_string(&back)?, serde_json::to_string(&events)?);
        // Three in a row that agree never stay apart.
        prop_assert!(packed.len() <= events.len());
    }
}
