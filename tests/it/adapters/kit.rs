//! One call against a server that plays bytes, and what came of it: the grammar is checked every time.

use std::sync::Arc;

use futures_util::StreamExt;
use hames_llm::http::HttpSettings;
use hames_log::assemble::{Assembled, BlockAssembler};
use hames_log::grammar::Grammar;
use hames_tests::conformance::adapter::server::{Answer, Received, Server};
use hames_types::chunk::StreamChunk;
use hames_types::content::Content;
use hames_types::failure::LlmFailure;
use hames_types::id::{ModelId, ProviderId};
use hames_types::json::{Extra, Json};
use hames_types::message::{History, Message};
use hames_types::port::llm::{ChunkStream, Llm};
use hames_types::request::{CallConfig, Request, ToolSchema};
use hames_types::signal::Signal;
use serde_json::json;

use super::protocols::{Event, Protocol};

/// How the bytes of events look.
pub(super) fn bytes_of(events: &[Event], line_end: &str, space: &str) -> Vec<u8> {
    let mut text = String::new();
    for event in events {
        if let Some(name) = event.name {
            text.push_str(&format!("event:{space}{name}{line_end}"));
        }
        text.push_str(&format!("data:{space}{}{line_end}{line_end}", event.data));
    }
    text.into_bytes()
}

/// An answer of status 200 with these bytes.
pub(super) fn ok(body: &[u8]) -> Json {
    json!({ "status": 200, "headers": { "content-type": "text/event-stream" }, "bodyB64": base64(body), "chunked": true })
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = bytes.chunks(3).flat_map(|three| {
        let bits = three
            .iter()
            .fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte))
            << (8 * (3 - three.len()));
        (0..=three.len()).map(move |at| char::from(ALPHABET[(bits >> (18 - 6 * at)) as usize & 63]))
    });
    digits.collect()
}

pub(crate) fn request() -> Request {
    Request {
        config: CallConfig::new(ProviderId::new("p"), ModelId::new("m")),
        system: Some("be brief".into()),
        tools: None,
        messages: History::from_iter([Arc::new(Message::user(Content::text("hi")))]),
        session_id: None,
        purpose: None,
    }
}

pub(crate) fn tool(name: &str) -> ToolSchema {
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    ToolSchema {
        name: name.into(),
        description: "d".into(),
        parameters: Arc::new(parameters.as_object().unwrap().clone()),
        extra: Extra::NONE,
    }
}

/// What a call came to.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) said: Assembled,
    pub(crate) failure: Option<LlmFailure>,
    pub(crate) whole: bool,
}

impl Heard {
    pub(crate) fn text(&self) -> String {
        self.said.content.joined_text()
    }

    pub(crate) fn code(&self) -> &str {
        self.failure.as_ref().map_or("", |failure| failure.code.as_str())
    }
}

/// Reads a stream to its end. It must follow the grammar, and end in a finish or in a failure, never in both.
pub(crate) async fn hear(mut stream: ChunkStream) -> Heard {
    let (mut grammar, mut assembler) = (Grammar::new(), BlockAssembler::new());
    let (mut failure, mut whole) = (None, false);
    while let Some(item) = stream.next().await {
        assert!(failure.is_none() && !whole, "nothing follows the end");
        match item {
            Ok(chunk) => {
                grammar.push(&chunk).unwrap();
                whole = matches!(chunk, StreamChunk::Finish(_));
                assembler.push(&chunk);
            }
            Err(fault) => {
                let facts = fault.failure().expect("an adapter's failure has facts").clone();
                facts.validate().unwrap();
                failure = Some(facts);
            }
        }
    }
    assert!(
        whole != failure.is_some(),
        "a stream ends in a finish or in a failure"
    );
    if whole {
        grammar.end().unwrap();
    }
    Heard {
        said: assembler.finish().unwrap(),
        failure,
        whole,
    }
}

/// One call of `protocol` to a server that plays `answer`.
pub(super) async fn call(protocol: Protocol, answer: &Json, request: Request) -> (Heard, Vec<Received>) {
    call_with(protocol, answer, request, &Protocol::settings()).await
}

pub(super) async fn call_with(
    protocol: Protocol,
    answer: &Json,
    request: Request,
    settings: &HttpSettings,
) -> (Heard, Vec<Received>) {
    let server = Server::start(Answer::read(answer).unwrap()).await.unwrap();
    let adapter = protocol.adapter(&server.base_url, settings).unwrap();
    let heard = hear(adapter.stream(request, Signal::never())).await;
    (heard, server.received())
}
