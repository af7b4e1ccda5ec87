//! An answer of Gemini, event by event. Its finish reason is its end: what follows may only count.

use hames_types::chunk::FinishReason;
use hames_types::failure::LlmFailure;
use hames_types::json::{Extra, Json};
use hames_types::message::Plain;
use hames_types::usage::TokenUsage;
use smol_str::format_smolstr;

use super::MAKER;
use crate::blocks::{BlockNo, Blocks, CallPiece};
use crate::call::{Decode, Progress};
use crate::classify::GEMINI;
use crate::fail::{closed, code, failure, malformed};
use crate::keepsake::Keepsakes;
use crate::limits::Limits;
use crate::names::Names;
use crate::payload::{failed_finish, read, reported, text};
use crate::sse::SseEvent;
use crate::text::count;

/// The block that text goes to.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Speaking {
    block: BlockNo,
    thought: bool,
}

pub(crate) struct Decoder {
    names: Names,
    /// Makes ids of calls unique in the conversation.
    round: usize,
    blocks: Blocks,
    speaking: Option<Speaking>,
    calls: usize,
    kept: Keepsakes,
    usage: Option<TokenUsage>,
    finish: Option<String>,
}

impl Decoder {
    pub(crate) fn new(names: Names, round: usize, limits: Limits) -> Self {
        Self {
            names,
            round,
            blocks: Blocks::new(limits),
            speaking: None,
            calls: 0,
            kept: Keepsakes::default(),
            usage: None,
            finish: None,
        }
    }

    fn candidate(&mut self, candidate: &Json) -> Result<(), LlmFailure> {
        let parts = candidate.pointer("/content/parts");
        let parts = match parts {
            None | Some(Json::Null) => &[],
            Some(Json::Array(parts)) => parts.as_slice(),
            Some(Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_)) => {
                return Err(malformed(
                    "an event of the provider's stream has parts that are no list",
                ));
            }
        };
        for part in parts {
            self.part(part)?;
        }
        let word = text(candidate, "finishReason");
        if !word.is_empty() {
            self.finish = Some(word.to_owned());
        }
        Ok(())
    }

    fn part(&mut self, part: &Json) -> Result<(), LlmFailure> {
        let block = if let Some(call) = part.get("functionCall").filter(|call| call.is_object()) {
            Some(self.call(call)?)
        } else {
            self.said(part)?
        };
        let signature = text(part, "thoughtSignature");
        if let Some(block) = block.filter(|_| !signature.is_empty()) {
            let fields = [("thoughtSignature".to_owned(), Json::from(signature))];
            self.kept.of_block(block, fields.into_iter().collect());
        }
        Ok(())
    }

    fn said(&mut self, part: &Json) -> Result<Option<BlockNo>, LlmFailure> {
        let piece = text(part, "text");
        let thought = part.get("thought") == Some(&Json::Bool(true));
        let same = self.speaking.filter(|speaking| speaking.thought == thought);
        let block = match same {
            Some(speaking) => speaking.block,
            // A signature may come on an empty part of its own; it belongs to what was said last.
            None if piece.is_empty() => return Ok(self.speaking.map(|speaking| speaking.block)),
            None => {
                self.hush();
                let block = if thought {
                    self.blocks.open_reasoning()?
                } else {
                    self.blocks.open_text()?
                };
                self.speaking = Some(Speaking { block, thought });
                block
            }
        };
        self.blocks.text(block, piece)?;
        Ok(Some(block))
    }

    /// Ends the block that text went to.
    fn hush(&mut self) {
        if let Some(speaking) = self.speaking.take() {
            self.blocks.close(speaking.block);
        }
    }

    /// Calls come whole.
    fn call(&mut self, call: &Json) -> Result<BlockNo, LlmFailure> {
        self.hush();
        self.calls += 1;
        let own = format_smolstr!("call-{}-{}", self.round, self.calls);
        let id = text(call, "id");
        let arguments = match call.get("args") {
            Some(arguments @ Json::Object(_)) => arguments.to_string(),
            Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_)) | None => {
                "{}".to_owned()
            }
        };
        let block = self.blocks.open_call()?;
        let piece = CallPiece {
            id: Some(if id.is_empty() { &own } else { id }),
            name: Some(self.names.ours(text(call, "name"))),
            arguments: &arguments,
        };
        self.blocks.call(block, piece)?;
        self.blocks.close(block);
        Ok(block)
    }
}

impl Decode for Decoder {
    fn event(&mut self, event: &SseEvent<'_>) -> Result<Progress, LlmFailure> {
        let payload = read(event)?;
        if payload.get("error").is_some_and(|error| !error.is_null()) {
            return Err(reported(&payload, &GEMINI));
        }
        if let Some(word) = payload
            .pointer("/promptFeedback/blockReason")
            .and_then(Json::as_str)
        {
            let problem = format_args!("the provider refused the prompt with `{word}`");
            return Err(failure(code::CONTENT_FILTER, problem));
        }
        match payload.get("candidates") {
            None | Some(Json::Null) => {}
            Some(Json::Array(candidates)) => {
                // One is asked for.
                if let Some(candidate) = candidates.first() {
                    self.candidate(candidate)?;
                }
            }
            Some(Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_)) => {
                return Err(malformed(
                    "an event of the provider's stream has candidates that are no list",
                ));
            }
        }
        self.usage = usage_of(payload.get("usageMetadata")).or(self.usage.take());
        Ok(Progress::More)
    }

    fn end(&mut self) -> Result<(), LlmFailure> {
        let Some(word) = self.finish.take() else {
            return Err(closed("a finish reason"));
        };
        let reason = reason_of(&word, self.calls > 0);
        let state = std::mem::take(&mut self.kept).into_state(MAKER, self.blocks.len());
        self.blocks.finish(self.usage.take(), reason, state);
        Ok(())
    }

    fn blocks(&mut self) -> &mut Blocks {
        &mut self.blocks
    }
}

fn reason_of(word: &str, calls: bool) -> FinishReason {
    match word {
        "STOP" | "FUNCTION_CALL" if calls => FinishReason::ToolCalls(Plain::NEW),
        "STOP" => FinishReason::STOP,
        "MAX_TOKENS" => FinishReason::MaxTokens(Plain::NEW),
        "SAFETY" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "RECITATION" => {
            failed_finish(code::CONTENT_FILTER, word)
        }
        other => failed_finish(other.to_uppercase(), other),
    }
}

fn usage_of(usage: Option<&Json>) -> Option<TokenUsage> {
    let usage = usage.filter(|usage| usage.is_object())?;
    let tokens = |key: &str| count(usage.get(key));
    let cached = tokens("cachedContentTokenCount");
    let thought = tokens("thoughtsTokenCount");
    Some(TokenUsage {
        input_tokens: tokens("promptTokenCount")
            .unwrap_or(0)
            .saturating_sub(cached.unwrap_or(0)),
        output_tokens: tokens("candidatesTokenCount")
            .unwrap_or(0)
            .saturating_add(thought.unwrap_or(0)),
        cache_read_tokens: cached,
        cache_write_tokens: None,
        reasoning_tokens: thought,
        extra: Extra::NONE,
    })
}
