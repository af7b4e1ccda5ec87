//! Tools whose arguments are checked before their body sees them.

use std::marker::PhantomData;

use async_trait::async_trait;
use hames_types::content::Content;
use hames_types::fault::Fault;
use hames_types::json::{Extra, Json};
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::request::ToolSchema;
use hames_types::tool::{ExecutionMode, ToolCall, ToolDefinition, ToolOutput, ToolView};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use smol_str::SmolStr;

use super::{ArgSpec, SpecError, invalid_arguments};

/// A tool behind a spec: its model-facing parameters are the spec's, and arguments that don't fit are the model's to
/// correct (R-SCHEMA-3). Such arguments run alone (R-REG-8) and are never shown as a card (R-SCHEMA-5).
#[derive(Debug)]
pub struct SpecTool<T> {
    definition: ToolDefinition,
    spec: ArgSpec,
    inner: T,
}

impl<T: Tool> SpecTool<T> {
    /// Puts `spec` in front of `inner`, whose own parameters count no more.
    pub fn new(spec: ArgSpec, inner: T) -> Self {
        let mut definition = inner.definition().clone();
        definition.schema.parameters = spec.to_schema();
        Self {
            definition,
            spec,
            inner,
        }
    }
}

#[async_trait]
impl<T: Tool> Tool for SpecTool<T> {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn classify(&self, arguments: &Json) -> Result<ExecutionMode, Fault> {
        if self.spec.fits(arguments) {
            self.inner.classify(arguments).await
        } else {
            Ok(ExecutionMode::Exclusive)
        }
    }

    async fn execute(&self, call: &ToolCall, run: &ToolRun) -> Result<ToolOutput, Fault> {
        let violations = self.spec.violations(&call.arguments);
        if violations.is_empty() {
            self.inner.execute(call, run).await
        } else {
            Err(invalid_arguments(&violations))
        }
    }

    fn present_call(&self, arguments: &Json) -> Option<ToolView> {
        self.spec
            .fits(arguments)
            .then(|| self.inner.present_call(arguments))?
    }

    fn present_result(&self, arguments: &Json, content: &Content, meta: Option<&Json>) -> Option<ToolView> {
        self.spec
            .fits(arguments)
            .then(|| self.inner.present_result(arguments, content, meta))?
    }
}

/// What a tool with typed arguments does.
#[async_trait]
pub trait TypedBody: Send + Sync {
    /// Its arguments: a struct with named fields, whose documentation is what the model reads.
    type Args: JsonSchema + DeserializeOwned + Send + Sync;

    /// Whether this call may run beside others.
    fn mode(&self, args: &Self::Args) -> ExecutionMode {
        let _ = args;
        ExecutionMode::Exclusive
    }

    /// Runs one call, as [`Tool::execute`] does.
    ///
    /// # Errors
    /// As [`Tool::execute`].
    async fn execute(&self, args: Self::Args, call: &ToolCall, run: &ToolRun) -> Result<ToolOutput, Fault>;

    /// How a call is shown.
    fn present_call(&self, args: &Self::Args) -> Option<ToolView> {
        let _ = args;
        None
    }

    /// How a result is shown.
    fn present_result(&self, args: &Self::Args, content: &Content, meta: Option<&Json>) -> Option<ToolView> {
        let _ = (args, content, meta);
        None
    }
}

/// A tool whose spec comes from the type of its arguments.
pub struct TypedTool<B: TypedBody>(SpecTool<Decoding<B>>);

struct Decoding<B: TypedBody> {
    definition: ToolDefinition,
    body: B,
    args: PhantomData<fn() -> B::Args>,
}

impl<B: TypedBody> TypedTool<B> {
    /// A tool of that name.
    ///
    /// # Errors
    /// [`SpecError`] if the arguments' type needs what a spec can't say.
    pub fn new(
        name: impl Into<SmolStr>,
        description: impl Into<SmolStr>,
        body: B,
    ) -> Result<Self, SpecError> {
        let spec = ArgSpec::of::<B::Args>()?;
        let definition = ToolDefinition {
            schema: ToolSchema {
                name: name.into(),
                description: description.into(),
                parameters: spec.to_schema(),
                extra: Extra::NONE,
            },
            timeout_ms: None,
        };
        let inner = Decoding {
            definition,
            body,
            args: PhantomData,
        };
        Ok(Self(SpecTool::new(spec, inner)))
    }

    /// The same with a limit on the time one call may take, in milliseconds.
    #[must_use]
    pub fn with_timeout_ms(mut self, timeout_ms: u32) -> Self {
        self.0.definition.timeout_ms = Some(timeout_ms.into());
        self
    }
}

#[async_trait]
impl<B: TypedBody> Tool for TypedTool<B> {
    fn definition(&self) -> &ToolDefinition {
        self.0.definition()
    }

    async fn classify(&self, arguments: &Json) -> Result<ExecutionMode, Fault> {
        self.0.classify(arguments).await
    }

    async fn execute(&self, call: &ToolCall, run: &ToolRun) -> Result<ToolOutput, Fault> {
        self.0.execute(call, run).await
    }

    fn present_call(&self, arguments: &Json) -> Option<ToolView> {
        self.0.present_call(arguments)
    }

    fn present_result(&self, arguments: &Json, content: &Content, meta: Option<&Json>) -> Option<ToolView> {
        self.0.present_result(arguments, content, meta)
    }
}

impl<B: TypedBody> Decoding<B> {
    fn decode(arguments: &Json) -> Result<B::Args, serde_json::Error> {
        serde::Deserialize::deserialize(arguments)
    }
}

#[async_trait]
impl<B: TypedBody> Tool for Decoding<B> {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn classify(&self, arguments: &Json) -> Result<ExecutionMode, Fault> {
        // What the type refuses beyond its spec (a range, say) runs alone like all that is invalid.
        Ok(Self::decode(arguments).map_or(ExecutionMode::Exclusive, |args| self.body.mode(&args)))
    }

    async fn execute(&self, call: &ToolCall, run: &ToolRun) -> Result<ToolOutput, Fault> {
        match Self::decode(&call.arguments) {
            Ok(args) => self.body.execute(args, call, run).await,
            Err(problem) => Err(invalid_arguments(&[problem.to_string()])),
        }
    }

    fn present_call(&self, arguments: &Json) -> Option<ToolView> {
        self.body.present_call(&Self::decode(arguments).ok()?)
    }

    fn present_result(&self, arguments: &Json, content: &Content, meta: Option<&Json>) -> Option<ToolView> {
        self.body
            .present_result(&Self::decode(arguments).ok()?, content, meta)
    }
}
