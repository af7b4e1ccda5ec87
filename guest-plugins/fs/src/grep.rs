//! The tool `grep`: lines by content.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use globset::GlobMatcher;
use hames_sdk::prelude::*;
use hames_sdk::tool::{ExecutionClass, GenericView, ToolView};
use regex::bytes::{Regex, RegexBuilder};

use crate::fault::coded;
use crate::glob;
use crate::place;
use crate::text;
use crate::walk;

/// Matching lines of one answer unless another number is asked for, and at most.
const LIMIT: u64 = 100;
const MAX_LIMIT: u64 = 1_000;

/// Most bytes of one answer.
const MAX_BYTES: usize = 32 << 10;

/// Largest file that is searched, in bytes.
const MAX_FILE: u64 = 4 << 20;

/// How much of a line is shown, in bytes.
const MAX_LINE: usize = 300;

/// Most lines shown around a match.
const MAX_AROUND: u64 = 5;

/// Finds lines by content: `path:line: text` for each line that a regular expression matches. Binary files, and files
/// that version control ignores, are left out.
#[arguments]
pub struct Grep {
    /// The regular expression, of Rust's syntax: no look-around, no back-references.
    pattern: String,
    /// The folder or file to look in, relative to the root; the root itself if absent.
    #[serde(default)]
    path: Option<String>,
    /// Looks only at files whose name matches, such as `*.rs`.
    #[serde(default)]
    glob: Option<String>,
    /// Whether upper and lower case are the same.
    #[serde(default)]
    ignore_case: bool,
    /// Lines to show before and after each match, at most 5.
    #[serde(default)]
    around: Option<u64>,
    /// Most matching lines, 100 if absent, at most 1000.
    #[serde(default)]
    limit: Option<u64>,
    /// Whether to look at ignored files, too.
    #[serde(default)]
    ignored: bool,
}

impl Tool for Grep {
    const EXECUTION: ExecutionClass = ExecutionClass::Parallel;

    fn run(self, call: &Call) -> Answer {
        let place = place::find(self.path.as_deref().unwrap_or("."))?;
        place.metadata()?;
        let wanted = self.glob.as_deref().map(glob::matcher).transpose()?;
        let mut search = Search {
            pattern: self.compiled()?,
            left: self.limit.unwrap_or(LIMIT).clamp(1, MAX_LIMIT),
            around: usize::try_from(self.around.unwrap_or(0).min(MAX_AROUND)).unwrap_or(0),
            text: String::new(),
            matches: 0,
            skipped: 0,
            is_cut: false,
        };
        let ended = walk::files(call, &place, self.ignored, |entry, shown| {
            if is_wanted(wanted.as_ref(), entry.path(), &place.path) {
                search.file(entry.path(), shown);
            }
            Ok(!search.is_cut)
        })?;
        Ok(search.answer(ended).into())
    }

    fn view(&self) -> Option<ToolView> {
        Some(ToolView::Generic(GenericView {
            title: format!("grep {}", self.pattern),
            body: self.path.clone(),
        }))
    }
}

fn is_wanted(wanted: Option<&GlobMatcher>, path: &Path, root: &Path) -> bool {
    let below = path
        .strip_prefix(root)
        .ok()
        .filter(|below| !below.as_os_str().is_empty());
    wanted.is_none_or(|wanted| wanted.is_match(below.unwrap_or(path)))
}

impl Grep {
    fn compiled(&self) -> Result<Regex, Error> {
        RegexBuilder::new(&self.pattern)
            .case_insensitive(self.ignore_case)
            .multi_line(true)
            .crlf(true)
            .size_limit(4 << 20)
            .dfa_size_limit(8 << 20)
            .build()
            .map_err(|error| {
                coded(
                    "FILE_PATTERN",
                    format!("`pattern` is no regular expression: {error}"),
                )
            })
    }
}

/// One search over files.
struct Search {
    pattern: Regex,
    left: u64,
    around: usize,
    text: String,
    matches: u64,
    skipped: u64,
    /// Whether there may be more than is told.
    is_cut: bool,
}

impl Search {
    fn file(&mut self, path: &Path, shown: &str) {
        let is_large = fs::metadata(path).is_ok_and(|found| found.len() > MAX_FILE);
        let bytes = if is_large { None } else { fs::read(path).ok() };
        match bytes {
            Some(bytes) if !text::is_binary(&bytes) => self.lines(&bytes, shown),
            Some(_) | None => self.skipped += 1,
        }
    }

    fn lines(&mut self, bytes: &[u8], shown: &str) {
        // Most files match nowhere; they cost one look and no list of lines.
        if !self.pattern.is_match(bytes) {
            return;
        }
        let starts: Vec<usize> = std::iter::once(0)
            .chain(
                bytes
                    .iter()
                    .enumerate()
                    .filter(|(_, byte)| **byte == b'\n')
                    .map(|(at, _)| at + 1),
            )
            .take_while(|at| *at < bytes.len())
            .collect();
        let mut next = 0;
        // Lines already told, as the number of the first that isn't.
        let mut told = 0;
        while let Some(found) = self.pattern.find_at(bytes, next) {
            let line = starts
                .partition_point(|start| *start <= found.start())
                .saturating_sub(1);
            if self.left == 0 || self.text.len() > MAX_BYTES {
                self.is_cut = true;
                return;
            }
            self.left -= 1;
            self.matches += 1;
            self.tell(bytes, &starts, shown, line, &mut told);
            let Some(after) = starts.get(line + 1) else { return };
            next = *after;
        }
    }

    /// Tells a matching line and those around it that weren't told yet.
    fn tell(&mut self, bytes: &[u8], starts: &[usize], shown: &str, line: usize, told: &mut usize) {
        let first = line.saturating_sub(self.around).max(*told);
        if self.around > 0 && !self.text.is_empty() && (first > *told || *told == 0) {
            self.text.push_str("--\n");
        }
        let after = (line + self.around + 1).min(starts.len());
        for at in first..after.max(line + 1) {
            let Some(start) = starts.get(at) else { break };
            let end = starts.get(at + 1).copied().unwrap_or(bytes.len());
            let content = bytes.get(*start..end).unwrap_or_default();
            // A line after this one that matches as well is told as one that does.
            let is_match = at == line || (at > line && self.pattern.is_match(content));
            if at > line && is_match {
                *told = at;
                return;
            }
            let mark = if is_match { ':' } else { '-' };
            let _ = writeln!(self.text, "{shown}{mark}{}{mark} {}", at + 1, cut(content));
        }
        *told = after;
    }

    fn answer(mut self, ended: walk::Ended) -> String {
        if self.matches == 0 {
            self.text.push_str("(no line matches)\n");
        }
        if self.is_cut {
            let _ = writeln!(
                self.text,
                "({} matching lines, there are more; narrow `pattern`, `path` or `glob`, or raise `limit`)",
                self.matches
            );
        }
        if self.skipped > 0 {
            let _ = writeln!(
                self.text,
                "({} files were left out: binary, unreadable or over {MAX_FILE} bytes)",
                self.skipped
            );
        }
        self.text.push_str(ended.hint());
        self.text
    }
}

fn cut(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end_matches(['\n', '\r']);
    if line.len() <= MAX_LINE {
        return line.to_owned();
    }
    let end = (0..=MAX_LINE)
        .rev()
        .find(|at| line.is_char_boundary(*at))
        .unwrap_or(0);
    format!(
        "{}… ({} more bytes)",
        line.get(..end).unwrap_or_default(),
        line.len() - end
    )
}
