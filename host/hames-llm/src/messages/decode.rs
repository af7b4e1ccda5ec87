//! An answer of Anthropic's messages, event by event.

use std::collections::HashMap;

use hames_types::chunk::FinishReason;
use hames_types::failure::LlmFailure;
use hames_types::json::{Extra, Json, JsonMap};
use hames_types::message::Plain;
use hames_types::usage::TokenUsage;

use super::MAKER;
use crate::blocks::{BlockNo, Blocks, CallPiece};
use crate::call::{Decode, Progress};
use crate::classify::ANTHROPIC;
use crate::fail::{closed, code, malformed};
use crate::keepsake::Keepsakes;
use crate::limits::Limits;
use crate::names::Names;
use crate::payload::{failed_finish, number, part, read, reported, text};
use crate::sse::SseEvent;
use crate::text::count;

/// A block of the provider's and what it is here.
enum Open {
    Block(BlockNo),
    Thought {
        block: BlockNo,
        signature: String,
    },
    Call {
        block: BlockNo,
        /// The arguments that came with its beginning; they count if none follow.
        input: Option<String>,
    },
    /// Of a kind that says nothing to us.
    Passed,
}

pub(crate) struct Decoder {
    names: Names,
    blocks: Blocks,
    open: HashMap<u64, Open>,
    kept: Keepsakes,
    usage: JsonMap,
    stop_reason: Option<String>,
}

impl Decoder {
    pub(crate) fn new(names: Names, limits: Limits) -> Self {
        Self {
            names,
            blocks: Blocks::new(limits),
            open: HashMap::new(),
            kept: Keepsakes::default(),
            usage: JsonMap::new(),
            stop_reason: None,
        }
    }

    fn begin(&mut self, payload: &Json) -> Result<(), LlmFailure> {
        let index = number(payload, "index")?;
        let block = part(payload, "content_block")?;
        let open = match text(block, "type") {
            "text" => {
                let number = self.blocks.open_text()?;
                self.blocks.text(number, text(block, "text"))?;
                Open::Block(number)
            }
            "thinking" => {
                let number = self.blocks.open_reasoning()?;
                self.blocks.text(number, text(block, "thinking"))?;
                Open::Thought {
                    block: number,
                    signature: text(block, "signature").to_owned(),
                }
            }
            "redacted_thinking" => {
                self.kept
                    .before(self.blocks.len(), block.as_object().cloned().unwrap_or_default());
                Open::Passed
            }
            "tool_use" => self.begin_call(block)?,
            _ => Open::Passed,
        };
        if self.open.insert(index, open).is_some() {
            return Err(malformed(format_args!(
                "block {index} of the provider's answer begins twice"
            )));
        }
        Ok(())
    }

    fn begin_call(&mut self, block: &Json) -> Result<Open, LlmFailure> {
        let number = self.blocks.open_call()?;
        let piece = CallPiece {
            id: Some(text(block, "id")),
            name: Some(self.names.ours(text(block, "name"))),
            arguments: "",
        };
        self.blocks.call(number, piece)?;
        let input = block.get("input").and_then(Json::as_object);
        Ok(Open::Call {
            block: number,
            input: input.map(|input| Json::Object(input.clone()).to_string()),
        })
    }

    fn delta(&mut self, payload: &Json) -> Result<(), LlmFailure> {
        let index = number(payload, "index")?;
        let delta = part(payload, "delta")?;
        let Some(open) = self.open.get_mut(&index) else {
            return Err(malformed(format_args!(
                "block {index} of the provider's answer goes on without a beginning"
            )));
        };
        match (text(delta, "type"), open) {
            ("text_delta", Open::Block(block)) => self.blocks.text(*block, text(delta, "text")),
            ("thinking_delta", Open::Thought { block, .. }) => {
                self.blocks.text(*block, text(delta, "thinking"))
            }
            ("signature_delta", Open::Thought { signature, .. }) => {
                signature.push_str(text(delta, "signature"));
                Ok(())
            }
            ("input_json_delta", Open::Call { block, input }) => {
                let piece = text(delta, "partial_json");
                if piece.is_empty() {
                    return Ok(());
                }
                *input = None;
                let piece = CallPiece {
                    arguments: piece,
                    ..CallPiece::default()
                };
                self.blocks.call(*block, piece)
            }
            // Deltas of kinds nobody knew yet change nothing (citations, for one).
            _ => Ok(()),
        }
    }

    fn stop(&mut self, payload: &Json) -> Result<(), LlmFailure> {
        let index = number(payload, "index")?;
        match self.open.remove(&index) {
            Some(Open::Block(block)) => self.blocks.close(block),
            Some(Open::Thought { block, signature }) => {
                if !signature.is_empty() {
                    let fields = [("signature".to_owned(), Json::from(signature))];
                    self.kept.of_block(block, fields.into_iter().collect());
                }
                self.blocks.close(block);
            }
            Some(Open::Call { block, input }) => {
                if let Some(input) = input {
                    let piece = CallPiece {
                        arguments: &input,
                        ..CallPiece::default()
                    };
                    self.blocks.call(block, piece)?;
                }
                self.blocks.close(block);
            }
            Some(Open::Passed) | None => {}
        }
        Ok(())
    }

    /// Counts come in pieces; a later piece says more.
    fn count(&mut self, usage: Option<&Json>) {
        let counts = usage.and_then(Json::as_object).into_iter().flatten();
        self.usage.extend(
            counts
                .filter(|(_, value)| value.is_number())
                .map(|(key, value)| (key.clone(), value.clone())),
        );
    }

    fn finish(&mut self) -> Result<Progress, LlmFailure> {
        let Some(word) = self.stop_reason.take() else {
            return Err(closed("a stop reason"));
        };
        let state = std::mem::take(&mut self.kept).into_state(MAKER, self.blocks.len());
        self.blocks.finish(self.usage(), reason_of(&word), state);
        Ok(Progress::Done)
    }

    fn usage(&self) -> Option<TokenUsage> {
        if self.usage.is_empty() {
            return None;
        }
        let tokens = |key: &str| count(self.usage.get(key));
        Some(TokenUsage {
            input_tokens: tokens("input_tokens").unwrap_or(0),
            output_tokens: tokens("output_tokens").unwrap_or(0),
            cache_read_tokens: tokens("cache_read_input_tokens"),
            cache_write_tokens: tokens("cache_creation_input_tokens"),
            reasoning_tokens: None,
            extra: Extra::NONE,
        })
    }
}

impl Decode for Decoder {
    fn event(&mut self, event: &SseEvent<'_>) -> Result<Progress, LlmFailure> {
        let payload = read(event)?;
        match text(&payload, "type") {
            "error" => return Err(reported(&payload, &ANTHROPIC)),
            _ if event.name == "error" => return Err(reported(&payload, &ANTHROPIC)),
            "message_start" => self.count(part(&payload, "message")?.get("usage")),
            "content_block_start" => self.begin(&payload)?,
            "content_block_delta" => self.delta(&payload)?,
            "content_block_stop" => self.stop(&payload)?,
            "message_delta" => {
                let word = text(part(&payload, "delta")?, "stop_reason");
                if !word.is_empty() {
                    self.stop_reason = Some(word.to_owned());
                }
                self.count(payload.get("usage"));
            }
            "message_stop" => return self.finish(),
            // `ping`, and whatever will be thought of next.
            _ => {}
        }
        Ok(Progress::More)
    }

    fn end(&mut self) -> Result<(), LlmFailure> {
        Err(closed("its terminal marker"))
    }

    fn blocks(&mut self) -> &mut Blocks {
        &mut self.blocks
    }
}

fn reason_of(word: &str) -> FinishReason {
    match word {
        "end_turn" | "stop_sequence" => FinishReason::STOP,
        "tool_use" => FinishReason::ToolCalls(Plain::NEW),
        "max_tokens" => FinishReason::MaxTokens(Plain::NEW),
        "model_context_window_exceeded" => failed_finish(code::CONTEXT_WINDOW_EXCEEDED, word),
        "refusal" => failed_finish(code::CONTENT_FILTER, word),
        other => failed_finish(other.to_uppercase(), other),
    }
}
