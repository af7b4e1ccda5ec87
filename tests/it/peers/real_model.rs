//! Against a real model of 135 million parameters: what it says is nonsense, how it says it is real.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use hames_llm::Adapter;
use hames_llm::http::{Http, HttpSettings};
use hames_llm::key::KeySource;
use hames_llm::limits::Limits;
use hames_llm::messages::MessagesConfig;
use hames_types::content::Content;
use hames_types::json::Json;
use hames_types::message::Message;
use hames_types::port::clock::FixedClock;
use hames_types::port::llm::Llm;
use hames_types::signal::Signal;

use super::super::adapters::kit::{hear, request, tool};
use super::super::adapters::protocols::Protocol;
use super::process::{Server, installed, root};

const PROTOCOLS: [Protocol; 3] = [Protocol::Compatible, Protocol::Responses, Protocol::Messages];

/// How much the model holds here: little, so that more is soon too much.
const CONTEXT_TOKENS: &str = "2048";

/// A model of this size calls a tool only if it is told the call word for word.
const CALL: &str = "Repeat exactly this text and nothing else:\n<tool_call>\n\
                    {\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>";

fn start() -> Server {
    let mut command = Command::new(installed("python/bin/python"));
    command.arg(root().join("tests/peers/real_model.py"));
    Server::start(&mut command, |command, port| {
        command
            .arg(port.to_string())
            .arg(root().join("tests/peers/hermes.jinja"))
            .arg(CONTEXT_TOKENS);
    })
    .ready_at("/health")
}

fn adapter(protocol: Protocol, server: &Server) -> Adapter {
    let base = match protocol {
        Protocol::Compatible | Protocol::DeepSeek | Protocol::Responses => server.url("/v1"),
        Protocol::Messages | Protocol::Gemini => server.url(""),
    };
    let limits = Limits {
        idle: Duration::from_secs(120),
        ..Limits::default()
    };
    let settings = HttpSettings {
        limits,
        ..HttpSettings::default()
    };
    if protocol == Protocol::Messages {
        // Without thinking: a thinking model takes no temperature, and this one needs none of it.
        let http = Http::new(&settings, Arc::new(FixedClock(0))).unwrap();
        let config = MessagesConfig {
            base_url: base,
            ..MessagesConfig::new(KeySource::None)
        };
        return Adapter::messages(config, http).unwrap();
    }
    protocol.adapter(&base, &settings).unwrap()
}

/// Whether the server's one slot works at something.
fn is_busy(server: &Server) -> bool {
    let slots: Json = serde_json::from_str(&server.get("/slots")).unwrap();
    slots[0]["is_processing"] == Json::Bool(true)
}

fn saying(prompt: &str, max_tokens: u64) -> hames_types::request::Request {
    let mut request = request();
    request.messages = [Message::user(Content::text(prompt))]
        .map(Arc::new)
        .into_iter()
        .collect();
    request.config.max_tokens = Some(max_tokens);
    request
}

#[tokio::test]
#[ignore = "needs the model that `.ci/peers model` installs"]
async fn a_real_model_answers_calls_a_tool_is_cancelled_and_overflows() {
    let server = start();
    for protocol in PROTOCOLS {
        let adapter = adapter(protocol, &server);
        let mut calling = saying(CALL, 64);
        calling.system = None;
        calling.config.temperature = Some(0.into());
        calling.tools = Some(Arc::new(vec![tool("get_weather")]));
        let heard = hear(adapter.stream(calling, Signal::never())).await;
        let called = heard.said.content.tool_calls().next();
        assert!(
            called.is_some_and(|call| call.arguments.contains("Paris")),
            "{protocol:?} {heard:?}"
        );

        let heard = hear(adapter.stream(saying("Say hello.", 16), Signal::never())).await;
        assert!(heard.whole && !heard.text().is_empty(), "{protocol:?} {heard:?}");
        let usage = heard.said.usage.unwrap();
        assert!(
            usage.input_tokens + usage.cache_read_tokens.unwrap_or(0) > 0 && usage.output_tokens > 0,
            "{protocol:?}"
        );

        let mut stream = adapter.stream(saying("Tell a very long story.", 1500), Signal::never());
        for _ in 0..4 {
            assert!(stream.next().await.unwrap().is_ok());
        }
        assert!(is_busy(&server), "{protocol:?}");
        drop(stream);
        let begin = Instant::now();
        while is_busy(&server) {
            assert!(
                begin.elapsed() < Duration::from_secs(20),
                "{protocol:?}: the slot is still taken"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        println!("{protocol:?}: the slot was free after {:?}", begin.elapsed());

        let heard = hear(adapter.stream(saying(&"word ".repeat(6000), 16), Signal::never())).await;
        assert_eq!(heard.code(), "CONTEXT_WINDOW_EXCEEDED", "{protocol:?} {heard:?}");
    }
}
