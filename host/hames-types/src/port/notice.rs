//! Everything observers are told.

use std::sync::Arc;

use crate::content::Content;
use crate::event::Event;
use crate::fault::Fault;
use crate::id::{SessionId, StepNo, TurnNo};
use crate::message::MessageSource;
use crate::port::listener::Notice;
use crate::tool::{ToolCall, ToolOutcome};
use crate::turn::{AgentStatus, CancelCause, SessionStartSource};

macro_rules! notices {
    ($( $(#[$meta:meta])* $name:ident($label:literal) { $( $(#[$field_meta:meta])* $field:ident: $ty:ty, )* } )*) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone)]
        pub struct $name { $( $(#[$field_meta])* pub $field: $ty, )* }

        impl Notice for $name {
            const NAME: &'static str = $label;
        }
    )* };
}

notices! {
    /// A session is published. A fault vetoes it.
    SessionCreated("session/created") {
        /// The session.
        session: SessionId,
    }
    /// A session is no longer live.
    SessionDisposed("session/disposed") {
        /// The session.
        session: SessionId,
    }
    /// An event was committed. Told from inside the append: a further append to the same session is refused.
    SessionEvent("session/event") {
        /// The session.
        session: SessionId,
        /// The event.
        event: Arc<Event>,
    }
    /// An agent is published. A fault vetoes it.
    AgentCreated("agent/created") {
        /// The agent.
        agent: SessionId,
    }
    /// An agent is gone: its driver has ended.
    AgentDisposed("agent/disposed") {
        /// The agent.
        agent: SessionId,
    }
    /// An agent's life in this process began.
    SessionStart("agent/session-start") {
        /// The agent.
        agent: SessionId,
        /// Why.
        source: SessionStartSource,
    }
    /// An agent's status changed.
    StatusChanged("agent/status") {
        /// The agent.
        agent: SessionId,
        /// What it is now.
        status: AgentStatus,
    }
    /// Something was put into an agent's inbox.
    Queued("agent/queued") {
        /// The agent.
        agent: SessionId,
        /// What.
        content: Content,
        /// From where.
        source: MessageSource,
        /// How many contexts came with it.
        contexts: usize,
        /// Whether it steers the running turn.
        steering: bool,
    }
    /// An effective cancellation is about to clear the inbox and to interrupt the turn.
    CancelRequested("agent/cancel-requested") {
        /// The agent.
        agent: SessionId,
        /// Who asked.
        cause: CancelCause,
    }
    /// A turn or a checkpoint failed.
    AgentError("agent/error") {
        /// The agent.
        agent: SessionId,
        /// The turn.
        turn: TurnNo,
        /// The step; 0 outside of one.
        step: StepNo,
        /// What failed.
        error: Fault,
        /// The content of a message that was lost with it.
        lost: Option<Content>,
    }
    /// A tool call has its final outcome.
    ToolResultReady("tools/result") {
        /// The call.
        call: ToolCall,
        /// What came of it.
        outcome: ToolOutcome,
    }
    /// An agent that the configuration names could not be started.
    ConfigStartFailed("agent-loop/config-start-failed") {
        /// The session it would have had.
        session: SessionId,
        /// Why not.
        error: Fault,
    }
}
