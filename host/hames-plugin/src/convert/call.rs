//! How do calls and their outcomes cross?

use hames_types::event::NamedCode;
use hames_types::json::Json;
use hames_types::tool::{ToolCall, ToolOutcome};

use super::content::{admit_blocks, admit_contexts, blocks, contexts};
use super::events::For;
use super::json::{extra, parse, record, text};
use super::{Admit, Refused};
use crate::bindings::hames::plugin::events as wit_events;
use crate::bindings::hames::plugin::invocation as wit;

/// A call.
pub(crate) fn call(call: &ToolCall) -> wasmtime::Result<wit::ToolCall> {
    Ok(wit::ToolCall {
        call_id: call.call_id.to_string(),
        name: call.name.to_string(),
        arguments: text(&*call.arguments)?,
        agent: call.agent.as_ref().map(ToString::to_string),
        at: call.at.map(|(turn, step)| (turn.get(), step.get())),
        parent: call.parent.as_ref().map(ToString::to_string),
        extra: None,
    })
}

/// An outcome; the tool's private state is shown to its plugin alone.
pub(crate) fn outcome(
    outcome: &ToolOutcome,
    viewer: For<'_>,
    owns_tool: bool,
) -> wasmtime::Result<wit::ToolOutcome> {
    Ok(wit::ToolOutcome {
        content: blocks(&outcome.content)?,
        is_error: outcome.is_error,
        error: outcome.error.as_ref().map(named_code).transpose()?,
        contexts: contexts(&outcome.contexts, viewer)?,
        meta: outcome
            .meta
            .as_ref()
            .filter(|_| owns_tool)
            .map(text)
            .transpose()?,
    })
}

/// An error's name and code.
pub(crate) fn named_code(error: &NamedCode) -> wasmtime::Result<wit_events::NamedCode> {
    Ok(wit_events::NamedCode {
        name: error.name.to_string(),
        code: error.code.to_string(),
        extra: extra(&error.extra)?,
    })
}

/// A guest's outcome. `rest` is what came back from inside: what the guest leaves absent stays as it was there.
pub(crate) fn admit_outcome(
    admit: &mut Admit<'_>,
    outcome: wit::ToolOutcome,
    rest: Option<&ToolOutcome>,
) -> Result<ToolOutcome, Refused> {
    let content = admit_blocks(admit, outcome.content).map_err(|refused| refused.inside("content"))?;
    let contexts = admit_contexts(admit, outcome.contexts).map_err(|refused| refused.inside("contexts"))?;
    let error = outcome
        .error
        .map(|error| {
            admit.charge(error.name.len() + error.code.len())?;
            let known = [
                ("name", Some(Json::from(error.name))),
                ("code", Some(Json::from(error.code))),
            ];
            record::<NamedCode>(admit, known, error.extra.as_deref())
        })
        .transpose()
        .map_err(|refused| refused.inside("error"))?;
    let meta = match outcome.meta {
        Some(meta) => Some(parse(admit, &meta).map_err(|refused| refused.inside("meta"))?),
        None => rest.and_then(|rest| rest.meta.clone()),
    };
    Ok(ToolOutcome {
        content,
        is_error: outcome.is_error,
        error,
        contexts,
        // An error has none.
        meta: meta.filter(|_| !outcome.is_error),
    })
}
