//! A request as Anthropic's messages take it.

use hames_types::content::{ContentBlock, ToolCallBlock, ToolResultBlock};
use hames_types::failure::LlmFailure;
use hames_types::json::{Json, JsonMap};
use hames_types::message::{Message, Role};
use hames_types::request::Request;
use serde_json::json;

use super::{MAKER, MessagesConfig};
use crate::fail::{code, failure};
use crate::keepsake::Keepsakes;
use crate::names::Names;
use crate::schema::as_object;
use crate::wording::{EMPTY_MESSAGE, NO_OUTPUT};

/// The body's bytes.
pub(super) fn body(request: &Request, config: &MessagesConfig, names: &Names) -> Result<Vec<u8>, LlmFailure> {
    let mut turns = turns(request, names);
    let mut system = system(request);
    if config.cache {
        mark(system.last_mut());
        mark(turns.last_mut().and_then(|turn| turn.blocks.last_mut()));
    }
    let thinking = config.thinking_tokens.filter(|_| may_think(request));
    let max_tokens = request.config.max_tokens.unwrap_or(config.default_max_tokens);
    let messages: Vec<Json> = turns
        .into_iter()
        .map(|turn| json!({ "role": turn.role, "content": turn.blocks }))
        .collect();
    let mut body = JsonMap::new();
    let mut put = |key: &str, value: Json| body.insert(key.to_owned(), value);
    put("model", Json::from(request.config.model.as_str()));
    // Thinking counts towards the answer.
    put(
        "max_tokens",
        Json::from(max_tokens.saturating_add(thinking.unwrap_or(0))),
    );
    if !system.is_empty() {
        put("system", Json::from(system));
    }
    put("messages", Json::from(messages));
    put("stream", Json::Bool(true));
    if let Some(tools) = request.tools.as_ref().filter(|tools| !tools.is_empty()) {
        let tools = tools.iter().map(|tool| {
            json!({
                "name": names.wire(&tool.name),
                "description": tool.description,
                "input_schema": as_object(&tool.parameters),
            })
        });
        put("tools", tools.collect());
    }
    if let Some(budget) = thinking {
        put("thinking", json!({ "type": "enabled", "budget_tokens": budget }));
    } else if let Some(temperature) = &request.config.temperature {
        // A thinking model takes no temperature.
        put("temperature", Json::Number(temperature.clone()));
    }
    if let Some(stop) = request.config.stop.as_ref().filter(|stop| !stop.is_empty()) {
        put(
            "stop_sequences",
            stop.iter().map(|text| Json::from(text.as_str())).collect(),
        );
    }
    serde_json::to_vec(&body).map_err(|error| {
        failure(
            code::INVALID_REQUEST,
            format_args!("the request can't be encoded: {error}"),
        )
    })
}

/// Marks the end of what is worth caching.
fn mark(block: Option<&mut Json>) {
    if let Some(block) = block.and_then(Json::as_object_mut) {
        block.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
    }
}

/// A model that thinks must see its thoughts of the round of tools it is in; without them it can't go on thinking.
fn may_think(request: &Request) -> bool {
    let last_answer = request
        .messages
        .iter()
        .rev()
        .find(|message| message.role == Role::Assistant);
    last_answer.is_none_or(|answer| {
        answer.content.tool_calls().next().is_none()
            || !Keepsakes::read(answer.replay_state(), MAKER, &answer.content).is_empty()
    })
}

/// Instructions stand in front of the conversation, wherever they came.
fn system(request: &Request) -> Vec<Json> {
    let inside = request
        .messages
        .iter()
        .filter(|message| message.role == Role::System);
    let texts = request
        .system
        .iter()
        .map(ToString::to_string)
        .chain(inside.map(|message| message.content.joined_text()));
    texts
        .filter(|text| !text.is_empty())
        .map(|text| json!({ "type": "text", "text": text }))
        .collect()
}

struct Turn {
    role: &'static str,
    blocks: Vec<Json>,
}

/// Messages of one speaker in a row are one turn.
fn turns(request: &Request, names: &Names) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for message in request.messages.iter() {
        let (role, blocks) = match message.role {
            Role::System => continue,
            Role::User => ("user", user(message)),
            Role::Assistant => ("assistant", assistant(message, names)),
        };
        match turns.last_mut() {
            Some(turn) if turn.role == role => turn.blocks.extend(blocks),
            Some(_) | None => turns.push(Turn { role, blocks }),
        }
    }
    for turn in &mut turns {
        if turn.role == "user" {
            // Answers to calls come first; the sort keeps the order of what is alike.
            turn.blocks
                .sort_by_key(|block| block.get("type") != Some(&Json::from("tool_result")));
        }
        if turn.blocks.is_empty() {
            turn.blocks.push(json!({ "type": "text", "text": EMPTY_MESSAGE }));
        }
    }
    turns
}

fn user(message: &Message) -> Vec<Json> {
    let blocks = message.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => text_block(&text.text),
        ContentBlock::ToolResult(result) => Some(result_block(result)),
        ContentBlock::Reasoning(_) | ContentBlock::ToolCall(_) | ContentBlock::Other(_) => None,
    });
    blocks.collect()
}

/// The provider refuses empty text.
fn text_block(text: &str) -> Option<Json> {
    (!text.is_empty()).then(|| json!({ "type": "text", "text": text }))
}

fn result_block(result: &ToolResultBlock) -> Json {
    let text = result.content.joined_text();
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": wire_id(result.tool_call_id.as_str()),
        "content": if text.is_empty() { NO_OUTPUT } else { &text },
    });
    if let (Some(true), Some(fields)) = (result.is_error, block.as_object_mut()) {
        fields.insert("is_error".to_owned(), Json::Bool(true));
    }
    block
}

fn assistant(message: &Message, names: &Names) -> Vec<Json> {
    let kept = Keepsakes::read(message.replay_state(), MAKER, &message.content);
    let mut blocks = Vec::new();
    for (at, block) in message.content.iter().enumerate() {
        blocks.extend(kept.in_front(at).map(|fields| Json::Object(fields.clone())));
        blocks.extend(match block {
            ContentBlock::Text(text) => text_block(&text.text),
            // Thinking that isn't signed is nobody's; the provider refuses it.
            ContentBlock::Reasoning(thought) => kept.at(at).map(|fields| {
                let mut block = json!({ "type": "thinking", "thinking": thought.text });
                if let Some(block) = block.as_object_mut() {
                    block.extend(fields.clone());
                }
                block
            }),
            ContentBlock::ToolCall(call) => Some(call_block(call, names)),
            ContentBlock::ToolResult(_) | ContentBlock::Other(_) => None,
        });
    }
    blocks.extend(
        kept.in_front(message.content.len())
            .map(|fields| Json::Object(fields.clone())),
    );
    blocks
}

fn call_block(call: &ToolCallBlock, names: &Names) -> Json {
    // Arguments must be an object here, and a model may have written anything.
    let input = match serde_json::from_str(&call.arguments) {
        Ok(object @ Json::Object(_)) => object,
        Ok(_) | Err(_) => json!({ "arguments": call.arguments }),
    };
    json!({
        "type": "tool_use",
        "id": wire_id(call.id.as_str()),
        "name": names.wire(&call.name),
        "input": input,
    })
}

/// An id the provider takes; another provider may have made it. Call and answer are changed alike.
fn wire_id(id: &str) -> String {
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-') {
            letter
        } else {
            '_'
        }
    };
    let id: String = id.chars().map(plain).collect();
    if id.is_empty() { "call".to_owned() } else { id }
}
