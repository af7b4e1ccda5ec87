//! The tool `edit`: one text in a file replaced by another.

use hames_sdk::bindings::imports::hames::plugin::content::ContentBlock;
use hames_sdk::prelude::*;
use hames_sdk::tool::ToolView;

use crate::fault::coded;
use crate::place::{self, Place};
use crate::seen::{self, State};
use crate::{change, text, write};

/// How many places an ambiguous text is answered with.
const PLACES: usize = 8;

/// Changes a text file: replaces `old` by `new`. `old` must be in the file exactly once, letter by letter and with its
/// indentation; take in lines around it until it is, or set `all`. The file must have been read in this session and
/// be unchanged since.
#[arguments]
pub struct Edit {
    /// The file, relative to the root.
    path: String,
    /// The text to replace.
    old: String,
    /// What stands there afterwards.
    new: String,
    /// Whether to replace every occurrence.
    #[serde(default)]
    all: bool,
}

impl Tool for Edit {
    fn run(self, call: &Call) -> Answer {
        let place = place::find(&self.path)?;
        if self.old.is_empty() {
            return Err(coded(
                "FILE_EDIT_EMPTY",
                "`old` is empty; name a text that is in the file, or write the whole file".to_owned(),
            ));
        }
        if self.old == self.new {
            return Err(coded(
                "FILE_EDIT_SAME",
                "`old` and `new` are the same; nothing would change".to_owned(),
            ));
        }
        let before = text::load(&place)?;
        seen::check(call, &place, &State::of(before.as_bytes()))?;
        let (after, count) = self.changed(&place, &before)?;
        write::replace(call, &place, &after)?;
        let done = match count {
            1 => format!("edited `{}`", place.shown),
            count => format!("edited `{}` in {count} places", place.shown),
        };
        change::answer(&place, &done, &before, &after)
    }

    fn view(&self) -> Option<ToolView> {
        Some(change::planned(&self.path, Some(&self.old), &self.new))
    }

    fn view_result(&self, _content: &[ContentBlock], meta: Option<&Value>) -> Option<ToolView> {
        change::made(meta)
    }
}

impl Edit {
    /// The text afterwards, and how often it was replaced.
    fn changed(&self, place: &Place, before: &str) -> Result<(String, usize), Error> {
        let (old, new) = if ends_with_carriage_returns(before) {
            // What is read has no carriage returns, so what is to be changed has none either.
            (with_carriage_returns(&self.old), with_carriage_returns(&self.new))
        } else {
            (self.old.clone(), self.new.clone())
        };
        let count = before.matches(&old).count();
        if count == 0 {
            return Err(self.absent(place, before));
        }
        if count > 1 && !self.all {
            let lines: Vec<String> = before
                .match_indices(&old)
                .take(PLACES)
                .map(|(at, _)| line_of(before, at).to_string())
                .collect();
            return Err(coded(
                "FILE_EDIT_AMBIGUOUS",
                format!(
                    "`old` is in `{}` {count} times (in lines {}{}); take in more of what stands around it, or set `all`",
                    place.shown,
                    lines.join(", "),
                    if count > PLACES { ", …" } else { "" },
                ),
            ));
        }
        Ok((before.replace(&old, &new), count))
    }

    fn absent(&self, place: &Place, before: &str) -> Error {
        let first = self
            .old
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default();
        let near = before
            .lines()
            .position(|line| !first.is_empty() && line.trim() == first)
            .map_or_else(
                || "read it again".to_owned(),
                |at| {
                    let line = at + 1;
                    format!("its first line is like line {line}, so look at the space around it and at what follows")
                },
            );
        coded(
            "FILE_EDIT_ABSENT",
            format!("`old` isn't in `{}` as it stands; {near}", place.shown),
        )
    }
}

fn ends_with_carriage_returns(text: &str) -> bool {
    let feeds = text.matches('\n').count();
    feeds > 0 && text.matches("\r\n").count() == feeds
}

fn with_carriage_returns(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}
