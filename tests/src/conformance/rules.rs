//! Where does hames differ from the recorded reference on purpose?
//!
//! A rule is a decision, an id and a sentence. Whether a case falls under it is decided by the section's runner from
//! what the case uses, never from its name, so that it holds for data nobody has seen yet.

/// A decision to differ.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its id, as the report counts it.
    pub id: &'static str,
    /// What hames does instead.
    pub what: &'static str,
}

/// Live sessions keep the order of turns (architecture: the log's invariants).
pub static ENCLOSURE: Rule = Rule {
    id: "D-11",
    what: "a live session refuses an event outside a turn",
};

/// A plugin has the contract and nothing else.
pub static OUTSIDE_CONTRACT: Rule = Rule {
    id: "sandbox: outside the contract",
    what: "a tool in the sandbox can't register tools, create, dispose or name agents, be an \
           agent's own at set-up, write to the log what isn't its own, or say numbers outside JSON",
};

/// What JSON can't say can't be configured.
pub static LISTENER_NUMBERS: Rule = Rule {
    id: "listeners: numbers",
    what: "a listener in the sandbox can't say numbers outside JSON",
};

/// Plugins listen at the points that have an interface.
pub static LISTENER_POINTS: Rule = Rule {
    id: "listeners: points",
    what: "a component doesn't listen to flushes and streams, and can't keep a session or an agent from being created",
};

/// A plugin writes to the log what it has a verb for.
pub static LISTENER_APPENDS: Rule = Rule {
    id: "listeners: appends",
    what: "a component can't append a core kind for which it was granted no verb",
};

/// Plugins don't decide over the life of agents.
pub static LISTENER_LIVES: Rule = Rule {
    id: "listeners: lives",
    what: "a component can't create agents or dispose of them",
};

/// What others open is no business of a component's.
pub static LISTENER_GATES: Rule = Rule {
    id: "listeners: gates",
    what: "a component can't wait for a gate that is opened from outside",
};

/// Live sessions know who answered.
pub static LIVE_ROUTE: Rule = Rule {
    id: "A-5",
    what: "a live session refuses a header or an answer without provider and model",
};

/// An answer has a finish reason.
pub static FINISH_REASON: Rule = Rule {
    id: "adapter: finish reason",
    what: "an answer without a finish reason is STREAM_CLOSED",
};

/// Errors inside a stream count.
pub static STREAM_ERROR: Rule = Rule {
    id: "adapter: error in the stream",
    what: "an error object inside a stream is a failure with its own code",
};

/// What isn't the protocol is no transport's fault.
pub static WRONG_SHAPE: Rule = Rule {
    id: "adapter: wrong shape",
    what: "a payload that is null or of the wrong shape is MALFORMED_RESPONSE",
};

/// A refusal stays a refusal.
pub static KEEP_STATUS: Rule = Rule {
    id: "adapter: status",
    what: "an HTTP error keeps its status and code whatever its body is",
};

/// The finer header.
pub static RETRY_AFTER_MS: Rule = Rule {
    id: "adapter: retry-after-ms",
    what: "`retry-after-ms` counts",
};

/// An overflow is one under any status.
pub static OVERFLOW_STATUS: Rule = Rule {
    id: "adapter: overflow",
    what: "context overflow is recognised on any 4xx",
};

/// A call keeps what it said of itself.
pub static CALL_IDENTITY: Rule = Rule {
    id: "adapter: call identity",
    what: "an empty or null id or name in a later tool-call delta changes nothing",
};

/// Counts count.
pub static COUNTS: Rule = Rule {
    id: "adapter: counts",
    what: "token counts never go below zero",
};

/// Two calls under one id make their results ambiguous.
pub static TWIN_CALLS: Rule = Rule {
    id: "A-11",
    what: "an answer that calls two tools under one id is a failed model call, `MALFORMED_RESPONSE`",
};

/// What an adapter may emit is typed.
pub static TYPED_CHUNKS: Rule = Rule {
    id: "typed chunks",
    what: "an adapter can't emit a chunk whose fields aren't of their types; the scripted one fails its call instead",
};

/// A defect of the reference that the data marks as one.
pub static REFERENCE_DEFECT: Rule = Rule {
    id: "reference-defect",
    what: "a resumed session whose outcome-unknown result was synthesised goes on, on every kind of store",
};
