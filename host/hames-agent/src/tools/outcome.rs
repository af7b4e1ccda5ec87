//! The outcomes that hames itself words, and the check every outcome passes.

use hames_types::content::{Content, ContentBlock};
use hames_types::decision::HookContext;
use hames_types::event::NamedCode;
use hames_types::fault::Fault;
use hames_types::json::{NotLossless, check_lossless, to_json};
use hames_types::tool::ToolOutcome;

/// Class of the error of a call that was interrupted.
const ABORT_ERROR: &str = "AbortError";

/// A call whose body ran when its turn was interrupted.
#[must_use]
pub fn aborted() -> ToolOutcome {
    let code = NamedCode::new(ABORT_ERROR, "ABORTED");
    ToolOutcome::error("tool call aborted", Some(code))
}

/// A call whose body never ran because its turn was interrupted.
#[must_use]
pub fn aborted_before_dispatch() -> ToolOutcome {
    let code = NamedCode::new(ABORT_ERROR, "ABORTED_BEFORE_DISPATCH");
    ToolOutcome::error("tool call aborted before dispatch", Some(code))
}

/// A call that failed with a fault. Its name and code are shown only if the fault's origin vouches for them; the
/// contexts it carries survive.
#[must_use]
pub fn failed(fault: &Fault) -> ToolOutcome {
    let code = fault
        .trusted_code()
        .map(|code| NamedCode::new(fault.name(), code));
    ToolOutcome {
        contexts: fault.contexts().to_vec(),
        ..ToolOutcome::error(fault.message(), code)
    }
}

/// A call of a tool that isn't there, or isn't seen.
pub(super) fn unknown_tool(name: &str) -> ToolOutcome {
    let code = NamedCode::new("ToolNotFoundError", "UNKNOWN_TOOL");
    ToolOutcome::error(&format!("unknown tool \"{name}\""), Some(code))
}

/// A call somebody refused. A refusal isn't a failure: it has no code (R-TOOL).
pub(super) fn denied(reason: &str) -> ToolOutcome {
    ToolOutcome::error(reason, None)
}

/// A call whose arguments can't be kept in a log.
pub(super) fn bad_arguments(problem: &NotLossless) -> ToolOutcome {
    ToolOutcome::error(&format!("the arguments are {problem}"), None)
}

/// The outcome, or an error in its place if it can't be kept in a log.
pub(super) fn kept(outcome: ToolOutcome) -> ToolOutcome {
    match check(&outcome) {
        Ok(()) => outcome,
        Err(problem) => ToolOutcome::error(&format!("the tool's result is {problem}"), None),
    }
}

fn check(outcome: &ToolOutcome) -> Result<(), NotLossless> {
    check_content(&outcome.content, "content")?;
    if let Some(meta) = &outcome.meta {
        check_lossless(meta, "meta")?;
    }
    outcome.contexts.iter().try_for_each(check_context)
}

fn check_context(context: &HookContext) -> Result<(), NotLossless> {
    check_content(&context.content, "context")?;
    match &context.meta {
        Some(meta) => check_lossless(meta, "context.meta"),
        None => Ok(()),
    }
}

fn check_content(content: &Content, root: &str) -> Result<(), NotLossless> {
    content
        .iter()
        .filter(|block| !is_plain(block))
        .try_for_each(|block| match to_json(block) {
            Ok(value) => check_lossless(&value, root),
            // Encoding a block into a value has no way to fail; if it had one, the append would report it.
            Err(_) => Ok(()),
        })
}

/// Whether a block can't contain a number: text needs no walk.
fn is_plain(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Text(text) => text.extra.is_empty(),
        ContentBlock::Reasoning(text) => text.extra.is_empty(),
        ContentBlock::ToolCall(_) | ContentBlock::ToolResult(_) | ContentBlock::Other(_) => false,
    }
}
