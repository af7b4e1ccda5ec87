//! Serves `config`: the operator's configuration of this plugin.

use crate::bindings::hames::plugin::config::Host;
use crate::state::State;

impl Host for State {
    fn get(&mut self) -> wasmtime::Result<String> {
        Ok(self.who.config.clone())
    }
}
