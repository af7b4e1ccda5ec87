//! Serves `call`: contexts, progress, and whether to stop.

use crate::bindings::hames::plugin::call::{CallError, Context, Host};
use crate::convert::content::admit_context;
use crate::convert::{Admit, Refused};
use crate::error::Limit;
use crate::host::head;
use crate::limits::MAX_PROGRESS;
use crate::state::State;

impl Host for State {
    fn defer(&mut self, context: Context) -> wasmtime::Result<Result<(), CallError>> {
        let Some(tool) = &self.call.tool else {
            return Ok(Err(CallError::NoCall));
        };
        if !self.meter.contexts.take(1) {
            return Ok(Err(CallError::Limit("contexts of one call".to_owned())));
        }
        let left = self.meter.context_bytes.left();
        let mut admit = Admit::new(&self.who, left, Limit::Contexts);
        Ok(match admit_context(&mut admit, context) {
            Ok(context) => {
                let used = left.saturating_sub(admit.left());
                self.meter.context_bytes.take(used);
                tool.run.defer(context);
                Ok(())
            }
            Err(Refused::Limit(_)) => Err(CallError::Limit("bytes of one call's result".to_owned())),
            Err(refused @ Refused::At { .. }) => Err(CallError::Refused(refused.to_string())),
        })
    }

    fn progress(&mut self, message: String) -> wasmtime::Result<Result<(), CallError>> {
        let Some(tool) = &self.call.tool else {
            return Ok(Err(CallError::NoCall));
        };
        if message.len() > MAX_PROGRESS || message.contains('\n') {
            let problem = format!("progress must be one line of at most {MAX_PROGRESS} bytes");
            return Ok(Err(CallError::Refused(problem)));
        }
        if !self.meter.log_lines.take(1) || !self.meter.log_bytes.take(message.len()) {
            return Ok(Err(CallError::Limit("diagnostics of one call".to_owned())));
        }
        let who = &self.who;
        who.services
            .diary
            .progress(&who.id, &tool.id, head(&message, MAX_PROGRESS));
        Ok(Ok(()))
    }

    fn aborted(&mut self) -> wasmtime::Result<bool> {
        Ok(self.call.signal.is_raised())
    }
}
