//! Tests of what OpenAI's responses are sent.

use hames_types::content::ContentBlock;
use serde_json::json;

use super::{MAKER, ResponsesConfig, protocol};
use crate::key::KeySource;
use crate::testing::{assistant, call, request, result, sent, user, with_tool};

#[test]
fn a_conversation_becomes_items_in_order() {
    let state = json!({ "maker": MAKER, "blocks": 3, "kept": [{ "at": 0, "type": "reasoning", "id": "rs", "encrypted_content": "E" }] });
    let blocks = vec![
        ContentBlock::reasoning("hm"),
        ContentBlock::text("b"),
        call("1", "{\"p\":1}"),
    ];
    let request = request(vec![
        user("a"),
        assistant(blocks, Some(state)),
        result("1", "r", false),
    ]);
    let (outgoing, body) = sent(
        &protocol(ResponsesConfig::new(KeySource::None)).unwrap(),
        &with_tool(request, &json!({})),
    );
    assert!(outgoing.url.ends_with("/v1/responses"));
    assert_eq!(body["instructions"], "be brief");
    assert_eq!(
        body["input"],
        json!([
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "a" }] },
            { "type": "reasoning", "id": "rs", "encrypted_content": "E" },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "b" }] },
            { "type": "function_call", "call_id": "1", "name": "read", "arguments": "{\"p\":1}" },
            { "type": "function_call_output", "call_id": "1", "output": "r" },
        ])
    );
    assert_eq!(body["store"], false);
    assert_eq!(body["tools"][0]["parameters"]["type"], "object");
}
