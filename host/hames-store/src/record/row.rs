//! How is a run of stream chunks packed into one row (R-PACK)? A storage form: readers get the exact events back.
//!
//! ```text
//! {"type":"text-chunks","seq0":5,"time0":10,"data":{"turn":1,"step":1,"index":0,"dt":[1,2],"texts":["a","b","c"]}}
//! ```

use std::sync::Arc;

use hames_types::chunk::{StreamChunk, TextDelta, ToolCallDelta};
use hames_types::event::{AssistantChunk, Event, EventBody, EventData};
use hames_types::id::{CallId, Seq, StepNo, TurnNo};
use hames_types::json::{Extra, Json, MAX_SAFE_INTEGER};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::present;

/// Shorter runs stay as they are: packing them would save nothing (R-PACK-2).
const MIN_RUN: usize = 3;

/// Longest run in one row. Bounds what a reader of a few events has to unpack; long runs take several rows.
const MAX_RUN: usize = 1024;

const TEXT: &str = "text-chunks";
const REASONING: &str = "reasoning-chunks";
const TOOL_CALL: &str = "tool-call-chunks";

/// Whether a record's tag says that it is a packed row.
pub(crate) fn is_row_tag(tag: &str) -> bool {
    matches!(tag, TEXT | REASONING | TOOL_CALL)
}

/// Why a packed row is refused (R-PACK-4).
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// Its fields aren't exactly those of a row.
    #[error("malformed `{tag}` row")]
    Shape {
        /// The row's tag.
        tag: String,
        /// What was found.
        #[source]
        source: serde_json::Error,
    },
    /// Its lists don't belong together, or its numbers run out of range.
    #[error("malformed `{tag}` row: {problem}")]
    Value {
        /// The row's tag.
        tag: String,
        /// What was found.
        problem: &'static str,
    },
}

/// A run of chunks that differ in nothing but number, time and text.
///
/// **Checked**: it has at least one member, and all their numbers and times are within range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    seq0: u64,
    time0: u64,
    data: Data,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Data {
    kind: Kind,
    turn: u64,
    step: u64,
    index: u64,
    /// From each member's time to the next one's; clocks may step back.
    gaps_ms: Vec<i64>,
    pieces: Vec<SmolStr>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
    ToolCall { id: CallId, name: Option<SmolStr> },
}

/// A record as it is written.
#[derive(Debug, Clone)]
pub enum Record<'a> {
    /// An event as it is.
    Event(&'a Arc<Event>),
    /// A run of chunks.
    Row(Row),
}

/// The records of a batch of events, runs packed. Unpacking them gives the batch back (R-PACK-5).
#[must_use]
pub fn pack(events: &[Arc<Event>]) -> Vec<Record<'_>> {
    let mut records = Vec::new();
    let mut rest = events;
    while let Some((first, behind)) = rest.split_first() {
        let run = run_length(first, behind);
        match rest.split_at_checked(run).filter(|_| run >= MIN_RUN) {
            Some((run, after)) => match Row::of(run) {
                Some(row) => {
                    records.push(Record::Row(row));
                    rest = after;
                }
                None => {
                    records.push(Record::Event(first));
                    rest = behind;
                }
            },
            None => {
                records.push(Record::Event(first));
                rest = behind;
            }
        }
    }
    records
}

/// Unpacks a record if its tag says that it is a row; `None` for anything else, which passes through unchecked.
///
/// # Errors
/// [`RowError`] if it is a row, and malformed.
pub fn unpack(record: &Json) -> Result<Option<Vec<Arc<Event>>>, RowError> {
    let Some(tag) = record
        .get("type")
        .and_then(Json::as_str)
        .filter(|tag| is_row_tag(tag))
    else {
        return Ok(None);
    };
    let row = Row::from_record(tag, &record.to_string())?;
    let mut events = Vec::new();
    row.events_into(&mut events);
    Ok(Some(events))
}

/// How many events from `first` on form one run; 1 if `first` is no delta.
fn run_length(first: &Event, behind: &[Arc<Event>]) -> usize {
    let Some(mut last) = Member::of(first) else {
        return 1;
    };
    let more = behind
        .iter()
        .take(MAX_RUN - 1)
        .map_while(|event| {
            let next = Member::of(event).filter(|next| last.continues(next))?;
            last = next;
            Some(())
        })
        .count();
    1 + more
}

/// What a run is made of: a delta without any field of its own.
#[derive(Clone, Copy)]
struct Member<'a> {
    seq: u64,
    time_ms: u64,
    at: (TurnNo, StepNo, u64),
    kind: MemberKind<'a>,
    piece: &'a SmolStr,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MemberKind<'a> {
    Text,
    Reasoning,
    ToolCall(&'a CallId, Option<&'a SmolStr>),
}

impl<'a> Member<'a> {
    fn of(event: &'a Event) -> Option<Self> {
        if event.placement.is_some() || event.time_ms > MAX_SAFE_INTEGER {
            return None;
        }
        let EventData::Typed(EventBody::AssistantChunk(body)) = &event.data else {
            return None;
        };
        let (index, kind, piece, extra) = match &body.chunk {
            StreamChunk::TextDelta(delta) => (delta.index, MemberKind::Text, &delta.text, &delta.extra),
            StreamChunk::ReasoningDelta(delta) => {
                (delta.index, MemberKind::Reasoning, &delta.text, &delta.extra)
            }
            StreamChunk::ToolCallDelta(delta) => (
                delta.index,
                MemberKind::ToolCall(&delta.id, delta.name.as_ref()),
                &delta.arguments_delta,
                &delta.extra,
            ),
            StreamChunk::BlockStart(_)
            | StreamChunk::BlockEnd(_)
            | StreamChunk::Usage(_)
            | StreamChunk::Finish(_) => return None,
        };
        (extra.is_empty() && body.extra.is_empty()).then_some(Self {
            seq: event.seq.get(),
            time_ms: event.time_ms,
            at: (body.turn, body.step, index),
            kind,
            piece,
        })
    }

    fn continues(&self, next: &Self) -> bool {
        next.seq == self.seq + 1 && next.at == self.at && next.kind == self.kind
    }
}

impl Row {
    /// `None` if the events aren't one run.
    fn of(events: &[Arc<Event>]) -> Option<Self> {
        let first = Member::of(events.first()?)?;
        let mut gaps_ms = Vec::with_capacity(events.len());
        let mut pieces = Vec::with_capacity(events.len());
        let mut before = first.time_ms;
        for event in events {
            let member = Member::of(event)?;
            gaps_ms.push(i64::try_from(member.time_ms).ok()? - i64::try_from(before).ok()?);
            before = member.time_ms;
            pieces.push(member.piece.clone());
        }
        gaps_ms.remove(0);
        let (turn, step, index) = first.at;
        Some(Self {
            seq0: first.seq,
            time0: first.time_ms,
            data: Data {
                kind: match first.kind {
                    MemberKind::Text => Kind::Text,
                    MemberKind::Reasoning => Kind::Reasoning,
                    MemberKind::ToolCall(id, name) => Kind::ToolCall {
                        id: id.clone(),
                        name: name.cloned(),
                    },
                },
                turn: turn.get(),
                step: step.get(),
                index,
                gaps_ms,
                pieces,
            },
        })
    }

    /// Reads a whole record.
    pub(crate) fn from_record(tag: &str, text: &str) -> Result<Self, RowError> {
        let shape = |source| RowError::Shape {
            tag: tag.to_owned(),
            source,
        };
        let row = if tag == TOOL_CALL {
            let record: RecordIn<CallIn> = serde_json::from_str(text).map_err(shape)?;
            Self {
                seq0: record.seq0,
                time0: record.time0,
                data: record.data.into(),
            }
        } else {
            let record: RecordIn<TextIn> = serde_json::from_str(text).map_err(shape)?;
            Self {
                seq0: record.seq0,
                time0: record.time0,
                data: record.data.with_kind(tag),
            }
        };
        row.checked(tag)
    }

    /// Reads a row whose tag, first number and first time are kept beside its payload.
    ///
    /// # Errors
    /// [`RowError`].
    pub fn from_parts(tag: &str, seq0: u64, time0: u64, data: &str) -> Result<Self, RowError> {
        let shape = |source| RowError::Shape {
            tag: tag.to_owned(),
            source,
        };
        let data = if tag == TOOL_CALL {
            serde_json::from_str::<CallIn>(data).map_err(shape)?.into()
        } else {
            serde_json::from_str::<TextIn>(data)
                .map_err(shape)?
                .with_kind(tag)
        };
        Self { seq0, time0, data }.checked(tag)
    }

    fn checked(self, tag: &str) -> Result<Self, RowError> {
        let refuse = |problem| {
            Err(RowError::Value {
                tag: tag.to_owned(),
                problem,
            })
        };
        if self.data.pieces.is_empty() {
            return refuse("it has no members");
        }
        if self.data.gaps_ms.len() + 1 != self.data.pieces.len() {
            return refuse("`dt` must have one entry less than the row has members");
        }
        let numbers = [
            self.seq0,
            self.time0,
            self.data.turn,
            self.data.step,
            self.data.index,
        ];
        let last = self.seq0.saturating_add(self.data.gaps_ms.len() as u64);
        if numbers.into_iter().chain([last]).any(|n| n > MAX_SAFE_INTEGER) {
            return refuse("a number is beyond 2^53 - 1");
        }
        let mut time = self.time0;
        for gap in &self.data.gaps_ms {
            match time.checked_add_signed(*gap) {
                Some(next) if next <= MAX_SAFE_INTEGER => time = next,
                Some(_) | None => return refuse("a member's time is out of range"),
            }
        }
        Ok(self)
    }

    /// How many events it holds; never none.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a row is never empty")]
    pub fn len(&self) -> usize {
        self.data.pieces.len()
    }

    /// The number of its first event.
    #[must_use]
    pub fn first(&self) -> Seq {
        Seq::new(self.seq0)
    }

    /// The time of its first event.
    #[must_use]
    pub fn time_ms(&self) -> u64 {
        self.time0
    }

    /// Its record's tag.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self.data.kind {
            Kind::Text => TEXT,
            Kind::Reasoning => REASONING,
            Kind::ToolCall { .. } => TOOL_CALL,
        }
    }

    /// Its payload, for a store that keeps the rest beside it.
    #[must_use]
    pub fn data(&self) -> &(impl Serialize + use<>) {
        &self.data
    }

    /// Adds its events.
    pub fn events_into(self, events: &mut Vec<Arc<Event>>) {
        let Self { seq0, time0, data } = self;
        events.reserve(data.pieces.len());
        let mut time_ms = time0;
        let gaps = data.gaps_ms.into_iter().chain([0]);
        for (seq, (piece, gap)) in (seq0..).zip(data.pieces.into_iter().zip(gaps)) {
            events.push(Arc::new(Event {
                seq: Seq::new(seq),
                time_ms,
                data: EventData::Typed(EventBody::AssistantChunk(AssistantChunk {
                    turn: TurnNo::new(data.turn),
                    step: StepNo::new(data.step),
                    chunk: data.kind.chunk(data.index, piece),
                    extra: Extra::NONE,
                })),
                placement: None,
            }));
            // Checked when the row was read.
            time_ms = time_ms.saturating_add_signed(gap);
        }
    }
}

impl Kind {
    fn chunk(&self, index: u64, piece: SmolStr) -> StreamChunk {
        let delta = |text| TextDelta {
            index,
            text,
            extra: Extra::NONE,
        };
        match self {
            Self::Text => StreamChunk::TextDelta(delta(piece)),
            Self::Reasoning => StreamChunk::ReasoningDelta(delta(piece)),
            Self::ToolCall { id, name } => StreamChunk::ToolCallDelta(Box::new(ToolCallDelta {
                index,
                id: id.clone(),
                name: name.clone(),
                arguments_delta: piece,
                extra: Extra::NONE,
            })),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordIn<D> {
    #[serde(rename = "type")]
    _tag: SmolStr,
    seq0: u64,
    time0: u64,
    data: D,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextIn {
    turn: u64,
    step: u64,
    index: u64,
    dt: Vec<i64>,
    texts: Vec<SmolStr>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallIn {
    turn: u64,
    step: u64,
    index: u64,
    id: SmolStr,
    #[serde(default, deserialize_with = "present")]
    name: Option<SmolStr>,
    dt: Vec<i64>,
    args: Vec<SmolStr>,
}

impl TextIn {
    fn with_kind(self, tag: &str) -> Data {
        Data {
            kind: if tag == TEXT { Kind::Text } else { Kind::Reasoning },
            turn: self.turn,
            step: self.step,
            index: self.index,
            gaps_ms: self.dt,
            pieces: self.texts,
        }
    }
}

impl From<CallIn> for Data {
    fn from(row: CallIn) -> Self {
        Self {
            kind: Kind::ToolCall {
                id: CallId::new(row.id),
                name: row.name,
            },
            turn: row.turn,
            step: row.step,
            index: row.index,
            gaps_ms: row.dt,
            pieces: row.args,
        }
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("turn", &self.turn)?;
        map.serialize_entry("step", &self.step)?;
        map.serialize_entry("index", &self.index)?;
        map.serialize_entry("dt", &self.gaps_ms)?;
        match &self.kind {
            Kind::Text | Kind::Reasoning => map.serialize_entry("texts", &self.pieces)?,
            Kind::ToolCall { id, name } => {
                map.serialize_entry("id", id)?;
                if let Some(name) = name {
                    map.serialize_entry("name", name)?;
                }
                map.serialize_entry("args", &self.pieces)?;
            }
        }
        map.end()
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("type", self.tag())?;
        map.serialize_entry("seq0", &self.seq0)?;
        map.serialize_entry("time0", &self.time0)?;
        map.serialize_entry("data", &self.data)?;
        map.end()
    }
}

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Event(event) => event.serialize(serializer),
            Self::Row(row) => row.serialize(serializer),
        }
    }
}
