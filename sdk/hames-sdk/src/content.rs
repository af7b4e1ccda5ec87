//! What is a message made of? The contract's own blocks, and kinds a plugin declares in its manifest.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::imports::hames::plugin::types::Opaque;
use crate::error::Error;

pub use crate::bindings::imports::hames::plugin::content::{
    ContentBlock, Context, ContextPlacement, Message, MessageSource, PluginSource, ResultBlock, Role,
    TextBlock,
};
pub use crate::output::{text_block, text_context};

/// A block of a kind that the manifest declares, `plugin-id:word`. The value is an object; its fields stand beside the
/// tag in the log.
///
/// # Errors
/// If the value has no JSON form, or isn't an object.
pub fn own_block(kind: impl Into<String>, value: &impl Serialize) -> Result<ContentBlock, Error> {
    Ok(ContentBlock::Other(own(kind, value)?))
}

/// A source of a kind that the manifest declares.
///
/// # Errors
/// As [`own_block`].
pub fn own_source(kind: impl Into<String>, value: &impl Serialize) -> Result<MessageSource, Error> {
    Ok(MessageSource::Other(own(kind, value)?))
}

fn own(kind: impl Into<String>, value: &impl Serialize) -> Result<Opaque, Error> {
    let fields = serde_json::to_value(value)?;
    if !fields.is_object() {
        return Err(Error::new("a kind of one's own is an object"));
    }
    Ok(Opaque {
        kind: kind.into(),
        fields: fields.to_string(),
    })
}

impl ContentBlock {
    /// The text, if it is a block of text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            Self::Reasoning(_) | Self::ToolCall(_) | Self::ToolResult(_) | Self::Other(_) => None,
        }
    }

    /// A block of a kind of one's own, read back; nothing if it is of another kind.
    ///
    /// # Errors
    /// If it is of that kind and not of that type.
    pub fn read_own<T: DeserializeOwned>(&self, kind: &str) -> Result<Option<T>, Error> {
        match self {
            Self::Other(own) if own.kind == kind => Ok(Some(serde_json::from_str(&own.fields)?)),
            Self::Other(_) | Self::Text(_) | Self::Reasoning(_) | Self::ToolCall(_) | Self::ToolResult(_) => {
                Ok(None)
            }
        }
    }
}
