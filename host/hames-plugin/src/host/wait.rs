//! Serves `wait`: waits that end when the call should. The call's deadline is kept outside, so nothing here can
//! wait for longer.

use std::time::Duration;

use crate::bindings::hames::plugin::wait::{Host, WaitEnd};
use crate::state::State;

impl Host for State {
    async fn sleep(&mut self, ms: u64) -> wasmtime::Result<WaitEnd> {
        let wait = tokio::time::sleep(Duration::from_millis(ms));
        Ok(match self.call.signal.unless_raised(wait).await {
            Some(()) => WaitEnd::Elapsed,
            None => WaitEnd::Aborted,
        })
    }

    async fn until_aborted(&mut self) -> wasmtime::Result<()> {
        self.call.signal.raised().await;
        Ok(())
    }
}
