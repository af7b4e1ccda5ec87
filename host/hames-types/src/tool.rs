//! What a tool is, what one call of it is, and what came of it.

use std::sync::Arc;

use serde_json::Number;
use smol_str::SmolStr;

use crate::content::Content;
use crate::decision::HookContext;
use crate::event::NamedCode;
use crate::id::{CallId, SessionId, StepNo, TurnNo};
use crate::json::{Extra, Json, record};
use crate::open::closed_sum;
use crate::request::ToolSchema;

/// A registered tool: what the model sees and what only the host sees.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// Name, description, parameters: all that reaches the model (R-REG-5).
    pub schema: ToolSchema,
    /// How long one call may take, in milliseconds; above zero and finite (R-TMO-1).
    pub timeout_ms: Option<Number>,
}

/// Whether a call may run beside others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionMode {
    /// Alone: a barrier in its batch.
    Exclusive,
    /// Beside other parallel calls.
    Parallel,
}

/// One call on its way through the pipeline. Arguments are fixed: history, audit, display and execution agree.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The model's id of the call.
    pub call_id: CallId,
    /// The tool's name.
    pub name: SmolStr,
    /// The arguments: parsed JSON, or the raw text as a string where it wasn't JSON (R-SCHED-1).
    pub arguments: Arc<Json>,
    /// The agent that calls; none for a call without a model.
    pub agent: Option<SessionId>,
    /// The open turn and step, if an agent calls.
    pub at: Option<(TurnNo, StepNo)>,
    /// The call from inside which this one is made.
    pub parent: Option<CallId>,
}

/// What a tool's body returns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOutput {
    /// What the model sees.
    pub content: Content,
    /// The tool's private state, kept in the log.
    pub meta: Option<Json>,
}

impl ToolOutput {
    /// One text block.
    #[must_use]
    pub fn text(text: impl Into<SmolStr>) -> Self {
        Self {
            content: Content::text(text),
            meta: None,
        }
    }
}

/// What came of one call, after every stage.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutcome {
    /// What the model sees.
    pub content: Content,
    /// Whether it is an error.
    pub is_error: bool,
    /// The error's name and code, if hames or the tool's contract vouch for them.
    pub error: Option<NamedCode>,
    /// Contexts that follow the batch, in order.
    pub contexts: Vec<HookContext>,
    /// The tool's private state; only on success.
    pub meta: Option<Json>,
}

impl ToolOutcome {
    /// A success.
    #[must_use]
    pub fn success(output: ToolOutput, contexts: Vec<HookContext>) -> Self {
        Self {
            content: output.content,
            is_error: false,
            error: None,
            contexts,
            meta: output.meta,
        }
    }

    /// An error the model sees as `Error: <message>`.
    #[must_use]
    pub fn error(message: &str, error: Option<NamedCode>) -> Self {
        Self {
            content: Content::text(format!("Error: {message}")),
            is_error: true,
            error,
            contexts: Vec::new(),
            meta: None,
        }
    }
}

impl NamedCode {
    /// A name and a code.
    #[must_use]
    pub fn new(name: impl Into<SmolStr>, code: impl Into<SmolStr>) -> Self {
        Self {
            name: name.into(),
            code: code.into(),
            extra: Extra::NONE,
        }
    }
}

record! {
    /// A card with a title and text.
    GenericView {
        /// One line.
        title: SmolStr = "title",
        /// More, if there is more.
        body: Option<SmolStr> = "body",
    }
}

record! {
    /// A card that looks like a terminal.
    TerminalView {
        /// The command.
        command: SmolStr = "command",
        /// Where it ran.
        cwd: Option<SmolStr> = "cwd",
        /// What it printed.
        output: Option<SmolStr> = "output",
        /// How it ended.
        exit_code: Option<Number> = "exitCode",
    }
}

record! {
    /// A card that shows a change of one file.
    DiffView {
        /// The file.
        path: SmolStr = "path",
        /// Its text before; absent for a new file.
        before: Option<SmolStr> = "before",
        /// Its text after.
        after: SmolStr = "after",
    }
}

closed_sum! {
    /// How a call or its result is shown to a person (R-SCHEMA-5). Presenting never fails: no view means none.
    ToolView("tool view", "kind") {
        /// Title and text.
        Generic(GenericView) = "generic",
        /// A command and its output.
        Terminal(TerminalView) = "terminal",
        /// A file's change.
        Diff(DiffView) = "diff",
    }
}
