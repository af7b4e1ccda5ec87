//! How does one session travel between stores? As a readable log: a header line, then one record per line.

use std::io::Write;
use std::sync::Arc;

use hames_types::event::Event;
use hames_types::header::{HeaderError, SessionHeader};
use hames_types::json::{Json, JsonMap};
use hames_types::port::store::{StoreError, StoredSession};

use crate::record::{self, Record, Row};
use crate::{error, scan};

/// What an import calls its input in errors.
const LOG: &str = "the log to import";

/// How runs of chunks are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// One line per event, as every reader of such logs understands it.
    #[default]
    Plain,
    /// Runs of chunks in rows (R-PACK), a tenth of the size.
    Packed,
}

/// A log that was read whole.
pub(crate) struct Incoming<'a> {
    pub(crate) header: SessionHeader,
    pub(crate) events: Vec<Arc<Event>>,
    /// Everything behind the header line.
    pub(crate) records: &'a [u8],
}

/// Reads a log that must be whole to its last byte: what is torn isn't imported.
pub(crate) fn read(log: &[u8]) -> Result<Incoming<'_>, StoreError> {
    let scanned = scan::log(log).map_err(|found| error::damaged(LOG, "nothing was imported", found))?;
    if scanned.committed_bytes != log.len() {
        return Err(StoreError::Damaged {
            place: LOG.to_owned(),
            problem: format!(
                "its end from byte {} on is torn; cut it off there and import again",
                scanned.committed_bytes
            ),
            source: None,
        });
    }
    let header = read_header(scanned.meta, LOG)?;
    for event in &scanned.events {
        crate::backend::refuse_legacy(&header.id, event)?;
    }
    let end = memchr::memchr(b'\n', log).map_or(log.len(), |at| at + 1);
    Ok(Incoming {
        header,
        events: scanned.events,
        records: log.get(end..).unwrap_or_default(),
    })
}

/// A header as it is stored.
pub(crate) fn read_header(meta: JsonMap, place: &str) -> Result<SessionHeader, StoreError> {
    SessionHeader::read(Json::Object(meta)).map_err(|found| {
        let problem = match &found {
            HeaderError::Version(_) => "read it with the program that wrote it",
            HeaderError::Shape(_)
            | HeaderError::NotLossless(_)
            | HeaderError::OtherId { .. }
            | HeaderError::RelativeCwd(_) => {
                return error::damaged(place, "its session header is bad", found);
            }
        };
        StoreError::Unsupported {
            place: place.to_owned(),
            problem: problem.to_owned(),
            source: Some(Arc::new(found)),
        }
    })
}

/// A session as a log.
pub(crate) fn write(session: &StoredSession, form: Form) -> Result<Vec<u8>, StoreError> {
    let mut log = header_line(&session.header)?;
    write_events(&session.events, form, &mut log)?;
    Ok(log)
}

/// The header's line. The depth is always written (R-JSONL-3).
pub(crate) fn header_line(header: &SessionHeader) -> Result<Vec<u8>, StoreError> {
    let mut header = header.clone();
    header.fields.delegation_depth = Some(header.delegation_depth());
    let text = serde_json::to_string(&header).map_err(unwritable)?;
    let mut line = String::from("{\"type\":\"session\",");
    line.push_str(text.strip_prefix('{').unwrap_or(&text));
    line.push('\n');
    Ok(line.into_bytes())
}

/// The records of events, one per line.
pub(crate) fn write_events(events: &[Arc<Event>], form: Form, log: &mut Vec<u8>) -> Result<(), StoreError> {
    match form {
        Form::Plain => events.iter().try_for_each(|event| write_line(event, log)),
        Form::Packed => record::pack(events)
            .iter()
            .try_for_each(|record: &Record<'_>| write_line(record, log)),
    }
}

pub(crate) fn write_line(record: &impl serde::Serialize, log: &mut Vec<u8>) -> Result<(), StoreError> {
    serde_json::to_writer(&mut *log, record).map_err(unwritable)?;
    log.write_all(b"\n")
        .map_err(|source| error::io("writing", "memory", source))
}

/// Events always encode; the error exists because serde's traits have one.
pub(crate) fn unwritable(source: serde_json::Error) -> StoreError {
    error::io("encoding", "an event", source.into())
}

/// A part of a log as a store takes it.
pub(crate) enum Piece<'a> {
    /// Events whose lines are what this program writes: they may be packed.
    Plain(&'a [Arc<Event>]),
    /// An event whose line is written in its own way.
    Odd {
        event: &'a Event,
        /// Its payload's text.
        data: &'a str,
        /// The whole line.
        line: &'a [u8],
    },
    /// A row of chunks.
    Row(Row),
}

/// The parts of a log, in order.
pub(crate) fn pieces<'a>(log: &'a Incoming<'_>) -> Result<Vec<Piece<'a>>, StoreError> {
    let mut pieces = Vec::new();
    let mut at = 0;
    let mut plain = 0;
    let mut written = Vec::new();
    for line in log
        .records
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let bad = |found| error::damaged(LOG, "nothing was imported", found);
        let (text, row) = record::inspect(line).map_err(bad)?;
        let count = row.as_ref().map_or(1, Row::len);
        if row.is_none() {
            let event = log.events.get(at);
            written.clear();
            if let Some(event) = event {
                serde_json::to_writer(&mut written, event).map_err(unwritable)?;
            }
            if written == line {
                at += 1;
                continue;
            }
        }
        if let Some(events) = log.events.get(plain..at).filter(|events| !events.is_empty()) {
            pieces.push(Piece::Plain(events));
        }
        match (row, log.events.get(at)) {
            (Some(row), _) => pieces.push(Piece::Row(row)),
            (None, Some(event)) => pieces.push(Piece::Odd {
                event,
                data: text,
                line,
            }),
            (None, None) => {}
        }
        at += count;
        plain = at;
    }
    if let Some(events) = log.events.get(plain..at).filter(|events| !events.is_empty()) {
        pieces.push(Piece::Plain(events));
    }
    Ok(pieces)
}

/// The records of a log in the wanted form, payloads in their own texts.
pub(crate) fn reformed(log: &Incoming<'_>, form: Form) -> Result<Vec<u8>, StoreError> {
    let mut lines = Vec::with_capacity(log.records.len());
    for piece in pieces(log)? {
        match piece {
            Piece::Plain(events) => write_events(events, form, &mut lines)?,
            Piece::Odd { line, .. } => {
                lines.extend_from_slice(line);
                lines.push(b'\n');
            }
            Piece::Row(row) if form == Form::Packed => write_line(&Record::Row(row), &mut lines)?,
            Piece::Row(row) => {
                let mut events = Vec::new();
                row.events_into(&mut events);
                write_events(&events, form, &mut lines)?;
            }
        }
    }
    Ok(lines)
}
