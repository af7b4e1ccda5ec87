//! Does the guard against repeated calls say the same as a component, whose memory is the log, as it does natively?

use std::path::Path;

use fastrand::Rng;
use hames_agent::repeat::RepeatConfig;
use hames_tests::conformance::loop_cases::play_guarded;
use hames_types::json::Json;
use serde_json::json;

fn low() -> RepeatConfig {
    RepeatConfig {
        thresholds: vec![2, 3],
        preview_chars: 12,
        exclude: vec!["look*".into()],
        ..RepeatConfig::default()
    }
}

/// How many reminders both give; they must be the same in the same places.
fn reminders(script: &Json, config: &RepeatConfig) -> usize {
    let native = play_guarded(script, config, false).unwrap();
    let guest = play_guarded(script, config, true).unwrap();
    assert_eq!(native, guest, "{script}");
    let events = native["events"].as_array().unwrap();
    let is_reminder = |event: &&Json| event["data"]["source"]["plugin"] == "repeat-guard";
    events.iter().filter(is_reminder).count()
}

/// The recorded scenarios that call tools, under a guard that speaks at the second call already.
#[test]
fn r_guard_the_component_is_the_native_guard_in_every_recorded_scenario() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/cases");
    let mut played = 0;
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        if text.contains("\"tool-call\"") && !text.contains("\"$num\"") {
            let case: Json = serde_json::from_str(&text).unwrap();
            reminders(&case["script"], &low());
            played += 1;
        }
    }
    assert!(played > 80, "{played} scenarios call tools");
}

/// What the recorded scenarios rarely do: the same call again and again, beside others, after prompts and injections,
/// denied, and of tools that don't count.
#[test]
fn r_guard_the_component_is_the_native_guard_whatever_is_called() {
    let mut rng = Rng::with_seed(7);
    let mut said = 0;
    for _ in 0..100 {
        said += reminders(&script(&mut rng), &low());
    }
    assert!(said > 50, "only {said} reminders");
}

fn script(rng: &mut Rng) -> Json {
    let tools = json!([
        { "name": "solo" },
        { "name": "beside", "concurrencySafe": true, "calls": [[{ "sleep": 9 }], [{ "sleep": 3 }], [{ "sleep": 5 }]] },
        { "name": "look_up" },
        { "name": "denied" },
    ]);
    let mut responses = Vec::new();
    let mut actions = Vec::new();
    for _ in 0..rng.usize(1..4) {
        for _ in 0..rng.usize(1..5) {
            responses.push(calls(rng, responses.len()));
        }
        responses.push(json!([
            { "type": "block-end", "index": 0, "block": { "type": "text", "text": "done" } },
            { "type": "finish", "reason": { "kind": "stop" } },
        ]));
        let text = json!([{ "type": "text", "text": "on" }]);
        if rng.bool() {
            actions.push(
                json!({ "op": "inject", "content": text, "source": { "kind": "plugin", "plugin": "x" } }),
            );
        }
        actions.push(json!({ "op": "send", "content": text }));
        actions.push(json!({ "op": "waitIdle" }));
    }
    json!({
        "tools": tools, "responses": responses, "actions": actions,
        "guards": [{ "tool": "denied", "reason": "no" }],
    })
}

/// A response with one to three calls, of few tools and few arguments.
fn calls(rng: &mut Rng, number: usize) -> Json {
    let mut items = Vec::new();
    for index in 0..rng.usize(1..4) {
        let name = ["solo", "solo", "beside", "beside", "look_up", "denied"][rng.usize(0..6)];
        let arguments = [
            "{\"a\": 1, \"b\": [2.0]}",
            "{\"b\":[2],\"a\":1.0}",
            "{\"a\": 1, \"b\": [2.0]}",
            "{\"long\": \"xxxxxxxxxxxxxxxxxxxx\"}",
            "not json",
        ][rng.usize(0..5)];
        let id = format!("c{number}-{index}");
        items.push(json!({ "type": "block-end", "index": index, "block": {
            "type": "tool-call", "id": id, "name": name, "arguments": arguments,
        } }));
    }
    items.push(json!({ "type": "finish", "reason": { "kind": "tool-calls" } }));
    Json::Array(items)
}
