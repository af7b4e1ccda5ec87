//! The only source of time.

/// Tells the time. Nothing in hames reads a clock elsewhere.
pub trait Clock: Send + Sync {
    /// Milliseconds of the Unix epoch. May step backwards; nothing is ordered by it.
    fn now_ms(&self) -> u64;
}

/// A clock that stands still: for tests and for whatever must be the same in every run.
#[derive(Debug, Clone, Copy)]
pub struct FixedClock(pub u64);

impl Clock for FixedClock {
    fn now_ms(&self) -> u64 {
        self.0
    }
}
