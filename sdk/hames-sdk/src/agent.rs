//! What can a plugin ask of the agent that calls? A grant for each verb; it happens when the loop gets to it.

use crate::bindings::imports::hames::plugin::agent as host;
use crate::bindings::imports::hames::plugin::content::{ContentBlock, Context, MessageSource};
use crate::error::Error;

/// Queues a prompt; it becomes a turn of its own. Without a source this plugin is it.
///
/// # Errors
/// If it isn't granted, or no agent calls.
pub fn send(
    content: &[ContentBlock],
    source: Option<&MessageSource>,
    contexts: &[Context],
) -> Result<(), Error> {
    host::send(content, source, contexts).map_err(told)
}

/// Says something into the running turn, before its next step.
///
/// # Errors
/// As [`send`].
pub fn steer(
    content: &[ContentBlock],
    source: Option<&MessageSource>,
    contexts: &[Context],
) -> Result<(), Error> {
    host::steer(content, source, contexts).map_err(told)
}

/// Adds a context to the conversation; `meta` is JSON the model doesn't see.
///
/// # Errors
/// As [`send`].
pub fn inject(
    content: &[ContentBlock],
    source: Option<&MessageSource>,
    meta: Option<&str>,
) -> Result<(), Error> {
    host::inject(content, source, meta).map_err(told)
}

/// Cancels the running turn, as the user would.
///
/// # Errors
/// As [`send`].
pub fn cancel() -> Result<(), Error> {
    host::cancel().map_err(told)
}

fn told(error: host::AgentError) -> Error {
    match error {
        host::AgentError::NoAgent => Error::new("no agent calls"),
        host::AgentError::Denied(why) | host::AgentError::Refused(why) => Error::new(why),
        host::AgentError::Limit(what) => Error::new(format!("over the limit: {what}")),
        host::AgentError::Other(other) => Error::new(other.kind),
    }
}
