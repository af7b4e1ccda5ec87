//! An interpreter of scripted tools: the `tools` part of a recorded case, given as configuration, as one plugin.
//!
//! Every step that can be said through the contract is; any other fails the call with the code `NOT_IN_CONTRACT`.

mod schema;
mod steps;

use hames_sdk::bindings::imports::hames::plugin::config;
use hames_sdk::bindings::imports::hames::plugin::content::ContentBlock;
use hames_sdk::bindings::imports::hames::plugin::types::Fault;
use hames_sdk::bindings::tools::exports::hames::plugin::tools as wit;
use hames_sdk::export_plugin;
use hames_sdk::kv;
use hames_sdk::serde_json::{self, Value, json};
use script::values;

struct ScriptTools;

fn tools(config: &str) -> Vec<Value> {
    let config: Value = serde_json::from_str(config).unwrap_or(Value::Null);
    config["tools"].as_array().cloned().unwrap_or_default()
}

fn find(name: &str) -> Option<Value> {
    tools(&config::get())
        .into_iter()
        .find(|tool| tool["name"] == name)
}

impl wit::Guest for ScriptTools {
    fn list(config: String) -> Result<Vec<wit::ToolDefinition>, Fault> {
        Ok(tools(&config).iter().map(define).collect())
    }

    fn classify(name: String, arguments: String) -> Result<wit::ExecutionMode, Fault> {
        let tool = find(&name).unwrap_or(Value::Null);
        let rule = &tool["concurrencySafe"];
        if rule == "throw" {
            return Err(values::fault(&json!({ "message": "the classifier throws" })));
        }
        let arguments: Value = serde_json::from_str(&arguments).unwrap_or(Value::Null);
        let key = rule["whenArg"].as_str().unwrap_or_default();
        let is_safe = arguments.get(key).is_some_and(|found| *found == rule["equals"]);
        Ok(if is_safe {
            wit::ExecutionMode::Parallel
        } else {
            wit::ExecutionMode::Exclusive
        })
    }

    fn execute(call: wit::ToolCall) -> Result<wit::ToolOutput, wit::ToolError> {
        let tool = find(&call.name).unwrap_or(Value::Null);
        let number = kv::increment(&format!("calls/{}", call.name), 1).map_err(wit::ToolError::from)? - 1;
        let scripted = usize::try_from(number).ok().and_then(|at| tool["calls"].get(at));
        let body = match scripted {
            Some(Value::Null) | None => &tool["body"],
            Some(steps) => steps,
        };
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
        steps::run(&call.name, body, &arguments)
    }

    fn present_call(_name: String, _arguments: String) -> Option<wit::ToolView> {
        None
    }

    fn present_result(
        _name: String,
        _arguments: String,
        _content: Vec<ContentBlock>,
        _meta: Option<String>,
    ) -> Option<wit::ToolView> {
        None
    }
}

fn define(tool: &Value) -> wit::ToolDefinition {
    let name = tool["name"].as_str().unwrap_or_default();
    let (parameters, arguments) = match (&tool["spec"], &tool["parameters"]) {
        (Value::Object(spec), _) => (schema::convert(spec), wit::ArgumentCheck::Host),
        (_, Value::Null) => (
            json!({ "type": "object", "properties": {} }),
            wit::ArgumentCheck::Guest,
        ),
        (_, parameters) => (parameters.clone(), wit::ArgumentCheck::Guest),
    };
    wit::ToolDefinition {
        name: name.to_owned(),
        description: tool["description"].as_str().unwrap_or(name).to_owned(),
        parameters: parameters.to_string(),
        arguments,
        timeout_ms: None,
        execution: match &tool["concurrencySafe"] {
            Value::Bool(true) => wit::ExecutionClass::Parallel,
            Value::Object(_) | Value::String(_) => wit::ExecutionClass::Classified,
            _ => wit::ExecutionClass::Exclusive,
        },
        extra: None,
    }
}

export_plugin!(raw ScriptTools; manifest = "../manifest.json");
