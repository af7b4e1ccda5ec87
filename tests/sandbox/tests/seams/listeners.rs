//! Do listeners in components answer as native ones do, and only restrict unless they may more?

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use hames_plugin::{Capacity, LoadError, Plugin, PluginSpec, Point, Sandbox};
use hames_sandbox_tests::home::Home;
use hames_sandbox_tests::listening::{Does, Listening};
use hames_sandbox_tests::trial::narrow;
use hames_types::decision::PreToolDecision;
use hames_types::fault::Fault;
use hames_types::id::{CallId, PluginId};
use hames_types::port::listener::{Decide, Next, Rest};
use hames_types::port::registration::Registration;
use hames_types::port::seam::{Execute, ExecuteAsk, PreExecute, PreExecuteAsk};
use hames_types::signal::{Signal, SignalReason};
use hames_types::tool::{ToolCall, ToolOutcome};
use serde_json::json;

async fn load(sandbox: &Sandbox, id: &str, made: &Listening, full: &[Point]) -> Result<Plugin, LoadError> {
    let mut spec = PluginSpec::new(PluginId::new(id), made.component(id).unwrap());
    spec.limits = narrow();
    spec.limits.decide = Duration::from_millis(300);
    spec.grant.full = full.to_vec();
    sandbox.load(spec).await
}

fn pre_execute(plugin: &Plugin) -> Arc<dyn Decide<PreExecute>> {
    let mut found = plugin.listeners().into_iter().filter_map(|it| match it {
        Registration::PreExecute(listener) => Some(listener),
        _ => None,
    });
    found.next().unwrap()
}

fn asked() -> PreExecuteAsk {
    PreExecuteAsk {
        call: ToolCall {
            call_id: CallId::new("c1"),
            name: "read".into(),
            arguments: Arc::new(json!({ "path": "a" })),
            agent: None,
            at: None,
            parent: None,
        },
        signal: Signal::never(),
    }
}

/// The rest of a chain: further listeners, and what stands innermost.
struct Inside<'a> {
    listeners: &'a [Arc<dyn Decide<PreExecute>>],
    ask: &'a PreExecuteAsk,
    innermost: Result<PreToolDecision, Fault>,
    takes: Duration,
}

#[async_trait]
impl Rest<PreExecute> for Inside<'_> {
    async fn run(mut self: Box<Self>, _pass: Option<()>) -> Result<PreToolDecision, Fault> {
        match self.listeners.split_first() {
            Some((first, others)) => {
                self.listeners = others;
                first.decide(self.ask, Next::new(*self)).await
            }
            None => {
                tokio::time::sleep(self.takes).await;
                self.innermost
            }
        }
    }
}

async fn ask_around(
    listeners: &[Arc<dyn Decide<PreExecute>>],
    innermost: Result<PreToolDecision, Fault>,
) -> Result<PreToolDecision, Fault> {
    let ask = asked();
    let rest = Inside {
        listeners,
        ask: &ask,
        innermost,
        takes: Duration::ZERO,
    };
    Box::new(rest).run(None).await
}

fn deny(reason: &str) -> PreToolDecision {
    serde_json::from_value(json!({ "kind": "deny", "reason": reason }))
        .map(|value: serde_json::Value| value)
        .map(|value| hames_types::json::FromJson::from_json(value).unwrap())
        .unwrap()
}

const ALLOW: [u8; 1] = [0];

#[tokio::test]
async fn a_listener_asks_the_rest_and_hands_on_what_came_back() {
    let home = Home::new().unwrap();
    for does in [Does::Delegate, Does::DelegateTwice] {
        let made = Listening::at("on-pre-execute", does);
        let plugin = load(&home.sandbox, "made", &made, &[Point::PreExecute])
            .await
            .unwrap();
        let chain = [pre_execute(&plugin)];
        assert_eq!(ask_around(&chain, Ok(deny("no"))).await.unwrap(), deny("no"));
        assert_eq!(
            ask_around(&chain, Ok(PreToolDecision::ALLOW)).await.unwrap(),
            PreToolDecision::ALLOW
        );
        let fault = Fault::plain("from inside");
        let same = ask_around(&chain, Err(fault.clone())).await.unwrap_err();
        assert!(same.is(&fault), "{same:?}");
    }
}

#[tokio::test]
async fn without_full_authority_the_stricter_answer_counts() {
    let home = Home::new().unwrap();
    for does in [Does::Answer(ALLOW.to_vec()), Does::DelegateAnd(ALLOW.to_vec())] {
        let made = Listening::at("on-pre-execute", does);
        let plugin = load(&home.sandbox, "made", &made, &[]).await.unwrap();
        let denied = ask_around(&[pre_execute(&plugin)], Ok(deny("no"))).await.unwrap();
        assert_eq!(denied, deny("no"));
        let plugin = load(&home.sandbox, "made", &made, &[Point::PreExecute])
            .await
            .unwrap();
        let allowed = ask_around(&[pre_execute(&plugin)], Ok(deny("no"))).await.unwrap();
        assert_eq!(allowed, PreToolDecision::ALLOW);
    }
}

/// The rest takes longer than the listener may.
#[tokio::test]
async fn a_listeners_time_stands_still_while_the_rest_runs() {
    let home = Home::new().unwrap();
    let made = Listening::at("on-pre-execute", Does::Delegate);
    let plugin = load(&home.sandbox, "made", &made, &[]).await.unwrap();
    let ask = asked();
    let chain = [pre_execute(&plugin)];
    let rest = Inside {
        listeners: &chain,
        ask: &ask,
        innermost: Ok(PreToolDecision::ALLOW),
        takes: Duration::from_millis(700),
    };
    assert_eq!(Box::new(rest).run(None).await.unwrap(), PreToolDecision::ALLOW);
}

#[tokio::test]
async fn a_failing_listener_fails_closed_or_is_passed_over() {
    let home = Home::new().unwrap();
    for (does, code) in [
        (Does::Trap, "PLUGIN_TRAP"),
        (Does::Loop, "PLUGIN_DEADLINE"),
        (Does::Wait, "PLUGIN_DEADLINE"),
        (Does::Lie, "PLUGIN_BROKEN"),
        (Does::Fail(3 << 20), "PLUGIN_LIMIT_CROSSING"),
    ] {
        let made = Listening::at("on-pre-execute", does.clone());
        let plugin = load(&home.sandbox, "made", &made, &[]).await.unwrap();
        let begun = Instant::now();
        let fault = ask_around(&[pre_execute(&plugin)], Ok(PreToolDecision::ALLOW))
            .await
            .unwrap_err();
        assert_eq!(fault.trusted_code(), Some(code), "{does:?}: {}", fault.chain());
        assert!(begun.elapsed() < Duration::from_secs(5));
        let mut spec = PluginSpec::new(PluginId::new("made"), made.component("made").unwrap());
        spec.limits = narrow();
        spec.limits.decide = Duration::from_millis(300);
        spec.open = vec![Point::PreExecute];
        let open = home.sandbox.load(spec).await.unwrap();
        let passed = ask_around(&[pre_execute(&open)], Ok(deny("no"))).await.unwrap();
        assert_eq!(passed, deny("no"));
    }
}

#[tokio::test]
async fn where_answers_have_no_order_full_authority_is_needed() {
    let home = Home::new().unwrap();
    for interface in [
        "on-session-prefix",
        "on-prompt-assemble",
        "on-request",
        "on-step-result",
        "on-execute",
        "on-request-error",
    ] {
        let made = Listening::at(interface, Does::Delegate);
        let refused = load(&home.sandbox, "made", &made, &[]).await.unwrap_err();
        assert_eq!(refused.problem.code(), "PLUGIN_AUTHORITY", "{interface}");
        let point = Point::from_word(interface.trim_start_matches("on-")).unwrap();
        load(&home.sandbox, "made", &made, &[point]).await.unwrap();
    }
}

/// With two places and listeners that all wait for each other's inside.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chains_longer_than_there_are_places_finish() {
    let home = Home::new().unwrap();
    let capacity = Capacity {
        calls: 2,
        waiting: 64,
    };
    let sandbox = Sandbox::with_capacity(home.services(), None, capacity).unwrap();
    let made = Listening::at("on-pre-execute", Does::Delegate);
    let plugin = load(&sandbox, "made", &made, &[]).await.unwrap();
    let chain: Arc<Vec<_>> = Arc::new((0..4).map(|_| pre_execute(&plugin)).collect());
    let begun = Instant::now();
    let sessions: Vec<_> = (0..16)
        .map(|_| {
            let chain = Arc::clone(&chain);
            tokio::spawn(async move { ask_around(&chain, Ok(PreToolDecision::ALLOW)).await })
        })
        .collect();
    for session in sessions {
        assert_eq!(session.await.unwrap().unwrap(), PreToolDecision::ALLOW);
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

/// `next` is lent for one call: neither kept, nor made up.
#[tokio::test]
async fn a_handle_that_is_kept_or_made_up_costs_the_call() {
    let home = Home::new().unwrap();
    for body in [
        "(memory.fill (i32.const 4096) (i32.const 0) (i32.const 64)) (i32.const 4096)",
        "(call $run-pre-execute (i32.const 77) (i32.const 4096)) (call $drop-pre-execute (local.get $next)) (i32.const 4096)",
        "(call $drop-pre-execute (local.get $next)) (call $run-pre-execute (local.get $next) (i32.const 4096)) (i32.const 4096)",
    ] {
        let made = Listening::at("on-pre-execute", Does::Body(body.to_owned()));
        let plugin = load(&home.sandbox, "made", &made, &[Point::PreExecute])
            .await
            .unwrap();
        let fault = ask_around(&[pre_execute(&plugin)], Ok(PreToolDecision::ALLOW))
            .await
            .unwrap_err();
        let code = fault.trusted_code().unwrap();
        assert!(
            ["PLUGIN_BROKEN", "PLUGIN_TRAP"].contains(&code),
            "{}",
            fault.chain()
        );
    }
}

/// An innermost body that ends when it is told to.
struct Obedient;

#[async_trait]
impl Rest<Execute> for Obedient {
    async fn run(self: Box<Self>, pass: Option<Signal>) -> Result<ToolOutcome, Fault> {
        let signal = pass.unwrap_or_else(Signal::never);
        signal.raised().await;
        assert_eq!(signal.reason(), Some(SignalReason::Deadline));
        Ok(ToolOutcome::error("told to end", None))
    }
}

#[tokio::test]
async fn a_listener_gives_everyone_inside_a_deadline() {
    let home = Home::new().unwrap();
    let body = "(call $run-with (local.get $next) (i64.const 200) (i32.const 4096))
        (call $drop-execute (local.get $next)) (i32.const 4096)";
    let made = Listening {
        imports: r#"(import "hames:plugin/next@0.1.0" "[method]next-execute.run-with" (func $run-with (param i32 i64 i32)))"#.to_owned(),
        ..Listening::at("on-execute", Does::Body(body.to_owned()))
    };
    let plugin = load(&home.sandbox, "made", &made, &[Point::Execute])
        .await
        .unwrap();
    let listener = plugin.listeners().into_iter().find_map(|it| match it {
        Registration::Execute(listener) => Some(listener),
        _ => None,
    });
    let ask = ExecuteAsk {
        call: asked().call,
        timeout_ms: None,
        signal: Signal::never(),
    };
    let begun = Instant::now();
    let outcome = listener.unwrap().decide(&ask, Next::new(Obedient)).await.unwrap();
    assert_eq!(outcome.content.joined_text(), "Error: told to end");
    assert!(begun.elapsed() >= Duration::from_millis(200));
}
