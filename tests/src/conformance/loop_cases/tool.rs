//! Scripted tools and guards (part 4 of the format).

use std::sync::Arc;

use async_trait::async_trait;
use hames_agent::schema::{ArgSpec, SpecTool};
use hames_types::content::Content;
use hames_types::decision::HookContext;
use hames_types::fault::Fault;
use hames_types::json::{Extra, FromJson, Json, JsonMap};
use hames_types::port::tool::{Guard, Tool, ToolRun};
use hames_types::request::ToolSchema;
use hames_types::tool::{ExecutionMode, ToolCall, ToolDefinition, ToolOutput};
use serde_json::json;
use smol_str::SmolStr;

use super::world::World;
use super::{fault, ops};

/// A tool of a script.
pub(super) struct ScriptTool {
    world: Arc<World>,
    definition: ToolDefinition,
    script: Json,
}

/// The tool of a script, behind its typed arguments if it declares some.
pub(super) fn build(world: Arc<World>, script: &Json) -> anyhow::Result<Arc<dyn Tool>> {
    if let Some(guests) = world.guests() {
        return guests.find(script);
    }
    let tool = ScriptTool::new(world, script)?;
    Ok(match script.get("spec") {
        Some(spec) => Arc::new(SpecTool::new(ArgSpec::parse(spec)?, tool)),
        None => Arc::new(tool),
    })
}

impl ScriptTool {
    fn new(world: Arc<World>, script: &Json) -> anyhow::Result<Self> {
        let text = |key: &str| script.get(key).and_then(Json::as_str);
        let name = text("name").unwrap_or_default();
        let parameters = match script.get("parameters") {
            Some(parameters) => parameters.clone(),
            None => json!({ "type": "object", "properties": {} }),
        };
        let schema = ToolSchema {
            name: name.into(),
            description: text("description").unwrap_or(name).into(),
            parameters: Arc::new(JsonMap::from_json(parameters)?),
            extra: Extra::NONE,
        };
        let definition = ToolDefinition {
            schema,
            timeout_ms: None,
        };
        Ok(Self {
            world,
            definition,
            script: script.clone(),
        })
    }

    /// The steps of this invocation: its own list, or the tool's body.
    fn steps(&self) -> Vec<Json> {
        let at = self.world.count(&format!("tool {}", self.definition.schema.name));
        let own = self
            .script
            .get("calls")
            .and_then(|calls| calls.get(at))
            .filter(|steps| !steps.is_null());
        let steps = own.or(self.script.get("body"));
        steps.and_then(Json::as_array).cloned().unwrap_or_default()
    }
}

#[async_trait]
impl Tool for ScriptTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn classify(&self, arguments: &Json) -> Result<ExecutionMode, Fault> {
        let parallel = |yes| {
            if yes {
                ExecutionMode::Parallel
            } else {
                ExecutionMode::Exclusive
            }
        };
        match self.script.get("concurrencySafe") {
            Some(Json::Bool(safe)) => Ok(parallel(*safe)),
            Some(Json::String(_)) => Err(Fault::foreign("the classifier failed")),
            Some(rule) => {
                let argument = rule
                    .get("whenArg")
                    .and_then(Json::as_str)
                    .and_then(|key| arguments.get(key));
                Ok(parallel(argument.is_some() && argument == rule.get("equals")))
            }
            None => Ok(ExecutionMode::Exclusive),
        }
    }

    async fn execute(&self, call: &ToolCall, run: &ToolRun) -> Result<ToolOutput, Fault> {
        let _running = self.world.body();
        self.world.idle().await;
        for step in self.steps() {
            if let Some(context) = step.get("defer") {
                run.defer(read::<HookContext>(context)?);
            } else if let Some(error) = step.get("throw") {
                return Err(fault::thrown(error));
            } else if let Some(output) = step.get("return") {
                return returned(output);
            } else if let Some(key) = step.get("echoArg").and_then(Json::as_str) {
                return Ok(ToolOutput::text(echo(call.arguments.get(key))));
            } else if step.get("untilAbort").is_some() {
                run.signal.raised().await;
            } else if step.get("abortable").and_then(Json::as_bool) == Some(true) {
                if run
                    .signal
                    .unless_raised(ops::pause(&self.world, &step))
                    .await
                    .is_none()
                {
                    return Err(Fault::foreign("aborted"));
                }
            } else if self.world.is_interrupted() && step.get("gate").is_some() {
                // What would open the gate may never run any more; a body that minds its signal doesn't wait for it.
                drop(run.signal.unless_raised(ops::pause(&self.world, &step)).await);
            } else {
                ops::pause(&self.world, &step).await?;
            }
        }
        Ok(ToolOutput::text(format!("{} ok", self.definition.schema.name)))
    }
}

fn returned(output: &Json) -> Result<ToolOutput, Fault> {
    if output.is_array() {
        return Ok(ToolOutput {
            content: read::<Content>(output)?,
            meta: None,
        });
    }
    let content = output
        .get("content")
        .map_or_else(|| Ok(Content::empty()), read::<Content>)?;
    Ok(ToolOutput {
        content,
        meta: output.get("meta").cloned(),
    })
}

/// An argument as a string, the way the recording engine turns values into strings.
fn echo(value: Option<&Json>) -> String {
    match value {
        None => "undefined".to_owned(),
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

pub(super) fn read<T: FromJson>(value: &Json) -> Result<T, Fault> {
    T::from_json(value.clone()).map_err(|error| Fault::plain(error.to_string()))
}

/// Denies one tool for good.
pub(super) struct ScriptGuard {
    pub(super) tool: SmolStr,
    pub(super) reason: SmolStr,
}

#[async_trait]
impl Guard for ScriptGuard {
    async fn check(&self, call: &ToolCall) -> Result<Option<SmolStr>, Fault> {
        Ok((call.name == self.tool).then(|| self.reason.clone()))
    }
}
