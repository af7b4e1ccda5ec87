//! What does a tool give back?

use serde::Serialize;

use crate::bindings::imports::hames::plugin::content::{
    ContentBlock, Context, MessageSource, PluginSource, TextBlock,
};
use crate::bindings::tools::exports::hames::plugin::tools::ToolOutput;
use crate::error::Error;

/// What running a tool comes to.
pub type Answer = Result<Output, Error>;

/// A result: what the model sees, and what it doesn't.
#[derive(Debug, Default)]
pub struct Output {
    content: Vec<ContentBlock>,
    meta: Option<String>,
    contexts: Vec<Context>,
}

impl Output {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more block of text.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.content.push(text_block(text));
        self
    }

    /// With one more block of any kind.
    #[must_use]
    pub fn block(mut self, block: ContentBlock) -> Self {
        self.content.push(block);
        self
    }

    /// With private state, kept in the log and hidden from the model.
    ///
    /// # Errors
    /// If the value has no JSON form.
    pub fn meta(mut self, meta: &impl Serialize) -> Result<Self, Error> {
        self.meta = Some(serde_json::to_string(meta)?);
        Ok(self)
    }

    /// With a context that follows the result.
    #[must_use]
    pub fn context(mut self, context: Context) -> Self {
        self.contexts.push(context);
        self
    }
}

impl<T: Into<String>> From<T> for Output {
    fn from(text: T) -> Self {
        Self::new().text(text)
    }
}

impl From<Output> for ToolOutput {
    fn from(output: Output) -> Self {
        Self {
            content: output.content,
            meta: output.meta,
            contexts: output.contexts,
        }
    }
}

/// A block of text.
#[must_use]
pub fn text_block(text: impl Into<String>) -> ContentBlock {
    ContentBlock::Text(TextBlock {
        text: text.into(),
        extra: None,
    })
}

/// A context of text from a plugin of this name, usually the plugin's own.
#[must_use]
pub fn text_context(plugin: impl Into<String>, text: impl Into<String>) -> Context {
    Context {
        content: vec![text_block(text)],
        source: MessageSource::Plugin(PluginSource {
            plugin: plugin.into(),
            extra: None,
        }),
        placement: None,
        meta: None,
        extra: None,
    }
}
