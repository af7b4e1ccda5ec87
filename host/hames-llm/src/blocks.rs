//! Which blocks of an answer are open, and which chunks say so? Keeps the stream's grammar for every decoder (R-GRAM).

use std::collections::VecDeque;

use hames_types::chunk::{FinishReason, StreamChunk};
use hames_types::content::ContentBlock;
use hames_types::failure::LlmFailure;
use hames_types::id::CallId;
use hames_types::json::Json;
use hames_types::usage::TokenUsage;
use smol_str::SmolStr;

use crate::fail::malformed;
use crate::limits::Limits;

/// A block on its way.
#[derive(Debug)]
enum Open {
    Text(String),
    Reasoning(String),
    Call(Box<OpenCall>),
    Closed,
}

#[derive(Debug)]
struct OpenCall {
    id: CallId,
    name: Option<SmolStr>,
    arguments: String,
}

/// The number of a block: its place in opening order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockNo(usize);

impl BlockNo {
    pub(crate) fn get(self) -> u64 {
        self.0 as u64
    }
}

/// One piece of a tool call; what is absent or empty changes nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallPiece<'a> {
    pub(crate) id: Option<&'a str>,
    pub(crate) name: Option<SmolStr>,
    pub(crate) arguments: &'a str,
}

/// The answer's blocks, and the chunks not yet handed out.
#[derive(Debug)]
pub(crate) struct Blocks {
    blocks: Vec<Open>,
    chunks: VecDeque<StreamChunk>,
    bytes: usize,
    limits: Limits,
}

impl Blocks {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            blocks: Vec::new(),
            chunks: VecDeque::new(),
            bytes: 0,
            limits,
        }
    }

    /// The oldest chunk not yet handed out.
    pub(crate) fn pop(&mut self) -> Option<StreamChunk> {
        self.chunks.pop_front()
    }

    /// How many blocks were opened.
    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether a block is open and nothing was said in it yet.
    pub(crate) fn is_bare(&self, block: BlockNo) -> bool {
        match self.blocks.get(block.0) {
            Some(Open::Text(text) | Open::Reasoning(text)) => text.is_empty(),
            Some(Open::Call(call)) => call.arguments.is_empty(),
            Some(Open::Closed) | None => false,
        }
    }

    pub(crate) fn open_text(&mut self) -> Result<BlockNo, LlmFailure> {
        self.open(Open::Text(String::new()), "text")
    }

    pub(crate) fn open_reasoning(&mut self) -> Result<BlockNo, LlmFailure> {
        self.open(Open::Reasoning(String::new()), "reasoning")
    }

    pub(crate) fn open_call(&mut self) -> Result<BlockNo, LlmFailure> {
        let call = OpenCall {
            id: CallId::new(SmolStr::default()),
            name: None,
            arguments: String::new(),
        };
        self.open(Open::Call(Box::new(call)), "tool-call")
    }

    fn open(&mut self, block: Open, kind: &'static str) -> Result<BlockNo, LlmFailure> {
        if self.blocks.len() >= self.limits.max_blocks {
            return Err(malformed(format_args!(
                "the answer has more than {} blocks; the limit is `max_blocks`",
                self.limits.max_blocks
            )));
        }
        let number = BlockNo(self.blocks.len());
        self.blocks.push(block);
        self.chunks
            .push_back(StreamChunk::block_start(number.get(), SmolStr::new_static(kind)));
        Ok(number)
    }

    /// More of a text or reasoning block; nothing for an empty piece or a closed block.
    pub(crate) fn text(&mut self, block: BlockNo, piece: &str) -> Result<(), LlmFailure> {
        if piece.is_empty() {
            return Ok(());
        }
        self.count(piece.len())?;
        match self.blocks.get_mut(block.0) {
            Some(Open::Text(text)) => {
                text.push_str(piece);
                self.chunks
                    .push_back(StreamChunk::text_delta(block.get(), SmolStr::new(piece)));
            }
            Some(Open::Reasoning(text)) => {
                text.push_str(piece);
                self.chunks
                    .push_back(StreamChunk::reasoning_delta(block.get(), SmolStr::new(piece)));
            }
            Some(Open::Call(_) | Open::Closed) | None => {}
        }
        Ok(())
    }

    /// More of a tool call; nothing for a closed block.
    pub(crate) fn call(&mut self, block: BlockNo, piece: CallPiece<'_>) -> Result<(), LlmFailure> {
        self.count(piece.arguments.len())?;
        if let Some(Open::Call(call)) = self.blocks.get_mut(block.0) {
            if let Some(id) = piece.id.filter(|id| !id.is_empty()) {
                call.id = CallId::new(id);
            }
            if let Some(name) = piece.name.filter(|name| !name.is_empty()) {
                call.name = Some(name);
            }
            call.arguments.push_str(piece.arguments);
            self.chunks.push_back(StreamChunk::tool_call_delta(
                block.get(),
                call.id.clone(),
                call.name.clone(),
                SmolStr::new(piece.arguments),
            ));
        }
        Ok(())
    }

    /// Ends a block; nothing if it has ended.
    pub(crate) fn close(&mut self, block: BlockNo) {
        let Some(open) = self.blocks.get_mut(block.0) else {
            return;
        };
        let whole = match std::mem::replace(open, Open::Closed) {
            Open::Text(text) => ContentBlock::text(text),
            Open::Reasoning(text) => ContentBlock::reasoning(text),
            Open::Call(call) => {
                ContentBlock::tool_call(call.id, call.name.unwrap_or_default(), call.arguments)
            }
            Open::Closed => return,
        };
        self.chunks.push_back(StreamChunk::block_end(block.get(), whole));
    }

    /// Ends every open block in opening order, then the answer.
    pub(crate) fn finish(
        &mut self,
        usage: Option<TokenUsage>,
        reason: FinishReason,
        replay_state: Option<Json>,
    ) {
        for number in 0..self.blocks.len() {
            self.close(BlockNo(number));
        }
        self.chunks.extend(usage.map(StreamChunk::usage));
        self.chunks.push_back(StreamChunk::finish(reason, replay_state));
    }

    fn count(&mut self, bytes: usize) -> Result<(), LlmFailure> {
        self.bytes += bytes;
        if self.bytes > self.limits.max_answer_bytes {
            return Err(malformed(format_args!(
                "the answer is longer than {} bytes; the limit is `max_answer_bytes`",
                self.limits.max_answer_bytes
            )));
        }
        Ok(())
    }
}
