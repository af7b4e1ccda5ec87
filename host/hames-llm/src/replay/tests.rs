//! Tests of the replay: the same calls again, failures and interruptions included.

use hames_types::event::{Event, EventData};
use hames_types::id::{Seq, SessionId};
use hames_types::json::Json;
use hames_types::port::llm::Llm;
use hames_types::signal::Signal;

use super::{Recording, Replay};
use crate::scripted::tests::{drain, request};

fn log(events: &[(&str, Json)]) -> Vec<Event> {
    let event = |(at, (kind, data)): (usize, &(&str, Json))| Event {
        seq: Seq::at(at),
        time_ms: 0,
        data: EventData::read(kind, data.clone()),
        placement: None,
    };
    events.iter().enumerate().map(event).collect()
}

fn step(number: u64) -> Json {
    serde_json::json!({ "turn": 1, "step": number })
}

fn chunk(number: u64, chunk: Json) -> (&'static str, Json) {
    (
        "assistant/chunk",
        serde_json::json!({ "turn": 1, "step": number, "chunk": chunk }),
    )
}

fn text(text: &str) -> Json {
    serde_json::json!({ "type": "text-delta", "index": 0, "text": text })
}

fn recorded() -> Vec<Event> {
    let failure = serde_json::json!({ "message": "busy", "code": "SERVER", "status": 503 });
    let finish = serde_json::json!({ "type": "finish", "reason": { "kind": "stop" } });
    log(&[
        ("step/start", step(1)),
        chunk(1, text("par")),
        ("step/end", step(1)),
        (
            "llm/retry",
            serde_json::json!({ "turn": 1, "step": 1, "failure": failure }),
        ),
        ("step/start", step(2)),
        chunk(2, text("whole")),
        chunk(2, finish),
        ("step/end", step(2)),
        ("step/start", step(3)),
        ("step/end", step(3)),
        ("step/start", step(4)),
        ("step/end", step(4)),
        (
            "turn/end",
            serde_json::json!({ "turn": 1, "reason": { "kind": "error", "step": 4, "failure": failure } }),
        ),
    ])
}

#[test]
fn calls_come_back_in_order_with_their_failures() {
    let model = Replay::new(vec![Recording::of(None, &recorded())]);
    let call = || drain(model.stream(request("s", ""), Signal::never()));
    let code =
        |fault: Option<hames_types::fault::Fault>| fault.and_then(|fault| fault.code().map(str::to_owned));
    let (chunks, fault) = call();
    assert_eq!((chunks.len(), code(fault).as_deref()), (1, Some("SERVER")));
    let (chunks, fault) = call();
    assert_eq!((chunks.len(), code(fault)), (2, None));
    // The third step made no call; the fourth failed before its first chunk.
    let (chunks, fault) = call();
    assert_eq!((chunks.len(), code(fault).as_deref()), (0, Some("SERVER")));
    assert_eq!(code(call().1).as_deref(), Some("REPLAY_EXHAUSTED"));
}

#[test]
fn a_session_finds_its_own_recording_or_the_next_one_left() {
    let own = Recording::of(
        Some(SessionId::new("child")),
        &log(&[("step/start", step(1)), chunk(1, text("c"))]),
    );
    let other = Recording::of(None, &log(&[("step/start", step(1)), chunk(1, text("p"))]));
    let model = Replay::new(vec![other, own]);
    let said =
        |session| serde_json::to_value(drain(model.stream(request(session, ""), Signal::never())).0).unwrap();
    assert_eq!(said("child")[0]["text"], "c");
    assert_eq!(said("anyone")[0]["text"], "p");
}
