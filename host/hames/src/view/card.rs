//! How does a tool's card look in a terminal?

use hames_types::tool::ToolView;

use crate::output::{Tone, visible};

/// Most lines of a card's body that are shown; the log has the rest.
const MAX_LINES: usize = 12;

/// Longest line that is shown, in characters.
const MAX_WIDTH: usize = 160;

/// A line and how it is meant.
pub(super) type Line = (Tone, String);

/// The one line that names a call.
pub(super) fn title(view: &ToolView) -> String {
    one_line(match view {
        ToolView::Generic(view) => &view.title,
        ToolView::Terminal(view) => &view.command,
        ToolView::Diff(view) => &view.path,
    })
}

/// What stands below it.
pub(super) fn body(view: &ToolView) -> Vec<Line> {
    match view {
        ToolView::Generic(view) => lines(view.body.as_deref().unwrap_or_default(), Tone::Dim, ""),
        ToolView::Terminal(view) => {
            let mut all = lines(view.output.as_deref().unwrap_or_default(), Tone::Dim, "");
            if let Some(code) = &view.exit_code
                && code.as_i64() != Some(0)
            {
                all.push((Tone::Bad, format!("exit code {code}")));
            }
            all
        }
        ToolView::Diff(view) => diff(view.before.as_deref().unwrap_or_default(), &view.after),
    }
}

/// The lines that differ: what both texts share at their beginning and end is left out.
fn diff(before: &str, after: &str) -> Vec<Line> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (
        old.get(head..).unwrap_or_default(),
        new.get(head..).unwrap_or_default(),
    );
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let part = |lines: &[&str]| {
        lines
            .get(..lines.len().saturating_sub(tail))
            .unwrap_or_default()
            .join("\n")
    };
    let mut all = lines(&part(old), Tone::Bad, "- ");
    all.extend(lines(&part(new), Tone::Good, "+ "));
    all
}

fn lines(text: &str, tone: Tone, sign: &str) -> Vec<Line> {
    let mut all: Vec<Line> = text
        .lines()
        .take(MAX_LINES)
        .map(|line| (tone, format!("{sign}{}", cut(line))))
        .collect();
    let rest = text.lines().count().saturating_sub(MAX_LINES);
    if rest > 0 {
        all.push((Tone::Dim, format!("… {rest} more lines")));
    }
    all
}

/// The first line of a text, short enough for a glance.
pub(super) fn one_line(text: &str) -> String {
    cut(text.trim().lines().next().unwrap_or_default())
}

fn cut(line: &str) -> String {
    let shown = visible(line);
    match shown.char_indices().nth(MAX_WIDTH) {
        Some((at, _)) => format!("{}…", shown.get(..at).unwrap_or_default()),
        None => shown,
    }
}
