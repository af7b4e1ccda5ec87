//! How do calls go: fresh, side by side, cancelled, checked?

use std::sync::Arc;
use std::time::{Duration, Instant};

use hames_plugin::PluginSpec;
use hames_sandbox_tests::attacks::armed;
use hames_sandbox_tests::guests;
use hames_sandbox_tests::handmade::Module;
use hames_sandbox_tests::home::{Home, call, first_tool, quiet};
use hames_sandbox_tests::trial::narrow;
use hames_types::id::PluginId;
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::signal::{SignalReason, Trigger};
use serde_json::json;

async fn tool_of(home: &Home, module: Module) -> Arc<dyn Tool> {
    let mut spec = PluginSpec::new(PluginId::new("made"), module.component().unwrap());
    spec.limits = narrow();
    spec.limits.call = Duration::from_secs(20);
    let plugin = home.sandbox.load(spec).await.unwrap();
    first_tool(&plugin).unwrap()
}

fn waiting(attack: &str) -> Module {
    Module {
        imports: r#"(import "hames:plugin/wait@0.1.0" "sleep" (func $sleep (param i64) (result i32)))
            (import "hames:plugin/wait@0.1.0" "until-aborted" (func $until_aborted))"#
            .to_owned(),
        execute: armed(attack),
        ..Module::default()
    }
}

/// A second call would see the first one's mark.
#[tokio::test]
async fn nothing_in_memory_outlives_a_call() {
    let home = Home::new().unwrap();
    let module = Module {
        execute: "(if (i32.load (i32.const 6000)) (then (unreachable)))
            (i32.store (i32.const 6000) (i32.const 1))
            (call $answer (i32.const 2304) (i32.const 2))"
            .to_owned(),
        ..Module::default()
    };
    let tool = tool_of(&home, module).await;
    for _ in 0..5 {
        tool.execute(&call(&tool, json!({})), &quiet()).await.unwrap();
    }
}

#[tokio::test]
async fn calls_of_one_plugin_run_side_by_side() {
    let home = Home::new().unwrap();
    let tool = tool_of(
        &home,
        waiting("(drop (call $sleep (i64.const 300))) (call $answer (i32.const 2304) (i32.const 2))"),
    )
    .await;
    let begun = Instant::now();
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let tool = Arc::clone(&tool);
            tokio::spawn(async move {
                tool.execute(&call(&tool, json!({ "wait": true })), &quiet())
                    .await
            })
        })
        .collect();
    for done in calls {
        done.await.unwrap().unwrap();
    }
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

async fn cancelled(tool: &Arc<dyn Tool>) -> (Result<String, String>, Duration) {
    let trigger = Trigger::new();
    let run = ToolRun::new(trigger.signal());
    let asked = call(tool, json!({ "wait": true }));
    let (answer, took) = tokio::join!(tool.execute(&asked, &run), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        trigger.raise(SignalReason::Withdrawn);
        let begun = Instant::now();
        tokio::task::yield_now().await;
        begun
    });
    let answer = answer
        .map(|output| output.content.joined_text())
        .map_err(|fault| fault.code().unwrap_or_default().to_owned());
    (answer, took.elapsed())
}

#[tokio::test]
async fn a_cancelled_call_may_still_answer() {
    let home = Home::new().unwrap();
    let tool = tool_of(
        &home,
        waiting("(call $until_aborted) (call $answer (i32.const 2304) (i32.const 2))"),
    )
    .await;
    let (answer, took) = cancelled(&tool).await;
    assert_eq!(answer, Ok("ok".to_owned()));
    assert!(took < Duration::from_secs(2));
}

#[tokio::test]
async fn a_call_that_ignores_its_cancellation_is_dropped() {
    let home = Home::new().unwrap();
    for stubborn in [
        "(loop $on (br $on)) (unreachable)",
        "(loop $on (drop (call $sleep (i64.const 5))) (br $on)) (unreachable)",
    ] {
        let tool = tool_of(&home, waiting(stubborn)).await;
        let (answer, took) = cancelled(&tool).await;
        assert_eq!(answer, Err("ABORTED".to_owned()), "{stubborn}");
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}

#[tokio::test]
async fn arguments_are_checked_before_the_guest_sees_them() {
    let home = Home::new().unwrap();
    let plugin = home.load("hello", guests::plain("hello").unwrap()).await.unwrap();
    let tool = first_tool(&plugin).unwrap();
    for (arguments, message) in [
        (json!({}), "invalid arguments: missing required property \"name\""),
        (
            json!({ "name": 5 }),
            "invalid arguments: \"name\" must be a string",
        ),
        (json!("Ada"), "invalid arguments: \"arguments\" must be an object"),
    ] {
        let fault = tool.execute(&call(&tool, arguments), &quiet()).await.unwrap_err();
        assert_eq!(fault.message(), message);
        assert_eq!(fault.trusted_code(), Some("INVALID_ARGS"));
    }
}

#[tokio::test]
async fn a_dropped_call_gives_its_place_back() {
    let home = Home::new().unwrap();
    let tool = tool_of(&home, waiting("(call $until_aborted) (unreachable)")).await;
    // More than there are places.
    for _ in 0..30 {
        let calls = (0..100).map(|_| {
            let tool = Arc::clone(&tool);
            tokio::spawn(async move {
                tool.execute(&call(&tool, json!({ "wait": true })), &quiet())
                    .await
            })
        });
        let calls: Vec<_> = calls.collect();
        tokio::time::sleep(Duration::from_millis(5)).await;
        for call in calls {
            call.abort();
        }
    }
    tool.execute(&call(&tool, json!({})), &quiet()).await.unwrap();
}
