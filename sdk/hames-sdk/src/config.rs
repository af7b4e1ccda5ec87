//! What did the operator configure? Anything a Rust type can say.

use serde::de::DeserializeOwned;

use crate::bindings::imports::hames::plugin::config;
use crate::error::Error;

/// Reads the plugin's configuration; `{}` if the operator gave none.
///
/// # Errors
/// If it doesn't fit the type. With a schema in the manifest the host has refused it before.
pub fn read<T: DeserializeOwned>() -> Result<T, Error> {
    Ok(serde_json::from_str(&config::get())?)
}
