//! What the tests of encoders share.

use std::sync::Arc;

use hames_types::content::{Content, ContentBlock, ToolResultBlock};
use hames_types::id::{CallId, ModelId, ProviderId};
use hames_types::json::{Extra, Json};
use hames_types::message::{History, Message, Provenance, Role};
use hames_types::request::{CallConfig, Request, ToolSchema};

use crate::call::Protocol;
use crate::http::Outgoing;
use crate::limits::Limits;

pub(crate) fn request(messages: Vec<Message>) -> Request {
    Request {
        config: CallConfig::new(ProviderId::new("p"), ModelId::new("m")),
        system: Some("be brief".into()),
        tools: None,
        messages: messages.into_iter().map(Arc::new).collect::<History>(),
        session_id: None,
        purpose: None,
    }
}

pub(crate) fn user(text: &str) -> Message {
    Message::user(Content::text(text))
}

pub(crate) fn system(text: &str) -> Message {
    Message {
        role: Role::System,
        ..user(text)
    }
}

pub(crate) fn assistant(blocks: Vec<ContentBlock>, state: Option<Json>) -> Message {
    let provenance = Provenance {
        replay_state: state,
        ..Provenance::of(ProviderId::new("p"), ModelId::new("m"))
    };
    Message::assistant(Content::from(blocks), Some(Arc::new(provenance)))
}

pub(crate) fn call(id: &str, arguments: &str) -> ContentBlock {
    ContentBlock::tool_call(CallId::new(id), "read", arguments)
}

pub(crate) fn result(id: &str, text: &str, is_error: bool) -> Message {
    let block = ToolResultBlock {
        tool_call_id: CallId::new(id),
        content: Content::text(text),
        is_error: Some(is_error),
        extra: Extra::NONE,
    };
    Message::user(Content::from(vec![ContentBlock::ToolResult(block)]))
}

pub(crate) fn with_tool(mut request: Request, parameters: &Json) -> Request {
    request.tools = Some(Arc::new(vec![ToolSchema {
        name: "read".into(),
        description: "reads".into(),
        parameters: Arc::new(parameters.as_object().cloned().unwrap_or_default()),
        extra: Extra::NONE,
    }]));
    request
}

pub(crate) fn sent(protocol: &impl Protocol, request: &Request) -> (Outgoing, Json) {
    let (outgoing, _) = protocol.encode(request, Limits::default()).unwrap();
    let body = serde_json::from_slice(&outgoing.body).unwrap();
    (outgoing, body)
}
