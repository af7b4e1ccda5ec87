//! What do a scripted tool's steps do?

use hames_sdk::bindings::imports::hames::plugin::{call, wait};
use hames_sdk::bindings::tools::exports::hames::plugin::tools::{ToolError, ToolOutput};
use hames_sdk::error::Error;
use hames_sdk::output::text_block;
use hames_sdk::serde_json::Value;
use script::ops::{Actor, pass};
use script::values;

/// Whoever calls is addressed, unless an op names somebody.
const ACTOR: Actor<'_> = Actor {
    what: "tools",
    agent: None,
    main: None,
    waits: true,
    append: None,
};

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
    if step["do"].is_array() {
        ACTOR.run(&step["do"])?;
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
