//! Tests of what Anthropic is sent.

use hames_types::content::ContentBlock;
use serde_json::json;

use super::{MAKER, MessagesConfig, protocol};
use crate::key::KeySource;
use crate::testing::{assistant, call, request, result, sent, system, user, with_tool};

fn config() -> MessagesConfig {
    MessagesConfig {
        cache: false,
        ..MessagesConfig::new(KeySource::None)
    }
}

#[test]
fn instructions_stand_in_front_and_one_speaker_has_one_turn() {
    let request = request(vec![
        user("a"),
        system("and polite"),
        user("b"),
        assistant(vec![ContentBlock::text("c"), call("1/x", "{\"p\":1}")], None),
        user("d"),
        result("1/x", "", true),
    ]);
    let (outgoing, body) = sent(&protocol(config()).unwrap(), &request);
    assert!(outgoing.url.ends_with("/v1/messages"));
    assert_eq!(
        body["system"],
        json!([{ "type": "text", "text": "be brief" }, { "type": "text", "text": "and polite" }])
    );
    assert_eq!(
        body["messages"],
        json!([
            { "role": "user", "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] },
            { "role": "assistant", "content": [
                { "type": "text", "text": "c" },
                { "type": "tool_use", "id": "1_x", "name": "read", "input": { "p": 1 } },
            ] },
            // The answer to the call comes first, whatever was said before it.
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "1_x", "content": "(no output)", "is_error": true },
                { "type": "text", "text": "d" },
            ] },
        ])
    );
    assert_eq!(body["max_tokens"], 8192);
}

#[test]
fn thinking_goes_back_signed_or_not_at_all_and_stops_where_it_could_not_go_on() {
    let thinking = MessagesConfig {
        thinking_tokens: Some(1000),
        ..config()
    };
    let protocol = protocol(thinking).unwrap();
    let blocks = vec![ContentBlock::reasoning("hm"), call("1", "{}")];
    let state = json!({ "maker": MAKER, "blocks": 2, "kept": [
        { "at": 0, "before": true, "type": "redacted_thinking", "data": "X" },
        { "at": 0, "signature": "S" },
    ] });
    let history = |state| {
        request(vec![
            user("a"),
            assistant(blocks.clone(), state),
            result("1", "r", false),
        ])
    };
    let (_, body) = sent(&protocol, &history(Some(state)));
    assert_eq!(
        body["messages"][1]["content"][0],
        json!({ "type": "redacted_thinking", "data": "X" })
    );
    assert_eq!(
        body["messages"][1]["content"][1],
        json!({ "type": "thinking", "thinking": "hm", "signature": "S" })
    );
    assert_eq!(
        body["thinking"],
        json!({ "type": "enabled", "budget_tokens": 1000 })
    );
    assert_eq!(body["max_tokens"], 9192);
    let (_, body) = sent(&protocol, &history(None));
    assert_eq!(body["messages"][1]["content"][0]["type"], "tool_use");
    assert_eq!(body.get("thinking"), None);
}

#[test]
fn what_stays_the_same_is_marked_for_the_cache() {
    let cached = MessagesConfig {
        cache: true,
        ..config()
    };
    let request = with_tool(request(vec![user("a")]), &json!({}));
    let (_, body) = sent(&protocol(cached).unwrap(), &request);
    let mark = json!({ "type": "ephemeral" });
    assert_eq!(body["system"][0]["cache_control"], mark);
    assert_eq!(body["messages"][0]["content"][0]["cache_control"], mark);
    assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
}
