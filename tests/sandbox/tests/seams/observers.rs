//! Are observers told what they asked for, quickly, and what may they do about it?

use hames_plugin::Level;
use hames_sandbox_tests::listening::{Does, Listening};
use hames_types::id::PluginId;
use hames_types::port::plugin::PluginStore;
use hames_types::turn::TurnEndReason;

use crate::stage::{Stage, spec};

fn counting(manifest_events: &str) -> Listening {
    Listening {
        imports: r#"(import "hames:plugin/kv@0.1.0" "increment" (func $increment (param i32 i32 i64 i32)))"#
            .to_owned(),
        more: r#"(data (i32.const 6000) "n")"#.to_owned(),
        manifest: format!(
            r#"{{"id":"{{}}","version":"1.0.0","wants":[{{"grant":"kv","reason":"counts"}}],"events":{manifest_events}}}"#
        ),
        ..Listening::at(
            "on-session-event",
            Does::After(
                "(call $increment (i32.const 6000) (i32.const 1) (i64.const 1) (i32.const 7000))".to_owned(),
                Vec::new(),
            ),
        )
    }
}

#[tokio::test]
async fn an_observer_is_told_the_kinds_it_named_and_no_other() {
    let stage = Stage::new();
    let mut spec_ = spec("counter", &counting(r#"["step/start", "assistant/message"]"#));
    spec_.grant.kv = true;
    stage.add(spec_).await.unwrap();
    let run = stage.run().await;
    let wanted = run.of("step/start").len() + run.of("assistant/message").len();
    let counted = stage
        .home
        .store
        .get(&PluginId::new("counter"), "n")
        .unwrap()
        .unwrap();
    assert_eq!(String::from_utf8(counted).unwrap(), wanted.to_string());
    stage.close().await;
}

#[tokio::test]
async fn an_observer_of_events_that_names_no_kinds_is_refused() {
    let stage = Stage::new();
    let mut spec_ = spec("counter", &counting("[]"));
    spec_.grant.kv = true;
    let refused = stage.sandbox.load(spec_).await.unwrap_err();
    assert_eq!(refused.problem.code(), "PLUGIN_NO_FILTER");
}

#[tokio::test]
async fn an_observer_that_spins_is_switched_off_and_reported_once() {
    let stage = Stage::new();
    stage
        .add(spec("spinner", &Listening::at("on-session-event", Does::Loop)))
        .await
        .unwrap();
    for _ in 0..6 {
        let run = stage.run().await;
        assert!(matches!(run.end(), TurnEndReason::Completed(_)));
    }
    let lines = stage.home.diary.lines.lock().clone();
    let reports: Vec<_> = lines
        .iter()
        .filter(|(plugin, level, text)| {
            plugin == "spinner" && *level == Level::Error && text.contains("isn't told any more")
        })
        .collect();
    assert_eq!(reports.len(), 1, "{lines:?}");
    stage.close().await;
}

/// A cancellation from inside an append takes effect when the loop gets to it.
#[tokio::test]
async fn an_observer_cancels_the_turn_it_is_told_of() {
    let stage = Stage::new();
    let made = Listening {
        imports: r#"(import "hames:plugin/agent@0.1.0" "cancel" (func $cancel (param i32)))"#.to_owned(),
        ..Listening::at(
            "on-session-event",
            Does::After("(call $cancel (i32.const 7000))".to_owned(), Vec::new()),
        )
    };
    let mut spec = spec("canceller", &made);
    spec.grant.agent.cancel = true;
    stage.add(spec).await.unwrap();
    let run = stage.run().await;
    assert!(matches!(run.end(), TurnEndReason::Aborted(_)), "{:?}", run.end());
    assert!(run.is_balanced());
    stage.close().await;
}
