//! Why a log refuses: one arm per rule, each naming the event's kind and what offends.

use hames_types::fault::Fault;
use hames_types::id::{CallId, Seq, SessionId, StepNo, TurnNo};
use hames_types::json::{DecodeError, NotLossless, shortened};
use smol_str::SmolStr;

/// A refused append. The log, its surface and its history are what they were.
#[derive(Debug, Clone, thiserror::Error)]
#[error("refused event `{}` ({}): {problem}", shortened(.kind), self.problem.rule())]
pub struct AppendError {
    /// The event's `type`.
    pub kind: SmolStr,
    /// What is wrong with it.
    pub problem: Problem,
}

impl AppendError {
    pub(crate) fn new(kind: &str, problem: impl Into<Problem>) -> Self {
        Self {
            kind: kind.into(),
            problem: problem.into(),
        }
    }

    /// The rule that was broken.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        self.problem.rule()
    }
}

/// What is wrong with an event.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Problem {
    /// Its payload or metadata isn't lossless JSON.
    #[error(transparent)]
    NotLossless(#[from] NotLossless),
    /// A vocabulary that is gone.
    #[error("{0} is no longer part of the vocabulary")]
    Legacy(&'static str),
    /// Appended from inside an append to the same session.
    #[error("an observer of `{during}` can't append to the session that is publishing it")]
    Reentrant {
        /// The event that is being published.
        during: SmolStr,
    },
    /// It doesn't fit the surface.
    #[error(transparent)]
    Surface(#[from] SurfaceFault),
    /// Its payload isn't what its kind demands; asked of live sessions only.
    #[error(transparent)]
    Payload(DecodeError),
    /// Its provider or model is empty; asked of seeds and live sessions.
    #[error("`{field}` must not be empty")]
    EmptyRoute {
        /// Where.
        field: &'static str,
    },
    /// It breaks the order of turns and steps; asked of live sessions, on request of a bare log.
    #[error(transparent)]
    Trace(#[from] TraceFault),
}

impl Problem {
    /// The rule that was broken.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        match self {
            Self::NotLossless(_) => "R-JSON-1",
            Self::Legacy(_) => "R-LOG-2",
            Self::Reentrant { .. } => "R-LOG-3",
            Self::Surface(fault) => fault.rule(),
            Self::Payload(_) => "R-EVT",
            Self::EmptyRoute { .. } => "R-SEED-3",
            Self::Trace(fault) => fault.rule(),
        }
    }
}

/// Why an event can't enter the surface (R-SURF).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SurfaceFault {
    /// A surface kind without a marker.
    #[error("it forms the history and must carry `surfaceOp`")]
    MarkerMissing,
    /// Another kind with a marker or provenance.
    #[error("it is not part of the history and can't carry `{field}`, found {found}")]
    MarkerForbidden {
        /// Which of the two.
        field: &'static str,
        /// What was there.
        found: String,
    },
    /// A marker of the wrong shape.
    #[error("`{path}` must be {expected}, found {found}")]
    BadMarker {
        /// Where in the marker.
        path: String,
        /// What it should be.
        expected: &'static str,
        /// What was there.
        found: String,
    },
    /// Provenance of the wrong shape.
    #[error("`{path}` must be {expected}, found {found}")]
    BadSources {
        /// Where in the provenance.
        path: String,
        /// What it should be.
        expected: &'static str,
        /// What was there.
        found: String,
    },
    /// An end of the replaced range isn't on the surface.
    #[error("`surfaceOp.{end}` names event {seq}, which is not on the surface")]
    NotOnSurface {
        /// `start` or `end`.
        end: &'static str,
        /// The event named.
        seq: Seq,
    },
    /// The range runs backwards.
    #[error("`surfaceOp` replaces from event {start} to event {end}, which stands before it on the surface")]
    Reversed {
        /// The first node named.
        start: Seq,
        /// The last node named.
        end: Seq,
    },
    /// A replaced node isn't among the sources.
    #[error("`sourceEventSeqs` must name every replaced node; event {missing} is missing")]
    NotShadowed {
        /// The node.
        missing: Seq,
    },
    /// A rewritten tool result replaces something else than one tool result.
    #[error("a `tool/result` may replace exactly one `tool/result`; `surfaceOp` covers {found}")]
    RewriteTarget {
        /// What the range holds.
        found: String,
    },
    /// A rewritten tool result changes more than its content.
    #[error("a `tool/result` that replaces event {target} may change only `content`; `{field}` differs")]
    RewriteField {
        /// The result replaced.
        target: Seq,
        /// The first field that differs.
        field: String,
    },
}

impl SurfaceFault {
    /// The rule that was broken.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        match self {
            Self::MarkerMissing | Self::MarkerForbidden { .. } => "R-SURF-1",
            Self::BadMarker { .. } => "R-SURF-2",
            Self::NotOnSurface { .. } | Self::Reversed { .. } => "R-SURF-4",
            Self::BadSources { .. } => "R-SURF-6",
            Self::NotShadowed { .. } => "R-SURF-7",
            Self::RewriteTarget { .. } | Self::RewriteField { .. } => "R-SURF-8",
        }
    }
}

/// How an event breaks the order of turns and steps (R-INV).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceFault {
    /// A turn opens while one is open.
    #[error("turn {turn} can't open while turn {open} is open")]
    TurnOpen {
        /// The new one.
        turn: TurnNo,
        /// The open one.
        open: TurnNo,
    },
    /// A turn has the wrong number.
    #[error("`turn` must be {expected}, found {found}")]
    TurnNumber {
        /// The next number.
        expected: TurnNo,
        /// The event's.
        found: TurnNo,
    },
    /// No turn is open.
    #[error("every event lies inside a turn, and none is open")]
    NoTurn,
    /// The event names another turn than the open one.
    #[error("`turn` must be the open turn {open}, found {found}")]
    OtherTurn {
        /// The open one.
        open: TurnNo,
        /// The event's.
        found: TurnNo,
    },
    /// A turn ends, or a step begins, while a step is open.
    #[error("step {open} is still open")]
    StepOpen {
        /// The open step.
        open: StepNo,
    },
    /// No step is open.
    #[error("no step is open")]
    NoStep,
    /// A step has the wrong number, or the event names another than the open one.
    #[error("`step` must be {expected}, found {found}")]
    StepNumber {
        /// The open or the next one.
        expected: StepNo,
        /// The event's.
        found: StepNo,
    },
    /// A result without a call.
    #[error("`callId` {call_id} has no unanswered `tool/call` in this step")]
    NoCall {
        /// The call named.
        call_id: CallId,
    },
}

impl TraceFault {
    /// The rule that was broken.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        match self {
            Self::TurnOpen { .. } | Self::TurnNumber { .. } => "R-INV-2",
            Self::StepOpen { .. } => "R-INV-3",
            Self::StepNumber { .. } => "R-INV-4",
            Self::OtherTurn { .. } | Self::NoStep => "R-INV-5",
            Self::NoCall { .. } => "R-INV-6",
            Self::NoTurn => "R-INV-8",
        }
    }
}

/// Why a seed is refused; names the entry (R-SEED).
#[derive(Debug, Clone, thiserror::Error)]
#[error("bad seed at entry {index}: {problem}")]
pub struct SeedError {
    /// Which entry.
    pub index: usize,
    /// What is wrong with it.
    pub problem: SeedProblem,
}

/// What is wrong with a seed's entry.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SeedProblem {
    /// It isn't an event at all.
    #[error("{0}")]
    Envelope(DecodeError),
    /// It isn't lossless JSON.
    #[error(transparent)]
    NotLossless(#[from] NotLossless),
    /// It isn't where its number says.
    #[error("`seq` must be {expected}, found {found}")]
    Seq {
        /// The entry's index.
        expected: Seq,
        /// The entry's number.
        found: Seq,
    },
    /// `aborted` with further fields (R-TYPE-1).
    #[error("the turn-end reason `aborted` carries no further fields, found `{0}`")]
    AbortedDetail(String),
    /// An append would refuse it.
    #[error(transparent)]
    Append(#[from] AppendError),
}

/// Why a history can't be derived: an event on the surface isn't what its kind demands.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("event {seq} can't be shown to a model: {fault}")]
pub struct DeriveError {
    /// The event.
    pub seq: Seq,
    /// What is wrong with it.
    pub fault: DecodeError,
}

/// Why a fork is refused (R-FORK-1).
#[derive(Debug, Clone, thiserror::Error)]
pub enum ForkError {
    /// The child's id is live.
    #[error("a session `{0}` is live already")]
    AlreadyExists(SessionId),
    /// The source isn't live.
    #[error("no session `{0}` is live")]
    NotFound(SessionId),
    /// The source object isn't the live one of its id.
    #[error("session `{0}` was live once; the live one of that id is another")]
    NotLive(SessionId),
    /// The boundary isn't an event of the source.
    #[error("the boundary {boundary} is not an event of session `{id}`, which has {length}")]
    InvalidBoundary {
        /// The source.
        id: SessionId,
        /// The boundary asked for.
        boundary: u64,
        /// How many events the source has.
        length: usize,
    },
    /// The cut would leave a turn open.
    #[error("the boundary {boundary} of session `{id}` is not the end of a turn")]
    OpenTurn {
        /// The source.
        id: SessionId,
        /// The boundary.
        boundary: Seq,
    },
    /// The child can't be created.
    #[error(transparent)]
    Create(#[from] CreateError),
}

impl ForkError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::AlreadyExists(_) => "SESSION_ALREADY_EXISTS",
            Self::NotFound(_) => "SESSION_NOT_FOUND",
            Self::NotLive(_) => "SESSION_NOT_LIVE",
            Self::InvalidBoundary { .. } => "INVALID_BOUNDARY",
            Self::OpenTurn { .. } => "OPEN_TURN",
            Self::Create(_) => "CREATE_FAILED",
        }
    }
}

/// Why a session can't be created.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CreateError {
    /// Its id is live.
    #[error("a session `{0}` is live already; choose another id")]
    Taken(SessionId),
    /// The same session can't be published twice.
    #[error("session `{0}` was published before")]
    Published(SessionId),
    /// Its header is wrong.
    #[error(transparent)]
    Header(#[from] hames_types::header::HeaderError),
    /// Its seed is wrong.
    #[error(transparent)]
    Seed(#[from] SeedError),
    /// An observer vetoed it.
    #[error("session `{id}` was vetoed")]
    Vetoed {
        /// The session.
        id: SessionId,
        /// By what.
        #[source]
        fault: Fault,
    },
}

/// Why a flush failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FlushError {
    /// The session isn't live (R-FLUSH-1).
    #[error("session `{0}` is not live and can't be flushed")]
    NotLive(SessionId),
    /// A listener failed; the first registered of those that did (R-FLUSH-3).
    #[error(transparent)]
    Failed(#[from] Fault),
}

/// Why an out-of-band append failed (R-OOB).
#[derive(Debug, Clone, thiserror::Error)]
pub enum OutOfBandError {
    /// Another is under way (R-OOB-4).
    #[error("session `{0}` has an out-of-band append under way; one at a time")]
    Busy(SessionId),
    /// Only kinds that aren't the core's may be appended out of band (R-OOB-1).
    #[error("`{0}` is a kind of the core and can't be appended out of band")]
    CoreKind(SmolStr),
    /// An append was refused.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The flush behind it failed.
    #[error(transparent)]
    Flush(#[from] FlushError),
}
