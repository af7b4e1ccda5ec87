//! Which payloads are read without a value tree in between? The ones a long session is full of.
//!
//! Each reader takes exactly the plain form of its kind, without any unknown field, and gives up on everything else:
//! then the general way decides. So it changes how fast a payload is read, never what comes of it.

use std::borrow::Cow;

use hames_types::chunk::{BlockStart, FinishReason, StreamChunk, TextDelta, ToolCallDelta};
use hames_types::content::ContentBlock;
use hames_types::event::{AssistantChunk, EventBody, StepMark};
use hames_types::id::{CallId, StepNo, TurnNo};
use hames_types::json::{Extra, MAX_SAFE_INTEGER};
use serde::Deserialize;
use smol_str::SmolStr;

use super::present;

/// The payload, if it is a plain one of a hot kind.
pub(super) fn body(kind: &str, data: &str) -> Option<EventBody> {
    match kind {
        "assistant/chunk" => chunk(data).map(EventBody::AssistantChunk),
        "step/start" => mark(data).map(EventBody::StepStart),
        "step/end" => mark(data).map(EventBody::StepEnd),
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
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockIn {
    #[serde(rename = "type")]
    kind: SmolStr,
    text: SmolStr,
}

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
        } = self;
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
        match self.kind.as_str() {
            "text" => Some(ContentBlock::text(self.text)),
            "reasoning" => Some(ContentBlock::reasoning(self.text)),
            _ => None,
        }
    }
}
