//! What is a stored record? One event, or a run of chunks packed into one row, as one JSON object.
//!
//! Reading goes straight from text to [`Event`]s: the envelope is split off, hot payloads are read without a value
//! tree in between, all others as `hames-types` decodes them. A payload that doesn't fit its kind is kept as it
//! came; only a broken envelope is refused.

use std::borrow::Cow;
use std::sync::Arc;

use hames_types::event::{Event, EventBody, EventData, Placement, SurfaceOp};
use hames_types::id::Seq;
use hames_types::json::{Json, MAX_SAFE_INTEGER};
use hames_types::open::OpenSum;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

mod hot;
mod row;
#[cfg(test)]
mod tests;

pub(crate) use row::is_row_tag;
pub use row::{Record, Row, RowError, pack, unpack};

/// Why a record can't be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It isn't JSON, or its envelope isn't an event's.
    #[error("not an event's record")]
    Malformed(#[from] serde_json::Error),
    /// It isn't text.
    #[error("not UTF-8")]
    NotText(#[from] std::str::Utf8Error),
    /// It is a row of packed chunks, and broken.
    #[error(transparent)]
    Row(#[from] RowError),
    /// A number of the envelope is beyond what a log can hold.
    #[error("`{field}` is {found}, beyond 2^53 - 1")]
    TooLarge {
        /// `seq` or `time`.
        field: &'static str,
        /// What was found.
        found: u64,
    },
    /// It says what it was made from, but not where it stands.
    #[error("`sourceEventSeqs` without `surfaceOp`")]
    Sources,
    /// It says where it stands in words that mean nothing.
    #[error("`surfaceOp` is neither \"append\" nor a replacement")]
    Surface,
}

/// Reads one record and adds its events to `into`; gives their number.
///
/// # Errors
/// [`RecordError`]; then nothing was added.
pub fn read(text: &str, into: &mut Vec<Arc<Event>>) -> Result<usize, RecordError> {
    let tag = tag(text)?;
    if is_row_tag(&tag) {
        let row = Row::from_record(&tag, text)?;
        let count = row.len();
        row.events_into(into);
        return Ok(count);
    }
    into.push(Arc::new(read_event(text)?));
    Ok(1)
}

/// Reads a record that is a single event.
///
/// # Errors
/// [`RecordError`].
pub fn read_event(text: &str) -> Result<Event, RecordError> {
    let envelope: Envelope<'_> = serde_json::from_str(text)?;
    let placement = envelope.placement()?;
    event(
        envelope.seq,
        envelope.time,
        &envelope.kind,
        envelope.data.get(),
        placement,
    )
}

/// An event from the parts a store keeps apart.
///
/// # Errors
/// [`RecordError`] if the payload isn't JSON or a number is out of range.
pub(crate) fn event(
    seq: u64,
    time_ms: u64,
    kind: &str,
    data: &str,
    placement: Option<Box<Placement>>,
) -> Result<Event, RecordError> {
    for (field, found) in [("seq", seq), ("time", time_ms)] {
        if found > MAX_SAFE_INTEGER {
            return Err(RecordError::TooLarge { field, found });
        }
    }
    Ok(Event {
        seq: Seq::new(seq),
        time_ms,
        data: payload(kind, data)?,
        placement,
    })
}

/// A record's line taken apart: the row if it is one, and the payload's own text if it isn't.
///
/// # Errors
/// [`RecordError`].
pub(crate) fn inspect(line: &[u8]) -> Result<(&str, Option<Row>), RecordError> {
    let text = std::str::from_utf8(line)?;
    let tag = tag(text)?;
    if is_row_tag(&tag) {
        return Ok((text, Some(Row::from_record(&tag, text)?)));
    }
    Ok((serde_json::from_str::<Envelope<'_>>(text)?.data.get(), None))
}

fn tag(text: &str) -> Result<Cow<'_, str>, RecordError> {
    Ok(match peek_tag(text) {
        Some(tag) => Cow::Borrowed(tag),
        None => Cow::Owned(serde_json::from_str::<Tag<'_>>(text)?.kind.into_owned()),
    })
}

fn payload(kind: &str, data: &str) -> Result<EventData, RecordError> {
    if let Some(body) = hot::body(kind, data) {
        return Ok(EventData::Typed(body));
    }
    let value: Json = serde_json::from_str(data)?;
    if !EventBody::KINDS.contains(&kind) {
        return Ok(EventData::read(kind, value));
    }
    match EventBody::decode(kind, value) {
        Ok(body) => Ok(EventData::Typed(body)),
        // Decoding took the value apart; the text still has it whole.
        Err(_fault) => Ok(EventData::read(kind, serde_json::from_str(data)?)),
    }
}

/// The tag of a record written the usual way, tag first; `None` means look properly.
fn peek_tag(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("{\"type\":\"")?;
    let end = rest.find(['"', '\\'])?;
    let (tag, rest) = rest.split_at_checked(end)?;
    rest.starts_with('"').then_some(tag)
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
}

/// An event's envelope with the payload left as text. No other key is allowed (R-SEED-1).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    seq: u64,
    time: u64,
    #[serde(borrow)]
    data: &'a RawValue,
    #[serde(borrow, rename = "surfaceOp", default, deserialize_with = "present")]
    surface_op: Option<&'a RawValue>,
    #[serde(rename = "sourceEventSeqs", default, deserialize_with = "present")]
    sources: Option<Vec<u64>>,
}

impl Envelope<'_> {
    fn placement(&self) -> Result<Option<Box<Placement>>, RecordError> {
        let Some(op) = self.surface_op else {
            return match self.sources {
                Some(_) => Err(RecordError::Sources),
                None => Ok(None),
            };
        };
        let op = match op.get() {
            "\"append\"" => SurfaceOp::Append,
            text => match serde_json::from_str::<Replace<'_>>(text) {
                Ok(replace) if replace.op == "replace" => SurfaceOp::Replace {
                    start: Seq::new(replace.start),
                    end: Seq::new(replace.end),
                },
                Ok(_) | Err(_) => return Err(RecordError::Surface),
            },
        };
        let sources = self
            .sources
            .as_ref()
            .map(|list| list.iter().copied().map(Seq::new).collect());
        Ok(Some(Box::new(Placement { op, sources })))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Replace<'a> {
    #[serde(borrow)]
    op: Cow<'a, str>,
    start: u64,
    end: u64,
}

/// A field that may be missing but not null: serde's `Option` takes both for the same.
pub(crate) fn present<'de, D, T>(source: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(source).map(Some)
}
