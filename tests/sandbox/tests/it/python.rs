//! Is a component of another language a plugin like any other? Python, made a component by componentize-py from the
//! contract alone. `bash .ci/peers sandbox` installs it; then `cargo test -p hames-sandbox-tests -- python --ignored`.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use hames_plugin::{Cache, Limits, PluginSpec};
use hames_sandbox_tests::guests::root;
use hames_sandbox_tests::home::{Home, call, first_tool, quiet};
use hames_types::id::PluginId;
use hames_types::tool::ExecutionMode;
use serde_json::json;

fn component() -> Arc<[u8]> {
    let tool = root().join(".ci/cache/peers/sandbox/bin/componentize-py");
    assert!(
        tool.exists(),
        "{} is missing; run `bash .ci/peers sandbox` first",
        tool.display()
    );
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("python.wasm");
    // The tool writes beside what it reads.
    let source = root().join("tests/guests/python");
    std::fs::copy(source.join("app.py"), folder.path().join("app.py")).unwrap();
    let output = Command::new(tool)
        .args(["-q", "-w", "hames:python/plugin", "-d"])
        .arg(root().join("wit"))
        .arg("-d")
        .arg(source.join("world.wit"))
        .args(["componentize", "--stub-wasi", "app", "-p"])
        .arg(folder.path())
        .arg("-o")
        .arg(&made)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    std::fs::read(made).unwrap().into()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs `bash .ci/peers sandbox`, and compiles a language's whole runtime"]
async fn a_plugin_in_python_is_a_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(folder.path().join("compiled")).unwrap();
    let home = Home::with(Some(cache), None).unwrap();
    let mut spec = PluginSpec::new(PluginId::new("python"), component());
    spec.limits = Limits {
        load: Duration::from_secs(300),
        ..Limits::default()
    };
    let seen = home.sandbox.inspect(&spec).await.unwrap();
    assert!(
        seen.imports
            .iter()
            .all(|import| import.starts_with("hames:plugin/")),
        "{:?}",
        seen.imports
    );
    let plugin = home.sandbox.load(spec).await.unwrap();
    let tool = first_tool(&plugin).unwrap();
    assert_eq!(&*tool.definition().schema.name, "count_words");
    let text = json!({ "text": "to be or not to be" });
    assert_eq!(tool.classify(&text).await.unwrap(), ExecutionMode::Parallel);
    let output = tool.execute(&call(&tool, text.clone()), &quiet()).await.unwrap();
    assert_eq!(output.content.joined_text(), "to 2, be 2, or 1");
    assert_eq!(
        output.meta.as_ref(),
        Some(&json!({ "to": 2, "be": 2, "or": 1, "not": 1 }))
    );
    assert_eq!(tool.present_call(&text).unwrap().kind(), "generic");
    assert_eq!(home.diary.lines.lock().last().unwrap().2, "counted 4 words");
    let fault = tool
        .execute(&call(&tool, json!({ "text": " " })), &quiet())
        .await
        .unwrap_err();
    assert_eq!(
        (fault.message(), fault.code()),
        ("there are no words", Some("NO_WORDS"))
    );
    let fault = tool
        .execute(&call(&tool, json!({ "words": 7 })), &quiet())
        .await
        .unwrap_err();
    assert_eq!(
        fault.message(),
        "invalid arguments: \"arguments\" Additional properties are not allowed ('words' was unexpected); \
         missing required property \"text\""
    );
}
