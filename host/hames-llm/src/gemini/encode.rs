//! A request as Gemini takes it.

use std::collections::HashMap;

use hames_types::content::{ContentBlock, ToolCallBlock, ToolResultBlock};
use hames_types::failure::LlmFailure;
use hames_types::id::CallId;
use hames_types::json::{Json, JsonMap};
use hames_types::message::{Message, Role};
use hames_types::request::Request;
use serde_json::json;
use smol_str::SmolStr;

use super::{GeminiConfig, MAKER};
use crate::fail::{code, failure};
use crate::keepsake::Keepsakes;
use crate::names::Names;
use crate::schema::for_gemini;
use crate::wording::EMPTY_MESSAGE;

/// Which tool a call's id belongs to: answers name the tool here.
type Called<'a> = HashMap<&'a CallId, &'a SmolStr>;

/// The body's bytes.
pub(super) fn body(request: &Request, config: &GeminiConfig, names: &Names) -> Result<Vec<u8>, LlmFailure> {
    let mut body = JsonMap::new();
    let mut put = |key: &str, value: Json| body.insert(key.to_owned(), value);
    put("contents", contents(request, names));
    if let Some(system) = system(request) {
        put("systemInstruction", json!({ "parts": [{ "text": system }] }));
    }
    if let Some(tools) = request.tools.as_ref().filter(|tools| !tools.is_empty()) {
        let declared: Vec<Json> = tools
            .iter()
            .map(|tool| {
                let mut declared = json!({ "name": names.wire(&tool.name), "description": tool.description });
                let parameters = for_gemini(&tool.parameters);
                if let (false, Some(fields)) = (parameters.is_null(), declared.as_object_mut()) {
                    fields.insert("parameters".to_owned(), parameters);
                }
                declared
            })
            .collect();
        put("tools", json!([{ "functionDeclarations": declared }]));
    }
    let generation = generation(request, config);
    if !generation.is_empty() {
        put("generationConfig", Json::Object(generation));
    }
    serde_json::to_vec(&body).map_err(|error| {
        failure(
            code::INVALID_REQUEST,
            format_args!("the request can't be encoded: {error}"),
        )
    })
}

fn generation(request: &Request, config: &GeminiConfig) -> JsonMap {
    let mut fields = JsonMap::new();
    let mut put = |key: &str, value: Json| fields.insert(key.to_owned(), value);
    if let Some(temperature) = &request.config.temperature {
        put("temperature", Json::Number(temperature.clone()));
    }
    if let Some(max_tokens) = request.config.max_tokens {
        put("maxOutputTokens", Json::from(max_tokens));
    }
    if let Some(stop) = request.config.stop.as_ref().filter(|stop| !stop.is_empty()) {
        put(
            "stopSequences",
            stop.iter().map(|text| Json::from(text.as_str())).collect(),
        );
    }
    if let Some(budget) = config.thinking_tokens {
        put(
            "thinkingConfig",
            json!({ "includeThoughts": budget > 0, "thinkingBudget": budget }),
        );
    }
    fields
}

/// Instructions stand beside the conversation, wherever they came.
fn system(request: &Request) -> Option<String> {
    let inside = request
        .messages
        .iter()
        .filter(|message| message.role == Role::System);
    let texts = request
        .system
        .iter()
        .map(ToString::to_string)
        .chain(inside.map(|message| message.content.joined_text()));
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Messages of one speaker in a row are one content.
fn contents(request: &Request, names: &Names) -> Json {
    let calls = request
        .messages
        .iter()
        .flat_map(|message| message.content.tool_calls());
    let called: Called<'_> = calls.map(|call| (&call.id, &call.name)).collect();
    let mut contents: Vec<(&str, Vec<Json>)> = Vec::new();
    for message in request.messages.iter() {
        let (role, parts) = match message.role {
            Role::System => continue,
            Role::User => ("user", user(message, &called, names)),
            Role::Assistant => ("model", model(message, names)),
        };
        match contents.last_mut() {
            Some((last, all)) if *last == role => all.extend(parts),
            Some(_) | None => contents.push((role, parts)),
        }
    }
    let contents = contents.into_iter().map(|(role, mut parts)| {
        if parts.is_empty() {
            parts.push(json!({ "text": EMPTY_MESSAGE }));
        }
        json!({ "role": role, "parts": parts })
    });
    contents.collect()
}

fn user(message: &Message, called: &Called<'_>, names: &Names) -> Vec<Json> {
    let parts = message.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => text_part(&text.text),
        ContentBlock::ToolResult(result) => Some(result_part(result, called, names)),
        ContentBlock::Reasoning(_) | ContentBlock::ToolCall(_) | ContentBlock::Other(_) => None,
    });
    parts.collect()
}

fn text_part(text: &str) -> Option<Json> {
    (!text.is_empty()).then(|| json!({ "text": text }))
}

fn result_part(result: &ToolResultBlock, called: &Called<'_>, names: &Names) -> Json {
    // An answer without its call names itself; the provider may refuse it, as it would refuse anything else.
    let name = called
        .get(&result.tool_call_id)
        .map_or(result.tool_call_id.as_str(), |name| name.as_str());
    let key = if result.is_error == Some(true) {
        "error"
    } else {
        "output"
    };
    json!({
        "functionResponse": {
            "name": names.wire(name),
            "response": { key: result.content.joined_text() },
        }
    })
}

fn model(message: &Message, names: &Names) -> Vec<Json> {
    let kept = Keepsakes::read(message.replay_state(), MAKER, &message.content);
    let blocks = message.content.iter().enumerate();
    let parts = blocks.filter_map(|(at, block)| {
        let part = match block {
            ContentBlock::Text(text) => text_part(&text.text),
            ContentBlock::ToolCall(call) => Some(call_part(call, names)),
            ContentBlock::Reasoning(_) | ContentBlock::ToolResult(_) | ContentBlock::Other(_) => None,
        };
        part.map(|mut part| {
            if let (Some(part), Some(fields)) = (part.as_object_mut(), kept.at(at)) {
                part.extend(fields.clone());
            }
            part
        })
    });
    parts.collect()
}

fn call_part(call: &ToolCallBlock, names: &Names) -> Json {
    let arguments = match serde_json::from_str(&call.arguments) {
        Ok(object @ Json::Object(_)) => object,
        Ok(_) | Err(_) => json!({ "arguments": call.arguments }),
    };
    json!({ "functionCall": { "name": names.wire(&call.name), "args": arguments } })
}
