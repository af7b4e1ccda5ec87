//! Tests of what Gemini is sent.

use hames_types::content::ContentBlock;
use serde_json::json;

use super::{GeminiConfig, MAKER, in_path, protocol};
use crate::key::KeySource;
use crate::testing::{assistant, call, request, result, sent, user, with_tool};

#[test]
fn answers_name_their_tool_and_signatures_stand_on_their_part() {
    let state = json!({ "maker": MAKER, "blocks": 2, "kept": [{ "at": 1, "thoughtSignature": "S" }] });
    let blocks = vec![ContentBlock::reasoning("hm"), call("1", "{\"p\":1}")];
    let request = request(vec![
        user("a"),
        assistant(blocks, Some(state)),
        result("1", "no", true),
    ]);
    let request = with_tool(request, &json!({ "properties": { "p": { "type": "integer" } } }));
    let config = GeminiConfig {
        version: "v1".into(),
        ..GeminiConfig::new(KeySource::None)
    };
    let (outgoing, body) = sent(&protocol(config).unwrap(), &request);
    assert!(
        outgoing
            .url
            .ends_with("/v1/models/m:streamGenerateContent?alt=sse"),
        "{}",
        outgoing.url
    );
    assert_eq!(
        body["contents"],
        json!([
            { "role": "user", "parts": [{ "text": "a" }] },
            { "role": "model", "parts": [{ "functionCall": { "name": "read", "args": { "p": 1 } }, "thoughtSignature": "S" }] },
            { "role": "user", "parts": [{ "functionResponse": { "name": "read", "response": { "error": "no" } } }] },
        ])
    );
    let declared = &body["tools"][0]["functionDeclarations"][0];
    assert_eq!(declared["parameters"]["properties"]["p"]["type"], "integer");
}

#[test]
fn a_models_name_can_not_leave_its_place_in_the_address() {
    assert_eq!(in_path("models/gemini-2.5-pro"), "gemini-2.5-pro");
    assert_eq!(in_path("../x?key=1#"), "..%2Fx%3Fkey%3D1%23");
}
