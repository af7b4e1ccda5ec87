//! How are the imports of `hames:plugin` served? One file per interface, on the store's state.
//!
//! What a guest can get wrong is a value in the answer. A trap is left for what only a broken or hostile guest does.

mod agent;
mod call;
mod config;
mod kv;
mod log;
pub(crate) mod next;
mod session;
mod wait;

use crate::bindings::hames::plugin::{content, decisions, events, invocation, types};
use crate::state::State;

// These interfaces hold types only.
impl types::Host for State {}
impl content::Host for State {}
impl events::Host for State {}
impl invocation::Host for State {}
impl decisions::Host for State {}

/// At most `limit` bytes of a text, cut between characters.
pub(crate) fn head(text: &str, limit: usize) -> &str {
    let mut end = text.len().min(limit);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}
