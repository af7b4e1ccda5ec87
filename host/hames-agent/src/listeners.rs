//! Who is asked at which point of the loop, and how several answers become one.

mod chain;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::sync::Arc;

use hames_log::{ListenerId, Place, Slot, observe_contained};
use hames_types::event::EventBody;
use hames_types::fault::Fault;
use hames_types::id::SessionId;
use hames_types::port::listener::{Consult, Decide, Notice, Observe, Seam};
use hames_types::port::notice::{
    AgentCreated, AgentDisposed, AgentError, CancelRequested, ConfigStartFailed, Queued, SessionStart,
    StatusChanged, ToolResultReady,
};
use hames_types::port::plugin::Held;
use hames_types::port::seam::{
    Approval, CallRequest, Execute, ExecuteAsk, LlmStream, PostExecute, PostStep, PreExecute, PreStep,
    PromptAssemble, PromptSubmit, RequestError, SessionPrefix, StepResult, StreamAsk, TurnContinuation,
    TurnStop,
};
use hames_types::request::Request;
use hames_types::scope::ScopeKey;
use hames_types::signal::Signal;

use self::chain::Chain;

/// A point of the loop that has listeners: a seam or a notice.
pub trait Heard: Sized + 'static {
    /// What listens there.
    type Listener: ?Sized + Send + Sync + 'static;

    /// Whether a listener bound to a scope hears only what concerns that scope (R-SCOPE-3); otherwise it hears
    /// everything (R-SCOPE-4).
    const SCOPED: bool;

    /// The list of its listeners.
    fn slot(listeners: &Listeners) -> &Slot<Self::Listener>;
}

/// A seam whose listeners stand around each other.
pub trait Waterfall: Seam + Heard<Listener = dyn Decide<Self>> {
    /// What the rest of the chain is asked once a listener has passed something on; `None` if nothing changes.
    fn passed(ask: &Self::Ask, pass: &Self::Pass) -> Option<Self::Ask> {
        let _ = (ask, pass);
        None
    }
}

/// A seam whose listeners are asked one after the other until one answers.
pub trait Serial: Seam + Heard<Listener = dyn Consult<Self>> {}

/// A notice whose observers are told one after the other.
pub trait Told: Notice + Heard<Listener = dyn Observe<Self>> {}

macro_rules! listeners {
    (
        waterfall { $( $decide:ident in $decide_field:ident, scoped $decide_scoped:literal; )* }
        serial { $( $consult:ident in $consult_field:ident; )* }
        told { $( $notice:ident in $notice_field:ident, scoped $notice_scoped:literal; )* }
    ) => {
        /// Everyone who listens to the loop, of all agents. A session's own notices are with the session's registry.
        ///
        /// The order of registration is the order of asking: in a waterfall the first is outermost (R-DISP-3,
        /// R-DISP-7). A dispatch takes the list as it stands when it begins (R-DISP-6), and a point nobody listens
        /// to costs one look at its list.
        #[derive(Default)]
        pub struct Listeners {
            $( $decide_field: Slot<dyn Decide<$decide>>, )*
            $( $consult_field: Slot<dyn Consult<$consult>>, )*
            $( $notice_field: Slot<dyn Observe<$notice>>, )*
            held: Slot<dyn Held>,
        }

        $( impl Heard for $decide {
            type Listener = dyn Decide<Self>;
            const SCOPED: bool = $decide_scoped;

            fn slot(listeners: &Listeners) -> &Slot<Self::Listener> {
                &listeners.$decide_field
            }
        } )*

        $( impl Heard for $consult {
            type Listener = dyn Consult<Self>;
            const SCOPED: bool = true;

            fn slot(listeners: &Listeners) -> &Slot<Self::Listener> {
                &listeners.$consult_field
            }
        }

        impl Serial for $consult {} )*

        $( impl Heard for $notice {
            type Listener = dyn Observe<Self>;
            const SCOPED: bool = $notice_scoped;

            fn slot(listeners: &Listeners) -> &Slot<Self::Listener> {
                &listeners.$notice_field
            }
        }

        impl Told for $notice {} )*

        impl Listeners {
            /// Takes back everything that was registered for a scope (R-SCOPE-9).
            pub fn end_scope(&self, scope: ScopeKey) {
                $( self.$decide_field.remove_scope(scope); )*
                $( self.$consult_field.remove_scope(scope); )*
                $( self.$notice_field.remove_scope(scope); )*
            }
        }
    };
}

listeners! {
    waterfall {
        PromptSubmit in prompt_submit, scoped true;
        SessionPrefix in session_prefix, scoped true;
        PromptAssemble in prompt_assemble, scoped true;
        CallRequest in call_request, scoped true;
        LlmStream in llm_stream, scoped false;
        StepResult in step_result, scoped true;
        PreExecute in pre_execute, scoped true;
        Approval in approval, scoped true;
        Execute in execute, scoped true;
        PostExecute in post_execute, scoped true;
        RequestError in request_error, scoped true;
        TurnContinuation in turn_continuation, scoped true;
    }
    serial {
        PreStep in pre_step;
        PostStep in post_step;
        TurnStop in turn_stop;
    }
    told {
        AgentCreated in agent_created, scoped true;
        AgentDisposed in agent_disposed, scoped true;
        SessionStart in session_start, scoped true;
        StatusChanged in status_changed, scoped true;
        Queued in queued, scoped true;
        CancelRequested in cancel_requested, scoped true;
        AgentError in agent_error, scoped true;
        ToolResultReady in tool_result, scoped true;
        ConfigStartFailed in config_start_failed, scoped false;
    }
}

impl Waterfall for PromptSubmit {}
impl Waterfall for SessionPrefix {}
impl Waterfall for PromptAssemble {}
impl Waterfall for CallRequest {}
impl Waterfall for StepResult {}
impl Waterfall for PreExecute {}
impl Waterfall for Approval {}
impl Waterfall for PostExecute {}
impl Waterfall for RequestError {}
impl Waterfall for TurnContinuation {}

impl Waterfall for LlmStream {
    fn passed(ask: &StreamAsk, request: &Request) -> Option<StreamAsk> {
        Some(StreamAsk {
            request: request.clone(),
            ..ask.clone()
        })
    }
}

impl Waterfall for Execute {
    fn passed(ask: &ExecuteAsk, signal: &Signal) -> Option<ExecuteAsk> {
        Some(ExecuteAsk {
            signal: signal.clone(),
            ..ask.clone()
        })
    }
}

impl Listeners {
    /// Nobody listens.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a listener at a point; with a `scope` it hears only what concerns that scope.
    pub fn add<H: Heard>(
        &self,
        scope: Option<ScopeKey>,
        place: Place,
        listener: Arc<H::Listener>,
    ) -> ListenerId {
        H::slot(self).add(scope, place, listener)
    }

    /// Takes a listener back. Nothing happens if it is gone already.
    pub fn remove<H: Heard>(&self, id: ListenerId) {
        H::slot(self).remove(id);
    }

    /// Whether anybody listens at a point: the cheap question before making what would be asked or told.
    #[must_use]
    pub fn any<H: Heard>(&self) -> bool {
        !H::slot(self).is_empty()
    }

    /// Adds somebody who holds events for the sessions' logs. The loop takes them, and logs them, before a step or a
    /// turn closes.
    pub fn add_held(&self, held: Arc<dyn Held>) -> ListenerId {
        self.held.add(None, Place::Last, held)
    }

    /// What is held for a session, in the order of registration.
    pub(crate) fn take_held(&self, session: &SessionId) -> Vec<EventBody> {
        if self.held.is_empty() {
            return Vec::new();
        }
        let everyone = self.held.everyone();
        everyone.iter().flat_map(|held| held.take(session)).collect()
    }

    fn reached<H: Heard>(&self, carrier: Option<ScopeKey>) -> Vec<Arc<H::Listener>> {
        if H::SCOPED {
            H::slot(self).reached_by(carrier)
        } else {
            H::slot(self).everyone()
        }
    }

    /// Asks the listeners of a waterfall, the first registered outermost, with `default` innermost (R-DISP-7).
    ///
    /// `default` is given what the listeners passed on, if they did. It runs at most once, and not at all if a
    /// listener answers without delegating. Dropping the future drops the whole chain where it stands.
    ///
    /// # Errors
    /// The fault of whoever failed and wasn't caught by a listener around it; the same fault as was raised
    /// (R-DISP-5).
    pub async fn decide<S, F, D>(
        &self,
        carrier: Option<ScopeKey>,
        ask: &S::Ask,
        default: F,
    ) -> Result<S::Answer, Fault>
    where
        S: Waterfall,
        F: FnOnce(Option<S::Pass>) -> D + Send,
        D: Future<Output = Result<S::Answer, Fault>> + Send,
    {
        let listeners = self.reached::<S>(carrier);
        if listeners.is_empty() {
            return default(None).await;
        }
        Chain::<S, F>::new(listeners, ask, default).run_all().await
    }

    /// Asks the listeners of a serial seam in order until one answers (R-DISP-1).
    ///
    /// # Errors
    /// The fault of the first who fails; those behind it aren't asked (R-DISP-5).
    pub async fn consult<S: Serial>(
        &self,
        carrier: Option<ScopeKey>,
        ask: &S::Ask,
    ) -> Result<Option<S::Answer>, Fault> {
        for listener in self.reached::<S>(carrier) {
            if let Some(answer) = listener.consult(ask).await? {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }

    /// Tells the observers of a notice, each on its own: a fault becomes a warning and the next is told (R-DISP-4).
    ///
    /// The notice is made only if somebody listens.
    pub fn tell<N: Told>(&self, carrier: Option<ScopeKey>, make: impl FnOnce() -> N) {
        if !self.any::<N>() {
            return;
        }
        let notice = make();
        for observer in self.reached::<N>(carrier) {
            if let Err(fault) = observe_contained(&*observer, &notice) {
                tracing::warn!(notice = N::NAME, error = %fault.chain(), "an observer failed");
            }
        }
    }

    /// Tells the observers of a notice until one vetoes.
    ///
    /// # Errors
    /// The fault of the first who vetoes; those behind it aren't told.
    pub fn veto<N: Told>(&self, carrier: Option<ScopeKey>, notice: &N) -> Result<(), Fault> {
        self.reached::<N>(carrier)
            .iter()
            .try_for_each(|observer| observe_contained(&**observer, notice))
    }
}
