//! A request as OpenAI's responses take it.

use hames_types::content::{ContentBlock, ToolResultBlock};
use hames_types::failure::LlmFailure;
use hames_types::json::{Json, JsonMap};
use hames_types::message::{Message, Role};
use hames_types::request::Request;
use serde_json::json;

use super::{MAKER, ResponsesConfig};
use crate::fail::{code, failure};
use crate::keepsake::Keepsakes;
use crate::names::Names;
use crate::schema::as_object;
use crate::wording::NO_OUTPUT;

/// The body's bytes. The provider keeps nothing: the log is the conversation.
pub(super) fn body(
    request: &Request,
    config: &ResponsesConfig,
    names: &Names,
) -> Result<Vec<u8>, LlmFailure> {
    let mut body = JsonMap::new();
    let mut put = |key: &str, value: Json| body.insert(key.to_owned(), value);
    put("model", Json::from(request.config.model.as_str()));
    if let Some(system) = &request.system {
        put("instructions", Json::from(system.as_str()));
    }
    put(
        "input",
        request
            .messages
            .iter()
            .flat_map(|message| items(message, names))
            .collect(),
    );
    put("stream", Json::Bool(true));
    put("store", Json::Bool(false));
    if config.sealed_thoughts {
        put("include", json!(["reasoning.encrypted_content"]));
    }
    if let Some(effort) = &config.reasoning_effort {
        put("reasoning", json!({ "effort": effort, "summary": "auto" }));
    }
    if let Some(tools) = request.tools.as_ref().filter(|tools| !tools.is_empty()) {
        let tools = tools.iter().map(|tool| {
            json!({
                "type": "function",
                "name": names.wire(&tool.name),
                "description": tool.description,
                "parameters": as_object(&tool.parameters),
                "strict": false,
            })
        });
        put("tools", tools.collect());
    }
    if let Some(temperature) = &request.config.temperature {
        put("temperature", Json::Number(temperature.clone()));
    }
    if let Some(max_tokens) = request.config.max_tokens {
        put("max_output_tokens", Json::from(max_tokens));
    }
    serde_json::to_vec(&body).map_err(|error| {
        failure(
            code::INVALID_REQUEST,
            format_args!("the request can't be encoded: {error}"),
        )
    })
}

fn items(message: &Message, names: &Names) -> Vec<Json> {
    match message.role {
        Role::System => said("system", &message.content.joined_text())
            .into_iter()
            .collect(),
        Role::User => user(message),
        Role::Assistant => assistant(message, names),
    }
}

fn said(role: &str, text: &str) -> Option<Json> {
    let kind = if role == "assistant" {
        "output_text"
    } else {
        "input_text"
    };
    (!text.is_empty())
        .then(|| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] }))
}

/// Answers to calls come first: the provider wants them behind the calls.
fn user(message: &Message) -> Vec<Json> {
    let results = message.content.iter().filter_map(|block| match block {
        ContentBlock::ToolResult(result) => Some(result_item(result)),
        ContentBlock::Text(_)
        | ContentBlock::Reasoning(_)
        | ContentBlock::ToolCall(_)
        | ContentBlock::Other(_) => None,
    });
    results
        .chain(said("user", &message.content.joined_text()))
        .collect()
}

fn result_item(result: &ToolResultBlock) -> Json {
    let text = result.content.joined_text();
    json!({
        "type": "function_call_output",
        "call_id": result.tool_call_id,
        "output": if text.is_empty() { NO_OUTPUT } else { &text },
    })
}

fn assistant(message: &Message, names: &Names) -> Vec<Json> {
    let kept = Keepsakes::read(message.replay_state(), MAKER, &message.content);
    let mut items = Vec::new();
    for (at, block) in message.content.iter().enumerate() {
        items.extend(kept.in_front(at).map(|fields| Json::Object(fields.clone())));
        items.extend(match block {
            ContentBlock::Text(text) => said("assistant", &text.text),
            // A thought goes back as it was sealed, or not at all.
            ContentBlock::Reasoning(_) => kept.at(at).map(|fields| Json::Object(fields.clone())),
            ContentBlock::ToolCall(call) => Some(json!({
                "type": "function_call",
                "call_id": call.id,
                "name": names.wire(&call.name),
                "arguments": call.arguments,
            })),
            ContentBlock::ToolResult(_) | ContentBlock::Other(_) => None,
        });
    }
    items.extend(
        kept.in_front(message.content.len())
            .map(|fields| Json::Object(fields.clone())),
    );
    items
}
