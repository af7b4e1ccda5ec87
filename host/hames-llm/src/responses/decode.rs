//! An answer of OpenAI's responses, event by event.

use hames_types::chunk::FinishReason;
use hames_types::failure::LlmFailure;
use hames_types::json::{Extra, Json, JsonMap};
use hames_types::message::Plain;
use hames_types::usage::TokenUsage;

use super::MAKER;
use crate::blocks::{BlockNo, Blocks, CallPiece};
use crate::call::{Decode, Progress};
use crate::classify::ANY;
use crate::fail::{closed, code};
use crate::keepsake::Keepsakes;
use crate::limits::Limits;
use crate::names::Names;
use crate::payload::{failed_finish, part, read, reported, text};
use crate::sse::SseEvent;
use crate::text::count;

/// What an item is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thought,
    Call,
}

struct Item {
    /// How the provider's events name it.
    key: String,
    kind: Kind,
    block: BlockNo,
    /// Which part of it spoke last; thoughts come in parts.
    part: Option<u64>,
}

pub(crate) struct Decoder {
    names: Names,
    blocks: Blocks,
    items: Vec<Item>,
    kept: Keepsakes,
}

impl Decoder {
    pub(crate) fn new(names: Names, limits: Limits) -> Self {
        Self {
            names,
            blocks: Blocks::new(limits),
            items: Vec::new(),
            kept: Keepsakes::default(),
        }
    }

    /// The item an event is about. Servers differ in what they name it by; the number counts first.
    fn key(payload: &Json) -> String {
        match payload.get("output_index").and_then(Json::as_u64) {
            Some(index) => index.to_string(),
            None => text(payload, "item_id").to_owned(),
        }
    }

    fn find(&self, key: &str, kind: Kind) -> Option<BlockNo> {
        let mut newest_first = self.items.iter().rev();
        newest_first
            .find(|item| item.key == key && item.kind == kind)
            .map(|item| item.block)
    }

    fn find_or_open(&mut self, key: String, kind: Kind) -> Result<BlockNo, LlmFailure> {
        if let Some(block) = self.find(&key, kind) {
            return Ok(block);
        }
        let block = match kind {
            Kind::Text => self.blocks.open_text()?,
            Kind::Thought => self.blocks.open_reasoning()?,
            Kind::Call => self.blocks.open_call()?,
        };
        self.items.push(Item {
            key,
            kind,
            block,
            part: None,
        });
        Ok(block)
    }

    fn said(&mut self, payload: &Json, kind: Kind) -> Result<(), LlmFailure> {
        let piece = text(payload, "delta");
        if piece.is_empty() {
            return Ok(());
        }
        let block = self.find_or_open(Self::key(payload), kind)?;
        let part = ["summary_index", "content_index"]
            .iter()
            .find_map(|key| payload.get(key)?.as_u64());
        let item = self.items.iter_mut().find(|item| item.block == block);
        let new_part = item.is_some_and(|item| {
            item.part
                .replace(part.unwrap_or(0))
                .is_some_and(|last| Some(last) != part)
        });
        if new_part && kind == Kind::Thought {
            self.blocks.text(block, "\n\n")?;
        }
        self.blocks.text(block, piece)
    }

    fn begun(&mut self, payload: &Json) -> Result<(), LlmFailure> {
        let item = part(payload, "item")?;
        if text(item, "type") == "function_call" {
            let block = self.find_or_open(Self::item_key(payload, item), Kind::Call)?;
            self.identify(block, item, "")?;
        }
        Ok(())
    }

    /// Items name themselves, events name them by number: both must come to the same.
    fn item_key(payload: &Json, item: &Json) -> String {
        let key = Self::key(payload);
        if key.is_empty() {
            text(item, "id").to_owned()
        } else {
            key
        }
    }

    fn identify(&mut self, block: BlockNo, item: &Json, arguments: &str) -> Result<(), LlmFailure> {
        let id = if text(item, "call_id").is_empty() {
            text(item, "id")
        } else {
            text(item, "call_id")
        };
        let piece = CallPiece {
            id: Some(id),
            name: Some(self.names.ours(text(item, "name"))),
            arguments,
        };
        self.blocks.call(block, piece)
    }

    fn called(&mut self, payload: &Json) -> Result<(), LlmFailure> {
        let block = self.find_or_open(Self::key(payload), Kind::Call)?;
        let piece = CallPiece {
            arguments: text(payload, "delta"),
            ..CallPiece::default()
        };
        self.blocks.call(block, piece)
    }

    /// The whole item, which says whatever its deltas didn't.
    fn done(&mut self, payload: &Json) -> Result<(), LlmFailure> {
        let item = part(payload, "item")?;
        let key = Self::item_key(payload, item);
        match text(item, "type") {
            "message" => self.whole(key, Kind::Text, &joined(item.get("content"), "\n\n")),
            "reasoning" => {
                let shown = ["summary", "content"].map(|key| joined(item.get(key), "\n\n"));
                let shown = shown
                    .into_iter()
                    .find(|text| !text.is_empty())
                    .unwrap_or_default();
                self.whole(key.clone(), Kind::Thought, &shown)?;
                self.keep(&key, item);
                Ok(())
            }
            "function_call" => {
                let block = self.find_or_open(key, Kind::Call)?;
                let arguments = if self.blocks.is_bare(block) {
                    text(item, "arguments")
                } else {
                    ""
                };
                self.identify(block, item, arguments)?;
                self.blocks.close(block);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn whole(&mut self, key: String, kind: Kind, said: &str) -> Result<(), LlmFailure> {
        let block = match self.find(&key, kind) {
            Some(block) => block,
            None if said.is_empty() => return Ok(()),
            None => self.find_or_open(key, kind)?,
        };
        if self.blocks.is_bare(block) {
            self.blocks.text(block, said)?;
        }
        self.blocks.close(block);
        Ok(())
    }

    /// A sealed thought goes back as it came.
    fn keep(&mut self, key: &str, item: &Json) {
        if text(item, "encrypted_content").is_empty() {
            return;
        }
        let wanted = ["type", "id", "summary", "encrypted_content"];
        let fields: JsonMap = wanted
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), item.get(*key)?.clone())))
            .collect();
        match self.find(key, Kind::Thought) {
            Some(block) => self.kept.of_block(block, fields),
            None => self.kept.before(self.blocks.len(), fields),
        }
    }

    fn finish(&mut self, payload: &Json) -> Result<Progress, LlmFailure> {
        let response = part(payload, "response")?;
        let reason = match response
            .pointer("/incomplete_details/reason")
            .and_then(Json::as_str)
        {
            Some("max_output_tokens") => FinishReason::MaxTokens(Plain::NEW),
            Some("content_filter") => failed_finish(code::CONTENT_FILTER, "content_filter"),
            Some(other) => failed_finish(other.to_uppercase(), other),
            None if text(payload, "type") == "response.incomplete" => {
                return Err(closed("a reason for its early end"));
            }
            None if self.items.iter().any(|item| item.kind == Kind::Call) => {
                FinishReason::ToolCalls(Plain::NEW)
            }
            None => FinishReason::STOP,
        };
        let state = std::mem::take(&mut self.kept).into_state(MAKER, self.blocks.len());
        self.blocks.finish(usage_of(response.get("usage")), reason, state);
        Ok(Progress::Done)
    }
}

impl Decode for Decoder {
    fn event(&mut self, event: &SseEvent<'_>) -> Result<Progress, LlmFailure> {
        if event.data == "[DONE]" {
            // Some servers add the marker of the other protocol; by then the answer has ended or never will.
            return Err(closed("its terminal marker"));
        }
        let payload = read(event)?;
        match text(&payload, "type") {
            "response.output_text.delta" | "response.refusal.delta" => self.said(&payload, Kind::Text)?,
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.said(&payload, Kind::Thought)?;
            }
            "response.function_call_arguments.delta" => self.called(&payload)?,
            "response.output_item.added" => self.begun(&payload)?,
            "response.output_item.done" => self.done(&payload)?,
            "response.completed" | "response.incomplete" => return self.finish(&payload),
            "response.failed" => return Err(reported(part(&payload, "response")?, &ANY)),
            "error" => return Err(reported(&payload, &ANY)),
            _ if event.name == "error" || payload.get("error").is_some_and(Json::is_object) => {
                return Err(reported(&payload, &ANY));
            }
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

/// The texts of an item's parts.
fn joined(parts: Option<&Json>, between: &str) -> String {
    let parts = parts.and_then(Json::as_array).into_iter().flatten();
    let texts = parts.map(|part| {
        if text(part, "text").is_empty() {
            text(part, "refusal")
        } else {
            text(part, "text")
        }
    });
    texts
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join(between)
}

fn usage_of(usage: Option<&Json>) -> Option<TokenUsage> {
    let usage = usage.filter(|usage| usage.is_object())?;
    let cached = count(usage.pointer("/input_tokens_details/cached_tokens"));
    Some(TokenUsage {
        input_tokens: count(usage.get("input_tokens"))
            .unwrap_or(0)
            .saturating_sub(cached.unwrap_or(0)),
        output_tokens: count(usage.get("output_tokens")).unwrap_or(0),
        cache_read_tokens: cached,
        cache_write_tokens: None,
        reasoning_tokens: count(usage.pointer("/output_tokens_details/reasoning_tokens")),
        extra: Extra::NONE,
    })
}
