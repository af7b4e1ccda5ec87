//! Tests of the scripted model: it says what its file says, session by session.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use hames_types::chunk::StreamChunk;
use hames_types::content::Content;
use hames_types::fault::Fault;
use hames_types::id::{ModelId, ProviderId, SessionId};
use hames_types::message::{History, Message};
use hames_types::port::llm::{ChunkStream, Llm};
use hames_types::request::{CallConfig, Request};
use hames_types::signal::{Signal, SignalReason, Trigger};

use super::Scripted;

pub(crate) fn request(session: &str, prompt: &str) -> Request {
    Request {
        config: CallConfig::new(ProviderId::new("scripted"), ModelId::new("m")),
        system: None,
        tools: None,
        messages: History::from_iter([Arc::new(Message::user(Content::text(prompt)))]),
        session_id: Some(SessionId::new(session)),
        purpose: None,
    }
}

/// Everything a stream that never waits says.
pub(crate) fn drain(stream: ChunkStream) -> (Vec<StreamChunk>, Option<Fault>) {
    let mut stream = pin!(stream);
    let mut chunks = Vec::new();
    loop {
        match stream.as_mut().poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(Ok(chunk))) => chunks.push(chunk),
            Poll::Ready(Some(Err(fault))) => return (chunks, Some(fault)),
            Poll::Ready(None) => return (chunks, None),
            Poll::Pending => panic!("a known stream never waits"),
        }
    }
}

fn text_of(chunks: &[StreamChunk]) -> String {
    let text = chunks.iter().filter_map(|chunk| {
        let StreamChunk::TextDelta(delta) = chunk else {
            return None;
        };
        Some(delta.text.as_str())
    });
    text.collect()
}

#[test]
fn the_built_in_script_answers_every_prompt_for_ever() {
    let model = Scripted::builtin().unwrap();
    for number in 0..5 {
        let prompt = format!("prompt number {number}");
        let (chunks, fault) = drain(model.stream(request("s", &prompt), Signal::never()));
        assert!(fault.is_none());
        assert!(text_of(&chunks).contains(&prompt));
        assert!(matches!(chunks.last(), Some(StreamChunk::Finish(_))));
    }
}

#[test]
fn every_session_has_its_own_place_in_the_script() {
    let model = Scripted::parse("test", r#"{"answers":[{"text":"one"},{"text":"two"}]}"#).unwrap();
    let said = |session| text_of(&drain(model.stream(request(session, ""), Signal::never())).0);
    assert_eq!([said("a"), said("b"), said("a")], ["one", "one", "two"]);
    let (_, fault) = drain(model.stream(request("a", ""), Signal::never()));
    assert_eq!(fault.unwrap().code(), Some("SCRIPT_EXHAUSTED"));
}

#[test]
fn an_answer_may_call_tools_fail_or_be_told_chunk_by_chunk() {
    let script = r#"{"answers":[
        {"reasoning":"hm","text":"t","calls":[{"name":"read","arguments":{"path":"a"}}],
         "usage":{"inputTokens":3,"outputTokens":1}},
        {"text":"half an ans","failure":{"code":"SERVER","message":"boom","status":503}},
        {"chunks":[{"type":"finish","reason":{"kind":"odd"}}]}
    ]}"#;
    let model = Scripted::parse("test", script).unwrap();
    let call = || drain(model.stream(request("s", ""), Signal::never()));
    let (chunks, _) = call();
    let told = serde_json::to_value(&chunks).unwrap();
    assert_eq!(told[8]["block"]["arguments"], r#"{"path":"a"}"#, "{told}");
    assert_eq!(
        told.as_array().unwrap().last().unwrap()["reason"]["kind"],
        "tool-calls"
    );
    let (chunks, fault) = call();
    assert_eq!(fault.unwrap().failure().unwrap().status, Some(503));
    assert!(
        chunks
            .iter()
            .all(|chunk| !matches!(chunk, StreamChunk::Finish(_)))
    );
    assert_eq!(
        serde_json::to_value(call().0).unwrap()[0]["reason"]["kind"],
        "odd"
    );
}

#[test]
fn a_mistake_in_a_script_names_its_place() {
    for (script, place) in [
        (r#"{"answers":[{"txet":"a"}]}"#, "txet"),
        (
            r#"{"answers":[{"text":"a"},{"usage":{"inputTokens":"many"}}]}"#,
            "answers[1]",
        ),
        (r#"{"answers":[{"failure":{"code":"","message":"m"}}]}"#, "code"),
    ] {
        let error = Scripted::parse("my.json", script).unwrap_err().to_string();
        assert!(error.contains("my.json") && error.contains(place), "{error}");
    }
}

#[test]
fn a_raised_signal_ends_the_answer() {
    let model = Scripted::builtin().unwrap();
    let trigger = Trigger::new();
    trigger.raise(SignalReason::Withdrawn);
    let (chunks, fault) = drain(model.stream(request("s", "p"), trigger.signal()));
    assert!(chunks.is_empty());
    assert_eq!(fault.unwrap().code(), Some("ABORTED"));
}
