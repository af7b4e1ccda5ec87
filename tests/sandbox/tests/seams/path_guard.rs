//! Does `path-guard` deny every spelling of a forbidden path, and nothing else?

use std::sync::Arc;

use hames_agent::tools::Caller;
use hames_plugin::PluginSpec;
use hames_sandbox_tests::guests;
use hames_types::id::{CallId, PluginId};
use hames_types::json::Json;
use hames_types::signal::Signal;
use hames_types::tool::{ToolCall, ToolOutcome};
use serde_json::json;

use crate::stage::Stage;

fn guard(config: Json) -> PluginSpec {
    let mut spec = PluginSpec::new(PluginId::new("path-guard"), guests::plain("path-guard").unwrap());
    spec.config = config;
    spec
}

/// What the model sees of a call's end.
async fn call(stage: &Stage, tool: &str, arguments: Json) -> String {
    outcome(stage, tool, arguments).await.content.joined_text()
}

/// What a call comes to.
pub(crate) async fn outcome(stage: &Stage, tool: &str, arguments: Json) -> ToolOutcome {
    let tools = &stage.agents.services().tools;
    let call = ToolCall {
        call_id: CallId::new("c1"),
        name: tool.into(),
        arguments: Arc::new(arguments),
        agent: None,
        at: None,
        parent: None,
    };
    let caller = Caller {
        scope: None,
        signal: Signal::never(),
    };
    tools.call(call, caller).await
}

#[tokio::test]
async fn path_guard_denies_what_its_patterns_match_however_it_is_spelled() {
    let stage = Stage::new();
    let config =
        json!({ "deny": [".env*", "secrets/**", "/etc/**", "*.{key,pem}"], "reason": "it is private" });
    stage.add(guard(config)).await.unwrap();
    for path in [
        ".env",
        "./.env",
        "a/b/.env.local",
        "a/../.env",
        "a//.env/",
        " .env",
        "a\\.env",
        "/work/.env",
        "secrets/x",
        "secrets",
        "./secrets/./deep/x",
        "src/../secrets/x",
        "/etc/passwd",
        "/etc//passwd",
        "../../../etc/passwd",
        "server.pem",
        "deep/server.key",
    ] {
        let text = call(&stage, "native", json!({ "path": path })).await;
        assert!(text.contains("out of bounds; it is private"), "{path}: {text}");
    }
    for path in [
        "env",
        "src/env.rs",
        "notsecrets/x",
        "keys",
        "x.keys",
        "etc.md",
        ".",
    ] {
        assert_eq!(
            call(&stage, "native", json!({ "path": path })).await,
            "ok",
            "{path}"
        );
    }
    // Wherever a path stands in the arguments, and only where one does.
    for arguments in [
        json!({ "paths": ["a", ".env"] }),
        json!({ "edits": [{ "file": ".env", "text": "x" }] }),
        json!({ "from": "a", "to": "secrets/a" }),
    ] {
        assert!(
            call(&stage, "native", arguments.clone())
                .await
                .contains("out of bounds"),
            "{arguments}"
        );
    }
    for arguments in [
        json!({ "content": ".env" }),
        json!({}),
        json!("no object"),
        json!({ "path": 5 }),
    ] {
        assert_eq!(
            call(&stage, "native", arguments.clone()).await,
            "ok",
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn path_guard_knows_the_names_that_less_strict_tools_take_for_a_path() {
    let stage = Stage::new();
    stage
        .add(guard(json!({ "deny": [".git/**", "*.pem", "keys"] })))
        .await
        .unwrap();
    for arguments in [
        json!({ "path": "/home/me/work/.git/config" }),
        json!({ "path": "~/work/.git/config" }),
        json!({ "path": "../work/.git/config" }),
        json!({ "path": "file:///work/.git/config" }),
        json!({ "path": "C:\\work\\.git\\config" }),
        json!({ "path": ".GIT/Config" }),
        json!({ "path": "./x/../.git/./config/" }),
        json!({ "path": "%2egit%2fconfig" }),
        json!({ "path": "%252egit/config" }),
        json!({ "path": ".g\u{200c}it/config" }),
        json!({ "path": "server.pem\u{0}.txt" }),
        json!({ "path": "server.pem. ." }),
        json!({ "path": "server.pem::$DATA" }),
        json!({ "path": "keys/deep/below" }),
        json!({ "path": format!("{}keys/x", "a/".repeat(200)) }),
        json!({ "filePath": "server.pem" }),
        json!({ "output-dir": "keys" }),
        json!({ "OldPath": "server.pem" }),
        json!({ "files": { "server.pem": "text" } }),
        json!({ "uri": "file://x/server.pem" }),
    ] {
        let text = call(&stage, "native", arguments.clone()).await;
        assert!(text.contains("out of bounds"), "{arguments}: {text}");
    }
    for arguments in [
        json!({ "path": "sub/.git/config" }),
        json!({ "path": "100%.txt" }),
        json!({ "path": "gitlike/config" }),
        json!({ "text": { "server.pem": "text" } }),
        json!({ "path": "%zz" }),
        json!({ "path": "/".repeat(100_000) }),
        json!({ "path": "a/".repeat(50_000) }),
    ] {
        assert_eq!(call(&stage, "native", arguments.clone()).await, "ok");
    }
}

#[tokio::test]
async fn path_guard_looks_at_the_tools_and_arguments_it_is_told_to() {
    let stage = Stage::new();
    let config = json!({ "deny": [".env"], "tools": ["other"], "arguments": ["where"] });
    stage.add(guard(config)).await.unwrap();
    assert_eq!(call(&stage, "native", json!({ "where": ".env" })).await, "ok");

    let stage = Stage::new();
    let config = json!({ "deny": [".env"], "arguments": ["where"] });
    stage.add(guard(config)).await.unwrap();
    assert_eq!(call(&stage, "native", json!({ "path": ".env" })).await, "ok");
    assert!(
        call(&stage, "native", json!({ "where": ".env" }))
            .await
            .contains("`.env` matches `.env`")
    );
}

#[tokio::test]
async fn path_guard_does_not_start_with_a_pattern_that_is_none() {
    let stage = Stage::new();
    let error = stage.add(guard(json!({ "deny": ["a[" ] }))).await.unwrap_err();
    assert!(format!("{error:#}").contains("`a[`"), "{error:#}");
    let error = stage.add(guard(json!({ "denny": [] }))).await.unwrap_err();
    assert!(format!("{error:#}").contains("denny"), "{error:#}");
}
