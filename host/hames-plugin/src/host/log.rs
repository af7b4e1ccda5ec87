//! Serves `log`: bounded diagnostics, tagged with the plugin.

use crate::bindings::hames::plugin::log::{Host, Level};
use crate::host::head;
use crate::limits::MAX_LOG_LINE;
use crate::state::State;
use crate::who;

impl Host for State {
    fn write(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            Level::Trace => who::Level::Trace,
            Level::Debug => who::Level::Debug,
            Level::Info => who::Level::Info,
            Level::Warn => who::Level::Warn,
            Level::Error => who::Level::Error,
        };
        let line = head(&message, MAX_LOG_LINE);
        let who = &self.who;
        if self.meter.log_lines.take(1) && self.meter.log_bytes.take(line.len()) {
            who.services.diary.line(&who.id, level, line);
        } else if self.meter.log_lines.empty() | self.meter.log_bytes.empty() {
            let text = "the diagnostics of this call are used up; the rest of them is dropped";
            who.services.diary.line(&who.id, who::Level::Warn, text);
        }
        Ok(())
    }
}
