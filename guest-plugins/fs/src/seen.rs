//! Which state of a file has this session read? Kept in the plugin's own store, since no instance outlives its call.
//!
//! One key for each session and file, so that reads beside each other don't overwrite what the other has noted.

use hames_sdk::bindings::imports::hames::plugin::kv;
use hames_sdk::error::Error;
use hames_sdk::log;
use hames_sdk::tool::Call;
use sha2::{Digest, Sha256};

use crate::fault::coded;
use crate::place::Place;

/// The state of a file: digest of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State([u8; 32]);

impl State {
    /// The state with this digest.
    pub fn finished(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// The state with these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

fn prefix(call: &Call) -> String {
    format!(
        "seen/{}/",
        hex(&Sha256::digest(call.agent().unwrap_or_default()), 8)
    )
}

fn key(call: &Call, place: &Place) -> String {
    let name = Sha256::digest(place.shown.as_bytes());
    format!("{}{}", prefix(call), hex(&name, 16))
}

fn hex(digest: &[u8], bytes: usize) -> String {
    digest
        .iter()
        .take(bytes)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Notes that the session knows this state. If the store is full, what other sessions have read makes room.
pub fn note(call: &Call, place: &Place, state: &State) {
    let key = key(call, place);
    let full = match kv::set(&key, &state.0) {
        Err(kv::KvError::Quota(_)) => make_room(call),
        Err(other) => Err(other),
        Ok(()) => return,
    };
    if let Err(error) = full.and_then(|()| kv::set(&key, &state.0)) {
        // Reading works all the same; a later change will ask to read again.
        log::warn(format!("what was read can't be noted: {error:?}"));
    }
}

fn make_room(call: &Call) -> Result<(), kv::KvError> {
    let own = prefix(call);
    let keys = kv::keys("seen/", None, 1_000)?;
    let (mine, others): (Vec<_>, Vec<_>) = keys.iter().partition(|key| key.starts_with(&own));
    let oldest = if others.is_empty() { mine } else { others };
    oldest.into_iter().try_for_each(|key| kv::delete(key))
}

/// Fails unless the session knows the file in this state.
///
/// # Errors
/// That it was never read, or has changed since; either way: read it.
pub fn check(call: &Call, place: &Place, state: &State) -> Result<(), Error> {
    let shown = &place.shown;
    let known = kv::get(&key(call, place)).map_err(|error| {
        coded(
            "FILE_FAILED",
            format!("what was read can't be looked up: {error:?}"),
        )
    })?;
    match known {
        None => Err(coded(
            "FILE_UNREAD",
            format!("`{shown}` hasn't been read in this session; read it before changing it"),
        )),
        Some(known) if known == state.0 => Ok(()),
        Some(_) => Err(coded(
            "FILE_CHANGED",
            format!(
                "`{shown}` has changed since it was read; read it again and make the change to what is there now"
            ),
        )),
    }
}
