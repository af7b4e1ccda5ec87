//! How does a tool get another name? What calls it by that is told apart; the tool itself hears its own.

use std::sync::Arc;

use async_trait::async_trait;
use hames_types::content::Content;
use hames_types::fault::Fault;
use hames_types::json::Json;
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::tool::{ExecutionMode, ToolCall, ToolDefinition, ToolOutput, ToolView};

/// A tool under another name.
pub(super) struct Prefixed {
    inner: Arc<dyn Tool>,
    definition: ToolDefinition,
}

impl Prefixed {
    /// The tool with `prefix` before its name; itself if there is none.
    pub(super) fn around(inner: Arc<dyn Tool>, prefix: &str) -> Arc<dyn Tool> {
        if prefix.is_empty() {
            return inner;
        }
        let mut definition = inner.definition().clone();
        definition.schema.name = format!("{prefix}{}", definition.schema.name).into();
        Arc::new(Self { inner, definition })
    }
}

#[async_trait]
impl Tool for Prefixed {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn classify(&self, arguments: &Json) -> Result<ExecutionMode, Fault> {
        self.inner.classify(arguments).await
    }

    async fn execute(&self, call: &ToolCall, run: &ToolRun) -> Result<ToolOutput, Fault> {
        let mut call = call.clone();
        call.name = self.inner.definition().schema.name.clone();
        self.inner.execute(&call, run).await
    }

    fn present_call(&self, arguments: &Json) -> Option<ToolView> {
        self.inner.present_call(arguments)
    }

    fn present_result(&self, arguments: &Json, content: &Content, meta: Option<&Json>) -> Option<ToolView> {
        self.inner.present_result(arguments, content, meta)
    }
}
