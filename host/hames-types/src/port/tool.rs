//! A tool: what it is and one call of it.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use smol_str::SmolStr;

use crate::content::Content;
use crate::decision::HookContext;
use crate::fault::Fault;
use crate::json::Json;
use crate::signal::Signal;
use crate::tool::{ExecutionMode, ToolCall, ToolDefinition, ToolOutput, ToolView};

/// Something a model can call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What it is. The same for as long as it is registered.
    fn definition(&self) -> &ToolDefinition;

    /// Whether this call may run beside others. An error counts as exclusive (R-REG-8).
    ///
    /// # Errors
    /// Whatever kept the tool from deciding.
    async fn classify(&self, arguments: &Json) -> Result<ExecutionMode, Fault> {
        let _ = arguments;
        Ok(ExecutionMode::Exclusive)
    }

    /// Runs one call.
    ///
    /// **A started body is never abandoned** (R-TOOL-3): the pipeline awaits it even after `run.signal` is raised,
    /// so the body looks at the signal and returns soon. What it returns then is kept if it is an error of its own.
    ///
    /// # Errors
    /// A [`Fault`] becomes an error result the model sees; its code is shown only if its origin vouches for it.
    async fn execute(&self, call: &ToolCall, run: &ToolRun) -> Result<ToolOutput, Fault>;

    /// How a call is shown. Never fails and never runs anything: it is asked on replay, too.
    fn present_call(&self, arguments: &Json) -> Option<ToolView> {
        let _ = arguments;
        None
    }

    /// How a result is shown. Never fails and never runs anything.
    fn present_result(&self, arguments: &Json, content: &Content, meta: Option<&Json>) -> Option<ToolView> {
        let _ = (arguments, content, meta);
        None
    }
}

/// Has the last word before a call runs, and only to deny it: nothing a guard says can allow what was denied.
#[async_trait]
pub trait Guard: Send + Sync {
    /// Why the call must not run; `None` abstains (R-REG-6).
    ///
    /// # Errors
    /// A guard that fails denies: the call ends with the fault's message as an error result.
    async fn check(&self, call: &ToolCall) -> Result<Option<SmolStr>, Fault>;
}

/// What a running body has in hand.
#[derive(Debug, Clone)]
pub struct ToolRun {
    /// Raised when the call should end: the turn is interrupted or a deadline passed.
    pub signal: Signal,
    contexts: Arc<Mutex<Vec<HookContext>>>,
}

impl ToolRun {
    /// For one call.
    #[must_use]
    pub fn new(signal: Signal) -> Self {
        Self {
            signal,
            contexts: Arc::default(),
        }
    }

    /// Hands over a context that follows the result. It is kept whether the body succeeds or fails.
    pub fn defer(&self, context: HookContext) {
        self.contexts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(context);
    }

    /// Takes what was deferred so far, in order.
    #[must_use]
    pub fn take_contexts(&self) -> Vec<HookContext> {
        std::mem::take(&mut *self.contexts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
