//! What do a scripted tool's steps do?

use hames_sdk::bindings::imports::hames::plugin::{agent, call, kv, wait};
use hames_sdk::bindings::tools::exports::hames::plugin::tools::{ToolError, ToolOutput};
use hames_sdk::error::Error;
use hames_sdk::output::text_block;
use hames_sdk::serde_json::Value;

use crate::{not_in_contract, values};

/// Runs the steps in order; the first that ends the call decides.
pub fn run(name: &str, body: &Value, arguments: &Value) -> Result<ToolOutput, ToolError> {
    for step in body.as_array().into_iter().flatten() {
        if let Some(ended) = one(step, arguments)? {
            return ended;
        }
    }
    Ok(said(&format!("{name} ok")))
}

fn said(text: &str) -> ToolOutput {
    ToolOutput {
        content: vec![text_block(text)],
        meta: None,
        contexts: Vec::new(),
    }
}

/// One step; what it gives ends the call.
fn one(step: &Value, arguments: &Value) -> Result<Option<Result<ToolOutput, ToolError>>, ToolError> {
    if let Some(ops) = step["do"].as_array() {
        for op in ops {
            self::op(op)?;
        }
    } else if let Some(ms) = step["sleep"].as_u64() {
        if wait::sleep(ms) == wait::WaitEnd::Aborted && step["abortable"] == true {
            return Err(Error::new("aborted").into());
        }
    } else if let Some(gate) = step["gate"].as_str() {
        pass(gate)?;
    } else if step["untilAbort"] == true {
        wait::until_aborted();
    } else if step["defer"].is_object() {
        call::defer(&values::context(&step["defer"])).map_err(|error| Error::new(format!("{error:?}")))?;
    } else if step["throw"].is_object() {
        return Ok(Some(Err(ToolError::Failed(values::fault(&step["throw"])))));
    } else if let Some(key) = step["echoArg"].as_str() {
        return Ok(Some(Ok(said(&shown(arguments.get(key))))));
    } else if let Some(answer) = step.get("return") {
        return Ok(Some(Ok(output(answer))));
    }
    Ok(None)
}

fn output(answer: &Value) -> ToolOutput {
    let content = if answer.is_array() {
        answer
    } else {
        &answer["content"]
    };
    ToolOutput {
        content: values::blocks(content),
        meta: answer.get("meta").map(Value::to_string),
        contexts: Vec::new(),
    }
}

/// A value as the scripts' own language prints it.
fn shown(value: Option<&Value>) -> String {
    match value {
        None => "undefined".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Waits for a gate that another call opens.
fn pass(gate: &str) -> Result<(), ToolError> {
    let key = format!("gates/{gate}");
    while kv::get(&key)
        .map_err(|error| Error::new(format!("{error:?}")))?
        .is_none()
    {
        if wait::sleep(1) == wait::WaitEnd::Aborted {
            return Err(Error::new("aborted").into());
        }
    }
    Ok(())
}

/// An operation on the agent. What it fails with stops the call only if the script says so.
fn op(op: &Value) -> Result<(), ToolError> {
    if op.get("agent").is_some() || op.get("session").is_some() {
        return Err(not_in_contract("agent").into());
    }
    let content = || values::blocks(&op["content"]);
    let source = || Some(values::source(&op["source"]));
    let done = match op["op"].as_str().unwrap_or_default() {
        "send" => agent::send(&content(), source().as_ref(), &values::contexts(&op["contexts"])),
        "steer" => agent::steer(&content(), source().as_ref(), &values::contexts(&op["contexts"])),
        "inject" => {
            let meta = op.get("meta").map(Value::to_string);
            agent::inject(&content(), source().as_ref(), meta.as_deref())
        }
        "cancel" => agent::cancel(),
        "open" => {
            let gate = op["name"].as_str().or(op["gate"].as_str()).unwrap_or_default();
            kv::set(&format!("gates/{gate}"), b"open").map_err(|error| Error::new(format!("{error:?}")))?;
            Ok(())
        }
        "sleep" => {
            wait::sleep(op["ms"].as_u64().unwrap_or(0));
            Ok(())
        }
        other => return Err(not_in_contract(other).into()),
    };
    match done {
        Err(error) if op["propagate"] == true => Err(Error::new(format!("{error:?}")).into()),
        Err(_) | Ok(()) => Ok(()),
    }
}
