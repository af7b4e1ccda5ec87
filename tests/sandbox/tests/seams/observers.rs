//! Are observers told what they asked for, quickly, and what may they do about it?

use std::sync::Arc;
use std::time::{Duration, Instant};

use hames_plugin::{Level, PluginSpec};
use hames_sandbox_tests::listening::{Does, Listening};
use hames_types::fault::Fault;
use hames_types::id::PluginId;
use hames_types::port::listener::Observe;
use hames_types::port::notice::Queued;
use hames_types::port::plugin::PluginStore;
use hames_types::port::registration::Registration;
use hames_types::turn::TurnEndReason;
use parking_lot::Mutex;

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

/// An observer of the inbox that counts how often it is told, and then does this; `SEND` puts into the inbox.
fn echo(does: &str) -> PluginSpec {
    let send = format!(
        "(call $send (i32.const 6000) (i32.const 0) {} (i32.const 7100))",
        "(i32.const 0) ".repeat(NOBODY)
    );
    let count = "(call $increment (i32.const 6000) (i32.const 1) (i64.const 1) (i32.const 7000))";
    let made = Listening {
        imports: format!(
            r#"(import "hames:plugin/agent@0.1.0" "send" (func $send (param {})))
            (import "hames:plugin/kv@0.1.0" "increment" (func $increment (param i32 i32 i64 i32)))"#,
            "i32 ".repeat(2 + NOBODY + 1)
        ),
        more: r#"(data (i32.const 6000) "n")"#.to_owned(),
        ..Listening::at(
            "on-queued",
            Does::After(format!("{count} {}", does.replace("SEND", &send)), Vec::new()),
        )
    };
    let mut spec = spec("echo", &made);
    spec.grant.agent.send = true;
    spec.grant.kv = true;
    spec
}

fn counted(stage: &Stage) -> usize {
    let counted = stage.home.store.get(&PluginId::new("echo"), "n").unwrap();
    String::from_utf8(counted.unwrap()).unwrap().parse().unwrap()
}

/// Core parameters of `send` behind the content that mean: no source, no contexts.
const NOBODY: usize = 9;

/// Stands before an observer and keeps what it comes to.
struct Heard {
    inner: Arc<dyn Observe<Queued>>,
    codes: Arc<Mutex<Vec<Option<String>>>>,
}

impl Observe<Queued> for Heard {
    fn observe(&self, notice: &Queued) -> Result<(), Fault> {
        let told = self.inner.observe(notice);
        let code = told.as_ref().err().and_then(Fault::code).map(str::to_owned);
        self.codes.lock().push(code);
        told
    }
}

/// Loads it, and says one thing to an agent; what each telling came to, the innermost first.
async fn echoed(stage: &Stage, spec: PluginSpec) -> Vec<Option<String>> {
    let plugin = stage.sandbox.load(spec).await.unwrap();
    let codes = Arc::<Mutex<Vec<Option<String>>>>::default();
    for listener in plugin.listeners() {
        let Registration::Queued(inner) = listener else {
            panic!("another listener")
        };
        let heard = Registration::Queued(Arc::new(Heard {
            inner,
            codes: Arc::clone(&codes),
        }));
        stage.agents.services().register(None, heard).unwrap();
    }
    let run = stage.run().await;
    assert!(run.is_balanced());
    assert!(matches!(run.end(), TurnEndReason::Completed(_)));
    codes.lock().clone()
}

#[tokio::test]
async fn an_observer_that_brings_about_what_it_observes_ends() {
    let refused = Some("PLUGIN_LIMIT_NESTED".to_owned());
    for (limit, depth) in [(0, 1), (3, 4), (16, 17), (1_000, 17)] {
        let stage = Stage::new();
        let mut spec = echo("SEND");
        spec.limits.nested = limit;
        spec.limits.observe = Duration::from_secs(5);
        let codes = echoed(&stage, spec).await;
        assert_eq!(counted(&stage), depth, "limit {limit}");
        assert_eq!(codes.len(), depth + 1, "limit {limit}");
        assert_eq!(codes[0], refused, "limit {limit}");
        assert_eq!(codes[1..], vec![None; depth], "limit {limit}");
        stage.close().await;
    }
}

/// As often as it may at each level: what a level may do is bounded by the time of the one around it.
#[tokio::test]
async fn an_observer_that_multiplies_what_it_observes_ends() {
    let stage = Stage::new();
    let begun = Instant::now();
    echoed(&stage, echo(&"SEND ".repeat(64))).await;
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    stage.close().await;
}

#[tokio::test]
async fn a_call_asks_no_more_of_its_agent_than_it_may() {
    let stage = Stage::new();
    let mut spec = echo(&"SEND ".repeat(70));
    spec.limits.nested = 0;
    spec.limits.observe = Duration::from_secs(5);
    let limit = spec.limits.verbs;
    stage.add(spec).await.unwrap();
    let run = stage.run().await;
    assert_eq!(run.of("turn/start").len(), 1 + limit);
    assert!(run.is_balanced());
    stage.close().await;
}

/// Every second time it is told, it is by its own doing and brief.
#[tokio::test]
async fn an_observer_that_spins_is_switched_off_whatever_it_tells_itself() {
    let stage = Stage::new();
    let mut spec = echo(
        "(if (i64.eqz (i64.and (i64.load (i32.const 7008)) (i64.const 1)))
            (then) (else SEND (loop $on (br $on))))",
    );
    spec.limits.observe = Duration::from_millis(100);
    stage.add(spec).await.unwrap();
    for _ in 0..6 {
        stage.run().await;
    }
    // Three times two; fewer on a machine that is too busy for the brief ones.
    let told = counted(&stage);
    assert!((3..=6).contains(&told), "{told}");
    stage.close().await;
}
