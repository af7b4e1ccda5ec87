//! How do a script's JSON values become values of the contract?

use hames_sdk::bindings::imports::hames::plugin::content as wit;
use hames_sdk::bindings::imports::hames::plugin::types::{Cause, Failure, Fault, FaultOrigin, Opaque, Plain};
use hames_sdk::serde_json::{Map, Value};

/// A field that is text.
pub fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// The fields that aren't among the known ones.
pub fn extra(value: &Value, known: &[&str]) -> Option<String> {
    let rest: Map<String, Value> = value
        .as_object()?
        .iter()
        .filter(|(key, _)| !known.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    (!rest.is_empty()).then(|| Value::Object(rest).to_string())
}

fn opaque(value: &Value, tag: &str) -> Opaque {
    let mut fields = value.as_object().cloned().unwrap_or_default();
    fields.shift_remove(tag);
    Opaque {
        kind: text(value, tag),
        fields: Value::Object(fields).to_string(),
    }
}

pub fn blocks(value: &Value) -> Vec<wit::ContentBlock> {
    value
        .as_array()
        .map(|blocks| blocks.iter().map(block).collect())
        .unwrap_or_default()
}

fn block(value: &Value) -> wit::ContentBlock {
    match value["type"].as_str().unwrap_or_default() {
        "text" => wit::ContentBlock::Text(text_block(value)),
        "reasoning" => wit::ContentBlock::Reasoning(reasoning(value)),
        "tool-call" => wit::ContentBlock::ToolCall(tool_call(value)),
        "tool-result" => wit::ContentBlock::ToolResult(wit::ToolResultBlock {
            tool_call_id: text(value, "toolCallId"),
            content: value["content"]
                .as_array()
                .map(|blocks| blocks.iter().map(result_block).collect())
                .unwrap_or_default(),
            is_error: value["isError"].as_bool(),
            extra: extra(value, &["type", "toolCallId", "content", "isError"]),
        }),
        _ => wit::ContentBlock::Other(opaque(value, "type")),
    }
}

fn result_block(value: &Value) -> wit::ResultBlock {
    match value["type"].as_str().unwrap_or_default() {
        "text" => wit::ResultBlock::Text(text_block(value)),
        "reasoning" => wit::ResultBlock::Reasoning(reasoning(value)),
        "tool-call" => wit::ResultBlock::ToolCall(tool_call(value)),
        _ => wit::ResultBlock::Other(opaque(value, "type")),
    }
}

fn text_block(value: &Value) -> wit::TextBlock {
    wit::TextBlock {
        text: text(value, "text"),
        extra: extra(value, &["type", "text"]),
    }
}

fn reasoning(value: &Value) -> wit::ReasoningBlock {
    wit::ReasoningBlock {
        text: text(value, "text"),
        extra: extra(value, &["type", "text"]),
    }
}

fn tool_call(value: &Value) -> wit::ToolCallBlock {
    wit::ToolCallBlock {
        id: text(value, "id"),
        name: text(value, "name"),
        arguments: text(value, "arguments"),
        extra: extra(value, &["type", "id", "name", "arguments"]),
    }
}

/// Where something comes from; without a word about it, from the person.
pub fn source(value: &Value) -> wit::MessageSource {
    match value["kind"].as_str() {
        None | Some("user") => wit::MessageSource::User(Plain {
            extra: extra(value, &["kind"]),
        }),
        Some("plugin") => wit::MessageSource::Plugin(wit::PluginSource {
            plugin: text(value, "plugin"),
            extra: extra(value, &["kind", "plugin"]),
        }),
        Some(_) => wit::MessageSource::Other(opaque(value, "kind")),
    }
}

pub fn context(value: &Value) -> wit::Context {
    wit::Context {
        content: blocks(&value["content"]),
        source: source(&value["source"]),
        placement: match value["placement"].as_str() {
            Some("prompt-prefix") => Some(wit::ContextPlacement::PromptPrefix),
            Some(_) => Some(wit::ContextPlacement::Separate),
            None => None,
        },
        meta: value.get("meta").map(Value::to_string),
        extra: extra(value, &["content", "source", "placement", "meta"]),
    }
}

/// A message.
pub fn message(value: &Value) -> wit::Message {
    let route = &value["provenance"];
    wit::Message {
        role: match value["role"].as_str() {
            Some("system") => wit::Role::System,
            Some("assistant") => wit::Role::Assistant,
            Some(_) | None => wit::Role::User,
        },
        content: blocks(&value["content"]),
        provenance: route.is_object().then(|| wit::Provenance {
            provider: text(route, "provider"),
            model: text(route, "model"),
            replay_state: route.get("replayState").map(Value::to_string),
            extra: extra(route, &["provider", "model", "replayState"]),
        }),
        extra: extra(value, &["role", "content", "provenance"]),
    }
}

pub fn contexts(value: &Value) -> Vec<wit::Context> {
    value
        .as_array()
        .map(|contexts| contexts.iter().map(context).collect())
        .unwrap_or_default()
}

/// What a script throws.
pub fn fault(value: &Value) -> Fault {
    let class = value["class"].as_str().unwrap_or("Error");
    let own = |key: &str| value[key].as_str().map(str::to_owned);
    let mut causes = Vec::new();
    let mut next = &value["cause"];
    while next.is_object() {
        causes.push(Cause {
            message: text(next, "message"),
            name: next["name"].as_str().map(str::to_owned),
            code: next["code"].as_str().map(str::to_owned),
        });
        next = &next["cause"];
    }
    Fault {
        message: text(value, "message"),
        name: own("name")
            .or_else(|| (class == "HarnessError" || class == "LlmError").then(|| class.to_owned())),
        code: own("code"),
        origin: match class {
            "HarnessError" | "LlmError" => FaultOrigin::Contract,
            "string" | "object" => FaultOrigin::NotAnError,
            _ => FaultOrigin::Foreign,
        },
        failure: (class == "LlmError").then(|| Failure {
            message: text(value, "message"),
            code: text(value, "code"),
            status: value["status"].as_u64(),
            provider_retry_after_ms: value.get("providerRetryAfterMs").map(Value::to_string),
            request_id: own("requestId"),
            extra: None,
        }),
        causes,
    }
}
