//! Who calls? The calling agent's session, if it was granted.

use std::ops::RangeInclusive;

use serde::Serialize;

use crate::bindings::imports::hames::plugin::session as host;
use crate::error::Error;
use crate::output::text_block;

pub use crate::bindings::imports::hames::plugin::content::{ContentBlock, Message};
pub use crate::bindings::imports::hames::plugin::events::{
    Event, EventBody, HeaderReason, RequestHeader, Todo, TodoStatus,
};
pub use host::{Info, Page, StandIn};

/// What the session says of itself.
///
/// # Errors
/// If it isn't granted, or no session calls.
pub fn describe() -> Result<Info, Error> {
    host::describe().map_err(told)
}

/// Events in order from `first` on, at most `limit` (and at most 1,000 and 1 MiB): those of these kinds, or of any if
/// none is named. Where to go on stands in the page.
///
/// # Errors
/// As [`describe`].
pub fn read(first: u64, limit: u32, kinds: &[&str]) -> Result<Page, Error> {
    let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    host::read(first, limit, (!kinds.is_empty()).then_some(&kinds)).map_err(told)
}

/// The newest event of a kind.
///
/// # Errors
/// As [`describe`].
pub fn newest(kind: &str) -> Result<Option<Event>, Error> {
    host::newest(kind).map_err(told)
}

/// The messages the model would see now, oldest first; at most the newest `limit`.
///
/// # Errors
/// As [`describe`].
pub fn messages(limit: u32) -> Result<Vec<Message>, Error> {
    host::messages(limit).map_err(told)
}

/// The last logged request header.
///
/// # Errors
/// As [`describe`].
pub fn header() -> Result<Option<RequestHeader>, Error> {
    host::header().map_err(told)
}

/// Appends an event of a kind the manifest declares, and gives its place in the log.
///
/// # Errors
/// If it isn't granted, isn't declared or doesn't fit its schema.
pub fn append(kind: &str, data: &impl Serialize) -> Result<u64, Error> {
    host::append(kind, &serde_json::to_string(data)?).map_err(told)
}

/// Writes the todo list.
///
/// # Errors
/// If it isn't granted.
pub fn write_todos(todos: &[Todo]) -> Result<u64, Error> {
    host::write_todos(todos).map_err(told)
}

/// Puts a message of this plugin, as a prompt, into the history in place of the messages from `first` to `last`.
/// `sources` are further events it was made from.
///
/// # Errors
/// If it isn't granted, or the two aren't messages of the history in this order.
pub fn replace(first: u64, last: u64, text: &str, sources: &[u64]) -> Result<u64, Error> {
    replace_as(StandIn::Prompt, first..=last, &[text_block(text)], sources)
}

/// As [`replace`], with any content, and as what is said.
///
/// # Errors
/// As [`replace`].
pub fn replace_as(
    kind: StandIn,
    messages: RangeInclusive<u64>,
    content: &[ContentBlock],
    sources: &[u64],
) -> Result<u64, Error> {
    host::replace(*messages.start(), *messages.end(), kind, content, sources).map_err(told)
}

/// Gives a tool's result in the history another text and changes nothing else of it.
///
/// # Errors
/// If it isn't granted, or the event is no tool's result in the history.
pub fn replace_result(result: u64, text: &str) -> Result<u64, Error> {
    replace_result_with(result, &[text_block(text)])
}

/// As [`replace_result`], with any content.
///
/// # Errors
/// As [`replace_result`].
pub fn replace_result_with(result: u64, content: &[ContentBlock]) -> Result<u64, Error> {
    host::replace_result(result, content).map_err(told)
}

fn told(error: host::SessionError) -> Error {
    match error {
        host::SessionError::NoSession => Error::new("no session calls"),
        host::SessionError::Denied(why) | host::SessionError::Refused(why) => Error::new(why),
        host::SessionError::Limit(what) => Error::new(format!("over the limit: {what}")),
        host::SessionError::Other(other) => Error::new(other.kind),
    }
}
