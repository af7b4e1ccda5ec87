//! Why a turn began, why it ended, and who may interrupt it.

use smol_str::SmolStr;

use crate::failure::LlmFailure;
use crate::id::StepNo;
use crate::json::{Extra, record, words};
use crate::message::{MessageSource, Plain};
use crate::open::open_sum;

record! {
    /// The message or context a turn began with.
    SourcedTrigger {
        /// Where it came from.
        source: MessageSource = "source",
    }
}

open_sum! {
    /// Why a turn began.
    TurnTrigger("turn trigger", "kind") {
        /// A queued prompt was claimed.
        Message(SourcedTrigger) = "message",
        /// A context was injected while nothing ran.
        Injection(SourcedTrigger) = "injection",
    }
}

impl TurnTrigger {
    /// A prompt from `source`.
    #[must_use]
    pub fn message(source: MessageSource) -> Self {
        Self::Message(SourcedTrigger {
            source,
            extra: Extra::NONE,
        })
    }

    /// An injection from `source`.
    #[must_use]
    pub fn injection(source: MessageSource) -> Self {
        Self::Injection(SourcedTrigger {
            source,
            extra: Extra::NONE,
        })
    }
}

record! {
    /// How a turn failed: with a model's `failure`, or with `message` and perhaps `code`, never both.
    ErrorEnd {
        /// The step that failed; 0 before the first.
        step: StepNo = "step",
        /// The model call's failure.
        failure: Option<LlmFailure> = "failure",
        /// Any other error, with its chain of causes.
        message: Option<SmolStr> = "message",
        /// That error's code, if it has one.
        code: Option<SmolStr> = "code",
    }
}

record! {
    /// Why a prompt was refused.
    RejectedEnd {
        /// The listener's words.
        reason: SmolStr = "reason",
    }
}

open_sum! {
    /// Why a turn ended. It is the only durable record of a failed turn (R-EVT-1).
    TurnEndReason("turn-end reason", "kind") {
        /// It ran to its end.
        Completed(Plain) = "completed",
        /// It was cancelled.
        Aborted(Plain) = "aborted",
        /// It failed.
        Error(Box<ErrorEnd>) = "error",
        /// Its agent was disposed.
        Disposed(Plain) = "disposed",
        /// The model ran into its output limit.
        MaxTokens(Plain) = "max-tokens",
        /// Its prompt was refused.
        Rejected(RejectedEnd) = "rejected",
        /// The process died; written by repair alone (R-TYPE-2).
        Interrupted(Plain) = "interrupted",
    }
}

words! {
    /// Who asked for a cancellation.
    CancelCause("a cancel cause") {
        /// The person.
        User = "user",
        /// The agent that started this one.
        Parent = "parent",
    }
}

words! {
    /// Why a turn's signal was raised.
    InterruptReason("an interrupt reason") {
        /// The person cancelled.
        User = "user",
        /// The parent cancelled.
        Parent = "parent",
        /// The agent is going away.
        Disposed = "disposed",
    }
}

impl From<CancelCause> for InterruptReason {
    fn from(cause: CancelCause) -> Self {
        match cause {
            CancelCause::User => Self::User,
            CancelCause::Parent => Self::Parent,
        }
    }
}

words! {
    /// Why an agent's life in this process began.
    SessionStartSource("a session-start source") {
        /// It is new, perhaps seeded.
        Startup = "startup",
        /// It was loaded from a store.
        Resume = "resume",
        /// Reserved.
        Clear = "clear",
        /// Reserved.
        Compact = "compact",
    }
}

words! {
    /// What an agent is doing.
    AgentStatus("an agent's status") {
        /// Nothing is queued.
        Idle = "idle",
        /// It drains its queue; a turn need not be open.
        Running = "running",
        /// It is gone.
        Disposed = "disposed",
    }
}
