//! What lasts from one call to the next? The plugin's own store, if it was granted.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::imports::hames::plugin::kv;
use crate::error::Error;

/// Reads a value.
///
/// # Errors
/// If the store refuses or the value is of another type.
pub fn get<T: DeserializeOwned>(key: &str) -> Result<Option<T>, Error> {
    match kv::get(key).map_err(told)? {
        Some(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        None => Ok(None),
    }
}

/// Writes a value.
///
/// # Errors
/// If the store refuses, or the value has no JSON form.
pub fn set<T: Serialize>(key: &str, value: &T) -> Result<(), Error> {
    kv::set(key, &serde_json::to_vec(value)?).map_err(told)
}

/// Removes a value.
///
/// # Errors
/// If the store refuses.
pub fn delete(key: &str) -> Result<(), Error> {
    kv::delete(key).map_err(told)
}

/// Adds to a counter in one step, whatever runs beside, and gives its new value.
///
/// # Errors
/// If the store refuses or the value is no counter.
pub fn increment(key: &str, by: i64) -> Result<i64, Error> {
    kv::increment(key, by).map_err(told)
}

fn told(error: kv::KvError) -> Error {
    match error {
        kv::KvError::Invalid(why) | kv::KvError::Quota(why) | kv::KvError::Failed(why) => Error::new(why),
        kv::KvError::NotACounter => Error::new("the value is not a counter"),
    }
}
