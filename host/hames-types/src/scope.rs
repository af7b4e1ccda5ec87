//! Whose registrations are whose: a scope belongs to one live agent and ends with it (R-SCOPE).

use std::sync::atomic::{AtomicU64, Ordering};

/// Identity of a scope. Two agents that bear the same id one after the other have different scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeKey(u64);

impl ScopeKey {
    /// A scope that is nobody else's in this process.
    #[must_use]
    pub fn fresh() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
