//! Arbitrary values for the properties: JSON that is lossless, JSON that nearly is a record, drafts of every kind.

use hames_log::Draft;
use hames_types::event::{EventBody, Placement, SurfaceOp, is_surface_kind};
use hames_types::id::Seq;
use hames_types::json::{Json, JsonMap};
use proptest::prelude::*;
use serde_json::json;

use crate::recorded::EVENTS;

/// A number of every lossless form, as its text: 64-bit integers, decimals with their zeros, exponents.
pub(crate) fn number() -> impl Strategy<Value = Json> {
    prop_oneof![
        any::<u64>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (1_i32..1000, 0_u32..10_000_000).prop_map(|(whole, part)| parse(&format!("{whole}.{part:07}"))),
        (1_i32..10, -300_i32..300).prop_map(|(digit, exponent)| parse(&format!("{digit}.5e{exponent}"))),
        Just(parse("1.50")),
        Just(parse("-0.10")),
    ]
}

fn parse(text: &str) -> Json {
    serde_json::from_str(text).expect("a number")
}

/// A key: short, sometimes one that means something somewhere.
fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,6}",
        ".{0,4}",
        prop::sample::select(vec![
            "type",
            "kind",
            "data",
            "content",
            "text",
            "turn",
            "step",
            "callId",
            "__proto__",
            "seq",
            "extra",
        ])
        .prop_map(str::to_owned),
    ]
}

/// Any lossless JSON.
pub(crate) fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        number(),
        ".{0,12}".prop_map(Json::from),
    ];
    leaf.prop_recursive(6, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            prop::collection::vec((key(), inner), 0..5)
                .prop_map(|fields| Json::Object(fields.into_iter().collect::<JsonMap>())),
        ]
    })
}

/// A place in a value: how far to walk, and where to turn.
pub(crate) fn route() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop::collection::vec(any::<prop::sample::Index>(), 0..7)
}

/// The node that a route leads to; the route ends early at a leaf.
pub(crate) fn node<'a>(mut value: &'a mut Json, route: &[prop::sample::Index]) -> &'a mut Json {
    for turn in route {
        let has_children = match value {
            Json::Array(items) => !items.is_empty(),
            Json::Object(fields) => !fields.is_empty(),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
        };
        if !has_children {
            break;
        }
        value = match value {
            Json::Array(items) => {
                let at = turn.index(items.len());
                &mut items[at]
            }
            Json::Object(fields) => {
                let at = turn.index(fields.len());
                fields.values_mut().nth(at).expect("the index is in range")
            }
            leaf @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_)) => leaf,
        };
    }
    value
}

/// A recorded event.
pub(crate) fn recorded_event() -> impl Strategy<Value = Json> {
    any::<prop::sample::Index>().prop_map(|at| EVENTS[at.index(EVENTS.len())].clone())
}

/// A recorded event in which one node was replaced by something else.
pub(crate) fn damaged_event() -> impl Strategy<Value = Json> {
    (recorded_event(), route(), json()).prop_map(|(mut event, route, put)| {
        *node(&mut event, &route) = put;
        event
    })
}

/// One step of a growing log. Places are chosen relative to the log as it is then.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// An event at the tail, or one that isn't part of the history.
    Add(Payload, bool),
    /// An event in place of a range of the surface.
    Replace(Payload, prop::sample::Index, prop::sample::Index),
    /// A rewrite of a tool result, its content alone.
    Rewrite(prop::sample::Index, String),
    /// Something no log may take.
    Bad(Payload, Json, Json),
    /// Derive the history, so that the projection catches up here.
    Derive,
}

/// An event's kind and payload.
#[derive(Debug, Clone)]
pub(crate) struct Payload {
    pub(crate) kind: &'static str,
    pub(crate) data: Json,
}

fn content() -> impl Strategy<Value = Json> {
    let block = prop_oneof![
        ".{0,5}".prop_map(|text| json!({"type": "text", "text": text})),
        ".{0,5}".prop_map(|text| json!({"type": "reasoning", "text": text, "sig": 1})),
        "[a-c]".prop_map(|id| json!({"type": "tool-call", "id": id, "name": "t", "arguments": "{}"})),
        json().prop_map(|value| json!({"type": "x:image", "value": value})),
    ];
    prop::collection::vec(block, 0..3).prop_map(Json::from)
}

/// An event of any kind that a bare log takes.
pub(crate) fn payload() -> impl Strategy<Value = Payload> {
    let of = |kind: &'static str, data: Json| Payload { kind, data };
    prop_oneof![
        3 => content().prop_map(move |content| {
            of("user/message", json!({"content": content, "source": {"kind": "user"}}))
        }),
        2 => (content(), 1..4_u64).prop_map(move |(content, step)| {
            let provenance = json!({"provider": "p", "model": "m"});
            let data = json!({"turn": 1, "step": step, "content": content, "provenance": provenance});
            of("assistant/message", data)
        }),
        3 => (content(), any::<bool>(), json()).prop_map(move |(content, is_error, meta)| {
            let data = json!({
                "turn": 1, "step": 1, "callId": "c", "content": content, "isError": is_error, "meta": meta
            });
            of("tool/result", data)
        }),
        1 => content().prop_map(move |content| {
            of("context/message", json!({"content": content, "source": {"kind": "plugin", "plugin": "x"}}))
        }),
        1 => content().prop_map(move |content| {
            of("steering/message", json!({"turn": 1, "content": content, "source": {"kind": "user"}}))
        }),
        2 => ".{0,5}".prop_map(move |text| {
            let chunk = json!({"type": "text-delta", "index": 0, "text": text});
            of("assistant/chunk", json!({"turn": 1, "step": 1, "chunk": chunk}))
        }),
        1 => (".{0,2}", any::<bool>()).prop_map(move |(system, change)| {
            let reason = if change { "change" } else { "initial" };
            let header = json!({"config": {"provider": "p", "model": "m"}, "system": system, "tools": []});
            of("request/header", json!({"header": header, "reason": reason}))
        }),
        2 => json().prop_map(move |data| of("plugin/thing", data)),
        // A payload that doesn't fit its kind: a bare log keeps it as it came.
        1 => json().prop_map(move |data| of("turn/start", data)),
        // The same on the surface: the history can't be derived as long as it stands there.
        1 => json().prop_map(move |data| of("context/message", data)),
    ]
}

/// A step of any sort.
pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (payload(), any::<bool>()).prop_map(|(payload, sources)| Step::Add(payload, sources)),
        3 => (payload(), any::<prop::sample::Index>(), any::<prop::sample::Index>())
            .prop_map(|(payload, from, to)| Step::Replace(payload, from, to)),
        2 => (any::<prop::sample::Index>(), ".{0,4}").prop_map(|(at, text)| Step::Rewrite(at, text)),
        2 => (payload(), json(), json()).prop_map(|(payload, op, sources)| Step::Bad(payload, op, sources)),
        2 => Just(Step::Derive),
    ]
}

/// A payload at the tail; with `sources`, made from everything before it.
pub(crate) fn at_tail(payload: &Payload, sources: bool, next: Seq) -> Draft {
    let read = |op, sources| Draft::read(payload.kind, payload.data.clone(), op, sources);
    if !is_surface_kind(payload.kind) {
        return read(None, None).expect("the payload is lossless and carries no marker");
    }
    let list: Vec<u64> = (0..next.get()).collect();
    let sources = (sources && !list.is_empty()).then(|| json!(list));
    read(Some(json!("append")), sources).expect("the marker is well formed")
}

/// A payload in place of the nodes from one position to another.
pub(crate) fn in_place(payload: &Payload, nodes: &[Seq], from: usize, to: usize) -> Draft {
    let shadowed: Vec<u64> = nodes[from..=to].iter().map(|node| node.get()).collect();
    let op = json!({"op": "replace", "start": nodes[from].get(), "end": nodes[to].get()});
    Draft::read(
        payload.kind,
        payload.data.clone(),
        Some(op),
        Some(json!(shadowed)),
    )
    .expect("the marker is well formed")
}

/// A tool result with other content in place of itself.
pub(crate) fn rewritten(body: &EventBody, node: Seq, text: &str) -> Option<Draft> {
    let EventBody::ToolResult(result) = body else {
        return None;
    };
    let mut result = result.clone();
    result.content = hames_types::content::Content::text(text);
    Some(Draft {
        data: hames_types::event::EventData::Typed(EventBody::ToolResult(result)),
        placement: Some(Box::new(Placement {
            op: SurfaceOp::Replace {
                start: node,
                end: node,
            },
            sources: Some(Box::from([node])),
        })),
    })
}
