//! Is a component that was compiled beforehand the same plugin, and one compiled for another engine no obstacle?

use std::fs;

use hames_plugin::{Cache, PluginSpec, Precompiled, precompile};
use hames_sandbox_tests::guests;
use hames_sandbox_tests::handmade::{Module, with_section};
use hames_sandbox_tests::home::{Home, call, first_tool, quiet};
use hames_types::id::PluginId;
use serde_json::json;

/// Lives as long as the program, as what is embedded does.
fn embedded(code: Vec<u8>) -> Precompiled {
    Precompiled::of_this_program(code.leak())
}

/// Loads and calls it; the digest it is known by.
async fn answers(home: &Home, precompiled: Precompiled) -> String {
    let mut spec = PluginSpec::new(PluginId::new("handmade"), Module::default().component().unwrap());
    spec.precompiled = Some(precompiled);
    let plugin = home.sandbox.load(spec).await.unwrap();
    let tool = first_tool(&plugin).unwrap();
    let output = tool.execute(&call(&tool, json!({})), &quiet()).await.unwrap();
    assert_eq!(output.content.joined_text(), "ok");
    plugin.digest().to_string()
}

#[tokio::test]
async fn what_was_compiled_beforehand_is_not_compiled_again_and_mapped_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::with(Some(Cache::open(folder.path().join("cache")).unwrap()), None).unwrap();
    // Of another component: whoever looked at the one that is configured would find another digest.
    let other = with_section(&Module::default().component().unwrap(), "other", b"one");
    let code = precompile(&other).unwrap();
    let digest = answers(&home, embedded(code.clone())).await;
    let inspected = home
        .sandbox
        .inspect(&PluginSpec::new(PluginId::new("handmade"), other))
        .await
        .unwrap();
    assert_eq!(digest, inspected.digest);
    let kept: Vec<_> = fs::read_dir(folder.path().join("cache"))
        .unwrap()
        .map(|file| fs::read(file.unwrap().path()).unwrap())
        .collect();
    assert_eq!(kept.len(), 1);
    let (compiled, _checksum) = kept[0].split_at(kept[0].len() - 4);
    assert!(code.ends_with(compiled));
    answers(&home, embedded(code)).await;
}

#[tokio::test]
async fn what_does_not_fit_this_engine_is_compiled_anew() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::with(Some(Cache::open(folder.path().join("cache")).unwrap()), None).unwrap();
    answers(&home, embedded(b"compiled for something else".to_vec())).await;
    assert_eq!(fs::read_dir(folder.path().join("cache")).unwrap().count(), 1);
}

/// What lies in the program says what it was made of, so that the component is neither read nor digested; a pin and an
/// inspection go by that.
#[tokio::test]
async fn what_was_compiled_beforehand_tells_what_it_was_made_of() {
    let home = Home::new().unwrap();
    let component = guests::plain("path-guard").unwrap();
    let (compiled, read) = [true, false]
        .map(|is_compiled| {
            let mut spec = PluginSpec::new(PluginId::new("path-guard"), component.clone());
            spec.precompiled = is_compiled.then(|| embedded(precompile(&component).unwrap()));
            spec
        })
        .into();
    let compiled_inspection = home.sandbox.inspect(&compiled).await.unwrap();
    let read_inspection = home.sandbox.inspect(&read).await.unwrap();
    assert_eq!(format!("{compiled_inspection:?}"), format!("{read_inspection:?}"));
    let mut pinned = compiled;
    pinned.digest = Some("00".repeat(32));
    let error = home.sandbox.load(pinned.clone()).await.unwrap_err();
    assert_eq!(error.problem.code(), "PLUGIN_DIGEST");
    pinned.digest = Some(read_inspection.digest.to_uppercase());
    home.sandbox.load(pinned).await.unwrap();
}

#[test]
fn what_would_not_load_is_not_compiled_beforehand() {
    let error = precompile(b"\0asm\x01\0\0\0").unwrap_err();
    assert_eq!(error.code(), "PLUGIN_MALFORMED");
}
