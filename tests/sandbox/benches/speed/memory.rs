//! How much memory do 1,000 calls take that are all under way?

use std::sync::Arc;
use std::time::Duration;

use hames_plugin::PluginSpec;
use hames_sandbox_tests::guests;
use hames_sandbox_tests::handmade::Module;
use hames_sandbox_tests::home::{Home, call, first_tool};
use hames_sandbox_tests::rounds::resident;
use hames_types::id::PluginId;
use hames_types::json::Json;
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::signal::{SignalReason, Trigger};
use serde_json::json;

const CALLS: usize = 1_000;

fn waiting() -> Module {
    Module {
        imports: r#"(import "hames:plugin/wait@0.1.0" "until-aborted" (func $until_aborted))"#.to_owned(),
        execute: "(call $until_aborted) (call $answer (i32.const 2304) (i32.const 2))".to_owned(),
        ..Module::default()
    }
}

async fn in_flight(what: &str, tool: Arc<dyn Tool>, arguments: Json) {
    let trigger = Trigger::new();
    let before = resident().unwrap();
    let calls: Vec<_> = (0..CALLS)
        .map(|_| {
            let (tool, run) = (Arc::clone(&tool), ToolRun::new(trigger.signal()));
            let asked = call(&tool, arguments.clone());
            tokio::spawn(async move { tool.execute(&asked, &run).await.is_ok() })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let during = resident().unwrap();
    assert!(calls.iter().all(|call| !call.is_finished()), "all are under way");
    trigger.raise(SignalReason::Withdrawn);
    for call in calls {
        call.await.unwrap();
    }
    let after = resident().unwrap();
    let kib = |bytes: usize, less: usize| bytes.saturating_sub(less) >> 10;
    println!(
        "| {what} | {} KiB | {:.1} KiB | {} KiB |",
        kib(during, before),
        kib(during, before) as f64 / CALLS as f64,
        kib(after, before)
    );
}

pub(crate) async fn run() {
    let home = Home::new().unwrap();
    println!("\n| {CALLS} calls under way | more resident | each | kept afterwards |");
    println!("|---|---|---|---|");
    let plugin = home
        .load("waiting", waiting().component().unwrap())
        .await
        .unwrap();
    in_flight("a guest of two pages", first_tool(&plugin).unwrap(), json!({})).await;
    let mut spec = PluginSpec::new(PluginId::new("reach"), guests::wasip2("reach").unwrap());
    spec.grant.clocks = Some(hames_plugin::Clocks::Real);
    spec.grant.random = Some(hames_plugin::Random::Real);
    spec.grant.kv = true;
    spec.grant.environment = vec![("GREETING".to_owned(), "hello".to_owned())];
    let folder = tempfile::tempdir().unwrap();
    spec.grant.filesystem = vec![hames_plugin::Folder {
        path: folder.path().to_owned(),
        name: "/".to_owned(),
        access: hames_plugin::Access::ReadOnly,
    }];
    spec.limits.grace = Duration::from_millis(10);
    let plugin = home.sandbox.load(spec).await.unwrap();
    let arguments = json!({ "what": "sleep", "more": "25000" });
    in_flight("a guest in Rust, asleep", first_tool(&plugin).unwrap(), arguments).await;
}
