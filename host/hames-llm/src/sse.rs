//! Which events does a stream of bytes hold? Incremental, pure, bounded.
//!
//! Server-sent events as providers send them: lines end with LF or CRLF, an event ends with a blank line or with the
//! stream, `data` lines are joined by a line feed, `event` names the event, everything else is ignored (R-DS-5).
//! A byte order mark in front is skipped; bytes that aren't UTF-8 become U+FFFD.

use std::borrow::Cow;
use std::ops::Range;

#[cfg(test)]
mod tests;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// What `event:` named it; empty if nothing did.
    pub name: Cow<'a, str>,
    /// The `data` lines, joined.
    pub data: Cow<'a, str>,
}

/// The stream holds an event longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {limit} bytes; the limit is `max_event_bytes`")]
pub struct EventTooLong {
    /// The most bytes one event may have, its lines and their ends counted.
    pub limit: usize,
}

/// Where the data of the event being read stands.
#[derive(Debug, Clone, Default)]
enum Data {
    /// No data line yet.
    #[default]
    None,
    /// One line, still in the buffer: the common case is never copied.
    Line(Range<usize>),
    /// Several lines, joined.
    Joined(Vec<u8>),
}

/// Bytes in, events out.
#[derive(Debug, Clone)]
pub struct SseParser {
    limit: usize,
    buffer: Vec<u8>,
    /// Where the event being read begins; everything in front of it is used up.
    event: usize,
    /// Where the line being read begins.
    line: usize,
    /// How far the line being read was searched for its end.
    searched: usize,
    name: Range<usize>,
    data: Data,
    begun: bool,
    ended: bool,
}

impl SseParser {
    /// A parser at the start of a stream whose events have at most `max_event_bytes`.
    #[must_use]
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            limit: max_event_bytes,
            buffer: Vec::new(),
            event: 0,
            line: 0,
            searched: 0,
            name: 0..0,
            data: Data::None,
            begun: false,
            ended: false,
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.forget_used();
        self.buffer.extend_from_slice(bytes);
    }

    /// There are no further bytes; what the last event lacks is taken as given.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// The next event, if its end has come.
    ///
    /// # Errors
    /// [`EventTooLong`]; the stream can't be read any further then.
    #[expect(
        clippy::should_implement_trait,
        reason = "the event borrows the parser, which no iterator may"
    )]
    pub fn next(&mut self) -> Result<Option<SseEvent<'_>>, EventTooLong> {
        if !self.begun && !self.begin() {
            return Ok(None);
        }
        while let Some(line) = self.next_line() {
            if self.line - self.event > self.limit {
                return Err(EventTooLong { limit: self.limit });
            }
            if line.is_empty() {
                if let Some(event) = self.finish_event() {
                    return Ok(Some(self.render(event)));
                }
            } else {
                self.take_line(line);
            }
        }
        if self.buffer.len() - self.event > self.limit {
            return Err(EventTooLong { limit: self.limit });
        }
        if self.ended
            && let Some(event) = self.finish_event()
        {
            return Ok(Some(self.render(event)));
        }
        Ok(None)
    }

    /// Skips the byte order mark; false while the bytes don't show yet whether there is one.
    fn begin(&mut self) -> bool {
        if self.buffer.starts_with(BYTE_ORDER_MARK) {
            self.event = BYTE_ORDER_MARK.len();
            self.line = self.event;
            self.searched = self.event;
        } else if BYTE_ORDER_MARK.starts_with(&self.buffer) && !self.ended {
            return false;
        }
        self.begun = true;
        true
    }

    /// The next whole line without its end.
    fn next_line(&mut self) -> Option<Range<usize>> {
        let rest = self.buffer.get(self.searched..)?;
        let start = self.line;
        let Some(found) = memchr::memchr(b'\n', rest) else {
            self.searched = self.buffer.len();
            if !self.ended || start == self.buffer.len() {
                return None;
            }
            self.line = self.buffer.len();
            return Some(self.without_return(start..self.line));
        };
        let end = self.searched + found;
        self.line = end + 1;
        self.searched = self.line;
        Some(self.without_return(start..end))
    }

    fn without_return(&self, line: Range<usize>) -> Range<usize> {
        match self.bytes(&line).last() {
            Some(b'\r') => line.start..line.end - 1,
            _ => line,
        }
    }

    fn bytes(&self, range: &Range<usize>) -> &[u8] {
        self.buffer.get(range.clone()).unwrap_or_default()
    }

    fn take_line(&mut self, line: Range<usize>) {
        let bytes = self.bytes(&line);
        if bytes.starts_with(b"data:") {
            let value = self.value(line.start + 5..line.end);
            self.add_data(value);
        } else if bytes.starts_with(b"event:") {
            self.name = self.value(line.start + 6..line.end);
        } else if matches!(self.data, Data::None) && self.name.is_empty() {
            // Nothing of the event is kept yet, so the comment need not be either.
            self.event = self.line;
        }
    }

    /// A field's value: one leading space belongs to the syntax.
    fn value(&self, range: Range<usize>) -> Range<usize> {
        match self.bytes(&range).first() {
            Some(b' ') => range.start + 1..range.end,
            _ => range,
        }
    }

    fn add_data(&mut self, value: Range<usize>) {
        self.data = match std::mem::take(&mut self.data) {
            Data::None => Data::Line(value),
            Data::Line(first) => {
                let mut joined = self.bytes(&first).to_vec();
                joined.push(b'\n');
                joined.extend_from_slice(self.bytes(&value));
                Data::Joined(joined)
            }
            Data::Joined(mut joined) => {
                joined.push(b'\n');
                joined.extend_from_slice(self.bytes(&value));
                Data::Joined(joined)
            }
        };
    }

    /// Closes the event being read. Its bytes stay in the buffer until the next push.
    fn finish_event(&mut self) -> Option<(Range<usize>, Data)> {
        self.event = self.line;
        let name = std::mem::replace(&mut self.name, 0..0);
        match std::mem::take(&mut self.data) {
            Data::None => None,
            data @ (Data::Line(_) | Data::Joined(_)) => Some((name, data)),
        }
    }

    fn render(&self, (name, data): (Range<usize>, Data)) -> SseEvent<'_> {
        SseEvent {
            name: String::from_utf8_lossy(self.bytes(&name)),
            data: match data {
                Data::None => Cow::Borrowed(""),
                Data::Line(line) => String::from_utf8_lossy(self.bytes(&line)),
                Data::Joined(joined) => Cow::Owned(String::from_utf8_lossy(&joined).into_owned()),
            },
        }
    }

    fn forget_used(&mut self) {
        let used = self.event;
        if used == 0 {
            return;
        }
        self.buffer.drain(..used);
        self.event = 0;
        self.line -= used;
        self.searched -= used;
        let moved = |range: &Range<usize>| range.start.saturating_sub(used)..range.end.saturating_sub(used);
        self.name = moved(&self.name);
        if let Data::Line(line) = &self.data {
            self.data = Data::Line(moved(line));
        }
    }
}
