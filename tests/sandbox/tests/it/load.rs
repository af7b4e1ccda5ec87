//! How do plugins load: from the cache, side by side, anew, and refused with a reason?

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Instant;

use hames_plugin::{Cache, PluginSpec};
use hames_sandbox_tests::guests;
use hames_sandbox_tests::handmade::Module;
use hames_sandbox_tests::home::{Home, call, first_tool, quiet};
use hames_types::id::PluginId;
use hames_types::port::tool::ToolRun;
use hames_types::signal::{SignalReason, Trigger};
use serde_json::json;

fn saying(text: &str) -> Module {
    Module {
        execute: format!("(call $answer (i32.const 3000) (i32.const {}))", text.len()),
        more: format!("(data (i32.const 3000) \"{text}\")"),
        ..Module::default()
    }
}

async fn said(home: &Home, component: Arc<[u8]>) -> String {
    let plugin = home.load("saying", component).await.unwrap();
    let tool = first_tool(&plugin).unwrap();
    let output = tool.execute(&call(&tool, json!({})), &quiet()).await.unwrap();
    output.content.joined_text()
}

#[tokio::test]
async fn a_cached_component_is_not_compiled_again() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("compiled");
    let component = guests::plain("todo").unwrap();
    let mut times = Vec::new();
    for _ in 0..2 {
        let home = Home::with(Some(Cache::open(&place).unwrap()), None).unwrap();
        let begun = Instant::now();
        home.sandbox
            .inspect(&PluginSpec::new(PluginId::new("todo"), Arc::clone(&component)))
            .await
            .unwrap();
        times.push(begun.elapsed());
    }
    assert!(times[1] * 3 < times[0], "{times:?}");
    assert_eq!(fs::read_dir(&place).unwrap().count(), 1);
}

#[tokio::test]
async fn a_damaged_cache_entry_is_compiled_again() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("compiled");
    let component = saying("whole").component().unwrap();
    for damage in [0_usize, 200, 5_000] {
        let home = Home::with(Some(Cache::open(&place).unwrap()), None).unwrap();
        assert_eq!(said(&home, Arc::clone(&component)).await, "whole");
        let entry = fs::read_dir(&place).unwrap().next().unwrap().unwrap().path();
        let mut bytes = fs::read(&entry).unwrap();
        let at = damage.min(bytes.len() - 1);
        bytes[at] ^= 0x40;
        fs::write(&entry, bytes).unwrap();
    }
    let home = Home::with(Some(Cache::open(&place).unwrap()), None).unwrap();
    assert_eq!(said(&home, component).await, "whole");
}

/// Another file under the name of this one: its digest fits, its folder is what must keep it out.
#[test]
fn a_cache_that_others_could_write_to_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("open");
    fs::create_dir(&place).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(Cache::open(&place).is_err());
    let link = folder.path().join("link");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(&place, &link).unwrap();
    assert!(Cache::open(&link).is_err());
    assert!(Cache::open(&place).is_ok());
}

#[tokio::test]
async fn a_cache_entry_that_others_could_write_to_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("compiled");
    let component = saying("mine").component().unwrap();
    let home = Home::with(Some(Cache::open(&place).unwrap()), None).unwrap();
    assert_eq!(said(&home, Arc::clone(&component)).await, "mine");
    let entry = fs::read_dir(&place).unwrap().next().unwrap().unwrap().path();
    fs::set_permissions(&entry, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(said(&home, component).await, "mine");
    let mode = fs::metadata(&entry).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it was replaced by one of our own");
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_load_side_by_side() {
    let home = Arc::new(Home::new().unwrap());
    let loads: Vec<_> = (0..16)
        .map(|number| {
            let home = Arc::clone(&home);
            tokio::spawn(async move {
                let text = format!("number {number}");
                said(&home, saying(&text).component().unwrap()).await == text
            })
        })
        .collect();
    for load in loads {
        assert!(load.await.unwrap());
    }
}

#[tokio::test]
async fn a_reload_takes_the_next_call() {
    let home = Home::new().unwrap();
    let plugin = home
        .load("saying", saying("old").component().unwrap())
        .await
        .unwrap();
    let tool = first_tool(&plugin).unwrap();
    let spec = PluginSpec::new(PluginId::new("saying"), saying("new").component().unwrap());
    home.sandbox.reload(&plugin, spec).await.unwrap();
    let output = tool.execute(&call(&tool, json!({})), &quiet()).await.unwrap();
    assert_eq!(output.content.joined_text(), "new");
}

#[tokio::test]
async fn a_call_under_way_ends_on_the_component_it_began_on() {
    let home = Home::new().unwrap();
    let waiting = Module {
        imports: r#"(import "hames:plugin/wait@0.1.0" "until-aborted" (func $until_aborted))"#.to_owned(),
        execute: "(call $until_aborted) (call $answer (i32.const 3000) (i32.const 3))".to_owned(),
        ..saying("old")
    };
    let plugin = home.load("saying", waiting.component().unwrap()).await.unwrap();
    let tool = first_tool(&plugin).unwrap();
    let trigger = Trigger::new();
    let under_way: Vec<_> = (0..20)
        .map(|_| {
            let (tool, run) = (Arc::clone(&tool), ToolRun::new(trigger.signal()));
            tokio::spawn(async move {
                let output = tool.execute(&call(&tool, json!({})), &run).await.unwrap();
                output.content.joined_text()
            })
        })
        .collect();
    tokio::task::yield_now().await;
    for text in ["one", "two"] {
        let spec = PluginSpec::new(PluginId::new("saying"), saying(text).component().unwrap());
        home.sandbox.reload(&plugin, spec).await.unwrap();
        let output = tool.execute(&call(&tool, json!({})), &quiet()).await.unwrap();
        assert_eq!(output.content.joined_text(), text);
    }
    // One that isn't loaded changes nothing.
    let broken = PluginSpec::new(PluginId::new("saying"), b"broken".to_vec());
    home.sandbox.reload(&plugin, broken).await.unwrap_err();
    assert!(under_way.iter().all(|call| !call.is_finished()));
    trigger.raise(SignalReason::Withdrawn);
    for call in under_way {
        assert_eq!(call.await.unwrap(), "old");
    }
    let output = tool.execute(&call(&tool, json!({})), &quiet()).await.unwrap();
    assert_eq!(output.content.joined_text(), "two");
}

/// Whatever runs when a component is instantiated or asked, none of it runs when it is inspected.
#[tokio::test]
async fn an_inspection_runs_nothing_of_the_component() {
    let home = Home::new().unwrap();
    let wait = r#"(import "hames:plugin/log@0.1.0" "write" (func $write (param i32 i32 i32)))"#;
    let say = "(call $write (i32.const 2) (i32.const 2304) (i32.const 2))";
    let component = Module {
        imports: wait.to_owned(),
        list: format!("{say} (loop $on (br $on)) (unreachable)"),
        execute: format!("{say} (unreachable)"),
        realloc: format!("{say} (unreachable)"),
        more: "(func $first (loop $on (br $on))) (start $first)".to_owned(),
        ..Module::default()
    };
    let component = component.component().unwrap();
    let id = PluginId::new("handmade");
    let seen = home
        .sandbox
        .inspect(&PluginSpec::new(id.clone(), Arc::clone(&component)))
        .await
        .unwrap();
    assert!(
        seen.imports.contains(&"hames:plugin/log@0.1.0".to_owned()),
        "{:?}",
        seen.imports
    );
    assert_eq!(seen.exports, ["hames:plugin/tools@0.1.0"]);
    assert!(home.diary.lines.lock().is_empty());
    // The same one does run when it is loaded.
    let mut spec = PluginSpec::new(id, component);
    spec.limits = hames_sandbox_tests::trial::narrow();
    let refused = home.sandbox.load(spec).await.unwrap_err();
    assert_eq!(refused.problem.code(), "PLUGIN_DEADLINE");
}

#[tokio::test]
async fn a_reload_that_changes_the_tools_is_refused() {
    let home = Home::new().unwrap();
    let plugin = home
        .load("saying", saying("old").component().unwrap())
        .await
        .unwrap();
    let mut other = saying("new");
    other.class = 1;
    let spec = PluginSpec::new(PluginId::new("saying"), other.component().unwrap());
    let refused = home.sandbox.reload(&plugin, spec).await.unwrap_err();
    assert_eq!(refused.problem.code(), "PLUGIN_CHANGED");
}

#[tokio::test]
async fn a_pinned_digest_must_fit() {
    let home = Home::new().unwrap();
    let component = saying("pinned").component().unwrap();
    let seen = home
        .sandbox
        .inspect(&PluginSpec::new(PluginId::new("saying"), Arc::clone(&component)))
        .await
        .unwrap();
    let mut spec = PluginSpec::new(PluginId::new("saying"), component);
    spec.digest = Some(seen.digest.clone());
    home.sandbox.load(spec.clone()).await.unwrap();
    spec.digest = Some("0".repeat(64));
    let refused = home.sandbox.load(spec).await.unwrap_err();
    assert_eq!(refused.problem.code(), "PLUGIN_DIGEST");
}

#[tokio::test]
async fn a_refusal_says_what_to_do() {
    let home = Home::new().unwrap();
    let refused = home
        .load("todo", guests::plain("todo").unwrap())
        .await
        .unwrap_err();
    assert_eq!(
        format!("{refused}"),
        "the plugin `todo` is not loaded: it imports `hames:plugin/session@0.1.0`, which needs the grant `todos`; \
         grant it to this plugin if you trust it with that"
    );
}
