//! Where do plugins keep things if no disk is given? In memory, for tests and dry runs.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use hames_types::id::PluginId;
use hames_types::port::plugin::{KeepError, PluginStore, Quota};
use parking_lot::Mutex;

/// A store in memory; gone with the process.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<HashMap<PluginId, Kept>>);

#[derive(Debug, Default)]
struct Kept {
    values: BTreeMap<String, Vec<u8>>,
    bytes: usize,
}

impl Kept {
    fn set(&mut self, key: &str, value: Vec<u8>, quota: Quota) -> Result<(), KeepError> {
        let old = self.values.get(key).map(|value| key.len() + value.len());
        let keys = self.values.len() + usize::from(old.is_none());
        let bytes = self.bytes - old.unwrap_or(0) + key.len() + value.len();
        if keys > quota.keys || bytes > quota.bytes {
            return Err(KeepError::Quota(quota));
        }
        self.bytes = bytes;
        self.values.insert(key.to_owned(), value);
        Ok(())
    }
}

impl PluginStore for MemoryStore {
    fn get(&self, owner: &PluginId, key: &str) -> Result<Option<Vec<u8>>, KeepError> {
        let all = self.0.lock();
        Ok(all.get(owner).and_then(|kept| kept.values.get(key)).cloned())
    }

    fn set(&self, owner: &PluginId, key: &str, value: Vec<u8>, quota: Quota) -> Result<(), KeepError> {
        self.0
            .lock()
            .entry(owner.clone())
            .or_default()
            .set(key, value, quota)
    }

    fn delete(&self, owner: &PluginId, key: &str) -> Result<(), KeepError> {
        if let Some(kept) = self.0.lock().get_mut(owner)
            && let Some(value) = kept.values.remove(key)
        {
            kept.bytes -= key.len() + value.len();
        }
        Ok(())
    }

    fn increment(&self, owner: &PluginId, key: &str, by: i64, quota: Quota) -> Result<i64, KeepError> {
        let mut all = self.0.lock();
        let kept = all.entry(owner.clone()).or_default();
        let not_a_counter = || KeepError::NotACounter(key.to_owned());
        let old = match kept.values.get(key) {
            Some(value) => std::str::from_utf8(value)
                .ok()
                .and_then(|text| text.parse::<i64>().ok())
                .ok_or_else(not_a_counter)?,
            None => 0,
        };
        let new = old.checked_add(by).ok_or_else(not_a_counter)?;
        kept.set(key, new.to_string().into_bytes(), quota)?;
        Ok(new)
    }

    fn keys(
        &self,
        owner: &PluginId,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, KeepError> {
        let all = self.0.lock();
        let Some(kept) = all.get(owner) else {
            return Ok(Vec::new());
        };
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            Some(_) | None => Bound::Included(prefix),
        };
        Ok(kept
            .values
            .range::<str, _>((start, Bound::Unbounded))
            .map(|(key, _)| key)
            .take_while(|key| key.starts_with(prefix))
            .take(limit)
            .cloned()
            .collect())
    }
}
