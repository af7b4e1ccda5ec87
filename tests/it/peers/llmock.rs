//! Against `llmock`, which breaks its answers and then judges who asked.

use std::process::Command;
use std::time::Duration;

use hames_agent::retry::RetryConfig;
use hames_llm::Adapter;
use hames_llm::http::HttpSettings;
use hames_llm::limits::Limits;
use hames_types::json::Json;
use serde_json::json;

use super::super::adapters::protocols::Protocol;
use super::agent::{Turn, agent, turn};
use super::process::{Server, installed};

const PROTOCOLS: [Protocol; 4] = [
    Protocol::Compatible,
    Protocol::Messages,
    Protocol::Responses,
    Protocol::Gemini,
];

fn start() -> Server {
    let mut command = Command::new(installed("python/bin/llmock"));
    command.arg("serve");
    Server::start(&mut command, |command, port| {
        command.arg("-p").arg(port.to_string());
        // As slow as a model: else an answer is written before anybody can stop reading it, which the judge would hold
        // against whoever did.
        command.args(["--stream-chunk-delay-ms", "50"]);
    })
}

fn adapter(protocol: Protocol, server: &Server) -> Adapter {
    let base = match protocol {
        Protocol::DeepSeek | Protocol::Compatible | Protocol::Responses => server.url("/v1"),
        Protocol::Messages => server.url("/anthropic"),
        Protocol::Gemini => server.url("/gemini"),
    };
    let limits = Limits {
        idle: Duration::from_secs(2),
        ..Limits::default()
    };
    let settings = HttpSettings {
        limits,
        ..HttpSettings::default()
    };
    protocol.adapter(&base, &settings).unwrap()
}

fn model(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::DeepSeek | Protocol::Compatible | Protocol::Responses => "gpt-4o",
        Protocol::Messages => "claude-sonnet-4-5",
        Protocol::Gemini => "gemini-2.5-flash",
    }
}

/// Tries again whatever a new try may heal, broken streams included.
fn patient() -> RetryConfig {
    let mut config = RetryConfig {
        max_transient_retries: 3,
        // Long enough for the judge to have finished with the failed attempt.
        initial_delay_ms: 500.0,
        ..RetryConfig::default()
    };
    config
        .retryable_codes
        .extend(["STREAM_CLOSED".into(), "MALFORMED_RESPONSE".into()]);
    config
}

async fn ask(protocol: Protocol, server: &Server, behaviours: &[Json], tools: bool) -> Turn {
    server.post("/_llmock/scenario", &json!({ "behaviors": behaviours }));
    let agent = agent(adapter(protocol, server), model(protocol), patient(), tools).await;
    turn(&agent, "hello there, how are you?").await
}

fn verdict(server: &Server) -> (bool, String) {
    let report = Command::new(installed("python/bin/llmock"))
        .args(["report", "--strict", "--url", &server.url("")])
        .output()
        .unwrap();
    (
        report.status.success(),
        String::from_utf8_lossy(&report.stdout).into_owned(),
    )
}

#[tokio::test]
#[ignore = "needs the servers that `.ci/peers` installs"]
async fn the_strict_judge_finds_no_fault_with_us() {
    let server = start();
    let fault =
        |kind: &str| json!({ "type": "stream_fault", "kind": kind, "after_chunks": 2, "stall_seconds": 5 });
    for protocol in PROTOCOLS {
        let refusals = [
            json!({ "type": "fail", "status": 429, "retry_after": 1, "times": 1 }),
            json!({ "type": "fail", "status": 500, "times": 1 }),
        ];
        let turn = ask(protocol, &server, &refusals, false).await;
        assert_eq!(
            (turn.end["kind"].as_str(), turn.retries.len()),
            (Some("completed"), 2),
            "{protocol:?} {turn:?}"
        );
        assert!(turn.retries[0].as_f64() >= Some(1000.0), "{protocol:?} {turn:?}");
        for kind in ["disconnect", "truncate", "malformed", "stall"] {
            let turn = ask(protocol, &server, &[fault(kind)], false).await;
            let outcome = (turn.end["kind"].as_str(), turn.retries.len());
            assert_eq!(outcome, (Some("completed"), 1), "{protocol:?} {kind} {turn:?}");
        }
        let broken_call = [json!({ "type": "tool_fault", "kind": "malformed_arguments" })];
        let turn = ask(protocol, &server, &broken_call, true).await;
        assert_eq!(turn.end["kind"], "completed", "{protocol:?} {turn:?}");
        assert!(!turn.calls.is_empty(), "{protocol:?} {turn:?}");
    }
    let (passed, report) = verdict(&server);
    println!("{report}");
    assert!(passed, "{report}");
}
