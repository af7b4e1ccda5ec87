//! What the model sees of the log (R-PROJ): a pure projection of one event, and its running fold.

use std::sync::Arc;

use hames_types::content::{Content, ContentBlock, ToolResultBlock};
use hames_types::event::{Event, EventBody};
use hames_types::id::{CallId, Seq};
use hames_types::json::{DecodeError, Extra, FromJson, Json};
use hames_types::message::{History, Message, Provenance};

use crate::error::DeriveError;
use crate::surface::Surface;

/// The message an event contributes to the history; `None` if it contributes none (R-PROJ-3).
///
/// An event whose payload doesn't fit its kind is read as far as a message needs it.
///
/// # Errors
/// [`DecodeError`] if even that isn't there.
pub fn message_of(event: &Event) -> Result<Option<Arc<Message>>, DecodeError> {
    let Some(body) = event.body() else {
        return message_of_kept(event);
    };
    let message = match body {
        EventBody::UserMessage(message) => Message::user(message.content.clone()),
        EventBody::ContextMessage(message) => Message::user(message.content.clone()),
        EventBody::SteeringMessage(message) => Message::user(message.content.clone()),
        EventBody::AssistantMessage(message) if message.content.is_empty() => return Ok(None),
        EventBody::AssistantMessage(message) => {
            Message::assistant(message.content.clone(), Some(Arc::clone(&message.provenance)))
        }
        EventBody::ToolResult(result) => tool_message(
            result.call_id.clone(),
            result.content.clone(),
            Some(result.is_error),
        ),
        EventBody::TurnStart(_)
        | EventBody::TurnEnd(_)
        | EventBody::StepStart(_)
        | EventBody::StepEnd(_)
        | EventBody::PromptBlocked(_)
        | EventBody::AssistantChunk(_)
        | EventBody::ToolCall(_)
        | EventBody::TodoWrite(_)
        | EventBody::RequestHeader(_)
        | EventBody::Other(_) => return Ok(None),
    };
    Ok(Some(Arc::new(message)))
}

fn tool_message(call_id: CallId, content: Content, is_error: Option<bool>) -> Message {
    let block = ToolResultBlock {
        tool_call_id: call_id,
        content,
        is_error,
        extra: Extra::NONE,
    };
    Message::user(Content::from(vec![ContentBlock::ToolResult(block)]))
}

fn message_of_kept(event: &Event) -> Result<Option<Arc<Message>>, DecodeError> {
    let data = event.data.kept().unwrap_or(&Json::Null);
    let content = || -> Result<Content, DecodeError> { field(data, "content") };
    let message = match event.kind() {
        "user/message" | "context/message" | "steering/message" => Message::user(content()?),
        "assistant/message" => {
            let content = content()?;
            if content.is_empty() {
                return Ok(None);
            }
            let provenance = match data.get("provenance") {
                Some(_) => Some(field::<Arc<Provenance>>(data, "provenance")?),
                None => None,
            };
            Message::assistant(content, provenance)
        }
        "tool/result" => {
            let is_error = data.get("isError").map(|_| field(data, "isError")).transpose()?;
            tool_message(field(data, "callId")?, content()?, is_error)
        }
        _ => return Ok(None),
    };
    Ok(Some(Arc::new(message)))
}

fn field<T: FromJson>(data: &Json, name: &str) -> Result<T, DecodeError> {
    data.get(name)
        .cloned()
        .ok_or_else(|| DecodeError::missing(name))
        .and_then(T::from_json)
}

/// The projection of a growing log, each node projected once; a replacement starts it over (R-PROJ-2).
#[derive(Debug, Clone, Default)]
pub(crate) struct Projection {
    history: History,
    nodes: usize,
    generation: u64,
}

impl Projection {
    /// Catches up with the surface. After a fault it stays where it was.
    pub(crate) fn follow(
        &mut self,
        surface: &Surface,
        events: &[Arc<Event>],
    ) -> Result<&History, DeriveError> {
        if self.generation != surface.replace_generation() {
            *self = Self {
                generation: surface.replace_generation(),
                ..Self::default()
            };
        }
        for seq in surface.nodes().get(self.nodes..).unwrap_or_default() {
            if let Some(message) = message_at(*seq, events)? {
                self.history.push(message);
            }
            self.nodes += 1;
        }
        Ok(&self.history)
    }
}

fn message_at(seq: Seq, events: &[Arc<Event>]) -> Result<Option<Arc<Message>>, DeriveError> {
    events.get(seq.index()).map_or(Ok(None), |event| {
        message_of(event).map_err(|fault| DeriveError { seq, fault })
    })
}

/// The history of a log, from scratch.
///
/// # Errors
/// [`DeriveError`] naming the event that can't be shown.
pub fn derive(surface: &Surface, events: &[Arc<Event>]) -> Result<History, DeriveError> {
    let mut history = History::new();
    for seq in surface.nodes() {
        if let Some(message) = message_at(*seq, events)? {
            history.push(message);
        }
    }
    Ok(history)
}

/// What a person should see of a prompt: without what was baked into it (R-PROJ-4).
#[must_use]
pub fn display_content(body: &EventBody) -> Option<&Content> {
    let (content, envelope) = match body {
        EventBody::UserMessage(message) => (&message.content, &message.envelope),
        EventBody::SteeringMessage(message) => (&message.content, &message.envelope),
        EventBody::ContextMessage(message) => return Some(&message.content),
        EventBody::PromptBlocked(blocked) => return Some(&blocked.content),
        EventBody::TurnStart(_)
        | EventBody::TurnEnd(_)
        | EventBody::StepStart(_)
        | EventBody::StepEnd(_)
        | EventBody::AssistantChunk(_)
        | EventBody::AssistantMessage(_)
        | EventBody::ToolCall(_)
        | EventBody::ToolResult(_)
        | EventBody::TodoWrite(_)
        | EventBody::RequestHeader(_)
        | EventBody::Other(_) => return None,
    };
    Some(
        envelope
            .as_ref()
            .map_or(content, |envelope| &envelope.display_content),
    )
}
