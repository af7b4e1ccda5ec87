//! Do the shipped plugins do what they say?

use std::sync::Arc;

use hames_plugin::PluginSpec;
use hames_sandbox_tests::guests;
use hames_sandbox_tests::handmade::Module;
use hames_sandbox_tests::home::{Home, call, first_tool, quiet};
use hames_types::id::PluginId;
use serde_json::json;
use wasmparser::{Parser, Payload};

#[tokio::test]
async fn hello_greets() {
    let home = Home::new().unwrap();
    let plugin = home.load("hello", guests::plain("hello").unwrap()).await.unwrap();
    let tool = first_tool(&plugin).unwrap();
    assert_eq!(tool.definition().schema.description, "Greets somebody.");
    let output = tool
        .execute(&call(&tool, json!({ "name": "Ada" })), &quiet())
        .await
        .unwrap();
    assert_eq!(output.content.joined_text(), "Hello, Ada!");
}

#[tokio::test]
async fn a_plugin_without_wasi_imports_none_of_it() {
    let home = Home::new().unwrap();
    let component = guests::plain("hello").unwrap();
    let seen = home
        .sandbox
        .inspect(&PluginSpec::new(PluginId::new("hello"), Arc::clone(&component)))
        .await
        .unwrap();
    assert!(
        seen.imports.iter().all(|name| name.starts_with("hames:plugin/")),
        "{:?}",
        seen.imports
    );
    assert_eq!(seen.exports, ["hames:plugin/tools@0.1.0"]);
    assert_eq!(seen.manifest.id, "hello");
}

/// Bytes of memory that an instance begins with.
fn declared(component: &[u8]) -> usize {
    let mut pages = 0;
    for payload in Parser::new(0).parse_all(component) {
        if let Payload::MemorySection(section) = payload.unwrap() {
            pages += section
                .into_iter()
                .map(|memory| memory.unwrap().initial)
                .sum::<u64>();
        }
    }
    usize::try_from(pages).unwrap() << 16
}

/// Growing memory and hiding it again costs more than such a call.
#[tokio::test]
async fn an_ordinary_call_grows_no_memory_and_a_large_one_may() {
    let home = Home::new().unwrap();
    let component = guests::plain("hello").unwrap();
    let mut spec = PluginSpec::new(PluginId::new("hello"), Arc::clone(&component));
    spec.limits.memory = declared(&component);
    let confined = first_tool(&home.sandbox.load(spec).await.unwrap()).unwrap();
    let plugin = home.load("hello", component).await.unwrap();
    let free = first_tool(&plugin).unwrap();
    for (length, grows) in [(1, false), (1_000, false), (20_000, false), (1_000_000, true)] {
        let name = "x".repeat(length);
        let asked = call(&free, json!({ "name": name }));
        let output = free.execute(&asked, &quiet()).await.unwrap();
        assert_eq!(output.content.joined_text(), format!("Hello, {name}!"));
        let code = match confined.execute(&asked, &quiet()).await {
            Ok(_) => None,
            Err(fault) => fault.code().map(str::to_owned),
        };
        let expected = grows.then(|| "PLUGIN_LIMIT_MEMORY".to_owned());
        assert_eq!(code, expected, "{length}");
    }
}

#[tokio::test]
async fn a_handmade_tool_answers() {
    let home = Home::new().unwrap();
    let plugin = home
        .load("handmade", Module::default().component().unwrap())
        .await
        .unwrap();
    let tool = first_tool(&plugin).unwrap();
    let output = tool.execute(&call(&tool, json!({})), &quiet()).await.unwrap();
    assert_eq!(output.content.joined_text(), "ok");
    assert_eq!(tool.present_call(&json!({})), None);
}

/// What the SDK's first page shows is the plugin that is built and called above.
#[test]
fn the_plugin_in_the_readme_is_hello() {
    let readme = std::fs::read_to_string(guests::root().join("sdk/hames-sdk/README.md")).unwrap();
    let source = std::fs::read_to_string(guests::root().join("guest-plugins/hello/src/lib.rs")).unwrap();
    let shown = readme
        .split("```rust\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    assert!(source.ends_with(shown), "{source}\nis not\n{shown}");
}
