//! The session log's entries: the envelope, the bodies, and how an event enters the surface.

use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use smol_str::SmolStr;

use crate::chunk::StreamChunk;
use crate::content::Content;
use crate::id::{CallId, Seq, StepNo, TurnNo};
use crate::json::{DecodeError, FromJson, Json, NotLossless, check_at, record, words};
use crate::message::{MessageSource, Provenance};
use crate::open::OpenSum;
use crate::request::{HeaderReason, RequestHeader};
use crate::turn::{TurnEndReason, TurnTrigger};
use crate::usage::TokenUsage;

record! {
    /// `turn/start`: a turn opens.
    TurnStart {
        /// Its number.
        turn: TurnNo = "turn",
        /// Why.
        trigger: TurnTrigger = "trigger",
    }
}

record! {
    /// `turn/end`: the open turn closes.
    TurnEnd {
        /// Its number.
        turn: TurnNo = "turn",
        /// Why.
        reason: TurnEndReason = "reason",
    }
}

record! {
    /// `step/start` and `step/end`: one model call and its tools.
    StepMark {
        /// The turn.
        turn: TurnNo = "turn",
        /// The step in it.
        step: StepNo = "step",
    }
}

record! {
    /// A context that was baked into a prompt: what remains visible of it.
    PrefixContext {
        /// Where it came from.
        source: MessageSource = "source",
        /// Its owner's private state.
        meta: Option<Json> = "meta",
    }
}

record! {
    /// How to show a prompt into which contexts were baked.
    Envelope {
        /// The prompt alone.
        display_content: Content = "displayContent",
        /// What stands in front of it.
        prefix_contexts: Vec<PrefixContext> = "prefixContexts",
    }
}

record! {
    /// `user/message`: a prompt.
    UserMessage {
        /// What the model sees.
        content: Content = "content",
        /// Where it came from.
        source: MessageSource = "source",
        /// Present when contexts were baked in.
        envelope: Option<Box<Envelope>> = "envelope",
    }
}

record! {
    /// `steering/message`: said while the turn runs.
    SteeringMessage {
        /// The turn steered.
        turn: TurnNo = "turn",
        /// What the model sees.
        content: Content = "content",
        /// Where it came from.
        source: MessageSource = "source",
        /// Present when contexts were baked in.
        envelope: Option<Box<Envelope>> = "envelope",
    }
}

record! {
    /// `context/message`: context from a plugin or a tool, shown as user input.
    ContextMessage {
        /// What the model sees.
        content: Content = "content",
        /// Where it came from.
        source: MessageSource = "source",
        /// Its owner's private state, hidden from the model.
        meta: Option<Json> = "meta",
    }
}

record! {
    /// `prompt/blocked`: a prompt that was refused.
    PromptBlocked {
        /// The prompt as it was sent.
        content: Content = "content",
        /// Where it came from.
        source: MessageSource = "source",
        /// The listener's words.
        reason: SmolStr = "reason",
    }
}

record! {
    /// `assistant/chunk`: one piece of a model's stream, as it came (R-EVT-3).
    AssistantChunk {
        /// The turn.
        turn: TurnNo = "turn",
        /// The step.
        step: StepNo = "step",
        /// The piece.
        chunk: StreamChunk = "chunk",
    }
}

record! {
    /// `assistant/message`: what the model said, assembled.
    AssistantMessage {
        /// The turn.
        turn: TurnNo = "turn",
        /// The step.
        step: StepNo = "step",
        /// The blocks.
        content: Content = "content",
        /// Which route said it.
        provenance: Arc<Provenance> = "provenance",
        /// What the call used.
        usage: Option<TokenUsage> = "usage",
    }
}

record! {
    /// `tool/call`: a call is about to be considered.
    ToolCallEvent {
        /// The turn.
        turn: TurnNo = "turn",
        /// The step.
        step: StepNo = "step",
        /// The model's id of the call.
        call_id: CallId = "callId",
        /// The tool's name as the model wrote it.
        name: SmolStr = "name",
        /// The arguments as the model wrote them.
        arguments: SmolStr = "arguments",
    }
}

record! {
    /// An error's name and stable code.
    NamedCode {
        /// Its class.
        name: SmolStr = "name",
        /// Its code.
        code: SmolStr = "code",
    }
}

record! {
    /// `tool/result`: the one answer to a call.
    ToolResultEvent {
        /// The turn.
        turn: TurnNo = "turn",
        /// The step.
        step: StepNo = "step",
        /// The call answered.
        call_id: CallId = "callId",
        /// What the model sees.
        content: Content = "content",
        /// Whether it is an error.
        is_error: bool = "isError",
        /// The error's name and code, hidden from the model.
        error: Option<NamedCode> = "error",
        /// The tool's private state, hidden from the model.
        meta: Option<Json> = "meta",
    }
}

record! {
    /// `request/header`: everything of the next requests that isn't history.
    HeaderEvent {
        /// The whole header.
        header: RequestHeader = "header",
        /// Why it was logged.
        reason: HeaderReason = "reason",
    }
}

words! {
    /// How far a todo is.
    TodoStatus("a todo's status") {
        /// Not begun.
        Pending = "pending",
        /// Being done.
        InProgress = "in_progress",
        /// Done.
        Completed = "completed",
    }
}

record! {
    /// One todo.
    Todo {
        /// What to do.
        content: SmolStr = "content",
        /// How far it is.
        status: TodoStatus = "status",
    }
}

record! {
    /// `todo/write`: the whole list; the last one counts.
    TodoWrite {
        /// The list.
        todos: Vec<Todo> = "todos",
    }
}

/// How many objects stand around a payload when its event is written.
const ENVELOPE_DEPTH: usize = 1;

/// Checks a payload that isn't typed yet, as it will stand in its event (R-JSON-1).
///
/// # Errors
/// [`NotLossless`] with the path of the first offending place.
pub fn check_payload(data: &Json) -> Result<(), NotLossless> {
    check_at(data, "data", ENVELOPE_DEPTH)
}

/// The payload of a session event. Its tag is the event's `type`, its fields are the event's `data`.
macro_rules! event_body {
    ( $( $(#[$meta:meta])* $arm:ident($ty:ty) = $kind:literal, )* ) => {
        /// What an event says. Kinds the core doesn't know are kept whole.
        #[derive(Debug, Clone, PartialEq)]
        pub enum EventBody {
            $( $(#[$meta])* $arm($ty), )*
            /// A kind the core doesn't know.
            Other(Box<OtherEvent>),
        }

        impl OpenSum for EventBody {
            const LABEL: &'static str = "session event";
            const KINDS: &'static [&'static str] = &[$($kind),*];
        }

        /// The arms of [`EventBody`], for their order.
        enum Ordinal { $( $arm, )* Other }

        impl EventBody {
            /// Its place among the core's kinds, in the order of [`OpenSum::KINDS`]; all others have the one behind them.
            #[must_use]
            pub const fn ordinal(&self) -> usize {
                match self {
                    $( Self::$arm(_) => Ordinal::$arm as usize, )*
                    Self::Other(_) => Ordinal::Other as usize,
                }
            }

            /// The event's `type`.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self { $( Self::$arm(_) => $kind, )* Self::Other(other) => &other.kind }
            }

            /// Decodes the payload of a `kind`.
            ///
            /// # Errors
            /// [`DecodeError`] if the kind is the core's and the payload isn't what it demands.
            pub fn decode(kind: &str, data: Json) -> Result<Self, DecodeError> {
                match kind {
                    $( $kind => <$ty as FromJson>::from_json(data)
                        .map(Self::$arm)
                        .map_err(|fault| fault.in_kind(Self::LABEL, $kind)), )*
                    _ => Ok(Self::Other(Box::new(OtherEvent { kind: kind.into(), data }))),
                }
            }

            /// Checks the untyped JSON inside the payload (R-JSON-1), which will stand inside its envelope.
            ///
            /// # Errors
            /// [`NotLossless`] with the path of the first offending place.
            pub fn check_lossless(&self) -> Result<(), NotLossless> {
                match self {
                    $( Self::$arm(body) => FromJson::check_lossless_at(body, ENVELOPE_DEPTH), )*
                    Self::Other(other) => check_at(&other.data, "data", ENVELOPE_DEPTH),
                }
            }
        }

        impl Serialize for EventBody {
            /// Writes the payload alone; the tag belongs to the envelope.
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $( Self::$arm(body) => body.serialize(serializer), )*
                    Self::Other(other) => other.data.serialize(serializer),
                }
            }
        }
    };
}

// A log is mostly text deltas, so no arm may be larger than theirs: what is rarer and larger is boxed.
event_body! {
    /// A turn opens.
    TurnStart(TurnStart) = "turn/start",
    /// A turn closes.
    TurnEnd(TurnEnd) = "turn/end",
    /// A step opens.
    StepStart(StepMark) = "step/start",
    /// A step closes.
    StepEnd(StepMark) = "step/end",
    /// A prompt.
    UserMessage(UserMessage) = "user/message",
    /// A refused prompt.
    PromptBlocked(Box<PromptBlocked>) = "prompt/blocked",
    /// Context.
    ContextMessage(Box<ContextMessage>) = "context/message",
    /// A piece of a stream.
    AssistantChunk(AssistantChunk) = "assistant/chunk",
    /// What the model said.
    AssistantMessage(Box<AssistantMessage>) = "assistant/message",
    /// A call.
    ToolCall(Box<ToolCallEvent>) = "tool/call",
    /// Its answer.
    ToolResult(Box<ToolResultEvent>) = "tool/result",
    /// Steering.
    SteeringMessage(Box<SteeringMessage>) = "steering/message",
    /// A todo list.
    TodoWrite(TodoWrite) = "todo/write",
    /// A request header.
    RequestHeader(Box<HeaderEvent>) = "request/header",
}

/// An event of a kind the core doesn't know. Built by [`EventBody::decode`], which sees to that.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherEvent {
    kind: SmolStr,
    data: Json,
}

impl OtherEvent {
    /// The event's `type`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The payload, as it came; not necessarily an object.
    #[must_use]
    pub fn data(&self) -> &Json {
        &self.data
    }
}

/// The kinds whose events form the model's history (R-SURF-1).
pub const SURFACE_KINDS: &[&str] = &[
    "user/message",
    "assistant/message",
    "tool/result",
    "context/message",
    "steering/message",
];

/// Whether events of `kind` form the model's history.
#[must_use]
pub fn is_surface_kind(kind: &str) -> bool {
    SURFACE_KINDS.contains(&kind)
}

/// How an event enters the surface (R-SURF-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurfaceOp {
    /// At the tail.
    Append,
    /// In place of the nodes from `start` to `end`, both included, by position on the surface.
    Replace {
        /// The first node replaced.
        start: Seq,
        /// The last node replaced.
        end: Seq,
    },
}

impl Serialize for SurfaceOp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Append => serializer.serialize_str("append"),
            Self::Replace { start, end } => {
                let mut map = serializer.serialize_map(Some(3))?;
                map.serialize_entry("op", "replace")?;
                map.serialize_entry("start", start)?;
                map.serialize_entry("end", end)?;
                map.end()
            }
        }
    }
}

/// Where a surface event stands and what it was made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement {
    /// How it entered the surface.
    pub op: SurfaceOp,
    /// The events it was made from. `None` is "not recorded"; an empty list is "known to be nothing".
    pub sources: Option<Box<[Seq]>>,
}

/// The payload of an event in a log: typed, or kept as it came because its tag promised something else.
///
/// A log keeps what was recorded (architecture §4); whoever needs the meaning asks for [`Event::body`].
#[derive(Debug, Clone, PartialEq)]
pub enum EventData {
    /// What the tag promised.
    Typed(EventBody),
    /// A core kind with a payload that doesn't fit it.
    Kept(Box<KeptData>),
}

/// A payload that doesn't fit its core kind, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptData {
    kind: SmolStr,
    data: Json,
    fault: DecodeError,
}

impl EventData {
    /// Types the payload if it fits its kind, else keeps it.
    #[must_use]
    pub fn read(kind: &str, data: Json) -> Self {
        // Decoding takes the value apart, so the copy for the unhappy path is made only for core kinds.
        if !EventBody::KINDS.contains(&kind) {
            return match EventBody::decode(kind, data) {
                Ok(body) => Self::Typed(body),
                Err(fault) => Self::Kept(Box::new(KeptData {
                    kind: kind.into(),
                    data: Json::Null,
                    fault,
                })),
            };
        }
        match EventBody::decode(kind, data.clone()) {
            Ok(body) => Self::Typed(body),
            Err(fault) => Self::Kept(Box::new(KeptData {
                kind: kind.into(),
                data,
                fault,
            })),
        }
    }

    /// The event's `type`.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Typed(body) => body.kind(),
            Self::Kept(kept) => &kept.kind,
        }
    }

    /// The typed payload.
    ///
    /// # Errors
    /// The fault found when the payload was read.
    pub fn body(&self) -> Result<&EventBody, &DecodeError> {
        match self {
            Self::Typed(body) => Ok(body),
            Self::Kept(kept) => Err(&kept.fault),
        }
    }

    /// The payload of a kept event, as it came.
    #[must_use]
    pub fn kept(&self) -> Option<&Json> {
        match self {
            Self::Typed(_) => None,
            Self::Kept(kept) => Some(&kept.data),
        }
    }
}

impl Serialize for EventData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Typed(body) => body.serialize(serializer),
            Self::Kept(kept) => kept.data.serialize(serializer),
        }
    }
}

/// One immutable entry of a session's log.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its position in the log.
    pub seq: Seq,
    /// When it was appended, milliseconds of the Unix epoch. Nothing is ordered by it.
    pub time_ms: u64,
    /// What it says.
    pub data: EventData,
    /// Present exactly on surface kinds.
    pub placement: Option<Box<Placement>>,
}

impl Event {
    /// The event's `type`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.data.kind()
    }

    /// The typed payload, if it fits its kind.
    #[must_use]
    pub fn body(&self) -> Option<&EventBody> {
        self.data.body().ok()
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.kind())?;
        map.serialize_entry("seq", &self.seq)?;
        map.serialize_entry("time", &self.time_ms)?;
        map.serialize_entry("data", &self.data)?;
        if let Some(placement) = &self.placement {
            if let Some(sources) = &placement.sources {
                map.serialize_entry("sourceEventSeqs", sources)?;
            }
            map.serialize_entry("surfaceOp", &placement.op)?;
        }
        map.end()
    }
}
