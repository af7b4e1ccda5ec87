//! At which points of the loop can a component listen? Their names for operators, and the interfaces for each.

use std::fmt;

macro_rules! points {
    ($( $(#[$meta:meta])* $point:ident($word:literal, $interface:literal, $kind:ident), )*) => {
        /// A point of the loop that a component can listen at.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Point { $( $(#[$meta])* $point, )* }

        impl Point {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$point),*];

            /// The word for it in configuration and errors.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$point => $word, )* }
            }

            /// The interface a component exports to listen there.
            #[must_use]
            pub const fn interface(self) -> &'static str {
                match self { $( Self::$point => concat!("hames:plugin/", $interface, "@0.1.0"), )* }
            }

            /// What a listener there can do.
            #[must_use]
            pub const fn kind(self) -> PointKind {
                match self { $( Self::$point => PointKind::$kind, )* }
            }
        }
    };
}

/// What a listener at a point can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointKind {
    /// Decide around the rest of a chain, with answers of which one can be the stricter.
    Ordered,
    /// Decide around the rest of a chain, with answers that have no order: only with full authority.
    Unordered,
    /// Answer or leave it to the next.
    Serial,
    /// Deny or abstain.
    Guard,
    /// Be told.
    Observer,
}

points! {
    /// May a prompt begin its turn?
    PromptSubmit("prompt-submit", "on-prompt-submit", Ordered),
    /// Which messages stand in front of the history?
    SessionPrefix("session-prefix", "on-session-prefix", Unordered),
    /// What is the system prompt made of?
    PromptAssemble("prompt-assemble", "on-prompt-assemble", Unordered),
    /// Before a step.
    PreStep("pre-step", "on-pre-step", Serial),
    /// Which provider, model and sampling?
    Request("request", "on-request", Unordered),
    /// What did the model say?
    StepResult("step-result", "on-step-result", Unordered),
    /// May a call run?
    PreExecute("pre-execute", "on-pre-execute", Ordered),
    /// The last word before a call runs.
    Guard("guard", "guard", Guard),
    /// Around a call's body.
    Execute("execute", "on-execute", Unordered),
    /// What becomes of a result?
    PostExecute("post-execute", "on-post-execute", Ordered),
    /// Behind a step.
    PostStep("post-step", "on-post-step", Serial),
    /// What becomes of a failed model call?
    RequestError("request-error", "on-request-error", Unordered),
    /// Does the turn go on?
    TurnContinuation("turn-continuation", "on-turn-continuation", Ordered),
    /// Must the turn end?
    TurnStop("turn-stop", "on-turn-stop", Serial),
    /// An event was committed.
    SessionEvent("session-event", "on-session-event", Observer),
    /// An agent's life began.
    SessionStart("session-start", "on-session-start", Observer),
    /// An agent's status changed.
    Status("status", "on-status", Observer),
    /// Something was queued.
    Queued("queued", "on-queued", Observer),
    /// A cancellation is about to take effect.
    CancelRequested("cancel-requested", "on-cancel-requested", Observer),
    /// A turn or a checkpoint failed.
    Error("error", "on-error", Observer),
    /// A call has its final outcome.
    ToolResult("tool-result", "on-tool-result", Observer),
    /// An agent is published.
    AgentCreated("agent-created", "on-agent-created", Observer),
    /// An agent is gone.
    AgentDisposed("agent-disposed", "on-agent-disposed", Observer),
}

impl Point {
    /// The point of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|point| point.as_str() == word)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// What a failure of a plugin means at a seam.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// What an error of a listener there means: the call doesn't run, the turn fails.
    #[default]
    Closed,
    /// As if it weren't there.
    Open,
}

/// Where a plugin's listeners stand among those of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Phase {
    /// Before the others: outermost.
    Early,
    /// In the configured order.
    #[default]
    Normal,
    /// Behind the others: innermost.
    Late,
}
