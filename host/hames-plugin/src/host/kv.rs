//! Serves `kv`: this plugin's own keys and nobody else's, since the owner is the host's to say.

use hames_types::port::plugin::KeepError;

use crate::bindings::hames::plugin::kv::{Host, KvError};
use crate::limits::{MAX_KEY, MAX_KEYS};
use crate::state::State;

impl Host for State {
    fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<Vec<u8>>, KvError>> {
        Ok(self.check(&key).and_then(|()| {
            let who = &self.who;
            who.services.store.get(&who.id, &key).map_err(refuse)
        }))
    }

    fn set(&mut self, key: String, value: Vec<u8>) -> wasmtime::Result<Result<(), KvError>> {
        Ok(self.check(&key).and_then(|()| {
            let who = &self.who;
            who.services
                .store
                .set(&who.id, &key, value, who.limits.kv)
                .map_err(refuse)
        }))
    }

    fn delete(&mut self, key: String) -> wasmtime::Result<Result<(), KvError>> {
        Ok(self.check(&key).and_then(|()| {
            let who = &self.who;
            who.services.store.delete(&who.id, &key).map_err(refuse)
        }))
    }

    fn increment(&mut self, key: String, by: i64) -> wasmtime::Result<Result<i64, KvError>> {
        Ok(self.check(&key).and_then(|()| {
            let who = &self.who;
            who.services
                .store
                .increment(&who.id, &key, by, who.limits.kv)
                .map_err(refuse)
        }))
    }

    fn keys(
        &mut self,
        prefix: String,
        after: Option<String>,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<String>, KvError>> {
        let limit = usize::try_from(limit).unwrap_or(MAX_KEYS).min(MAX_KEYS);
        Ok(self.check_reach().and_then(|()| {
            let who = &self.who;
            who.services
                .store
                .keys(&who.id, &prefix, after.as_deref(), limit)
                .map_err(refuse)
        }))
    }
}

impl State {
    fn check_reach(&self) -> Result<(), KvError> {
        if self.call.reaches {
            return Ok(());
        }
        Err(KvError::Failed(
            "the store is out of reach of `list` and of views".to_owned(),
        ))
    }

    fn check(&self, key: &str) -> Result<(), KvError> {
        self.check_reach()?;
        if (1..=MAX_KEY).contains(&key.len()) {
            return Ok(());
        }
        let problem = format!("a key has 1 to {MAX_KEY} bytes, this one {}", key.len());
        Err(KvError::Invalid(problem))
    }
}

fn refuse(error: KeepError) -> KvError {
    match error {
        KeepError::Quota(_) => KvError::Quota(error.to_string()),
        KeepError::NotACounter(_) => KvError::NotACounter,
        KeepError::Failed(fault) => KvError::Failed(fault.chain()),
    }
}
