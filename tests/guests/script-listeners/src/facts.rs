//! What can a script's `match` compare?

use hames_sdk::bindings::imports::hames::plugin::events::StreamChunk;
use hames_sdk::serde_json::{Value, json};
use hames_sdk::session::{Event, EventBody};
use hames_sdk::tool::ToolCall;
use script::written::parsed;

pub fn of_agent(agent: &str) -> Value {
    json!({ "agent": agent })
}

pub fn of_turn(agent: &str, turn: u64) -> Value {
    json!({ "agent": agent, "turn": turn })
}

pub fn of_step(agent: &str, turn: u64, step: u64) -> Value {
    json!({ "agent": agent, "turn": turn, "step": step })
}

pub fn of_call(call: &ToolCall) -> Value {
    json!({ "tool": call.name, "callId": call.call_id, "agent": call.agent })
}

/// With one more fact.
pub fn with(mut facts: Value, key: &str, value: impl Into<Value>) -> Value {
    facts[key] = value.into();
    facts
}

pub fn of_event(session: &str, event: &Event) -> Value {
    let (kind, turn, step) = placed(&event.body);
    let mut facts = json!({ "session": session, "type": kind, "seq": event.seq });
    if let Some(turn) = turn {
        facts["turn"] = turn;
    }
    if let Some(step) = step {
        facts["step"] = step;
    }
    if let EventBody::AssistantChunk(chunk) = &event.body {
        facts["chunk"] = json!(chunk_kind(&chunk.chunk));
    }
    facts
}

/// An event's kind, and the turn and step it names.
fn placed(body: &EventBody) -> (&str, Option<Value>, Option<Value>) {
    let at = |turn: u64, step: u64| (Some(json!(turn)), Some(json!(step)));
    let (kind, (turn, step)) = match body {
        EventBody::TurnStart(event) => ("turn/start", (Some(json!(event.turn)), None)),
        EventBody::TurnEnd(event) => ("turn/end", (Some(json!(event.turn)), None)),
        EventBody::StepStart(event) => ("step/start", at(event.turn, event.step)),
        EventBody::StepEnd(event) => ("step/end", at(event.turn, event.step)),
        EventBody::UserMessage(_) => ("user/message", (None, None)),
        EventBody::PromptBlocked(_) => ("prompt/blocked", (None, None)),
        EventBody::ContextMessage(_) => ("context/message", (None, None)),
        EventBody::AssistantChunk(event) => ("assistant/chunk", at(event.turn, event.step)),
        EventBody::AssistantMessage(event) => ("assistant/message", at(event.turn, event.step)),
        EventBody::ToolCall(event) => ("tool/call", at(event.turn, event.step)),
        EventBody::ToolResult(event) => ("tool/result", at(event.turn, event.step)),
        EventBody::SteeringMessage(event) => ("steering/message", (Some(json!(event.turn)), None)),
        EventBody::TodoWrite(_) => ("todo/write", (None, None)),
        EventBody::RequestHeader(_) => ("request/header", (None, None)),
        EventBody::Other(other) => {
            let fields = parsed(&other.fields);
            let own = |key: &str| fields.get(key).cloned();
            return (&other.kind, own("turn"), own("step"));
        }
    };
    (kind, turn, step)
}

fn chunk_kind(chunk: &StreamChunk) -> &'static str {
    match chunk {
        StreamChunk::BlockStart(_) => "block-start",
        StreamChunk::TextDelta(_) => "text-delta",
        StreamChunk::ReasoningDelta(_) => "reasoning-delta",
        StreamChunk::ToolCallDelta(_) => "tool-call-delta",
        StreamChunk::BlockEnd(_) => "block-end",
        StreamChunk::Usage(_) => "usage",
        StreamChunk::Finish(_) => "finish",
    }
}
