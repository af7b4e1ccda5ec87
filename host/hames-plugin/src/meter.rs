//! How much has a call used? The limiter of memory and tables, and the counters of what the host does for it.

use wasmtime::ResourceLimiter;

use crate::error::Limit;
use crate::limits::Limits;

/// Counts one call's use.
#[derive(Debug)]
pub(crate) struct Meter {
    memory: usize,
    table_elements: usize,
    max_memory: usize,
    max_table_elements: usize,
    /// The limit that last refused growth: growth that fails isn't a trap, but what follows usually is.
    pub(crate) refused: Option<Limit>,
    pub(crate) log_lines: Budget,
    pub(crate) log_bytes: Budget,
    pub(crate) contexts: Budget,
    pub(crate) context_bytes: Budget,
    pub(crate) appended: Budget,
    pub(crate) verbs: Budget,
}

/// Something that runs out.
#[derive(Debug)]
pub(crate) struct Budget(usize);

impl Budget {
    pub(crate) const fn of(amount: usize) -> Self {
        Self(amount)
    }

    /// Takes some of it, all or nothing.
    pub(crate) fn take(&mut self, amount: usize) -> bool {
        let rest = self.0.checked_sub(amount);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// What is left.
    pub(crate) const fn left(&self) -> usize {
        self.0
    }

    /// Leaves nothing. Says whether anything was left.
    pub(crate) fn empty(&mut self) -> bool {
        std::mem::take(&mut self.0) > 0
    }
}

impl Meter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            memory: 0,
            table_elements: 0,
            max_memory: limits.memory,
            max_table_elements: limits.table_elements,
            refused: None,
            log_lines: Budget(limits.log_lines),
            log_bytes: Budget(limits.log_bytes),
            contexts: Budget(limits.contexts),
            context_bytes: Budget(limits.output),
            appended: Budget(limits.appended_events),
            verbs: Budget(limits.verbs),
        }
    }
}

/// The new sum if one part of it grows, or `None` over the limit.
fn grown(sum: usize, current: usize, desired: usize, limit: usize) -> Option<usize> {
    sum.checked_add(desired.saturating_sub(current))
        .filter(|sum| *sum <= limit)
}

impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        match grown(self.memory, current, desired, self.max_memory) {
            Some(sum) => self.memory = sum,
            None => {
                self.refused = Some(Limit::Memory);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        match grown(self.table_elements, current, desired, self.max_table_elements) {
            Some(sum) => self.table_elements = sum,
            None => {
                self.refused = Some(Limit::Tables);
                return Ok(false);
            }
        }
        Ok(true)
    }
}
