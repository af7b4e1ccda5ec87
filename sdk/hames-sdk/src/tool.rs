//! What is a tool? A type that is its arguments, and what is done with them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::bindings::imports::hames::plugin::call as host;
use crate::bindings::imports::hames::plugin::content::{ContentBlock, Context};
use crate::bindings::imports::hames::plugin::types::Fault;
use crate::bindings::imports::hames::plugin::wait;
use crate::bindings::tools::exports::hames::plugin::tools as wit;
use crate::error::Error;
use crate::output::Answer;

pub use crate::bindings::imports::hames::plugin::invocation::{ToolCall, ToolOutcome};
pub use wit::{DiffView, ExecutionClass, ExecutionMode, GenericView, TerminalView, ToolView};

/// A tool. The type is the arguments of one call: the schema the model sees follows from it, doc comments included,
/// and the host checks arguments against it before the tool runs.
///
/// Every call runs in an instance of its own: nothing in memory outlives it.
pub trait Tool: DeserializeOwned + JsonSchema {
    /// Its name, if it isn't the type's in snake case.
    const NAME: Option<&'static str> = None;

    /// What it is for, if it isn't the type's doc comment.
    const DESCRIPTION: Option<&'static str> = None;

    /// Whether calls may run beside others.
    const EXECUTION: ExecutionClass = ExecutionClass::Exclusive;

    /// How long a call may take, in milliseconds.
    const TIMEOUT_MS: Option<u64> = None;

    /// Does the work.
    ///
    /// # Errors
    /// What the model is told in place of a result.
    fn run(self, call: &Call) -> Answer;

    /// Whether this one call may run beside others; asked for tools of class `Classified`.
    ///
    /// # Errors
    /// Counts as exclusive.
    fn classify(&self) -> Result<ExecutionMode, Error> {
        Ok(ExecutionMode::Exclusive)
    }

    /// How a call is shown to a person.
    fn view(&self) -> Option<ToolView> {
        None
    }

    /// How its result is shown.
    fn view_result(&self, content: &[ContentBlock], meta: Option<&Value>) -> Option<ToolView> {
        let _ = (content, meta);
        None
    }
}

/// The call in progress.
#[derive(Debug)]
pub struct Call(ToolCall);

impl Call {
    /// The model's id of the call.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.call_id
    }

    /// The agent that calls; none for a call without a model.
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        self.0.agent.as_deref()
    }

    /// Whether the call should end.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        host::aborted()
    }

    /// Waits.
    ///
    /// # Errors
    /// [`Error::Aborted`] if the call should end before the time is over; `?` hands that on as it should be.
    pub fn sleep(&self, ms: u64) -> Result<(), Error> {
        match wait::sleep(ms) {
            wait::WaitEnd::Elapsed => Ok(()),
            wait::WaitEnd::Aborted => Err(Error::Aborted),
        }
    }

    /// Hands over a context that follows the result, whether the call succeeds or not.
    ///
    /// # Errors
    /// If it is over a limit or not allowed.
    pub fn defer(&self, context: Context) -> Result<(), Error> {
        host::defer(&context).map_err(told)
    }

    /// Tells whoever watches how far the call is, in one line.
    ///
    /// # Errors
    /// If it is over a limit.
    pub fn progress(&self, line: &str) -> Result<(), Error> {
        host::progress(line).map_err(told)
    }
}

fn told(error: host::CallError) -> Error {
    match error {
        host::CallError::Limit(what) => Error::new(format!("over the limit: {what}")),
        host::CallError::Refused(why) => Error::new(why),
        host::CallError::NoCall => Error::new("no call is in progress"),
    }
}

/// The name of a tool.
#[must_use]
pub fn name<T: Tool>() -> String {
    T::NAME.map_or_else(|| snake(&T::schema_name()), str::to_owned)
}

fn snake(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 4);
    for (at, letter) in name.chars().enumerate() {
        if letter.is_ascii_uppercase() && at > 0 {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

/// The definition of a tool.
#[must_use]
pub fn define<T: Tool>() -> wit::ToolDefinition {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = Value::from(settings.into_generator().into_root_schema_for::<T>());
    let described = schema.as_object_mut().and_then(|schema| {
        schema.remove("title");
        schema.remove("description")
    });
    let description = match (T::DESCRIPTION, described) {
        (Some(text), _) => text.to_owned(),
        (None, Some(Value::String(text))) => text,
        (None, _) => String::new(),
    };
    wit::ToolDefinition {
        name: name::<T>(),
        description,
        parameters: schema.to_string(),
        arguments: wit::ArgumentCheck::Host,
        timeout_ms: T::TIMEOUT_MS,
        execution: T::EXECUTION,
        extra: None,
    }
}

/// Runs a call of a tool.
///
/// # Errors
/// The tool's.
pub fn execute<T: Tool>(call: ToolCall) -> Result<wit::ToolOutput, wit::ToolError> {
    let arguments = arguments::<T>(&call.arguments)?;
    let output = arguments.run(&Call(call))?;
    Ok(output.into())
}

/// Classifies a call of a tool.
///
/// # Errors
/// The tool's.
pub fn classify<T: Tool>(arguments_text: &str) -> Result<ExecutionMode, Fault> {
    arguments::<T>(arguments_text)
        .and_then(|arguments| arguments.classify())
        .map_err(Fault::from)
}

/// How a call of a tool is shown.
#[must_use]
pub fn view<T: Tool>(arguments_text: &str) -> Option<ToolView> {
    arguments::<T>(arguments_text).ok()?.view()
}

/// How a result of a tool is shown.
#[must_use]
pub fn view_result<T: Tool>(
    arguments_text: &str,
    content: &[ContentBlock],
    meta: Option<&str>,
) -> Option<ToolView> {
    let meta = meta.and_then(|meta| serde_json::from_str(meta).ok());
    arguments::<T>(arguments_text)
        .ok()?
        .view_result(content, meta.as_ref())
}

impl ToolCall {
    /// The arguments as a type of one's own.
    ///
    /// # Errors
    /// If they don't fit it.
    pub fn read_arguments<T: DeserializeOwned>(&self) -> Result<T, Error> {
        Ok(serde_json::from_str(&self.arguments)?)
    }
}

fn arguments<T: Tool>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| {
        Error::coded(
            "ToolArgsError",
            "INVALID_ARGS",
            format!("invalid arguments: {error}"),
        )
    })
}
