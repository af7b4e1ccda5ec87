//! Does `path-guard` deny every spelling of a forbidden path, and nothing else?

use std::sync::Arc;

use hames_agent::tools::Caller;
use hames_plugin::PluginSpec;
use hames_sandbox_tests::guests;
use hames_types::id::{CallId, PluginId};
use hames_types::json::Json;
use hames_types::signal::Signal;
use hames_types::tool::ToolCall;
use serde_json::json;

use crate::stage::Stage;

fn guard(config: Json) -> PluginSpec {
    let mut spec = PluginSpec::new(PluginId::new("path-guard"), guests::plain("path-guard").unwrap());
    spec.config = config;
    spec
}

/// What a call comes to, as the model sees it.
async fn call(stage: &Stage, tool: &str, arguments: Json) -> String {
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
    tools.call(call, caller).await.content.joined_text()
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
