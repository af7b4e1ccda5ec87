//! What a caller of an agent can get wrong.

use hames_log::error::{AppendError, CreateError, FlushError, SeedError};
use hames_types::fault::Fault;
use hames_types::id::{SessionId, TurnNo};
use hames_types::json::NotLossless;
use hames_types::port::store::StoreError;

/// A verb of an agent that was refused. Nothing happened.
#[derive(Debug, Clone, thiserror::Error)]
pub enum VerbError {
    /// The agent is gone.
    #[error("agent `{0}` is disposed")]
    Disposed(SessionId),
    /// What was said isn't lossless JSON.
    #[error("the {what} can't be recorded: {fault}")]
    NotLossless {
        /// Which part.
        what: &'static str,
        /// Where and why.
        fault: NotLossless,
    },
    /// The log refused it.
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl From<VerbError> for Fault {
    fn from(error: VerbError) -> Self {
        Self::plain(error.to_string()).with_name("TypeError")
    }
}

/// Why an agent can't be started.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StartError {
    /// Its id is in use.
    #[error("an agent `{0}` is live already; choose another id")]
    Taken(SessionId),
    /// Its session can't be created.
    #[error(transparent)]
    Session(#[from] CreateError),
    /// What it should go on from is refused.
    #[error(transparent)]
    Seed(#[from] SeedError),
    /// What it should go on from ends inside a turn.
    #[error(
        "session `{id}` can't go on from a log that ends inside turn {turn}; cut it at the end of a turn, or close it"
    )]
    OpenSeed {
        /// The session.
        id: SessionId,
        /// The turn that is open.
        turn: TurnNo,
    },
    /// Its set-up failed.
    #[error("the set-up of agent `{id}` failed")]
    Setup {
        /// The agent.
        id: SessionId,
        /// Why.
        #[source]
        fault: Fault,
    },
    /// An observer vetoed it.
    #[error("agent `{id}` was vetoed")]
    Vetoed {
        /// The agent.
        id: SessionId,
        /// By what.
        #[source]
        fault: Fault,
    },
    /// Whoever asked for it has withdrawn.
    #[error("the start of agent `{0}` was cancelled")]
    Cancelled(SessionId),
    /// Nothing stored can be resumed without a store.
    #[error("no store is configured, so session `{0}` can't be resumed")]
    NoStore(SessionId),
    /// The store can't give the session.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The process is shutting down.
    #[error("no agent can be started any more: the host is shutting down")]
    Closed,
}

impl StartError {
    /// The error that a listener, a set-up or an observer raised, if one did.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Setup { fault, .. } | Self::Vetoed { fault, .. } => Some(fault),
            Self::Session(CreateError::Vetoed { fault, .. }) => Some(fault),
            Self::Session(_)
            | Self::Taken(_)
            | Self::Seed(_)
            | Self::OpenSeed { .. }
            | Self::Cancelled(_)
            | Self::NoStore(_)
            | Self::Store(_)
            | Self::Closed => None,
        }
    }
}

/// A failed flush as an error of the turn: the listener's own, if it was one.
pub(crate) fn flush_fault(error: FlushError) -> Fault {
    match error {
        FlushError::Failed(fault) => fault,
        FlushError::NotLive(_) => Fault::plain(error.to_string()),
    }
}

/// A refused append as an error of the turn. It has no code: nothing but its message tells it from others.
pub(crate) fn append_fault(error: &AppendError) -> Fault {
    Fault::plain(error.to_string())
}
