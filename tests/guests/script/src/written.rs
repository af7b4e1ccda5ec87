//! How do values of the contract become a script's JSON values? The way back from [`crate::values`].

use hames_sdk::bindings::imports::hames::plugin::content as wit;
use hames_sdk::bindings::imports::hames::plugin::types::Opaque;
use hames_sdk::serde_json::{self, Map, Value, json};

/// An object of the fields that are there, and of unknown ones behind them.
#[derive(Default)]
pub struct Fields(Map<String, Value>);

impl Fields {
    /// With a field.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// With a field if it is there.
    #[must_use]
    pub fn and(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// With the fields of a JSON object.
    #[must_use]
    pub fn extra(mut self, object: Option<&String>) -> Self {
        if let Some(Value::Object(more)) = object.map(|text| parsed(text)) {
            self.0.extend(more);
        }
        self
    }

    /// The object.
    #[must_use]
    pub fn object(self) -> Value {
        Value::Object(self.0)
    }
}

/// JSON as a value.
#[must_use]
pub fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

fn opaque(value: &Opaque, tag: &str) -> Value {
    Fields::default()
        .with(tag, value.kind.clone())
        .extra(Some(&value.fields))
        .object()
}

pub fn blocks(blocks: &[wit::ContentBlock]) -> Value {
    blocks.iter().map(block).collect()
}

fn block(block: &wit::ContentBlock) -> Value {
    match block {
        wit::ContentBlock::Text(block) => text(block),
        wit::ContentBlock::Reasoning(block) => reasoning(block),
        wit::ContentBlock::ToolCall(call) => tool_call(call),
        wit::ContentBlock::ToolResult(result) => Fields::default()
            .with("type", "tool-result")
            .with("toolCallId", result.tool_call_id.clone())
            .with(
                "content",
                result.content.iter().map(result_block).collect::<Value>(),
            )
            .and("isError", result.is_error)
            .extra(result.extra.as_ref())
            .object(),
        wit::ContentBlock::Other(other) => opaque(other, "type"),
    }
}

fn result_block(block: &wit::ResultBlock) -> Value {
    match block {
        wit::ResultBlock::Text(block) => text(block),
        wit::ResultBlock::Reasoning(block) => reasoning(block),
        wit::ResultBlock::ToolCall(call) => tool_call(call),
        wit::ResultBlock::Other(other) => opaque(other, "type"),
    }
}

fn text(block: &wit::TextBlock) -> Value {
    let fields = Fields::default()
        .with("type", "text")
        .with("text", block.text.clone());
    fields.extra(block.extra.as_ref()).object()
}

fn reasoning(block: &wit::ReasoningBlock) -> Value {
    let fields = Fields::default()
        .with("type", "reasoning")
        .with("text", block.text.clone());
    fields.extra(block.extra.as_ref()).object()
}

fn tool_call(call: &wit::ToolCallBlock) -> Value {
    Fields::default()
        .with("type", "tool-call")
        .with("id", call.id.clone())
        .with("name", call.name.clone())
        .with("arguments", call.arguments.clone())
        .extra(call.extra.as_ref())
        .object()
}

pub fn source(source: &wit::MessageSource) -> Value {
    match source {
        wit::MessageSource::User(plain) => Fields::default()
            .with("kind", "user")
            .extra(plain.extra.as_ref())
            .object(),
        wit::MessageSource::Plugin(from) => Fields::default()
            .with("kind", "plugin")
            .with("plugin", from.plugin.clone())
            .extra(from.extra.as_ref())
            .object(),
        wit::MessageSource::Other(other) => opaque(other, "kind"),
    }
}

/// The tag of a source.
#[must_use]
pub fn source_kind(source: &wit::MessageSource) -> &str {
    match source {
        wit::MessageSource::User(_) => "user",
        wit::MessageSource::Plugin(_) => "plugin",
        wit::MessageSource::Other(other) => &other.kind,
    }
}

fn context(context: &wit::Context) -> Value {
    Fields::default()
        .with("content", blocks(&context.content))
        .with("source", source(&context.source))
        .and(
            "placement",
            context.placement.map(|placement| match placement {
                wit::ContextPlacement::Separate => "separate",
                wit::ContextPlacement::PromptPrefix => "prompt-prefix",
            }),
        )
        .and("meta", context.meta.as_deref().map(parsed))
        .extra(context.extra.as_ref())
        .object()
}

pub fn contexts(contexts: &[wit::Context]) -> Value {
    contexts.iter().map(context).collect()
}

pub fn message(message: &wit::Message) -> Value {
    let role = match message.role {
        wit::Role::System => "system",
        wit::Role::User => "user",
        wit::Role::Assistant => "assistant",
    };
    let provenance = message.provenance.as_ref().map(|route| {
        Fields::default()
            .with("provider", route.provider.clone())
            .with("model", route.model.clone())
            .and("replayState", route.replay_state.as_deref().map(parsed))
            .extra(route.extra.as_ref())
            .object()
    });
    Fields(Map::new())
        .with("role", json!(role))
        .with("content", blocks(&message.content))
        .and("provenance", provenance)
        .extra(message.extra.as_ref())
        .object()
}
