//! Which payloads are read without a value tree in between? The ones a long session is full of.
//!
//! Each reader takes exactly the plain form of its kind, without any unknown field, and gives up on everything else:
//! then the general way decides. So it changes how fast a payload is read, never what comes of it.

use std::borrow::Cow;
use std::sync::Arc;

use hames_types::chunk::{BlockStart, FinishReason, StreamChunk, TextDelta, ToolCallDelta};
use hames_types::content::{Content, ContentBlock};
use hames_types::event::{
    AssistantChunk, AssistantMessage, EventBody, StepMark, TurnEnd, TurnStart, UserMessage,
};
use hames_types::id::{CallId, ModelId, ProviderId, StepNo, TurnNo};
use hames_types::json::{Extra, MAX_SAFE_INTEGER};
use hames_types::message::{MessageSource, Plain, Provenance};
use hames_types::turn::{TurnEndReason, TurnTrigger};
use hames_types::usage::TokenUsage;
use serde::Deserialize;
use smol_str::SmolStr;

use super::present;

/// The payload, if it is a plain one of a hot kind.
pub(super) fn body(kind: &str, data: &str) -> Option<EventBody> {
    match kind {
        "assistant/chunk" => chunk(data).map(EventBody::AssistantChunk),
        "step/start" => mark(data).map(EventBody::StepStart),
        "step/end" => mark(data).map(EventBody::StepEnd),
        "turn/start" => turn_start(data).map(EventBody::TurnStart),
        "turn/end" => turn_end(data).map(EventBody::TurnEnd),
        "user/message" => prompt(data).map(EventBody::UserMessage),
        "assistant/message" => answer(data).map(|message| EventBody::AssistantMessage(Box::new(message))),
        _ => None,
    }
}

fn mark(data: &str) -> Option<StepMark> {
    let mark: MarkIn = serde_json::from_str(data).ok()?;
    Some(StepMark {
        turn: TurnNo::new(safe(mark.turn)?),
        step: StepNo::new(safe(mark.step)?),
        extra: Extra::NONE,
    })
}

fn chunk(data: &str) -> Option<AssistantChunk> {
    let chunk: ChunkIn<'_> = serde_json::from_str(data).ok()?;
    Some(AssistantChunk {
        turn: TurnNo::new(safe(chunk.turn)?),
        step: StepNo::new(safe(chunk.step)?),
        chunk: chunk.chunk.typed()?,
        extra: Extra::NONE,
    })
}

/// A turn that a person's prompt began.
fn turn_start(data: &str) -> Option<TurnStart> {
    let start: StartIn = serde_json::from_str(data).ok()?;
    let plain = start.trigger.kind == "message" && start.trigger.source.kind == "user";
    plain.then_some(TurnStart {
        turn: TurnNo::new(safe(start.turn)?),
        trigger: TurnTrigger::message(MessageSource::USER),
        extra: Extra::NONE,
    })
}

/// A turn that ran to its end.
fn turn_end(data: &str) -> Option<TurnEnd> {
    let end: EndIn = serde_json::from_str(data).ok()?;
    (end.reason.kind == "completed").then_some(TurnEnd {
        turn: TurnNo::new(safe(end.turn)?),
        reason: TurnEndReason::Completed(Plain::NEW),
        extra: Extra::NONE,
    })
}

/// A person's prompt without baked contexts.
fn prompt(data: &str) -> Option<UserMessage> {
    let message: PromptIn = serde_json::from_str(data).ok()?;
    if message.source.kind != "user" {
        return None;
    }
    Some(UserMessage {
        content: blocks(message.content)?,
        source: MessageSource::USER,
        envelope: None,
        extra: Extra::NONE,
    })
}

/// An answer without replay state.
fn answer(data: &str) -> Option<AssistantMessage> {
    let message: AnswerIn = serde_json::from_str(data).ok()?;
    let provenance = Provenance::of(
        ProviderId::new(message.provenance.provider),
        ModelId::new(message.provenance.model),
    );
    Some(AssistantMessage {
        turn: TurnNo::new(safe(message.turn)?),
        step: StepNo::new(safe(message.step)?),
        content: blocks(message.content)?,
        provenance: Arc::new(provenance),
        usage: match message.usage {
            Some(usage) => Some(usage.typed()?),
            None => None,
        },
        extra: Extra::NONE,
    })
}

fn blocks(blocks: Vec<BlockIn>) -> Option<Content> {
    blocks.into_iter().map(BlockIn::typed).collect()
}

fn safe(number: u64) -> Option<u64> {
    (number <= MAX_SAFE_INTEGER).then_some(number)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkIn {
    turn: u64,
    step: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChunkIn<'a> {
    turn: u64,
    step: u64,
    #[serde(borrow)]
    chunk: PieceIn<'a>,
}

/// All fields a plain piece can have; which ones it must have is its kind's to say.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PieceIn<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default, deserialize_with = "present")]
    index: Option<u64>,
    #[serde(default, deserialize_with = "present")]
    text: Option<SmolStr>,
    #[serde(rename = "blockType", default, deserialize_with = "present")]
    block_type: Option<SmolStr>,
    #[serde(default, deserialize_with = "present")]
    id: Option<SmolStr>,
    #[serde(default, deserialize_with = "present")]
    name: Option<SmolStr>,
    #[serde(rename = "argumentsDelta", default, deserialize_with = "present")]
    arguments_delta: Option<SmolStr>,
    #[serde(default, deserialize_with = "present")]
    block: Option<BlockIn>,
    #[serde(default, deserialize_with = "present")]
    reason: Option<ReasonIn>,
    #[serde(default, deserialize_with = "present")]
    usage: Option<UsageIn>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockIn {
    #[serde(rename = "type")]
    kind: SmolStr,
    #[serde(default, deserialize_with = "present")]
    text: Option<SmolStr>,
    #[serde(default, deserialize_with = "present")]
    id: Option<SmolStr>,
    #[serde(default, deserialize_with = "present")]
    name: Option<SmolStr>,
    #[serde(default, deserialize_with = "present")]
    arguments: Option<SmolStr>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StartIn {
    turn: u64,
    trigger: TriggerIn,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TriggerIn {
    kind: SmolStr,
    source: ReasonIn,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EndIn {
    turn: u64,
    reason: ReasonIn,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PromptIn {
    content: Vec<BlockIn>,
    source: ReasonIn,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerIn {
    turn: u64,
    step: u64,
    content: Vec<BlockIn>,
    provenance: RouteIn,
    #[serde(default, deserialize_with = "present")]
    usage: Option<UsageIn>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteIn {
    provider: SmolStr,
    model: SmolStr,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct UsageIn {
    input_tokens: u64,
    output_tokens: u64,
    #[serde(default, deserialize_with = "present")]
    cache_read_tokens: Option<u64>,
    #[serde(default, deserialize_with = "present")]
    cache_write_tokens: Option<u64>,
    #[serde(default, deserialize_with = "present")]
    reasoning_tokens: Option<u64>,
}

/// A word that says everything: a reason, a source.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReasonIn {
    kind: SmolStr,
}

impl PieceIn<'_> {
    fn typed(self) -> Option<StreamChunk> {
        // A field that isn't the kind's own is an unknown one: not plain.
        let Self {
            kind,
            index,
            text,
            block_type,
            id,
            name,
            arguments_delta,
            block,
            reason,
            usage,
        } = self;
        if let Some(usage) = usage {
            let others = [&text, &block_type, &id, &name, &arguments_delta];
            let alone = index.is_none() && block.is_none() && reason.is_none();
            let alone = alone && others.into_iter().all(Option::is_none) && kind == "usage";
            return alone.then_some(StreamChunk::usage(usage.typed()?));
        }
        let index = match index {
            Some(index) => Some(safe(index)?),
            None => None,
        };
        let extra = Extra::NONE;
        match (
            &*kind,
            index,
            text,
            block_type,
            id,
            arguments_delta,
            block,
            reason,
        ) {
            ("text-delta", Some(index), Some(text), None, None, None, None, None) if name.is_none() => {
                Some(StreamChunk::TextDelta(TextDelta { index, text, extra }))
            }
            ("reasoning-delta", Some(index), Some(text), None, None, None, None, None) if name.is_none() => {
                Some(StreamChunk::ReasoningDelta(TextDelta { index, text, extra }))
            }
            ("tool-call-delta", Some(index), None, None, Some(id), Some(arguments_delta), None, None) => {
                Some(StreamChunk::ToolCallDelta(Box::new(ToolCallDelta {
                    index,
                    id: CallId::new(id),
                    name,
                    arguments_delta,
                    extra,
                })))
            }
            ("block-start", Some(index), None, Some(block_type), None, None, None, None)
                if name.is_none() =>
            {
                Some(StreamChunk::BlockStart(BlockStart {
                    index,
                    block_type,
                    extra,
                }))
            }
            ("block-end", Some(index), None, None, None, None, Some(block), None) if name.is_none() => {
                Some(StreamChunk::block_end(index, block.typed()?))
            }
            ("finish", None, None, None, None, None, None, Some(reason)) if name.is_none() => {
                (reason.kind == "stop").then(|| StreamChunk::finish(FinishReason::STOP, None))
            }
            _ => None,
        }
    }
}

impl BlockIn {
    fn typed(self) -> Option<ContentBlock> {
        match (self.kind.as_str(), self.text, self.id, self.name, self.arguments) {
            ("text", Some(text), None, None, None) => Some(ContentBlock::text(text)),
            ("reasoning", Some(text), None, None, None) => Some(ContentBlock::reasoning(text)),
            ("tool-call", None, Some(id), Some(name), Some(arguments)) => {
                Some(ContentBlock::tool_call(CallId::new(id), name, arguments))
            }
            _ => None,
        }
    }
}

impl UsageIn {
    fn typed(self) -> Option<TokenUsage> {
        let optional = |count: Option<u64>| count.map_or(Some(None), |count| safe(count).map(Some));
        Some(TokenUsage {
            input_tokens: safe(self.input_tokens)?,
            output_tokens: safe(self.output_tokens)?,
            cache_read_tokens: optional(self.cache_read_tokens)?,
            cache_write_tokens: optional(self.cache_write_tokens)?,
            reasoning_tokens: optional(self.reasoning_tokens)?,
            extra: Extra::NONE,
        })
    }
}
