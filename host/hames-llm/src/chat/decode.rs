//! An answer of chat completions, event by event (R-DS-5 to R-DS-8).

use hames_types::chunk::FinishReason;
use hames_types::failure::LlmFailure;
use hames_types::json::{Extra, Json};
use hames_types::message::Plain;
use hames_types::usage::TokenUsage;
use serde_json::value::RawValue;
use smol_str::SmolStr;

use super::dialect::{CallWithoutIndex, Dialect};
use super::wire::{CallDelta, Choice, Payload};
use crate::blocks::{BlockNo, Blocks, CallPiece};
use crate::call::{Decode, Progress};
use crate::fail::closed;
use crate::limits::Limits;
use crate::names::Names;
use crate::payload::{failed_finish, reported};
use crate::sse::SseEvent;
use crate::text::{count, not_the_protocol, object};

/// What ends an answer.
const DONE: &str = "[DONE]";

/// Turns the events of one answer into chunks.
pub(crate) struct ChatDecoder {
    dialect: &'static Dialect,
    names: Names,
    blocks: Blocks,
    text: Option<BlockNo>,
    reasoning: Option<BlockNo>,
    calls: Vec<OpenCall>,
    usage: Option<TokenUsage>,
    finish: Option<SmolStr>,
}

/// Which block a call's deltas go to.
struct OpenCall {
    index: Option<u64>,
    id: SmolStr,
    block: BlockNo,
}

impl ChatDecoder {
    pub(crate) fn new(dialect: &'static Dialect, names: Names, limits: Limits) -> Self {
        Self {
            dialect,
            names,
            blocks: Blocks::new(limits),
            text: None,
            reasoning: None,
            calls: Vec::new(),
            usage: None,
            finish: None,
        }
    }

    fn payload(&mut self, payload: Payload<'_>) -> Result<(), LlmFailure> {
        if let Some(error) = payload.error {
            return Err(self.reported(error.get()));
        }
        for choice in payload.choices.into_iter().flatten() {
            self.choice(choice)?;
        }
        if let Some(usage) = payload.usage {
            self.usage = usage_of(usage).or(self.usage.take());
        }
        Ok(())
    }

    /// Reasoning, text, calls: the order of the pieces inside one delta is settled, whatever the JSON's order.
    fn choice(&mut self, choice: Choice<'_>) -> Result<(), LlmFailure> {
        if let Some(reason) = choice.finish_reason {
            // Anything but a word says nothing.
            let word = serde_json::from_str::<String>(reason.get()).unwrap_or_default();
            self.finish = Some(SmolStr::from(word))
                .filter(|word| !word.is_empty())
                .or(self.finish.take());
        }
        let Some(delta) = choice.delta else {
            return Ok(());
        };
        for piece in [delta.reasoning_content, delta.reasoning].into_iter().flatten() {
            if !piece.is_empty() {
                let block = match self.reasoning {
                    Some(block) => block,
                    None => *self.reasoning.insert(self.blocks.open_reasoning()?),
                };
                self.blocks.text(block, &piece)?;
                // Servers that know both names say the same under both.
                break;
            }
        }
        if let Some(piece) = delta.content.filter(|piece| !piece.is_empty()) {
            let block = match self.text {
                Some(block) => block,
                None => *self.text.insert(self.blocks.open_text()?),
            };
            self.blocks.text(block, &piece)?;
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.call(call)?;
        }
        Ok(())
    }

    fn call(&mut self, delta: CallDelta<'_>) -> Result<(), LlmFailure> {
        let id = delta.id.as_deref().unwrap_or_default();
        let block = self.block_of(delta.index, id)?;
        let function = delta.function;
        let name = function.as_ref().and_then(|function| function.name.as_deref());
        let arguments = function
            .as_ref()
            .and_then(|function| function.arguments.as_deref());
        self.blocks.call(
            block,
            CallPiece {
                id: Some(id),
                name: name.map(|name| self.names.ours(name)),
                arguments: arguments.unwrap_or_default(),
            },
        )
    }

    fn block_of(&mut self, index: Option<u64>, id: &str) -> Result<BlockNo, LlmFailure> {
        let by_id = index.is_none() && self.dialect.call_without_index == CallWithoutIndex::ById;
        let known = self.calls.iter_mut().rev().find(|call| {
            call.index == index && (!by_id || id.is_empty() || call.id.is_empty() || call.id == id)
        });
        if let Some(call) = known {
            if !id.is_empty() {
                call.id = SmolStr::new(id);
            }
            return Ok(call.block);
        }
        let block = self.blocks.open_call()?;
        self.calls.push(OpenCall {
            index,
            id: SmolStr::new(id),
            block,
        });
        Ok(block)
    }

    /// An error the provider reports inside its stream.
    fn reported(&self, error: &str) -> LlmFailure {
        let error: Json = serde_json::from_str(error).unwrap_or_default();
        reported(&serde_json::json!({ "error": error }), self.dialect.wording)
    }

    fn finished(&mut self) -> Result<Progress, LlmFailure> {
        let Some(word) = self.finish.take() else {
            return Err(closed("a finish reason"));
        };
        self.blocks.finish(self.usage.take(), reason_of(&word), None);
        Ok(Progress::Done)
    }
}

impl Decode for ChatDecoder {
    fn event(&mut self, event: &SseEvent<'_>) -> Result<Progress, LlmFailure> {
        if event.data == DONE {
            return self.finished();
        }
        if event.name == "error" {
            return Err(self.reported(&event.data));
        }
        let payload = object(&event.data)?;
        let payload = serde_json::from_str(&payload).map_err(|error| not_the_protocol(&error))?;
        self.payload(payload)?;
        Ok(Progress::More)
    }

    fn end(&mut self) -> Result<(), LlmFailure> {
        Err(closed("its terminal marker"))
    }

    fn blocks(&mut self) -> &mut Blocks {
        &mut self.blocks
    }
}

/// A finish reason by the provider's word for it (R-DS-7).
fn reason_of(word: &str) -> FinishReason {
    match word {
        "stop" => FinishReason::STOP,
        "tool_calls" => FinishReason::ToolCalls(Plain::NEW),
        "length" => FinishReason::MaxTokens(Plain::NEW),
        other => failed_finish(other.to_uppercase(), other),
    }
}

/// Counts with the cached tokens taken out of the input (R-DS-8); nothing for what is no object.
fn usage_of(raw: &RawValue) -> Option<TokenUsage> {
    let usage: Json = serde_json::from_str(raw.get()).ok()?;
    let usage = usage.as_object()?;
    let details = |name: &str, field: &str| count(usage.get(name).and_then(|details| details.get(field)));
    let cached = details("prompt_tokens_details", "cached_tokens")
        .or_else(|| count(usage.get("prompt_cache_hit_tokens")));
    let prompt = count(usage.get("prompt_tokens")).unwrap_or(0);
    Some(TokenUsage {
        input_tokens: prompt.saturating_sub(cached.unwrap_or(0)),
        output_tokens: count(usage.get("completion_tokens")).unwrap_or(0),
        cache_read_tokens: cached,
        cache_write_tokens: None,
        reasoning_tokens: details("completion_tokens_details", "reasoning_tokens"),
        extra: Extra::NONE,
    })
}
