//! Where does each kind of listener go? One door for what a plugin brings.

use std::sync::Arc;

use hames_log::Place;
use hames_types::fault::Fault;
use hames_types::port::notice::{
    AgentCreated, AgentDisposed, AgentError, CancelRequested, Queued, SessionStart, StatusChanged,
    ToolResultReady,
};
use hames_types::port::registration::Registration;
use hames_types::port::seam::{
    CallRequest, Execute, PostExecute, PostStep, PreExecute, PreStep, PromptAssemble, PromptSubmit,
    RequestError, SessionPrefix, StepResult, TurnContinuation, TurnStop,
};
use hames_types::scope::ScopeKey;

use crate::listeners::Heard;
use crate::scope::Scope;
use crate::services::Services;

impl Services {
    /// Registers a listener behind those that are there: in a waterfall the first is outermost. With a scope it hears
    /// only what concerns that scope, and ends with it.
    ///
    /// # Errors
    /// If the scope has ended.
    pub fn register(&self, scope: Option<&Scope>, registration: Registration) -> Result<(), Fault> {
        if let Registration::Guard(guard) = registration {
            return self.tools.guard(scope, guard).map(|_| ());
        }
        match scope {
            Some(scope) => scope.while_live(|key| self.listen(Some(key), registration)),
            None => {
                self.listen(None, registration);
                Ok(())
            }
        }
    }

    fn listen(&self, scope: Option<ScopeKey>, registration: Registration) {
        match registration {
            Registration::PromptSubmit(listener) => self.hear::<PromptSubmit>(scope, listener),
            Registration::SessionPrefix(listener) => self.hear::<SessionPrefix>(scope, listener),
            Registration::PromptAssemble(listener) => self.hear::<PromptAssemble>(scope, listener),
            Registration::PreStep(listener) => self.hear::<PreStep>(scope, listener),
            Registration::CallRequest(listener) => self.hear::<CallRequest>(scope, listener),
            Registration::StepResult(listener) => self.hear::<StepResult>(scope, listener),
            Registration::PreExecute(listener) => self.hear::<PreExecute>(scope, listener),
            Registration::Execute(listener) => self.hear::<Execute>(scope, listener),
            Registration::PostExecute(listener) => self.hear::<PostExecute>(scope, listener),
            Registration::PostStep(listener) => self.hear::<PostStep>(scope, listener),
            Registration::RequestError(listener) => self.hear::<RequestError>(scope, listener),
            Registration::TurnContinuation(listener) => self.hear::<TurnContinuation>(scope, listener),
            Registration::TurnStop(listener) => self.hear::<TurnStop>(scope, listener),
            Registration::SessionStart(listener) => self.hear::<SessionStart>(scope, listener),
            Registration::StatusChanged(listener) => self.hear::<StatusChanged>(scope, listener),
            Registration::Queued(listener) => self.hear::<Queued>(scope, listener),
            Registration::CancelRequested(listener) => self.hear::<CancelRequested>(scope, listener),
            Registration::AgentError(listener) => self.hear::<AgentError>(scope, listener),
            Registration::ToolResultReady(listener) => self.hear::<ToolResultReady>(scope, listener),
            Registration::AgentCreated(listener) => self.hear::<AgentCreated>(scope, listener),
            Registration::AgentDisposed(listener) => self.hear::<AgentDisposed>(scope, listener),
            Registration::SessionEvent(observer) => {
                match observer.kinds() {
                    Some(kinds) => self.sessions.on_kinds().add(&kinds, scope, Place::Last, observer),
                    None => self.sessions.on_event().add(scope, Place::Last, observer),
                };
            }
            // Registered above: guards belong to the tools.
            Registration::Guard(_) => {}
        }
    }

    fn hear<H: Heard>(&self, scope: Option<ScopeKey>, listener: Arc<H::Listener>) {
        self.listeners.add::<H>(scope, Place::Last, listener);
    }
}
