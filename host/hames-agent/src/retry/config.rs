//! How often, how long and for which failures to try again (R-RETRY-1, R-RETRY-3).

use std::collections::HashSet;

use serde::Deserialize;
use smol_str::SmolStr;

/// Longest delay that may be configured, in milliseconds: what 32-bit timers hold, about 24 days.
pub const MAX_DELAY_MS: f64 = 2_147_483_647.0;

/// The policy's settings.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct RetryConfig {
    /// Most retries in a row.
    pub max_transient_retries: u32,
    /// The first delay, in milliseconds; each further one is twice as long.
    pub initial_delay_ms: f64,
    /// The longest delay, in milliseconds. A provider that asks for more isn't waited for.
    pub max_delay_ms: f64,
    /// How far a delay strays from its length, from 0 (not at all) to 1 (anywhere from nothing to twice).
    pub jitter_ratio: f64,
    /// The codes of failures that waiting may heal.
    pub retryable_codes: Vec<SmolStr>,
}

impl Default for RetryConfig {
    fn default() -> Self {
        Self {
            max_transient_retries: 2,
            initial_delay_ms: 500.0,
            max_delay_ms: 10_000.0,
            jitter_ratio: 0.1,
            retryable_codes: ["RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT"]
                .map(SmolStr::new_static)
                .into(),
        }
    }
}

/// Why a configuration can't hold.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RetryConfigError {
    /// A delay that isn't one.
    #[error("the retry policy's {name} is {found} ms; it must be above zero and at most {MAX_DELAY_MS}")]
    Delay {
        /// Which.
        name: &'static str,
        /// What it was.
        found: f64,
    },
    /// The first delay is longer than the longest.
    #[error("the retry policy's first delay of {initial} ms is longer than its longest of {max} ms")]
    Order {
        /// The first.
        initial: f64,
        /// The longest.
        max: f64,
    },
    /// It would stray further than possible.
    #[error("the retry policy's jitter is {0}; it must be from 0 to 1")]
    Jitter(f64),
    /// It would never try again, and say so by its count rather than by this.
    #[error("the retry policy has no codes; name some, or allow no retries")]
    NoCodes,
    /// A code that no failure has.
    #[error("the retry policy has a blank code; take it out")]
    BlankCode,
    /// A code that stands there twice.
    #[error("the retry policy has the code `{0}` twice; list it once")]
    DuplicateCode(SmolStr),
}

impl RetryConfig {
    /// Checks each number by itself: what a schema could say.
    ///
    /// # Errors
    /// [`RetryConfigError`] of the first that is out of its range.
    pub fn check_ranges(&self) -> Result<(), RetryConfigError> {
        let out_of_range = self
            .delays()
            .into_iter()
            .find(|(_, delay)| *delay < 0.0 || *delay > MAX_DELAY_MS);
        if let Some((name, found)) = out_of_range {
            return Err(RetryConfigError::Delay { name, found });
        }
        if (0.0..=1.0).contains(&self.jitter_ratio) {
            Ok(())
        } else {
            Err(RetryConfigError::Jitter(self.jitter_ratio))
        }
    }

    fn delays(&self) -> [(&'static str, f64); 2] {
        [
            ("first delay", self.initial_delay_ms),
            ("longest delay", self.max_delay_ms),
        ]
    }

    /// Checks everything that types can't.
    ///
    /// # Errors
    /// [`RetryConfigError`] of the first setting that can't hold.
    pub fn check(&self) -> Result<(), RetryConfigError> {
        self.check_ranges()?;
        // Written so that what isn't a number fails as well.
        let possible = |delay: f64| delay > 0.0;
        if let Some((name, found)) = self.delays().into_iter().find(|(_, delay)| !possible(*delay)) {
            return Err(RetryConfigError::Delay { name, found });
        }
        if self.initial_delay_ms > self.max_delay_ms {
            return Err(RetryConfigError::Order {
                initial: self.initial_delay_ms,
                max: self.max_delay_ms,
            });
        }
        if self.retryable_codes.is_empty() {
            return Err(RetryConfigError::NoCodes);
        }
        let mut seen = HashSet::new();
        for code in &self.retryable_codes {
            if code.trim().is_empty() {
                return Err(RetryConfigError::BlankCode);
            }
            if !seen.insert(code) {
                return Err(RetryConfigError::DuplicateCode(code.clone()));
            }
        }
        Ok(())
    }

    /// The delay before the retry of that number, counted from 1, in milliseconds; `drawn` is from 0 to 1.
    pub(super) fn delay_ms(&self, number: u32, drawn: f64) -> f64 {
        let doubled = self.initial_delay_ms * 2_f64.powi(i32::try_from(number - 1).unwrap_or(i32::MAX));
        let strayed =
            doubled.min(self.max_delay_ms) * (1.0 - self.jitter_ratio + 2.0 * self.jitter_ratio * drawn);
        strayed.clamp(0.0, self.max_delay_ms)
    }
}
