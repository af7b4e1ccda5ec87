//! One agent's scope while it lives: what is registered through it ends with it.

#[cfg(test)]
mod tests;

use hames_types::fault::Fault;
use hames_types::scope::ScopeKey;
use parking_lot::RwLock;

/// The right to register things for one live agent (R-SCOPE).
///
/// Whoever owns the agent ends the scope first and then tells every registry to drop what was registered for it:
/// nothing can slip in between, because a registration holds the scope open while it takes place.
#[derive(Debug)]
pub struct Scope {
    key: ScopeKey,
    ended: RwLock<bool>,
}

impl Scope {
    /// A scope that is nobody else's.
    #[must_use]
    pub fn new() -> Self {
        Self {
            key: ScopeKey::fresh(),
            ended: RwLock::new(false),
        }
    }

    /// What dispatches and lookups are keyed by.
    #[must_use]
    pub fn key(&self) -> ScopeKey {
        self.key
    }

    /// Ends it: from here on nothing can be registered through it (R-SCOPE-9). Waits for registrations that are
    /// taking place; so it must not be called from inside one.
    pub fn end(&self) {
        *self.ended.write() = true;
    }

    /// Does something while the scope can't end.
    ///
    /// # Errors
    /// If it has ended.
    pub fn while_live<T>(&self, act: impl FnOnce(ScopeKey) -> T) -> Result<T, Fault> {
        let ended = self.ended.read();
        if *ended {
            return Err(Fault::host(
                "ScopeError",
                "SCOPE_ENDED",
                "the agent whose scope this is has gone; register in a live scope",
            ));
        }
        Ok(act(self.key))
    }
}

impl Default for Scope {
    fn default() -> Self {
        Self::new()
    }
}
