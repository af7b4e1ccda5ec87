//! Serves `wait`: waits that end when the call should. The call's deadline is kept outside, so nothing here can
//! wait for longer.

use std::time::Duration;

use crate::bindings::hames::plugin::wait::{Host, WaitEnd};
use crate::state::State;

impl Host for State {
    async fn sleep(&mut self, ms: u64) -> wasmtime::Result<WaitEnd> {
        self.may_wait()?;
        let wait = tokio::time::sleep(Duration::from_millis(ms));
        Ok(match self.call.signal.unless_raised(wait).await {
            Some(()) => WaitEnd::Elapsed,
            None => WaitEnd::Aborted,
        })
    }

    async fn until_aborted(&mut self) -> wasmtime::Result<()> {
        self.may_wait()?;
        self.call.signal.raised().await;
        Ok(())
    }
}

/// Raised where nobody can wait.
#[derive(Debug, thiserror::Error)]
#[error("an observer, a view or a piece of the prompt can't wait")]
struct CantWait;

impl State {
    fn may_wait(&self) -> wasmtime::Result<()> {
        if self.call.is_synchronous {
            return Err(CantWait.into());
        }
        Ok(())
    }
}
