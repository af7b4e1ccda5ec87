//! Rules of the loop that no recorded case shows: scripts in the words of the recorded ones, played by the same world.

use hames_tests::conformance::loop_cases::play_out;
use hames_types::json::Json;
use serde_json::json;

/// A streamed text.
fn says(text: &str) -> Json {
    json!([
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "text-delta", "index": 0, "text": text},
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": text}},
        {"type": "finish", "reason": {"kind": "stop"}},
    ])
}

/// One answer that calls tools: `(id, name)`.
fn calls(calls: &[(&str, &str)]) -> Json {
    let mut chunks = Vec::new();
    for (index, (id, name)) in calls.iter().enumerate() {
        let block = json!({"type": "tool-call", "id": id, "name": name, "arguments": "{}"});
        chunks.push(json!({"type": "block-start", "index": index, "blockType": "tool-call"}));
        chunks.push(json!({"type": "block-end", "index": index, "block": block}));
    }
    chunks.push(json!({"type": "finish", "reason": {"kind": "tool-calls"}}));
    Json::from(chunks)
}

fn text(text: &str) -> Json {
    json!([{"type": "text", "text": text}])
}

fn send(content: &str) -> Json {
    json!({"op": "send", "content": text(content)})
}

fn steer(content: &str) -> Json {
    json!({"op": "steer", "content": text(content)})
}

fn throws(message: &str) -> Json {
    json!({"class": "Error", "message": message})
}

fn tool(name: &str, body: Json) -> Json {
    json!({"name": name, "body": body})
}

/// Plays a script and gives what is recorded of it.
fn play(script: Json) -> Json {
    play_out(&script).unwrap()
}

/// The main session's events without chunks, each as its type and what tells it from others of its type.
fn events(shown: &Json) -> Vec<String> {
    let events = shown["events"].as_array().unwrap().iter();
    events
        .filter(|event| event["type"] != "assistant/chunk")
        .map(|event| {
            let data = &event["data"];
            let detail = match event["type"].as_str().unwrap() {
                "turn/start" => data["trigger"]["kind"].as_str(),
                "turn/end" => data["reason"]["kind"].as_str(),
                "tool/call" | "tool/result" => data["callId"].as_str(),
                "user/message" | "steering/message" | "context/message" => {
                    data["content"][0]["text"].as_str()
                }
                _ => None,
            };
            let kind = event["type"].as_str().unwrap();
            detail.map_or_else(|| kind.to_owned(), |detail| format!("{kind} {detail}"))
        })
        .collect()
}

/// The reasons with which turns ended.
fn ends(shown: &Json) -> Vec<Json> {
    let events = shown["events"].as_array().unwrap().iter();
    events
        .filter(|event| event["type"] == "turn/end")
        .map(|event| event["data"]["reason"].clone())
        .collect()
}

/// The live notices of a kind.
fn live<'a>(shown: &'a Json, kind: &str) -> Vec<&'a Json> {
    let live = shown["live"].as_array().unwrap().iter();
    live.filter(|entry| entry["kind"] == kind).collect()
}

fn op_errors(shown: &Json) -> Vec<&str> {
    let errors = shown["opErrors"].as_array().unwrap().iter();
    errors.filter_map(|error| error["op"].as_str()).collect()
}

#[test]
fn r_inbox_2_and_r_inj_7_a_disposed_agent_takes_nothing_more() {
    let inject = json!({"op": "inject", "content": text("x")});
    let shown = play(json!({
        "actions": [{"op": "dispose"}, send("a"), steer("b"), inject, {"op": "waitDisposed"}],
    }));
    assert_eq!(op_errors(&shown), ["send", "steer", "inject"]);
    assert_eq!(events(&shown), Vec::<String>::new());
    assert_eq!(live(&shown, "queued"), Vec::<&Json>::new());
}

#[test]
fn r_inbox_5_prompts_sent_together_are_turns_of_their_own_in_order() {
    let sources = json!({"kind": "plugin", "plugin": "p"});
    let second = json!({"op": "send", "content": text("b"), "source": sources});
    let shown = play(json!({
        "responses": [says("1"), says("2"), says("3")],
        "actions": [send("a"), second, send("c"), {"op": "waitIdle"}],
    }));
    let events = events(&shown);
    let prompts: Vec<_> = events
        .iter()
        .filter(|event| event.starts_with("user/message"))
        .collect();
    assert_eq!(prompts, ["user/message a", "user/message b", "user/message c"]);
    assert_eq!(ends(&shown), vec![json!({"kind": "completed"}); 3]);
    // R-IDLE-3: one running interval for all three.
    let statuses: Vec<_> = live(&shown, "status")
        .iter()
        .map(|entry| &entry["status"])
        .collect();
    assert_eq!(statuses, ["running", "idle"]);
}

#[test]
fn r_idle_2_a_status_observer_that_fails_keeps_nobody_waiting() {
    let shown = play(json!({
        "listeners": [{"on": "agent/status", "each": {"throw": throws("no")}}],
        "responses": [says("1"), says("2")],
        "actions": [send("a"), {"op": "waitIdle"}, send("b"), {"op": "waitIdle"}],
    }));
    assert_eq!(ends(&shown).len(), 2);
    let statuses: Vec<_> = live(&shown, "status")
        .iter()
        .map(|entry| &entry["status"])
        .collect();
    assert_eq!(statuses, ["running", "idle", "running", "idle"]);
}

#[test]
fn r_life_3_a_set_up_that_fails_publishes_nothing_and_frees_the_id() {
    let failing = json!({"op": "createAgent", "id": "child", "setupThrows": throws("no")});
    let again = json!({"op": "createAgent", "id": "child"});
    let shown = play(json!({
        "actions": [failing, {"op": "settle"}, again, {"op": "waitIdle", "agent": "child"}],
    }));
    assert_eq!(op_errors(&shown), ["createAgent"]);
    let created: Vec<_> = live(&shown, "agent-created")
        .iter()
        .map(|entry| &entry["agent"])
        .collect();
    assert_eq!(created, ["main", "child"]);
    assert_eq!(live(&shown, "agent-disposed"), Vec::<&Json>::new());
}

#[test]
fn r_life_11_an_agent_that_the_configuration_names_and_that_cannot_start_is_told_of() {
    let agent = json!({"id": "a", "resumeSessionId": "gone", "provider": "mock", "model": "m1"});
    let shown = play(json!({
        "configAgents": [agent],
        "responses": [says("1")],
        "actions": [send("a"), {"op": "waitIdle"}],
    }));
    assert_eq!(live(&shown, "config-start-failed").len(), 1);
    assert_eq!(
        ends(&shown),
        [json!({"kind": "completed"})],
        "the main agent is well"
    );
}

#[test]
fn r_loop_2_a_turn_that_cannot_open_gives_its_prompt_back() {
    // Somebody opened a turn behind the loop's back; then the loop's own can't.
    let trigger = json!({"kind": "message", "source": {"kind": "user"}});
    let open = json!({"op": "append", "type": "turn/start", "data": {"turn": 1, "trigger": trigger}});
    let close =
        json!({"op": "append", "type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}});
    let shown = play(json!({
        "responses": [says("1"), says("2")],
        "actions": [open, send("a"), {"op": "settle"}, close, send("b"), {"op": "waitIdle"}],
    }));
    let errors = live(&shown, "error");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0]["step"], 0);
    let events = events(&shown);
    let prompts: Vec<_> = events
        .iter()
        .filter(|event| event.starts_with("user/message"))
        .collect();
    assert_eq!(
        prompts,
        ["user/message a", "user/message b"],
        "A-16: nothing is lost"
    );
}

#[test]
fn r_turn_7_and_9_a_checkpoint_that_fails_is_told_and_changes_nothing() {
    let shown = play(json!({
        "listeners": [{"on": "session/flush", "each": {"throw": throws("disk full")}}],
        "responses": [says("1"), says("2")],
        "actions": [send("a"), send("b"), {"op": "waitIdle"}],
    }));
    assert_eq!(ends(&shown), vec![json!({"kind": "completed"}); 2]);
    let errors: Vec<_> = live(&shown, "error");
    assert_eq!(errors.len(), 2);
    assert!(
        errors.iter().all(|error| error["message"] == "disk full"),
        "{errors:?}"
    );
}

#[test]
fn r_turn_8_and_r_fail_6_what_escapes_closes_the_step_and_the_turn_and_recovery_is_not_asked() {
    let listener = json!({"on": "agent/request", "calls": [{"throw": throws("no config")}]});
    let recovery = json!({"on": "agent/request-error", "each": {"return": {"action": "retry"}}});
    let shown = play(json!({
        "listeners": [listener, recovery],
        "responses": [says("1")],
        "actions": [send("a"), {"op": "waitIdle"}, send("b"), {"op": "waitIdle"}],
    }));
    assert_eq!(
        events(&shown)[..5],
        [
            "turn/start message",
            "user/message a",
            "step/start",
            "step/end",
            "turn/end error"
        ]
    );
    let reason = json!({"kind": "error", "step": 1, "message": "no config"});
    assert_eq!(
        ends(&shown),
        [reason, json!({"kind": "completed"})],
        "R-LOOP-4: the driver lives"
    );
    assert_eq!(live(&shown, "error").len(), 1, "R-TURN-9: told once");
}

#[test]
fn r_strm_2_a_stream_that_fails_outside_of_the_adapter_is_not_offered_to_recovery() {
    let middleware = json!({"on": "llm/stream", "calls": [{"throw": throws("middleware")}]});
    let recovery = json!({"on": "agent/request-error", "each": {"return": {"action": "retry"}}});
    let shown = play(json!({
        "listeners": [middleware, recovery],
        "responses": [says("unused")],
        "actions": [send("a"), {"op": "waitIdle"}],
    }));
    assert_eq!(
        ends(&shown),
        [json!({"kind": "error", "step": 1, "message": "middleware"})]
    );
    assert_eq!(shown["unusedResponses"], 1);
}

#[test]
fn r_fail_2_a_recovery_that_fails_leaves_the_model_s_own_error() {
    let broken =
        json!([{"throw": {"class": "LlmError", "message": "overloaded", "code": "SERVER", "status": 503}}]);
    let shown = play(json!({
        "listeners": [{"on": "agent/request-error", "each": {"throw": throws("recovery broke")}}],
        "responses": [broken],
        "actions": [send("a"), {"op": "waitIdle"}],
    }));
    let failure = json!({"message": "overloaded", "code": "SERVER", "status": 503});
    assert_eq!(
        ends(&shown),
        [json!({"kind": "error", "step": 1, "failure": failure})]
    );
}

#[test]
fn r_fail_7_a_post_step_that_fails_closes_the_step_and_fails_the_turn() {
    let shown = play(json!({
        "listeners": [{"on": "agent/post-step", "each": {"throw": throws("post broke")}}],
        "responses": [says("1")],
        "actions": [send("a"), {"op": "waitIdle"}],
    }));
    let events = events(&shown);
    assert_eq!(events[events.len() - 2..], ["step/end", "turn/end error"]);
    assert_eq!(
        ends(&shown),
        [json!({"kind": "error", "step": 1, "message": "post broke"})]
    );
}

#[test]
fn r_cont_7_steering_from_the_end_of_a_step_makes_another_step_of_the_same_turn() {
    let observer =
        json!({"on": "session/event", "match": {"type": "step/end"}, "calls": [{"do": [steer("more")]}]});
    let shown = play(json!({
        "listeners": [observer],
        "responses": [says("1"), says("2")],
        "actions": [send("a"), {"op": "waitIdle"}],
    }));
    assert_eq!(ends(&shown), [json!({"kind": "completed"})]);
    let events = events(&shown);
    let at = |event: &str| events.iter().position(|known| known == event).unwrap();
    assert!(at("step/end") < at("steering/message more"), "{events:?}");
    assert_eq!(events.iter().filter(|event| *event == "step/start").count(), 2);
}

#[test]
fn r_cont_8_a_turn_may_stop_although_tools_were_called_and_nothing_is_left_unanswered() {
    let shown = play(json!({
        "tools": [tool("t", json!([]))],
        "listeners": [{"on": "agent/turn-continuation", "each": {"return": {"action": "stop"}}}],
        "responses": [calls(&[("c1", "t")])],
        "actions": [send("a"), {"op": "waitIdle"}],
    }));
    assert_eq!(ends(&shown), [json!({"kind": "completed"})]);
    assert!(events(&shown).contains(&"tool/result c1".to_owned()));
}

#[test]
fn r_sched_8_a_scheduler_that_fails_drains_what_it_started_and_answers_the_rest() {
    // A policy answers the second call itself, straight in the log; so the loop's own answer is refused.
    let result = json!({"turn": 1, "step": 1, "callId": "c2", "content": [], "isError": false});
    let forged = json!({"op": "append", "type": "tool/result", "data": result, "surfaceOp": "append"});
    let policy = json!({"on": "tools/pre-execute", "match": {"callId": "c2"}, "each": {"do": [forged]}});
    let slow = json!([{"sleep": 50}, {"return": text("slow")}]);
    let shown = play(json!({
        "tools": [
            {"name": "slow", "concurrencySafe": true, "body": slow},
            {"name": "fast", "concurrencySafe": true, "body": []},
        ],
        "listeners": [policy],
        "responses": [calls(&[("c1", "slow"), ("c2", "fast"), ("c3", "fast")])],
        "actions": [send("a"), {"op": "waitIdle"}],
    }));
    let events = events(&shown);
    for call in ["c1", "c2", "c3"] {
        let results = events
            .iter()
            .filter(|event| **event == format!("tool/result {call}"));
        assert_eq!(results.count(), 1, "{call} has one answer: {events:?}");
    }
    assert_eq!(ends(&shown).len(), 1);
    assert_eq!(
        events.last().unwrap(),
        &format!("turn/end {}", ends(&shown)[0]["kind"].as_str().unwrap())
    );
}
