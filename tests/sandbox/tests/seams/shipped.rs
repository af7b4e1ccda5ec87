//! Do the shipped listeners do what they say, in turns of a real agent?

use std::time::Duration;

use hames_plugin::{LoadProblem, PluginSpec, Point};
use hames_sandbox_tests::guests;
use hames_types::id::PluginId;
use hames_types::json::Json;
use hames_types::port::contribution::CommandOutcome;
use serde_json::json;

use crate::stage::Stage;

fn shipped(name: &str, config: Json) -> PluginSpec {
    let mut spec = PluginSpec::new(PluginId::new(name), guests::plain(name).unwrap());
    spec.config = config;
    // How busy the machine is must not show.
    spec.limits.observe = Duration::from_secs(20);
    spec.limits.decide = Duration::from_secs(20);
    spec
}

fn redact(patterns: &[&str]) -> PluginSpec {
    shipped(
        "redact",
        json!({ "patterns": patterns, "replacement": "<gone $0>" }),
    )
}

#[tokio::test]
async fn redact_replaces_a_secret_before_it_is_logged_and_sent() {
    let stage = Stage::new();
    let mut spec = redact(&["o.$"]);
    spec.grant.full = vec![Point::PostExecute];
    stage.add(spec).await.unwrap();
    let run = stage.run().await;
    assert_eq!(run.result().unwrap().content.joined_text(), "<gone $0>");
    assert!(!run.result().unwrap().is_error);
    stage.close().await;
}

#[tokio::test]
async fn redact_leaves_alone_what_is_no_secret_and_everything_without_authority() {
    for (pattern, full) in [("other", vec![Point::PostExecute]), ("ok", Vec::new())] {
        let stage = Stage::new();
        let mut spec = redact(&[pattern]);
        spec.grant.full = full;
        stage.add(spec).await.unwrap();
        assert_eq!(stage.run().await.result().unwrap().content.joined_text(), "ok");
        stage.close().await;
    }
}

#[tokio::test]
async fn redact_finds_a_secret_wherever_in_an_answer_it_stands() {
    let stage = Stage::new();
    let mut spec = redact(&["hunter[0-9]+", "two\\nlines"]);
    spec.grant.full = vec![Point::PostExecute];
    stage.add(spec).await.unwrap();
    let nested = json!({ "type": "tool-result", "toolCallId": "c", "content": [{ "type": "text", "text": "hunter2" }] });
    for answer in [
        json!([{ "type": "text", "text": "a hunter2 b" }]),
        json!([{ "type": "text", "text": "a", "note": "hunter2" }]),
        json!([{ "type": "reasoning", "text": "hunter2" }]),
        json!([{ "type": "tool-call", "id": "c", "name": "t", "arguments": "{\"a\":[\"hunter2\"]}" }]),
        json!([{ "type": "tool-call", "id": "c", "name": "t", "arguments": "{\"a\":\"\\u0068unter2\"}" }]),
        json!([{ "type": "tool-call", "id": "c", "name": "t", "arguments": "no json hunter2" }]),
        json!([nested]),
        json!([{ "type": "tool-result", "toolCallId": "c", "content": [nested] }]),
        json!([{ "type": "text", "text": "two" }, { "type": "text", "text": "\nlines" }]),
        json!([{ "type": "text", "text": "x hunt" }, { "type": "text", "text": "" }, { "type": "text", "text": "er2 y" }]),
        json!([{ "type": "theirs:card", "deep": { "hunter2": 1 } }, { "type": "text", "text": "stays" }]),
        json!([{ "type": "text", "text": "hunter2" }, { "type": "theirs:card", "deep": "stays" }]),
    ] {
        let told = crate::path_guard::outcome(&stage, "native", json!({ "answer": answer })).await;
        let told = serde_json::to_string(&told.content).unwrap();
        assert!(
            told.contains("<gone $0>")
                && !told.contains("unter2")
                && !told.contains("er2")
                && !told.contains("lines"),
            "{answer}: {told}"
        );
        assert_eq!(
            told.contains("stays"),
            answer.to_string().contains("stays"),
            "{told}"
        );
    }
    stage.close().await;
}

#[tokio::test]
async fn redact_is_not_loaded_with_a_pattern_that_is_none() {
    let stage = Stage::new();
    let error = stage.sandbox.load(redact(&["("])).await.unwrap_err();
    assert!(matches!(*error.problem, LoadProblem::Refused { .. }), "{error:?}");
    stage.close().await;
}

#[tokio::test]
async fn audit_keeps_what_ran_in_order_and_shows_it() {
    let stage = Stage::new();
    let mut spec = shipped("audit", json!({}));
    spec.grant.kv = true;
    let plugin = stage.add(spec).await.unwrap();
    let agent = stage.start().await;
    agent
        .send(
            hames_types::content::Content::text("go"),
            hames_agent::SendOptions::default(),
        )
        .unwrap();
    agent.when_idle().await;
    let id = agent.id();
    let kept = [
        format!("{id}: turn 1 began"),
        format!("{id}: native (c1) succeeded"),
        format!("{id}: turn 1 ended"),
    ];
    let commands = plugin.commands().unwrap();
    let show = async |count: &str| commands.run("audit", count, None).await.unwrap();
    assert_eq!(show("").await, CommandOutcome::Show(kept.join("\n").into()));
    assert_eq!(show("1").await, CommandOutcome::Show(kept[2].as_str().into()));
    assert!(commands.run("audit", "few", None).await.is_err());
    let said: Vec<String> = {
        let lines = stage.home.diary.lines.lock();
        lines.iter().map(|(_, _, text)| text.clone()).collect()
    };
    assert_eq!(said, kept);
    stage.close().await;
}
