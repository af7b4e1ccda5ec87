//! Against `@copilotkit/aimock`: every protocol, from a script.

use std::process::Command;

use hames_agent::retry::RetryConfig;
use hames_llm::Adapter;

use super::super::adapters::protocols::Protocol;
use super::agent::{Turn, agent, turn};
use super::process::{Server, installed, root};

const PROTOCOLS: [Protocol; 4] = [
    Protocol::DeepSeek,
    Protocol::Messages,
    Protocol::Responses,
    Protocol::Gemini,
];

fn start() -> Server {
    let mut command = Command::new("node");
    command.arg(installed("node_modules/@copilotkit/aimock/dist/cli.js"));
    Server::start(&mut command, |command, port| {
        command
            .arg("-p")
            .arg(port.to_string())
            .arg("-f")
            .arg(root().join("tests/peers/aimock.json"));
        command.args(["--validate-on-load", "--strict"]);
    })
}

fn adapter(protocol: Protocol, server: &Server) -> Adapter {
    let base = match protocol {
        Protocol::DeepSeek | Protocol::Compatible | Protocol::Responses => server.url("/v1"),
        Protocol::Messages | Protocol::Gemini => server.url(""),
    };
    protocol.adapter(&base, &Protocol::settings()).unwrap()
}

fn model(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::DeepSeek | Protocol::Compatible => "deepseek-reasoner",
        Protocol::Messages => "claude-sonnet-4",
        Protocol::Responses => "o4-mini",
        Protocol::Gemini => "gemini-2.5-flash",
    }
}

fn once() -> RetryConfig {
    RetryConfig {
        max_transient_retries: 0,
        ..RetryConfig::default()
    }
}

async fn ask(protocol: Protocol, server: &Server, prompt: &str, tools: bool) -> Turn {
    let agent = agent(adapter(protocol, server), model(protocol), once(), tools).await;
    turn(&agent, prompt).await
}

#[tokio::test]
#[ignore = "needs the servers that `.ci/peers` installs"]
async fn answers_thoughts_and_rounds_of_tools_come_through_in_every_protocol() {
    let server = start();
    for protocol in PROTOCOLS {
        let plain = ask(protocol, &server, "plain", false).await;
        assert_eq!(
            plain.text, "Hello from another author's server.",
            "{protocol:?} {plain:?}"
        );
        let reason = ask(protocol, &server, "reason", false).await;
        assert_eq!(
            (reason.text.as_str(), reason.reasoning),
            ("The answer is 42.", true),
            "{protocol:?} {reason:?}"
        );
        let weather = ask(protocol, &server, "weather", true).await;
        assert_eq!(
            weather.calls,
            [r#"{"city":"Paris"}"#, r#"{"city":"Rome"}"#],
            "{protocol:?} {weather:?}"
        );
        assert!(weather.text.ends_with("Sunny."), "{protocol:?} {weather:?}");
        assert_eq!(weather.end["kind"], "completed", "{protocol:?}");
    }
    let journal = server.get("/__aimock/journal");
    assert!(
        journal.contains("get_weather") && journal.contains("sunny, asked with"),
        "{journal}"
    );
}

#[tokio::test]
#[ignore = "needs the servers that `.ci/peers` installs"]
async fn every_failure_has_its_code_in_every_protocol() {
    let server = start();
    for protocol in PROTOCOLS {
        for (prompt, codes) in [
            ("limit", &["RATE_LIMIT"][..]),
            ("boom", &["SERVER"]),
            ("drop", &["TRANSPORT", "STREAM_CLOSED"]),
            ("garbled", &["MALFORMED_RESPONSE", "STREAM_CLOSED"]),
            ("hangup", &["TRANSPORT", "STREAM_CLOSED"]),
            ("nobody scripted this", &["SERVER"]),
        ] {
            let turn = ask(protocol, &server, prompt, false).await;
            let code = turn.end["failure"]["code"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            assert!(codes.contains(&code.as_str()), "{protocol:?} {prompt} {turn:?}");
            if prompt == "limit" {
                assert_eq!(
                    turn.end["failure"]["providerRetryAfterMs"], 2000,
                    "{protocol:?} {turn:?}"
                );
            }
        }
    }
}
