//! A request as chat completions take it (R-DS-3, R-DS-4).

use std::borrow::Cow;

use hames_types::content::{Content, ContentBlock, ToolResultBlock};
use hames_types::failure::LlmFailure;
use hames_types::message::{Message, Role};
use hames_types::request::{Request, ToolSchema};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Wire;
use super::dialect::ReplayReasoning;
use super::wire::{CallOut, FunctionOut, MessageOut, ToolOut};
use crate::fail::{code, failure};
use crate::names::Names;
use crate::schema::as_object;
use crate::wording::NO_OUTPUT;

/// The body's bytes.
pub(super) fn body(request: &Request, wire: &Wire, names: &Names) -> Result<Vec<u8>, LlmFailure> {
    serde_json::to_vec(&Body { request, wire, names }).map_err(|error| {
        failure(
            code::INVALID_REQUEST,
            format_args!("the request can't be encoded: {error}"),
        )
    })
}

struct Body<'a> {
    request: &'a Request,
    wire: &'a Wire,
    names: &'a Names,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { request, wire, names } = self;
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry("model", request.config.model.as_str())?;
        body.serialize_entry("messages", &messages(request, wire, names))?;
        body.serialize_entry("stream", &true)?;
        body.serialize_entry("stream_options", &serde_json::json!({ "include_usage": true }))?;
        if let Some(on) = wire.thinking.filter(|_| wire.dialect.has_thinking) {
            let kind = if on { "enabled" } else { "disabled" };
            body.serialize_entry("thinking", &serde_json::json!({ "type": kind }))?;
        }
        if let Some(effort) = &wire.reasoning_effort {
            body.serialize_entry("reasoning_effort", effort)?;
        }
        if let Some(tools) = request.tools.as_ref().filter(|tools| !tools.is_empty()) {
            let tools: Vec<ToolOut<'_>> = tools.iter().map(|tool| tool_out(tool, wire, names)).collect();
            body.serialize_entry("tools", &tools)?;
        }
        if let Some(temperature) = &request.config.temperature {
            body.serialize_entry("temperature", temperature)?;
        }
        if let Some(max_tokens) = request.config.max_tokens {
            body.serialize_entry(wire.dialect.max_tokens_field, &max_tokens)?;
        }
        if let Some(stop) = &request.config.stop {
            body.serialize_entry("stop", stop)?;
        }
        body.end()
    }
}

fn tool_out<'a>(tool: &'a ToolSchema, wire: &Wire, names: &'a Names) -> ToolOut<'a> {
    let incomplete = wire.dialect.object_schemas && !tool.parameters.contains_key("type");
    ToolOut {
        kind: "function",
        function: FunctionOut {
            name: names.wire(&tool.name),
            description: &tool.description,
            parameters: if incomplete {
                Cow::Owned(as_object(&tool.parameters))
            } else {
                Cow::Borrowed(&tool.parameters)
            },
        },
    }
}

fn messages<'a>(request: &'a Request, wire: &Wire, names: &'a Names) -> Vec<MessageOut<'a>> {
    let mut out = Vec::with_capacity(request.messages.len() + 1);
    if let Some(system) = &request.system {
        out.push(MessageOut::plain("system", Cow::Borrowed(system.as_str())));
    }
    for message in request.messages.iter() {
        match message.role {
            Role::System => out.push(MessageOut::plain("system", text_of(&message.content))),
            Role::Assistant => out.push(assistant(message, wire, names)),
            Role::User => user(message, &mut out),
        }
    }
    out
}

/// The text comes first, then the answers to calls, each as a message of its own.
fn user<'a>(message: &'a Message, out: &mut Vec<MessageOut<'a>>) {
    let text = text_of(&message.content);
    let mut results = message.content.iter().filter_map(result_of).peekable();
    if !text.is_empty() || results.peek().is_none() {
        out.push(MessageOut::plain("user", text));
    }
    out.extend(results.map(|result| {
        let text = text_of(&result.content);
        let text = if text.is_empty() {
            Cow::Borrowed(NO_OUTPUT)
        } else {
            text
        };
        MessageOut {
            tool_call_id: Some(result.tool_call_id.as_str()),
            ..MessageOut::plain("tool", text)
        }
    }));
}

fn result_of(block: &ContentBlock) -> Option<&ToolResultBlock> {
    match block {
        ContentBlock::ToolResult(result) => Some(result),
        ContentBlock::Text(_)
        | ContentBlock::Reasoning(_)
        | ContentBlock::ToolCall(_)
        | ContentBlock::Other(_) => None,
    }
}

fn assistant<'a>(message: &'a Message, wire: &Wire, names: &'a Names) -> MessageOut<'a> {
    let calls: Vec<CallOut<'a>> = message
        .content
        .tool_calls()
        .map(|call| CallOut::new(call.id.as_str(), names.wire(&call.name), &call.arguments))
        .collect();
    let replayed = match wire.dialect.replay_reasoning {
        ReplayReasoning::Never => false,
        ReplayReasoning::WithToolCalls => !calls.is_empty(),
    };
    let reasoning = if replayed {
        reasoning_of(&message.content)
    } else {
        Cow::Borrowed("")
    };
    MessageOut {
        reasoning_content: Some(reasoning).filter(|text| !text.is_empty()),
        tool_calls: Some(calls).filter(|calls| !calls.is_empty()),
        ..MessageOut::plain("assistant", text_of(&message.content))
    }
}

/// All visible text, joined without a separator.
fn text_of(content: &Content) -> Cow<'_, str> {
    joined(content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        ContentBlock::Reasoning(_)
        | ContentBlock::ToolCall(_)
        | ContentBlock::ToolResult(_)
        | ContentBlock::Other(_) => None,
    }))
}

fn reasoning_of(content: &Content) -> Cow<'_, str> {
    joined(content.iter().filter_map(|block| match block {
        ContentBlock::Reasoning(text) => Some(text.text.as_str()),
        ContentBlock::Text(_)
        | ContentBlock::ToolCall(_)
        | ContentBlock::ToolResult(_)
        | ContentBlock::Other(_) => None,
    }))
}

fn joined<'a>(mut pieces: impl Iterator<Item = &'a str>) -> Cow<'a, str> {
    let Some(first) = pieces.next() else {
        return Cow::Borrowed("");
    };
    let mut whole = Cow::Borrowed(first);
    for piece in pieces {
        whole.to_mut().push_str(piece);
    }
    whole
}
