//! One listener of any kind, ready to be registered: what a plugin hands to whoever keeps the lists.

use std::fmt;
use std::sync::Arc;

use crate::port::listener::{Consult, Decide, Observe};
use crate::port::notice::{
    AgentCreated, AgentDisposed, AgentError, CancelRequested, Queued, SessionEvent, SessionStart,
    StatusChanged, ToolResultReady,
};
use crate::port::seam::{
    CallRequest, Execute, PostExecute, PostStep, PreExecute, PreStep, PromptAssemble, PromptSubmit,
    RequestError, SessionPrefix, StepResult, TurnContinuation, TurnStop,
};
use crate::port::tool::Guard;

macro_rules! registrations {
    ($( $arm:ident($port:ident$(<$point:ident>)?), )*) => {
        /// A listener and where it wants to listen.
        #[derive(Clone)]
        pub enum Registration {
            $(
                #[doc = concat!("A listener of kind `", stringify!($port), "`.")]
                $arm(Arc<dyn $port$(<$point>)?>),
            )*
        }

        impl Registration {
            /// Where it wants to listen, for people.
            #[must_use]
            pub const fn place(&self) -> &'static str {
                match self { $( Self::$arm(_) => stringify!($arm), )* }
            }
        }
    };
}

registrations! {
    PromptSubmit(Decide<PromptSubmit>),
    SessionPrefix(Decide<SessionPrefix>),
    PromptAssemble(Decide<PromptAssemble>),
    PreStep(Consult<PreStep>),
    CallRequest(Decide<CallRequest>),
    StepResult(Decide<StepResult>),
    PreExecute(Decide<PreExecute>),
    Guard(Guard),
    Execute(Decide<Execute>),
    PostExecute(Decide<PostExecute>),
    PostStep(Consult<PostStep>),
    RequestError(Decide<RequestError>),
    TurnContinuation(Decide<TurnContinuation>),
    TurnStop(Consult<TurnStop>),
    SessionEvent(Observe<SessionEvent>),
    SessionStart(Observe<SessionStart>),
    StatusChanged(Observe<StatusChanged>),
    Queued(Observe<Queued>),
    CancelRequested(Observe<CancelRequested>),
    AgentError(Observe<AgentError>),
    ToolResultReady(Observe<ToolResultReady>),
    AgentCreated(Observe<AgentCreated>),
    AgentDisposed(Observe<AgentDisposed>),
}

impl fmt::Debug for Registration {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Registration").field(&self.place()).finish()
    }
}
