//! What of a readable log is whole (R-JSONL-5)? Pure: text in, events and the end of what counts out.
//!
//! A log ends in one of three ways: cleanly, in a torn tail (the process died while writing: dropped), or damaged
//! (something before a finished turn is missing: refused, never guessed).

use std::sync::Arc;

use hames_types::event::Event;
use hames_types::json::{Json, JsonMap};

use crate::record::{self, RecordError};

/// A log's preserved part.
#[derive(Debug, Clone)]
pub struct Scanned {
    /// The header without its tag; not checked beyond being one.
    pub meta: JsonMap,
    /// The events, contiguous from 0.
    pub events: Vec<Arc<Event>>,
    /// Where the preserved part ends; a writer truncates the rest away before it goes on.
    pub committed_bytes: usize,
}

/// Why a log can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The first line is missing or isn't a header.
    #[error("line 1 is not a session header")]
    Header,
    /// A line that was written whole can't be read.
    #[error("line {line} is damaged")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it; none if it is a gap in the numbering.
        #[source]
        source: Option<RecordError>,
    },
    /// Something is missing before a turn that had ended.
    #[error("line {line} is damaged, and line {end} says that a turn ended after it")]
    Hole {
        /// The line at fault, from 1.
        line: usize,
        /// The line with the later `turn/end`.
        end: usize,
        /// What is wrong with it; none if it is a gap in the numbering.
        #[source]
        source: Option<RecordError>,
    },
}

/// Scans a whole log.
///
/// # Errors
/// [`ScanError`].
pub fn log(text: &[u8]) -> Result<Scanned, ScanError> {
    let mut lines = lines(text);
    let meta = lines
        .next()
        .and_then(|(line, _)| header(line))
        .ok_or(ScanError::Header)?;
    let mut tail = Tail::default();
    let mut committed_bytes = lines.end;
    while let Some((line, number)) = lines.next() {
        match tail.push(line) {
            Ok(()) => committed_bytes = lines.end,
            Err(source) => {
                // A torn tail, unless a turn ended at this line or later.
                let end = ends_turn(line)
                    .then_some(number)
                    .or_else(|| lines.find(|(line, _)| ends_turn(line)).map(|(_, number)| number));
                match end {
                    Some(end) => {
                        return Err(ScanError::Hole {
                            line: number,
                            end,
                            source,
                        });
                    }
                    None => break,
                }
            }
        }
    }
    Ok(Scanned {
        meta,
        events: tail.events,
        committed_bytes,
    })
}

/// The header in a log's first line, without its tag; none if the line isn't one (R-JSONL-3).
#[must_use]
pub fn header(line: &[u8]) -> Option<JsonMap> {
    let Json::Object(mut fields) = serde_json::from_slice(line).ok()? else {
        return None;
    };
    let tag = fields.shift_remove("type")?;
    let depth = fields.get("delegationDepth").and_then(Json::as_u64);
    (tag == "session" && depth.is_some()).then_some(fields)
}

/// Events that continue each other.
#[derive(Default)]
pub(crate) struct Tail {
    pub(crate) events: Vec<Arc<Event>>,
}

impl Tail {
    /// Adds the record of one line, all of it or nothing.
    pub(crate) fn push(&mut self, line: &[u8]) -> Result<(), Option<RecordError>> {
        let length = self.events.len();
        let text = std::str::from_utf8(line).map_err(|error| Some(RecordError::from(error)))?;
        record::read(text, &mut self.events)?;
        let gap = self
            .events
            .iter()
            .enumerate()
            .skip(length)
            .any(|(at, event)| event.seq.index() != at);
        if gap {
            self.events.truncate(length);
            return Err(None);
        }
        Ok(())
    }
}

/// Whether a line is the record of a turn's end, wherever it stands.
fn ends_turn(line: &[u8]) -> bool {
    std::str::from_utf8(line)
        .ok()
        .and_then(|text| record::read_event(text).ok())
        .is_some_and(|event| event.kind() == "turn/end")
}

/// The complete lines of a text, with their numbers from 1; what follows the last line feed is no line.
pub(crate) fn lines(text: &[u8]) -> Lines<'_> {
    Lines {
        rest: text,
        end: 0,
        number: 0,
    }
}

/// See [`lines`].
pub(crate) struct Lines<'a> {
    rest: &'a [u8],
    /// Where the last line given ended, its line feed included.
    pub(crate) end: usize,
    number: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (&'a [u8], usize);

    fn next(&mut self) -> Option<Self::Item> {
        let length = memchr::memchr(b'\n', self.rest)?;
        let (line, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest.get(1..)?;
        self.end += length + 1;
        self.number += 1;
        Some((line, self.number))
    }
}
