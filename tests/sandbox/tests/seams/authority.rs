//! Does a listener get through what it may not, and does each component reach its own grants alone?

use hames_plugin::{AgentGrant, Capacity, Grant, Ledger, Point, SessionGrant};
use hames_sandbox_tests::answer::Answer;
use hames_sandbox_tests::handmade::Module;
use hames_sandbox_tests::listening::{Does, Listening};
use hames_types::id::PluginId;
use hames_types::port::plugin::PluginStore;
use hames_types::turn::TurnEndReason;

use crate::stage::{Stage, spec};

/// An answer of a kind with content: the case, and some blocks.
fn with_content(case: u8) -> (Vec<u8>, String) {
    let mut answer = Answer::default();
    let block = answer.text(b"smuggled");
    let (at, count) = answer.list(&[block]);
    let mut bytes = vec![case, 0, 0, 0, 1, 0, 0, 0];
    bytes.extend(at.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    (bytes, answer.data())
}

async fn texts(interface: &'static str, full: &[Point]) -> (String, String) {
    let stage = Stage::with("native", Capacity::default(), Some(Ledger::new()));
    let (bytes, data) = with_content(0);
    let made = Listening {
        more: data,
        ..Listening::at(interface, Does::Answer(bytes))
    };
    let mut spec = spec("made", &made);
    spec.grant.full = full.to_vec();
    stage.add(spec).await.unwrap();
    let run = stage.run().await;
    assert!(
        matches!(run.end(), TurnEndReason::Completed(_)),
        "{:?}",
        run.end()
    );
    let said = run.of("user/message")[0]["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    let result = run.result().unwrap().content.joined_text();
    stage.close().await;
    (said, result)
}

#[tokio::test]
async fn content_goes_through_with_full_authority_alone() {
    let pair = |said: &str, result: &str| (said.to_owned(), result.to_owned());
    assert_eq!(texts("on-prompt-submit", &[]).await, pair("go", "ok"));
    assert_eq!(
        texts("on-prompt-submit", &[Point::PromptSubmit]).await,
        pair("smuggled", "ok")
    );
    assert_eq!(texts("on-post-execute", &[]).await, pair("go", "ok"));
    assert_eq!(
        texts("on-post-execute", &[Point::PostExecute]).await,
        pair("go", "smuggled")
    );
}

#[tokio::test]
async fn a_turn_is_kept_going_with_full_authority_alone() {
    for (full, ended) in [
        (vec![], None),
        (vec![Point::TurnContinuation], Some("CONTINUATION_LIMIT")),
    ] {
        let stage = Stage::new();
        let made = Listening::at("on-turn-continuation", Does::Answer(vec![1, 0, 0, 0, 0]));
        let mut spec = spec("made", &made);
        spec.grant.full = full;
        stage.add(spec).await.unwrap();
        let run = stage.run().await;
        assert_eq!(run.error(), ended);
        stage.close().await;
    }
}

/// Calls one import and hands on what the rest says.
fn calling(import: &str, code: &str, want: &str) -> Listening {
    Listening {
        imports: import.to_owned(),
        more: r#"(data (i32.const 6000) "n")"#.to_owned(),
        manifest: format!(
            r#"{{"id":"{{}}","version":"1.0.0","wants":[{{"grant":"{want}","reason":"a test"}}]}}"#
        ),
        ..Listening::at("on-pre-execute", Does::AndDelegate(code.to_owned()))
    }
}

#[tokio::test]
async fn three_components_in_a_chain_reach_their_own_grants_alone() {
    let stage = Stage::new();
    let everything = || Grant {
        kv: true,
        session: SessionGrant {
            read: true,
            ..SessionGrant::default()
        },
        agent: AgentGrant {
            send: true,
            ..AgentGrant::default()
        },
        ..Grant::default()
    };
    let calls = [
        (
            r#"(import "hames:plugin/kv@0.1.0" "increment" (func $import (param i32 i32 i64 i32)))"#,
            "(call $import (i32.const 6000) (i32.const 1) (i64.const 1) (i32.const 7000))",
            "kv",
        ),
        (
            r#"(import "hames:plugin/session@0.1.0" "describe" (func $import (param i32)))"#,
            "(call $import (i32.const 7000)) (if (i32.load8_u (i32.const 7000)) (then (unreachable)))",
            "session",
        ),
        (
            // Only `send` is granted, so this is refused with an error value.
            r#"(import "hames:plugin/agent@0.1.0" "cancel" (func $import (param i32)))"#,
            "(call $import (i32.const 7000)) (if (i32.eqz (i32.load8_u (i32.const 7000))) (then (unreachable)))",
            "agent",
        ),
    ];
    for (import, code, want) in calls {
        let mut own = spec(want, &calling(import, code, want));
        own.grant = everything();
        stage.add(own).await.unwrap();
        // Whatever the operator grants: what its manifest doesn't want it doesn't get.
        for other in ["kv", "session", "agent"]
            .into_iter()
            .filter(|other| *other != want)
        {
            let mut thief = spec("thief", &calling(import, code, other));
            thief.grant = everything();
            let refused = stage.sandbox.load(thief).await.unwrap_err();
            assert_eq!(refused.problem.code(), "PLUGIN_NOT_WANTED", "{want} by {other}");
        }
        let mut ungranted = spec("poor", &calling(import, code, want));
        ungranted.grant = Grant::default();
        let refused = stage.sandbox.load(ungranted).await.unwrap_err();
        assert_eq!(refused.problem.code(), "PLUGIN_NOT_GRANTED", "{want}");
    }
    let run = stage.run().await;
    assert!(!run.result().unwrap().is_error, "{:?}", run.result());
    let counted = stage.home.store.get(&PluginId::new("kv"), "n").unwrap();
    assert_eq!(counted.as_deref(), Some(&b"1"[..]));
    stage.close().await;
}

/// Its listener stands around its own tool; each call has an instance of its own.
#[tokio::test]
async fn a_plugin_delegates_into_its_own_tool() {
    let capacity = Capacity { calls: 1, waiting: 4 };
    let stage = Stage::with("t", capacity, None);
    let made = Listening {
        tools: Some(Module::default()),
        exports: vec![
            ("on-execute", Does::Delegate),
            ("on-pre-execute", Does::Delegate),
            ("on-post-execute", Does::Delegate),
        ],
        ..Listening::default()
    };
    stage.add(spec("both", &made)).await.unwrap();
    let run = stage.run().await;
    assert!(
        matches!(run.end(), TurnEndReason::Completed(_)),
        "{:?}",
        run.end()
    );
    assert_eq!(run.result().unwrap().content.joined_text(), "ok");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_sessions_use_one_listener_at_once() {
    let capacity = Capacity {
        calls: 4,
        waiting: 64,
    };
    let stage = std::sync::Arc::new(Stage::with("t", capacity, None));
    let made = Listening {
        tools: Some(Module::default()),
        exports: vec![
            ("on-execute", Does::Delegate),
            ("on-prompt-submit", Does::Delegate),
        ],
        ..Listening::default()
    };
    let mut spec = spec("both", &made);
    // Under load every call waits for a place.
    spec.limits.decide = std::time::Duration::from_secs(20);
    spec.limits.call = std::time::Duration::from_secs(20);
    stage.add(spec).await.unwrap();
    let begun = std::time::Instant::now();
    let runs: Vec<_> = (0..16)
        .map(|_| {
            let stage = std::sync::Arc::clone(&stage);
            tokio::spawn(async move { stage.run().await })
        })
        .collect();
    for run in runs {
        let run = run.await.unwrap();
        assert_eq!(run.result().unwrap().content.joined_text(), "ok");
        assert!(run.is_balanced());
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(20));
    stage.agents.close().await;
}
