//! What has a change done to a text, for the model and for a person?

use hames_sdk::error::Error;
use hames_sdk::output::Output;
use hames_sdk::prelude::Value;
use hames_sdk::tool::{DiffView, ToolView};
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use crate::place::Place;

/// Most bytes of a diff in an answer: beyond it the model is told the numbers only.
const MAX_DIFF: usize = 6 << 10;

/// Most bytes of each side that are kept for the view.
const MAX_SIDE: usize = 32 << 10;

/// Lines kept around a change.
const AROUND: usize = 3;

/// What is kept beside the result, for the view: the part of the file around the change.
#[derive(Serialize)]
struct Kept<'a> {
    path: &'a str,
    before: String,
    after: String,
}

/// The answer to a change: what was done, the difference, and what the view needs.
///
/// # Errors
/// None that can happen; the kept part has a JSON form.
pub fn answer(place: &Place, done: &str, before: &str, after: &str) -> Result<Output, Error> {
    let diff = TextDiff::from_lines(before, after);
    let (mut added, mut removed) = (0_usize, 0_usize);
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => added += 1,
            ChangeTag::Delete => removed += 1,
            ChangeTag::Equal => {}
        }
    }
    let shown = diff.unified_diff().context_radius(AROUND).to_string();
    let mut text = format!("{done} (+{added} −{removed} lines)");
    if shown.len() <= MAX_DIFF {
        text.push('\n');
        text.push_str(&shown);
    } else {
        text.push_str("; the difference is too long to show, read the file to see it");
    }
    let (before, after) = around(before, after);
    Output::from(text).meta(&Kept {
        path: &place.shown,
        before,
        after,
    })
}

/// The parts of two texts that differ, with a few lines around them.
fn around(before: &str, after: &str) -> (String, String) {
    let (old, new): (Vec<&str>, Vec<&str>) = (
        before.split_inclusive('\n').collect(),
        after.split_inclusive('\n').collect(),
    );
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let most = old.len().min(new.len()) - head;
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(most)
        .take_while(|(old, new)| old == new)
        .count();
    let start = head.saturating_sub(AROUND);
    let part = |lines: &[&str]| {
        let end = (lines.len() - tail + AROUND).min(lines.len());
        cut(&lines.get(start..end).unwrap_or_default().concat())
    };
    (part(&old), part(&new))
}

fn cut(text: &str) -> String {
    if text.len() <= MAX_SIDE {
        return text.to_owned();
    }
    let end = (0..=MAX_SIDE)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    format!("{}\n…\n", text.get(..end).unwrap_or_default())
}

/// How a change is shown before it is made.
pub fn planned(path: &str, before: Option<&str>, after: &str) -> ToolView {
    ToolView::Diff(DiffView {
        path: path.to_owned(),
        before: before.map(cut),
        after: cut(after),
    })
}

/// How a change is shown once it is made.
pub fn made(meta: Option<&Value>) -> Option<ToolView> {
    let meta = meta?;
    let text = |name| meta.get(name).and_then(Value::as_str);
    Some(ToolView::Diff(DiffView {
        path: text("path")?.to_owned(),
        before: text("before").map(str::to_owned),
        after: text("after")?.to_owned(),
    }))
}
