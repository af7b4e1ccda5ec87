//! Who calls? The calling agent's session, if it was granted.

use serde::Serialize;

use crate::bindings::imports::hames::plugin::session as host;
use crate::error::Error;

pub use crate::bindings::imports::hames::plugin::events::{Event, EventBody, Todo, TodoStatus};
pub use host::{Info, Page, describe, header, messages, newest, read};

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

fn told(error: host::SessionError) -> Error {
    match error {
        host::SessionError::NoSession => Error::new("no session calls"),
        host::SessionError::Denied(why) | host::SessionError::Refused(why) => Error::new(why),
        host::SessionError::Limit(what) => Error::new(format!("over the limit: {what}")),
        host::SessionError::Other(other) => Error::new(other.kind),
    }
}
