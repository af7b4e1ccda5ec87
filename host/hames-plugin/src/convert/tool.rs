//! How do tools, calls, results and views cross?

use std::sync::Arc;

use hames_types::content::Content;
use hames_types::decision::HookContext;
use hames_types::fault::Fault;
use hames_types::json::{Extra, FromJson, Json};
use hames_types::request::ToolSchema;
use hames_types::tool::{DiffView, GenericView, TerminalView, ToolDefinition, ToolOutput, ToolView};
use serde_json::Number;

use super::content::{admit_blocks, admit_context};
use super::fault::admit_fault;
use super::json::{object, parse};
use super::{Admit, Refused};
use crate::bindings::exports::hames::plugin::tools as wit;
use crate::limits::{MAX_DESCRIPTION, MAX_PARAMETERS};

/// A tool as the host keeps it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Described {
    pub(crate) definition: ToolDefinition,
    pub(crate) class: Class,
    pub(crate) host_checks: bool,
}

/// Whether calls may run beside others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Exclusive,
    Parallel,
    Classified,
}

/// A guest's tool.
pub(crate) fn admit_definition(
    admit: &mut Admit<'_>,
    tool: wit::ToolDefinition,
) -> Result<Described, Refused> {
    if !is_tool_name(&tool.name) {
        return Err(Refused::at("name", "must be 1 to 64 of `a-z A-Z 0-9 _ -`"));
    }
    if tool.description.len() > MAX_DESCRIPTION {
        return Err(Refused::at(
            "description",
            format!("has more than {MAX_DESCRIPTION} bytes"),
        ));
    }
    if tool.parameters.len() > MAX_PARAMETERS {
        return Err(Refused::at(
            "parameters",
            format!("have more than {MAX_PARAMETERS} bytes"),
        ));
    }
    if tool.timeout_ms == Some(0) {
        return Err(Refused::at("timeout-ms", "must be above 0"));
    }
    let parameters = object(admit, &tool.parameters).map_err(|fault| fault.inside("parameters"))?;
    Ok(Described {
        definition: ToolDefinition {
            schema: ToolSchema {
                name: tool.name.into(),
                description: tool.description.into(),
                parameters: Arc::new(parameters),
                extra: Extra::NONE,
            },
            timeout_ms: tool.timeout_ms.map(Number::from),
        },
        class: match tool.execution {
            wit::ExecutionClass::Exclusive => Class::Exclusive,
            wit::ExecutionClass::Parallel => Class::Parallel,
            wit::ExecutionClass::Classified => Class::Classified,
        },
        host_checks: match tool.arguments {
            wit::ArgumentCheck::Host => true,
            wit::ArgumentCheck::Guest => false,
        },
    })
}

fn is_tool_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// A guest's result, and the contexts that go with it.
pub(crate) fn admit_output(
    admit: &mut Admit<'_>,
    output: wit::ToolOutput,
) -> Result<(ToolOutput, Vec<HookContext>), Refused> {
    let content: Content = admit_blocks(admit, output.content).map_err(|fault| fault.inside("content"))?;
    let meta = output
        .meta
        .map(|meta| parse(admit, &meta).map_err(|fault| fault.inside("meta")))
        .transpose()?;
    let contexts = output
        .contexts
        .into_iter()
        .enumerate()
        .map(|(at, context)| {
            admit_context(admit, context).map_err(|fault| fault.inside(&format!("contexts[{at}]")))
        })
        .collect::<Result<_, _>>()?;
    Ok((ToolOutput { content, meta }, contexts))
}

/// A guest's error.
pub(crate) fn admit_error(admit: &mut Admit<'_>, error: wit::ToolError) -> Result<Fault, Refused> {
    match error {
        wit::ToolError::Failed(fault) => admit_fault(admit, fault).map_err(|refused| refused.inside("error")),
        wit::ToolError::Aborted => Ok(Fault::host("AbortError", "ABORTED", "tool call aborted")),
        wit::ToolError::Other(other) => {
            admit.charge(other.kind.len() + other.fields.len())?;
            let kind = crate::manifest::shown(&other.kind);
            Ok(Fault::foreign(format!("the tool failed with `{kind}`")))
        }
    }
}

/// A guest's view; a view of a kind we don't know is none.
pub(crate) fn admit_view(admit: &mut Admit<'_>, view: wit::ToolView) -> Result<Option<ToolView>, Refused> {
    Ok(Some(match view {
        wit::ToolView::Generic(view) => {
            admit.charge(view.title.len() + view.body.as_ref().map_or(0, String::len))?;
            ToolView::Generic(GenericView {
                title: view.title.into(),
                body: view.body.map(Into::into),
                extra: Extra::NONE,
            })
        }
        wit::ToolView::Terminal(view) => {
            admit.charge(view.command.len() + view.output.as_ref().map_or(0, String::len))?;
            let exit_code = view
                .exit_code
                .map(|code| admit_number(admit, &code))
                .transpose()?;
            ToolView::Terminal(TerminalView {
                command: view.command.into(),
                cwd: view.cwd.map(Into::into),
                output: view.output.map(Into::into),
                exit_code,
                extra: Extra::NONE,
            })
        }
        wit::ToolView::Diff(view) => {
            admit.charge(view.path.len() + view.after.len() + view.before.as_ref().map_or(0, String::len))?;
            ToolView::Diff(DiffView {
                path: view.path.into(),
                before: view.before.map(Into::into),
                after: view.after.into(),
                extra: Extra::NONE,
            })
        }
        wit::ToolView::Other(_) => return Ok(None),
    }))
}

fn admit_number(admit: &mut Admit<'_>, text: &str) -> Result<Number, Refused> {
    let value: Json = parse(admit, text)?;
    Number::from_json(value).map_err(|fault| Refused::at("exit-code", fault.to_string()))
}
