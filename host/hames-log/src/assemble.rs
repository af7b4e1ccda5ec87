//! From a stream's chunks to blocks (R-ASM): tolerant of everything but an unknown block that never closes.

use hames_types::chunk::{FinishReason, StreamChunk};
use hames_types::content::{Content, ContentBlock};
use hames_types::id::CallId;
use hames_types::json::Json;
use hames_types::usage::TokenUsage;
use smol_str::SmolStr;

/// Collects chunks. Pushing never fails.
#[derive(Debug, Clone, Default)]
pub struct BlockAssembler {
    /// In the order in which their indices first appeared.
    blocks: Vec<Partial>,
    usage: Option<TokenUsage>,
    finish: Option<(FinishReason, Option<Json>)>,
}

#[derive(Debug, Clone)]
struct Partial {
    index: u64,
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    Text(String),
    Reasoning(String),
    ToolCall {
        id: Option<CallId>,
        name: SmolStr,
        arguments: String,
    },
    /// A kind that only its end can fill.
    Unknown(SmolStr),
    Closed(ContentBlock),
}

/// What a stream amounts to.
#[derive(Debug, Clone, PartialEq)]
pub struct Assembled {
    /// The blocks.
    pub content: Content,
    /// The last usage reported.
    pub usage: Option<TokenUsage>,
    /// The last finish, or stop if there was none (R-ASM-4).
    pub finish: FinishReason,
    /// The replay state that came with that finish.
    pub replay_state: Option<Json>,
}

/// A block of a kind nobody here can assemble was opened and never closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("block {index} of kind `{kind}` was never closed, and only its end could say what it holds")]
pub struct UnclosedBlock {
    /// The block's index.
    pub index: u64,
    /// Its kind.
    pub kind: SmolStr,
}

impl BlockAssembler {
    /// Nothing collected.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one chunk.
    pub fn push(&mut self, chunk: &StreamChunk) {
        match chunk {
            StreamChunk::BlockStart(start) => {
                self.block(start.index, || State::of_kind(&start.block_type));
            }
            StreamChunk::TextDelta(delta) => {
                self.block(delta.index, || State::Text(String::new()))
                    .push_text(&delta.text);
            }
            StreamChunk::ReasoningDelta(delta) => {
                self.block(delta.index, || State::Reasoning(String::new()))
                    .push_text(&delta.text);
            }
            StreamChunk::ToolCallDelta(delta) => {
                let state = self.block(delta.index, || State::of_kind("tool-call"));
                if let State::ToolCall { id, name, arguments } = state {
                    *id = Some(delta.id.clone());
                    if let Some(given) = delta.name.as_ref().filter(|given| !given.is_empty()) {
                        name.clone_from(given);
                    }
                    arguments.push_str(&delta.arguments_delta);
                }
            }
            StreamChunk::BlockEnd(end) => {
                let state = self.block(end.index, || State::Text(String::new()));
                if !matches!(state, State::Closed(_)) {
                    *state = State::Closed(end.block.clone());
                }
            }
            StreamChunk::Usage(chunk) => self.usage = Some(chunk.usage.clone()),
            StreamChunk::Finish(finish) => {
                self.finish = Some((finish.reason.clone(), finish.replay_state.clone()));
            }
        }
    }

    /// The state of the block at `index`; the first mention opens it.
    fn block(&mut self, index: u64, open: impl FnOnce() -> State) -> &mut State {
        // The newest block is nearly always the one meant.
        let at = match self.blocks.iter().rposition(|partial| partial.index == index) {
            Some(at) => at,
            None => {
                self.blocks.push(Partial { index, state: open() });
                self.blocks.len() - 1
            }
        };
        #[expect(
            clippy::indexing_slicing,
            reason = "the position was found or made just above"
        )]
        &mut self.blocks[at].state
    }

    /// Usage and finish so far, without assembling blocks.
    #[must_use]
    pub fn ending(&self) -> (Option<&TokenUsage>, FinishReason, Option<&Json>) {
        let (finish, replay_state) = match &self.finish {
            Some((finish, replay_state)) => (finish.clone(), replay_state.as_ref()),
            None => (FinishReason::STOP, None),
        };
        (self.usage.as_ref(), finish, replay_state)
    }

    /// The blocks as far as they go.
    ///
    /// # Errors
    /// [`UnclosedBlock`] for the first block of an unknown kind that was opened and never closed (R-ASM-3).
    pub fn finish(self) -> Result<Assembled, UnclosedBlock> {
        let content = self
            .blocks
            .into_iter()
            .map(|partial| partial.state.into_block(partial.index))
            .collect::<Result<Content, _>>()?;
        let (finish, replay_state) = self.finish.unwrap_or((FinishReason::STOP, None));
        Ok(Assembled {
            content,
            usage: self.usage,
            finish,
            replay_state,
        })
    }
}

impl State {
    fn of_kind(kind: &str) -> Self {
        match kind {
            "text" => Self::Text(String::new()),
            "reasoning" => Self::Reasoning(String::new()),
            "tool-call" => Self::ToolCall {
                id: None,
                name: SmolStr::new_static(""),
                arguments: String::new(),
            },
            other => Self::Unknown(other.into()),
        }
    }

    fn push_text(&mut self, piece: &str) {
        match self {
            Self::Text(text) | Self::Reasoning(text) => text.push_str(piece),
            Self::ToolCall { .. } | Self::Unknown(_) | Self::Closed(_) => {}
        }
    }

    fn into_block(self, index: u64) -> Result<ContentBlock, UnclosedBlock> {
        Ok(match self {
            Self::Text(text) => ContentBlock::text(text),
            Self::Reasoning(text) => ContentBlock::reasoning(text),
            Self::ToolCall { id, name, arguments } => {
                let id = id.unwrap_or_else(|| CallId::new(format!("call-{index}")));
                ContentBlock::tool_call(id, name, arguments)
            }
            Self::Unknown(kind) => return Err(UnclosedBlock { index, kind }),
            Self::Closed(block) => block,
        })
    }
}
