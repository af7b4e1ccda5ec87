//! Tests of what becomes of schemas.

use hames_types::json::Json;
use serde_json::json;

use super::{as_object, for_gemini};

fn gemini(schema: Json) -> Json {
    for_gemini(schema.as_object().unwrap())
}

#[test]
fn a_schema_without_a_type_is_an_objects() {
    let schema = json!({ "required": ["a"] });
    let object = as_object(schema.as_object().unwrap());
    assert_eq!(
        Json::Object(object),
        json!({ "type": "object", "properties": {}, "required": ["a"] })
    );
}

#[test]
fn gemini_gets_one_type_no_references_and_no_keyword_it_does_not_know() {
    let schema = json!({
        "$schema": "x", "type": "object", "additionalProperties": false,
        "properties": {
            "a": { "type": ["string", "null"], "const": "x" },
            "b": { "$ref": "#/$defs/node" },
            "c": { "oneOf": [{ "type": "integer", "enum": [1, 2] }, { "type": "string", "enum": ["y"] }] },
        },
        "$defs": { "node": { "type": "array", "items": { "type": "number", "exclusiveMinimum": 0 } } },
    });
    let expected = json!({
        "type": "object",
        "properties": {
            "a": { "nullable": true, "type": "string", "enum": ["x"] },
            "b": { "type": "array", "items": { "type": "number" } },
            "c": { "anyOf": [{ "type": "integer" }, { "type": "string", "enum": ["y"] }] },
        },
    });
    assert_eq!(gemini(schema), expected);
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    let schema = json!({
        "properties": { "a": { "$ref": "#/$defs/loop" } },
        "$defs": { "loop": { "type": "array", "items": { "$ref": "#/$defs/loop" } } },
    });
    assert_eq!(gemini(schema)["properties"]["a"]["type"], "array");
}

#[test]
fn a_tool_without_parameters_has_none() {
    assert_eq!(gemini(json!({})), Json::Null);
}
