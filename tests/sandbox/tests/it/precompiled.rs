//! Is a component that was compiled beforehand the same plugin, and one compiled for another engine no obstacle?

use std::fs;

use hames_plugin::{Cache, PluginSpec, Precompiled, precompile};
use hames_sandbox_tests::handmade::Module;
use hames_sandbox_tests::home::{Home, call, first_tool, quiet};
use hames_types::id::PluginId;
use serde_json::json;

/// Lives as long as the program, as what is embedded does.
fn embedded(code: Vec<u8>) -> Precompiled {
    Precompiled::of_this_program(code.leak())
}

async fn answers(home: &Home, precompiled: Precompiled) {
    let mut spec = PluginSpec::new(PluginId::new("handmade"), Module::default().component().unwrap());
    spec.precompiled = Some(precompiled);
    let plugin = home.sandbox.load(spec).await.unwrap();
    let tool = first_tool(&plugin).unwrap();
    let output = tool.execute(&call(&tool, json!({})), &quiet()).await.unwrap();
    assert_eq!(output.content.joined_text(), "ok");
}

#[tokio::test]
async fn what_was_compiled_beforehand_is_not_compiled_again() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::with(Some(Cache::open(folder.path().join("cache")).unwrap()), None).unwrap();
    let code = precompile(&Module::default().component().unwrap()).unwrap();
    answers(&home, embedded(code)).await;
    // Whatever is compiled is kept.
    assert_eq!(fs::read_dir(folder.path().join("cache")).unwrap().count(), 0);
}

#[tokio::test]
async fn what_does_not_fit_this_engine_is_compiled_anew() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::with(Some(Cache::open(folder.path().join("cache")).unwrap()), None).unwrap();
    answers(&home, embedded(b"compiled for something else".to_vec())).await;
    assert_eq!(fs::read_dir(folder.path().join("cache")).unwrap().count(), 1);
}

#[test]
fn what_would_not_load_is_not_compiled_beforehand() {
    let error = precompile(b"\0asm\x01\0\0\0").unwrap_err();
    assert_eq!(error.code(), "PLUGIN_MALFORMED");
}
