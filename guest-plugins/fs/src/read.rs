//! The tool `read`: numbered lines of a text file, as many as fit, and how to get the rest.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader};

use hames_sdk::prelude::*;
use hames_sdk::tool::{ExecutionClass, GenericView, ToolView};
use sha2::{Digest, Sha256};

use crate::fault::{self, coded};
use crate::place::{self, Place};
use crate::seen::{self, State};
use crate::text;

/// Most lines of one answer.
const MAX_LINES: u64 = 2_000;

/// Most bytes of one answer: what a model can take in at a time.
const MAX_BYTES: usize = 48 << 10;

/// How much of one line is shown, in bytes.
const MAX_LINE: usize = 2_000;

/// Reads a text file: its lines, each behind its number and a tab. A long file comes in parts; the end of each says
/// how to get the next.
#[arguments]
pub struct Read {
    /// The file, relative to the root.
    path: String,
    /// The first line wanted, counted from 1.
    #[serde(default)]
    from: Option<u64>,
    /// How many lines, at most 2000.
    #[serde(default)]
    lines: Option<u64>,
}

impl Tool for Read {
    const EXECUTION: ExecutionClass = ExecutionClass::Parallel;

    fn run(self, call: &Call) -> Answer {
        let place = place::find(&self.path)?;
        let found = place.metadata()?;
        if found.is_dir() {
            return Err(text::is_folder(&place));
        }
        let from = self.from.unwrap_or(1).max(1);
        let count = self.lines.unwrap_or(MAX_LINES).clamp(1, MAX_LINES);
        let file = File::open(&place.path).map_err(|error| fault::io(&place, "reading", &error))?;
        let mut scan = Scan::new(from, count, found.len() <= text::MAX_WHOLE);
        scan.run(&place, BufReader::with_capacity(64 << 10, file))?;
        if let Some(digest) = scan.whole.take() {
            seen::note(call, &place, &State::from(digest));
        }
        scan.answer(&place)
    }

    fn view(&self) -> Option<ToolView> {
        Some(ToolView::Generic(GenericView {
            title: match self.from {
                Some(from) => format!("read {} from line {from}", self.path),
                None => format!("read {}", self.path),
            },
            body: None,
        }))
    }
}

impl From<Sha256> for State {
    fn from(digest: Sha256) -> Self {
        Self::finished(digest.finalize().into())
    }
}

/// One walk over a file: it keeps the lines wanted and, of a file that can be held, the digest.
struct Scan {
    from: u64,
    /// The first line no longer wanted.
    until: u64,
    /// The line the walk is in.
    line: u64,
    /// What is kept of that line, and how much of it isn't.
    current: Vec<u8>,
    cut: usize,
    /// Whether anything of that line has been seen.
    is_open: bool,
    shown: String,
    is_at_end: bool,
    whole: Option<Sha256>,
    bytes: usize,
}

impl Scan {
    fn new(from: u64, count: u64, is_whole: bool) -> Self {
        Self {
            from,
            until: from.saturating_add(count),
            line: 1,
            current: Vec::new(),
            cut: 0,
            is_open: false,
            shown: String::new(),
            is_at_end: false,
            whole: is_whole.then(Sha256::new),
            bytes: 0,
        }
    }

    fn run(&mut self, place: &Place, mut file: impl BufRead) -> Result<(), Error> {
        loop {
            let block = file
                .fill_buf()
                .map_err(|error| fault::io(place, "reading", &error))?;
            if block.is_empty() {
                self.is_at_end = true;
                if self.is_open {
                    self.end_line(place)?;
                }
                return Ok(());
            }
            if self.bytes < text::SNIFFED && text::is_binary(block) {
                return Err(text::binary(place));
            }
            let length = block.len();
            if let Some(digest) = &mut self.whole {
                digest.update(block);
            }
            for piece in block.split_inclusive(|byte| *byte == b'\n') {
                self.take(place, piece)?;
            }
            self.bytes += length;
            file.consume(length);
            if self.whole.is_none() && self.line >= self.until {
                // The rest of a file this large is read for nobody.
                return Ok(());
            }
        }
    }

    fn take(&mut self, place: &Place, piece: &[u8]) -> Result<(), Error> {
        let (body, ends) = match piece.strip_suffix(b"\n") {
            Some(body) => (body, true),
            None => (piece, false),
        };
        self.is_open = true;
        if self.is_wanted() {
            let room = MAX_LINE.saturating_sub(self.current.len()).min(body.len());
            let (kept, cut) = body.split_at(room);
            self.current.extend_from_slice(kept);
            self.cut += cut.len();
        }
        if ends {
            self.end_line(place)?;
        }
        Ok(())
    }

    fn is_wanted(&self) -> bool {
        (self.from..self.until).contains(&self.line)
    }

    fn end_line(&mut self, place: &Place) -> Result<(), Error> {
        if self.is_wanted() {
            let line = shown_line(place, &self.current, self.cut)?;
            if self.shown.len() + line.len() > MAX_BYTES && !self.shown.is_empty() {
                self.until = self.line;
            } else {
                // Writing to a text can't fail.
                let _ = writeln!(self.shown, "{}\t{line}", self.line);
            }
        }
        self.current.clear();
        self.cut = 0;
        self.is_open = false;
        self.line += 1;
        Ok(())
    }

    fn answer(self, place: &Place) -> Answer {
        let (from, after) = (self.from, self.until.min(self.line));
        // `line` has gone past the last one.
        let total = self.line - 1;
        if self.is_at_end && total == 0 {
            return Ok("(the file is empty)".into());
        }
        if after <= from {
            return Err(coded(
                "FILE_RANGE",
                format!("`{}` has {total} lines; `from` is {from}", place.shown),
            ));
        }
        let last = after - 1;
        let mut text = self.shown;
        let _ = match (self.is_at_end, last < total) {
            (true, false) if from == 1 => Ok(()),
            (true, false) => write!(text, "(lines {from} to {last}, the end of the file)"),
            (true, true) => write!(
                text,
                "(lines {from} to {last} of {total}; for more: from = {after})"
            ),
            (false, _) => write!(
                text,
                "(lines {from} to {last} of a large file; for more: from = {after})"
            ),
        };
        Ok(text.into())
    }
}

fn shown_line(place: &Place, bytes: &[u8], cut: usize) -> Result<String, Error> {
    let bytes = bytes.strip_suffix(b"\r").filter(|_| cut == 0).unwrap_or(bytes);
    if bytes.contains(&0) {
        return Err(text::binary(place));
    }
    let whole = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // Cut inside a letter.
        Err(error) if cut > 0 && error.error_len().is_none() => {
            std::str::from_utf8(bytes.get(..error.valid_up_to()).unwrap_or_default())?
        }
        Err(error) => return Err(text::not_utf8(place, error.valid_up_to())),
    };
    if cut == 0 {
        return Ok(whole.to_owned());
    }
    let left = bytes.len() - whole.len() + cut;
    Ok(format!("{whole}… ({left} more bytes in this line)"))
}
