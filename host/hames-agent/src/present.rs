//! How calls and results are shown to a person: three kinds of cards (R-SCHEMA-5).
//!
//! Presenting never fails and never runs anything: it is asked again when a log is shown, perhaps for a tool that is
//! gone. What can't be shown has no card.

#[cfg(test)]
mod tests;

use hames_types::content::Content;
use hames_types::json::{Extra, FromJson, Json};
use hames_types::scope::ScopeKey;
use hames_types::tool::{DiffView, GenericView, TerminalView, ToolView};
use smol_str::SmolStr;

use crate::tools::{Tools, materialise};

/// Largest card that is shown, in bytes of its texts. A card is a glance at a call; the log has the whole of it.
pub const MAX_CARD_BYTES: usize = 1024 * 1024;

/// A card with a title and perhaps a text.
#[must_use]
pub fn generic(title: impl Into<SmolStr>, body: Option<SmolStr>) -> ToolView {
    ToolView::Generic(GenericView {
        title: title.into(),
        body,
        extra: Extra::NONE,
    })
}

/// A card that looks like a terminal.
#[must_use]
pub fn terminal(
    command: impl Into<SmolStr>,
    cwd: Option<SmolStr>,
    output: Option<SmolStr>,
    exit_code: Option<i32>,
) -> ToolView {
    ToolView::Terminal(TerminalView {
        command: command.into(),
        cwd,
        output,
        exit_code: exit_code.map(Into::into),
        extra: Extra::NONE,
    })
}

/// A card that shows what became of a file; without `before` it is new.
#[must_use]
pub fn diff(path: impl Into<SmolStr>, before: Option<SmolStr>, after: impl Into<SmolStr>) -> ToolView {
    ToolView::Diff(DiffView {
        path: path.into(),
        before,
        after: after.into(),
        extra: Extra::NONE,
    })
}

/// A card out of a value that claims to be one; `None` if it isn't or is too large.
#[must_use]
pub fn claimed(value: Json) -> Option<ToolView> {
    ToolView::from_json(value)
        .ok()
        .filter(|view| size(view) <= MAX_CARD_BYTES)
}

fn size(view: &ToolView) -> usize {
    let len = |text: &Option<SmolStr>| text.as_ref().map_or(0, SmolStr::len);
    match view {
        ToolView::Generic(view) => view.title.len() + len(&view.body),
        ToolView::Terminal(view) => view.command.len() + len(&view.cwd) + len(&view.output),
        ToolView::Diff(view) => view.path.len() + len(&view.before) + view.after.len(),
    }
}

impl Tools {
    /// The card of a call as it stands in the log, if the tool that a scope sees now has one for it.
    #[must_use]
    pub fn present_call(&self, scope: Option<ScopeKey>, name: &str, arguments: &str) -> Option<ToolView> {
        let view = self.find(scope, name)?.present_call(&materialise(arguments))?;
        (size(&view) <= MAX_CARD_BYTES).then_some(view)
    }

    /// The card of a result as it stands in the log, if the tool that a scope sees now has one for it.
    #[must_use]
    pub fn present_result(
        &self,
        scope: Option<ScopeKey>,
        (name, arguments): (&str, &str),
        content: &Content,
        meta: Option<&Json>,
    ) -> Option<ToolView> {
        let tool = self.find(scope, name)?;
        let view = tool.present_result(&materialise(arguments), content, meta)?;
        (size(&view) <= MAX_CARD_BYTES).then_some(view)
    }
}
