//! What an adapter owes the stream (R-GRAM). The loop is tolerant; adapters are held to this.

use std::collections::BTreeMap;

use hames_types::chunk::StreamChunk;
use smol_str::SmolStr;

/// Follows a stream and finds its first fault.
#[derive(Debug, Clone, Default)]
pub struct Grammar {
    open: BTreeMap<u64, SmolStr>,
    usage_seen: bool,
    finished: bool,
}

/// How a stream breaks the grammar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrammarFault {
    /// Something came after the finish.
    #[error("a `{0}` came after the finish")]
    AfterFinish(&'static str),
    /// A block was opened twice.
    #[error("block {0} is open already")]
    OpenTwice(u64),
    /// A delta or an end for a block that isn't open.
    #[error("block {index} is not open, but a `{chunk}` came for it")]
    NotOpen {
        /// The block.
        index: u64,
        /// The chunk's kind.
        chunk: &'static str,
    },
    /// A delta or an end of another kind than the block's.
    #[error("block {index} is of kind `{open}`, but a `{chunk}` for `{found}` came")]
    OtherKind {
        /// The block.
        index: u64,
        /// Its kind.
        open: SmolStr,
        /// The chunk's kind.
        chunk: &'static str,
        /// The kind the chunk is for.
        found: SmolStr,
    },
    /// Usage came twice.
    #[error("usage was reported twice")]
    UsageTwice,
    /// The finish came while a block was open.
    #[error("the stream finished while block {0} was open")]
    OpenAtFinish(u64),
    /// The stream ended without a finish.
    #[error("the stream ended without a finish")]
    NoFinish,
}

impl Grammar {
    /// At the beginning of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next chunk.
    ///
    /// # Errors
    /// [`GrammarFault`] if it may not come here.
    pub fn push(&mut self, chunk: &StreamChunk) -> Result<(), GrammarFault> {
        if self.finished {
            return Err(GrammarFault::AfterFinish(chunk.kind()));
        }
        match chunk {
            StreamChunk::BlockStart(start) => match self.open.insert(start.index, start.block_type.clone()) {
                Some(_) => Err(GrammarFault::OpenTwice(start.index)),
                None => Ok(()),
            },
            StreamChunk::TextDelta(delta) => self.in_open(delta.index, "text-delta", "text"),
            StreamChunk::ReasoningDelta(delta) => self.in_open(delta.index, "reasoning-delta", "reasoning"),
            StreamChunk::ToolCallDelta(delta) => self.in_open(delta.index, "tool-call-delta", "tool-call"),
            StreamChunk::BlockEnd(end) => {
                self.in_open(end.index, "block-end", end.block.kind())?;
                self.open.remove(&end.index);
                Ok(())
            }
            StreamChunk::Usage(_) if self.usage_seen => Err(GrammarFault::UsageTwice),
            StreamChunk::Usage(_) => {
                self.usage_seen = true;
                Ok(())
            }
            StreamChunk::Finish(_) => {
                self.finished = true;
                self.open
                    .keys()
                    .next()
                    .map_or(Ok(()), |index| Err(GrammarFault::OpenAtFinish(*index)))
            }
        }
    }

    /// At the end of the stream.
    ///
    /// # Errors
    /// [`GrammarFault::NoFinish`].
    pub fn end(&self) -> Result<(), GrammarFault> {
        if self.finished {
            Ok(())
        } else {
            Err(GrammarFault::NoFinish)
        }
    }

    fn in_open(&self, index: u64, chunk: &'static str, kind: &str) -> Result<(), GrammarFault> {
        match self.open.get(&index) {
            None => Err(GrammarFault::NotOpen { index, chunk }),
            Some(open) if open == kind => Ok(()),
            Some(open) => Err(GrammarFault::OtherKind {
                index,
                open: open.clone(),
                chunk,
                found: kind.into(),
            }),
        }
    }
}
