//! How long may a provider be silent, and how much may it say?

use std::time::Duration;

/// Longest wait a timer may be set to, in milliseconds (R-DS-10): what 32-bit timers hold, about 24 days.
pub const MAX_WAIT_MS: u64 = 2_147_483_647;

/// Times and sizes of one call. The defaults hold for every provider; an operator may set each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long connecting may take. Ten seconds: a host that takes longer is down or not there.
    pub connect: Duration,
    /// How long the answer's head may take. Five minutes: some models think before they send one.
    pub headers: Duration,
    /// How long the reader may wait for the next chunk. Five minutes, as the reference (R-DS-10). Keep-alive comments
    /// don't count as chunks, and time in which nobody asks for one doesn't count either.
    pub idle: Duration,
    /// Most bytes of one event. 16 MiB: the largest known event carries a whole answer of a few.
    pub max_event_bytes: usize,
    /// Most bytes of text, reasoning and arguments together. 64 MiB: far above any model's output limit.
    pub max_answer_bytes: usize,
    /// Most blocks of an answer. 4096: far above what a model asks for, and few enough to keep.
    pub max_blocks: usize,
    /// Most bytes read of an error's body. 64 KiB: enough for a message and its details.
    pub max_error_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            headers: Duration::from_secs(300),
            idle: Duration::from_secs(300),
            max_event_bytes: 16 << 20,
            max_answer_bytes: 64 << 20,
            max_blocks: 4096,
            max_error_bytes: 64 << 10,
        }
    }
}

impl Limits {
    /// Checks that every wait is one a timer can be set to.
    ///
    /// # Errors
    /// The name of the wait that is zero or too long.
    pub fn check(&self) -> Result<(), crate::ConfigError> {
        for (name, wait) in [
            ("connect", self.connect),
            ("headers", self.headers),
            ("idle", self.idle),
        ] {
            if wait.is_zero() || wait > Duration::from_millis(MAX_WAIT_MS) {
                return Err(crate::ConfigError::Wait { name, wait });
            }
        }
        Ok(())
    }
}
