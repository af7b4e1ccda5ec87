//! How does a record become a row, and a row events again? The payload's text is stored as it is.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use hames_types::event::{Event, Placement, SurfaceOp};
use hames_types::id::Seq;
use rusqlite::types::{ToSqlOutput, ValueRef};
use zstd::bulk::{Compressor, Decompressor};

use crate::record::{self, Record, RecordError, Row, RowError};

#[cfg(test)]
mod tests;

/// Shorter payloads stay readable text; there is little to gain on them.
const MIN_COMPRESSED: usize = 512;

/// Fast, and close to the best for texts of this size.
const LEVEL: i32 = 3;

/// Largest payload: bounds what a row with a lying size can make a reader allocate.
const MAX_PAYLOAD_BYTES: u64 = 512 * 1024 * 1024;

/// Bits of `place` that number the event; the others are the session's key.
const SEQ_BITS: u32 = 40;

/// Where an event lies; none if a number is beyond what a place holds.
pub(super) fn place(key: i64, seq: u64) -> Option<i64> {
    let seq = i64::try_from(seq).ok().filter(|seq| *seq <= last(0))?;
    (0..1 << (63 - SEQ_BITS))
        .contains(&key)
        .then_some((key << SEQ_BITS) | seq)
}

/// The first place of a session.
pub(super) fn first(key: i64) -> i64 {
    key << SEQ_BITS
}

/// The last place of a session.
pub(super) fn last(key: i64) -> i64 {
    (key << SEQ_BITS) | ((1 << SEQ_BITS) - 1)
}

/// The session's key and the event's number of a place.
pub(super) fn parts(place: i64) -> (i64, u64) {
    (place >> SEQ_BITS, (place & last(0)).unsigned_abs())
}

/// What a row holds beside its place.
pub(super) struct Cells<'a> {
    pub(super) seq: u64,
    pub(super) count: usize,
    pub(super) time_ms: u64,
    pub(super) kind: Cow<'a, str>,
    pub(super) data: Cow<'a, str>,
    pub(super) placement: Option<String>,
}

impl<'a> Cells<'a> {
    pub(super) fn of(record: &'a Record<'_>) -> serde_json::Result<Self> {
        Ok(match record {
            Record::Event(event) => Self::of_event(event, Cow::Owned(serde_json::to_string(&event.data)?)),
            Record::Row(row) => Self {
                seq: row.first().get(),
                count: row.len(),
                time_ms: row.time_ms(),
                kind: Cow::Borrowed(row.tag()),
                data: Cow::Owned(serde_json::to_string(row.data())?),
                placement: None,
            },
        })
    }

    pub(super) fn of_event(event: &'a Event, data: Cow<'a, str>) -> Self {
        Self {
            seq: event.seq.get(),
            count: 1,
            time_ms: event.time_ms,
            kind: Cow::Borrowed(event.kind()),
            data,
            placement: event.placement.as_deref().map(placement_text),
        }
    }
}

/// Compresses payloads.
pub(super) struct Packer(Compressor<'static>);

/// A payload as it is stored.
pub(super) enum Payload<'a> {
    Text(&'a str),
    Compressed(Vec<u8>),
}

impl Packer {
    pub(super) fn new() -> std::io::Result<Self> {
        Compressor::new(LEVEL).map(Self)
    }

    pub(super) fn payload<'a>(&mut self, text: &'a str) -> std::io::Result<Payload<'a>> {
        if text.len() < MIN_COMPRESSED {
            return Ok(Payload::Text(text));
        }
        let packed = self.0.compress(text.as_bytes())?;
        Ok(if packed.len() < text.len() - text.len() / 8 {
            Payload::Compressed(packed)
        } else {
            Payload::Text(text)
        })
    }
}

impl Payload<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Compressed(bytes) => bytes,
        }
    }
}

impl rusqlite::ToSql for Payload<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Compressed(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// The check sum of what a row says.
pub(super) fn sum(kind: &str, data: &[u8], placement: Option<&str>) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(kind.as_bytes());
    sum.update(data);
    sum.update(placement.unwrap_or_default().as_bytes());
    sum.finalize()
}

/// Why a row can't be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadRow {
    #[error("the check sum differs")]
    Sum,
    #[error("its payload is neither text nor compressed text")]
    Payload,
    #[error("its payload can't be decompressed")]
    Compression(#[source] std::io::Error),
    #[error("its placement is unreadable")]
    Placement,
    #[error("its number or its count doesn't continue the row before")]
    Order,
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Row(#[from] RowError),
    #[error("a column has an unexpected type")]
    Column(#[from] rusqlite::types::FromSqlError),
    #[error("a column is missing")]
    Missing(#[from] rusqlite::Error),
}

/// Reads rows; keeps what it needs for the next one.
pub(super) struct Unpacker {
    decompressor: Decompressor<'static>,
    text: Vec<u8>,
}

/// A row as it was read, its payload decompressed.
pub(super) struct Read<'a> {
    pub(super) seq: u64,
    pub(super) count: usize,
    pub(super) time_ms: u64,
    pub(super) kind: &'a str,
    pub(super) data: &'a str,
    pub(super) placement: Option<&'a str>,
}

impl Unpacker {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self {
            decompressor: Decompressor::new()?,
            text: Vec::new(),
        })
    }

    /// Takes `place, count, time, kind, sum, data, placement` out of a row and checks them.
    pub(super) fn read<'a>(&'a mut self, row: &'a rusqlite::Row<'_>) -> Result<Read<'a>, BadRow> {
        let (_, seq) = parts(row.get_ref(0)?.as_i64()?);
        let number = |column| -> Result<u64, BadRow> {
            u64::try_from(row.get_ref(column)?.as_i64()?).map_err(|_negative| BadRow::Order)
        };
        let count = usize::try_from(number(1)?).map_err(|_large| BadRow::Order)?;
        let kind = row.get_ref(3)?.as_str()?;
        let stored = row.get_ref(5)?;
        let placement = row.get_ref(6)?.as_str_or_null()?;
        if u64::from(sum(kind, stored.as_bytes()?, placement)) != number(4)? {
            return Err(BadRow::Sum);
        }
        let data = match stored {
            ValueRef::Text(text) => text,
            ValueRef::Blob(packed) => {
                self.decompress(packed)?;
                &self.text
            }
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => return Err(BadRow::Payload),
        };
        Ok(Read {
            seq,
            count,
            time_ms: number(2)?,
            kind,
            data: std::str::from_utf8(data).map_err(RecordError::from)?,
            placement,
        })
    }

    fn decompress(&mut self, packed: &[u8]) -> Result<(), BadRow> {
        let size = match zstd::zstd_safe::get_frame_content_size(packed) {
            Ok(Some(size)) if size <= MAX_PAYLOAD_BYTES => size,
            Ok(_) | Err(_) => return Err(BadRow::Payload),
        };
        let size = usize::try_from(size).map_err(|_large| BadRow::Payload)?;
        self.text.clear();
        self.text.reserve(size);
        self.decompressor
            .decompress_to_buffer(packed, &mut self.text)
            .map_err(BadRow::Compression)?;
        Ok(())
    }
}

impl Read<'_> {
    /// The row's events.
    pub(super) fn events_into(&self, events: &mut Vec<Arc<Event>>) -> Result<(), BadRow> {
        if record::is_row_tag(self.kind) {
            let row = Row::from_parts(self.kind, self.seq, self.time_ms, self.data)?;
            if row.len() != self.count {
                return Err(BadRow::Order);
            }
            row.events_into(events);
            return Ok(());
        }
        if self.count != 1 {
            return Err(BadRow::Order);
        }
        events.push(Arc::new(self.event()?));
        Ok(())
    }

    pub(super) fn event(&self) -> Result<Event, BadRow> {
        let placement = match self.placement {
            Some(text) => Some(Box::new(read_placement(text).ok_or(BadRow::Placement)?)),
            None => None,
        };
        Ok(record::event(
            self.seq,
            self.time_ms,
            self.kind,
            self.data,
            placement,
        )?)
    }

    /// The row's own record, its payload's text as it is stored.
    pub(super) fn record(&self) -> Result<String, BadRow> {
        let mut text = String::with_capacity(self.data.len() + 96);
        let (seq, time, data) = (self.seq, self.time_ms, self.data);
        let kind = serde_json::to_string(self.kind).map_err(RecordError::from)?;
        if record::is_row_tag(self.kind) {
            let _infallible = write!(
                text,
                "{{\"type\":{kind},\"seq0\":{seq},\"time0\":{time},\"data\":{data}}}"
            );
            return Ok(text);
        }
        let _infallible = write!(
            text,
            "{{\"type\":{kind},\"seq\":{seq},\"time\":{time},\"data\":{data}"
        );
        if let Some(placement) = self.placement {
            let placement = read_placement(placement).ok_or(BadRow::Placement)?;
            if let Some(sources) = &placement.sources {
                let sources = serde_json::to_string(sources).map_err(RecordError::from)?;
                let _infallible = write!(text, ",\"sourceEventSeqs\":{sources}");
            }
            let op = serde_json::to_string(&placement.op).map_err(RecordError::from)?;
            let _infallible = write!(text, ",\"surfaceOp\":{op}");
        }
        text.push('}');
        Ok(text)
    }
}

/// A placement in short: `a` appends, `r3-9` replaces; behind a colon what it was made from, runs as `4-11`.
///
/// A message lists every chunk it was made from, so written out it would be longer than the message.
pub(super) fn placement_text(placement: &Placement) -> String {
    let mut text = match placement.op {
        SurfaceOp::Append => "a".to_owned(),
        SurfaceOp::Replace { start, end } => format!("r{start}-{end}"),
    };
    let Some(sources) = placement.sources.as_deref() else {
        return text;
    };
    text.push(':');
    let mut rest = sources;
    while let Some((first, behind)) = rest.split_first() {
        let run = behind
            .iter()
            .zip(first.get() + 1..)
            .take_while(|(seq, expected)| seq.get() == *expected)
            .count();
        if rest.len() < sources.len() {
            text.push(',');
        }
        let _infallible = match run {
            0 => write!(text, "{first}"),
            _ => write!(text, "{first}-{}", first.get() + run as u64),
        };
        rest = behind.get(run..).unwrap_or_default();
    }
    text
}

/// Longest list of sources: bounds what a placement with a lying range can make a reader allocate.
const MAX_SOURCES: u64 = 100_000_000;

/// Reads what [`placement_text`] wrote.
pub(super) fn read_placement(text: &str) -> Option<Placement> {
    let (op, sources) = match text.split_once(':') {
        Some((op, sources)) => (op, Some(sources)),
        None => (text, None),
    };
    let op = match op.strip_prefix('r') {
        Some(range) => {
            let (start, end) = range.split_once('-')?;
            SurfaceOp::Replace {
                start: Seq::new(start.parse().ok()?),
                end: Seq::new(end.parse().ok()?),
            }
        }
        None if op == "a" => SurfaceOp::Append,
        None => return None,
    };
    let sources = match sources {
        None => None,
        Some("") => Some(Box::default()),
        Some(list) => {
            let mut sources = Vec::new();
            for part in list.split(',') {
                let (first, last) = part.split_once('-').unwrap_or((part, part));
                let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
                if last.checked_sub(first)? > MAX_SOURCES {
                    return None;
                }
                sources.extend((first..=last).map(Seq::new));
            }
            Some(sources.into_boxed_slice())
        }
    };
    Some(Placement { op, sources })
}
