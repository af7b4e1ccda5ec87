//! The streaming protocol: what an adapter emits, chunk by chunk, and why a stream ended.

use smol_str::SmolStr;

use crate::content::ContentBlock;
use crate::failure::LlmFailure;
use crate::id::CallId;
use crate::json::{Extra, Json, record};
use crate::message::Plain;
use crate::open::{closed_sum, open_sum};
use crate::usage::TokenUsage;

record! {
    /// The failure that ended a stream.
    FailedFinish {
        /// The facts.
        failure: LlmFailure = "failure",
    }
}

open_sum! {
    /// Why a model stopped. A kind the core doesn't know counts as an ordinary success (R-STRM-9).
    FinishReason("finish reason", "kind") {
        /// It was done.
        Stop(Plain) = "stop",
        /// It wants tools called.
        ToolCalls(Plain) = "tool-calls",
        /// It ran into the output limit.
        MaxTokens(Plain) = "max-tokens",
        /// The call was cancelled.
        Aborted(Box<FailedFinish>) = "aborted",
        /// The provider failed.
        Error(Box<FailedFinish>) = "error",
    }
}

impl FinishReason {
    /// It was done.
    pub const STOP: Self = Self::Stop(Plain::NEW);

    /// The failure, if the stream ended in one.
    #[must_use]
    pub fn failure(&self) -> Option<&LlmFailure> {
        match self {
            Self::Aborted(finish) | Self::Error(finish) => Some(&finish.failure),
            Self::Stop(_) | Self::ToolCalls(_) | Self::MaxTokens(_) | Self::Other(_) => None,
        }
    }
}

record! {
    /// A block opens.
    BlockStart {
        /// Which block; an adapter numbers them in the order they open.
        index: u64 = "index",
        /// Its kind: a tag of [`ContentBlock`].
        block_type: SmolStr = "blockType",
    }
}

record! {
    /// More text of a text or reasoning block.
    TextDelta {
        /// Which block.
        index: u64 = "index",
        /// The piece.
        text: SmolStr = "text",
    }
}

record! {
    /// More of a tool call.
    ToolCallDelta {
        /// Which block.
        index: u64 = "index",
        /// The call's id.
        id: CallId = "id",
        /// The tool's name, once known.
        name: Option<SmolStr> = "name",
        /// The next piece of the arguments' JSON text.
        arguments_delta: SmolStr = "argumentsDelta",
    }
}

record! {
    /// A block is complete; this is what it holds, whatever the deltas said.
    BlockEnd {
        /// Which block.
        index: u64 = "index",
        /// The whole block.
        block: ContentBlock = "block",
    }
}

record! {
    /// Token counts of the call.
    UsageChunk {
        /// The counts.
        usage: TokenUsage = "usage",
    }
}

record! {
    /// The stream's end.
    Finish {
        /// Why.
        reason: FinishReason = "reason",
        /// What the adapter needs to replay the message later.
        replay_state: Option<Json> = "replayState",
    }
}

closed_sum! {
    /// One piece of a model's stream. Closed: a new piece is a change of the protocol.
    StreamChunk("stream chunk", "type") {
        /// A block opens.
        BlockStart(BlockStart) = "block-start",
        /// Visible text.
        TextDelta(TextDelta) = "text-delta",
        /// Thinking.
        ReasoningDelta(TextDelta) = "reasoning-delta",
        /// A piece of a tool call.
        ToolCallDelta(Box<ToolCallDelta>) = "tool-call-delta",
        /// A block is complete.
        BlockEnd(Box<BlockEnd>) = "block-end",
        /// Token counts; before the finish.
        Usage(Box<UsageChunk>) = "usage",
        /// The end.
        Finish(Box<Finish>) = "finish",
    }
}

impl StreamChunk {
    /// A block of kind `block_type` opens.
    #[must_use]
    pub fn block_start(index: u64, block_type: impl Into<SmolStr>) -> Self {
        Self::BlockStart(BlockStart {
            index,
            block_type: block_type.into(),
            extra: Extra::NONE,
        })
    }

    /// A piece of visible text.
    #[must_use]
    pub fn text_delta(index: u64, text: impl Into<SmolStr>) -> Self {
        Self::TextDelta(TextDelta {
            index,
            text: text.into(),
            extra: Extra::NONE,
        })
    }

    /// A piece of thinking.
    #[must_use]
    pub fn reasoning_delta(index: u64, text: impl Into<SmolStr>) -> Self {
        Self::ReasoningDelta(TextDelta {
            index,
            text: text.into(),
            extra: Extra::NONE,
        })
    }

    /// A piece of a tool call.
    #[must_use]
    pub fn tool_call_delta(
        index: u64,
        id: CallId,
        name: Option<SmolStr>,
        arguments: impl Into<SmolStr>,
    ) -> Self {
        Self::ToolCallDelta(Box::new(ToolCallDelta {
            index,
            id,
            name,
            arguments_delta: arguments.into(),
            extra: Extra::NONE,
        }))
    }

    /// A whole block.
    #[must_use]
    pub fn block_end(index: u64, block: ContentBlock) -> Self {
        Self::BlockEnd(Box::new(BlockEnd {
            index,
            block,
            extra: Extra::NONE,
        }))
    }

    /// Token counts.
    #[must_use]
    pub fn usage(usage: TokenUsage) -> Self {
        Self::Usage(Box::new(UsageChunk {
            usage,
            extra: Extra::NONE,
        }))
    }

    /// The end of the stream.
    #[must_use]
    pub fn finish(reason: FinishReason, replay_state: Option<Json>) -> Self {
        Self::Finish(Box::new(Finish {
            reason,
            replay_state,
            extra: Extra::NONE,
        }))
    }
}
