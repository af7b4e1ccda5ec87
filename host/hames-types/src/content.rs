//! Content blocks: what a message is made of.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use smol_str::SmolStr;

use crate::id::CallId;
use crate::json::{DecodeError, Extra, FromJson, Json, NotLossless, check_items, record};
use crate::open::open_sum;

record! {
    /// Text a person may read.
    TextBlock {
        /// The text, verbatim.
        text: SmolStr = "text",
    }
}

record! {
    /// A model's thinking, kept apart from visible text.
    ReasoningBlock {
        /// The text, verbatim.
        text: SmolStr = "text",
    }
}

record! {
    /// A model's wish to call a tool.
    ToolCallBlock {
        /// The provider's id for the call; the result carries it back.
        id: CallId = "id",
        /// The tool's name as the model wrote it.
        name: SmolStr = "name",
        /// The arguments as the model wrote them: JSON text, not parsed, perhaps not even valid.
        arguments: SmolStr = "arguments",
    }
}

record! {
    /// What a tool answered.
    ToolResultBlock {
        /// The call answered.
        tool_call_id: CallId = "toolCallId",
        /// The answer.
        content: Content = "content",
        /// Whether the answer is an error the model should act on; absent means no.
        is_error: Option<bool> = "isError",
    }
}

open_sum! {
    /// One piece of a message. Kinds the core doesn't know pass through untouched.
    ContentBlock("content block", "type") {
        /// Visible text.
        Text(TextBlock) = "text",
        /// Thinking.
        Reasoning(ReasoningBlock) = "reasoning",
        /// A call of a tool.
        ToolCall(ToolCallBlock) = "tool-call",
        /// The answer to a call.
        ToolResult(ToolResultBlock) = "tool-result",
    }
}

impl ContentBlock {
    /// A text block.
    #[must_use]
    pub fn text(text: impl Into<SmolStr>) -> Self {
        Self::Text(TextBlock {
            text: text.into(),
            extra: Extra::NONE,
        })
    }

    /// A reasoning block.
    #[must_use]
    pub fn reasoning(text: impl Into<SmolStr>) -> Self {
        Self::Reasoning(ReasoningBlock {
            text: text.into(),
            extra: Extra::NONE,
        })
    }

    /// A tool-call block.
    #[must_use]
    pub fn tool_call(id: CallId, name: impl Into<SmolStr>, arguments: impl Into<SmolStr>) -> Self {
        Self::ToolCall(ToolCallBlock {
            id,
            name: name.into(),
            arguments: arguments.into(),
            extra: Extra::NONE,
        })
    }
}

/// A list of blocks, shared: a clone costs nothing, and log, history and requests hold the same blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Content(Arc<[ContentBlock]>);

impl Content {
    /// No blocks.
    #[must_use]
    pub fn empty() -> Self {
        Self(Arc::from([]))
    }

    /// One text block.
    #[must_use]
    pub fn text(text: impl Into<SmolStr>) -> Self {
        Self(Arc::from([ContentBlock::text(text)]))
    }

    /// The text of all text blocks, joined without a separator.
    #[must_use]
    pub fn joined_text(&self) -> String {
        self.0
            .iter()
            .filter_map(|block| match block {
                ContentBlock::Text(text) => Some(text.text.as_str()),
                ContentBlock::Reasoning(_)
                | ContentBlock::ToolCall(_)
                | ContentBlock::ToolResult(_)
                | ContentBlock::Other(_) => None,
            })
            .collect()
    }

    /// The tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCallBlock> {
        self.0.iter().filter_map(|block| match block {
            ContentBlock::ToolCall(call) => Some(call),
            ContentBlock::Text(_)
            | ContentBlock::Reasoning(_)
            | ContentBlock::ToolResult(_)
            | ContentBlock::Other(_) => None,
        })
    }
}

impl Deref for Content {
    type Target = [ContentBlock];

    fn deref(&self) -> &[ContentBlock] {
        &self.0
    }
}

impl From<Vec<ContentBlock>> for Content {
    fn from(blocks: Vec<ContentBlock>) -> Self {
        Self(Arc::from(blocks))
    }
}

impl FromIterator<ContentBlock> for Content {
    fn from_iter<I: IntoIterator<Item = ContentBlock>>(blocks: I) -> Self {
        Self(blocks.into_iter().collect())
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::empty()
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter())
    }
}

impl FromJson for Content {
    fn from_json(value: Json) -> Result<Self, DecodeError> {
        Vec::from_json(value).map(Self::from)
    }

    fn check_lossless_at(&self, depth: usize) -> Result<(), NotLossless> {
        check_items(self.0.iter(), depth)
    }
}
