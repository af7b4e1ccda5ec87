//! How do blocks, messages, sources and contexts cross?

use std::sync::Arc;

use hames_types::content::{Content, ContentBlock, ToolCallBlock, ToolResultBlock};
use hames_types::decision::{ContextPlacement, HookContext};
use hames_types::id::CallId;
use hames_types::json::{Extra, FromJson, Json, to_json};
use hames_types::kinds::Sum;
use hames_types::message::{Message, MessageSource, Plain, Provenance, Role};
use hames_types::open::{Opaque, OpenSum};

use super::events::For;
use super::json::{extra, object, parse, record, text};
use super::{Admit, Refused};
use crate::bindings::hames::plugin::content as wit;
use crate::bindings::hames::plugin::types as wit_types;

/// Bytes a value costs on top of its texts, so that many small ones count.
const OVERHEAD: usize = 32;

pub(crate) fn plain(plain: &Plain) -> wasmtime::Result<wit_types::Plain> {
    Ok(wit_types::Plain {
        extra: extra(&plain.extra)?,
    })
}

pub(crate) fn opaque<S: OpenSum>(opaque: &Opaque<S>) -> wasmtime::Result<wit_types::Opaque> {
    Ok(wit_types::Opaque {
        kind: opaque.kind().to_owned(),
        fields: text(opaque.fields())?,
    })
}

pub(crate) fn blocks(content: &[ContentBlock]) -> wasmtime::Result<Vec<wit::ContentBlock>> {
    content.iter().map(block).collect()
}

pub(crate) fn block(block: &ContentBlock) -> wasmtime::Result<wit::ContentBlock> {
    Ok(match block {
        ContentBlock::Text(block) => wit::ContentBlock::Text(wit::TextBlock {
            text: block.text.to_string(),
            extra: extra(&block.extra)?,
        }),
        ContentBlock::Reasoning(block) => wit::ContentBlock::Reasoning(wit::ReasoningBlock {
            text: block.text.to_string(),
            extra: extra(&block.extra)?,
        }),
        ContentBlock::ToolCall(block) => wit::ContentBlock::ToolCall(tool_call(block)?),
        ContentBlock::ToolResult(block) => wit::ContentBlock::ToolResult(wit::ToolResultBlock {
            tool_call_id: block.tool_call_id.to_string(),
            content: block
                .content
                .iter()
                .map(result_block)
                .collect::<wasmtime::Result<_>>()?,
            is_error: block.is_error,
            extra: extra(&block.extra)?,
        }),
        ContentBlock::Other(block) => wit::ContentBlock::Other(opaque(block)?),
    })
}

fn tool_call(block: &ToolCallBlock) -> wasmtime::Result<wit::ToolCallBlock> {
    Ok(wit::ToolCallBlock {
        id: block.id.to_string(),
        name: block.name.to_string(),
        arguments: block.arguments.to_string(),
        extra: extra(&block.extra)?,
    })
}

fn result_block(block: &ContentBlock) -> wasmtime::Result<wit::ResultBlock> {
    Ok(match block {
        ContentBlock::Text(block) => wit::ResultBlock::Text(wit::TextBlock {
            text: block.text.to_string(),
            extra: extra(&block.extra)?,
        }),
        ContentBlock::Reasoning(block) => wit::ResultBlock::Reasoning(wit::ReasoningBlock {
            text: block.text.to_string(),
            extra: extra(&block.extra)?,
        }),
        ContentBlock::ToolCall(block) => wit::ResultBlock::ToolCall(tool_call(block)?),
        ContentBlock::ToolResult(nested) => wit::ResultBlock::Other(wit_types::Opaque {
            kind: "tool-result".to_owned(),
            fields: text(nested)?,
        }),
        ContentBlock::Other(block) => wit::ResultBlock::Other(opaque(block)?),
    })
}

pub(crate) fn source(source: &MessageSource) -> wasmtime::Result<wit::MessageSource> {
    Ok(match source {
        MessageSource::User(user) => wit::MessageSource::User(plain(user)?),
        MessageSource::Plugin(plugin) => wit::MessageSource::Plugin(wit::PluginSource {
            plugin: plugin.plugin.to_string(),
            extra: extra(&plugin.extra)?,
        }),
        MessageSource::Other(other) => wit::MessageSource::Other(opaque(other)?),
    })
}

pub(crate) fn message(message: &Message) -> wasmtime::Result<wit::Message> {
    Ok(wit::Message {
        role: match message.role {
            Role::System => wit::Role::System,
            Role::User => wit::Role::User,
            Role::Assistant => wit::Role::Assistant,
        },
        content: blocks(&message.content)?,
        provenance: message.provenance.as_deref().map(provenance).transpose()?,
        extra: extra(&message.extra)?,
    })
}

pub(crate) fn provenance(provenance: &Provenance) -> wasmtime::Result<wit::Provenance> {
    Ok(wit::Provenance {
        provider: provenance.provider.to_string(),
        model: provenance.model.to_string(),
        // The adapter's alone.
        replay_state: None,
        extra: extra(&provenance.extra)?,
    })
}

/// A guest's blocks.
pub(crate) fn admit_blocks(
    admit: &mut Admit<'_>,
    blocks: Vec<wit::ContentBlock>,
) -> Result<Content, Refused> {
    blocks
        .into_iter()
        .enumerate()
        .map(|(at, block)| admit_block(admit, block).map_err(|fault| fault.inside(&format!("[{at}]"))))
        .collect()
}

fn admit_block(admit: &mut Admit<'_>, block: wit::ContentBlock) -> Result<ContentBlock, Refused> {
    match block {
        wit::ContentBlock::Text(block) => admit_text(admit, block),
        wit::ContentBlock::Reasoning(block) => admit_reasoning(admit, block),
        wit::ContentBlock::ToolCall(block) => admit_tool_call(admit, block),
        wit::ContentBlock::ToolResult(block) => {
            admit.charge(OVERHEAD + block.tool_call_id.len())?;
            let content: Content = block
                .content
                .into_iter()
                .enumerate()
                .map(|(at, block)| {
                    admit_result_block(admit, block).map_err(|fault| fault.inside(&format!("content[{at}]")))
                })
                .collect::<Result<_, _>>()?;
            let mut result: ToolResultBlock = record(
                admit,
                [
                    ("toolCallId", Some(Json::from(block.tool_call_id))),
                    ("content", Some(Json::Array(Vec::new()))),
                    ("isError", block.is_error.map(Json::from)),
                ],
                block.extra.as_deref(),
            )?;
            result.content = content;
            Ok(ContentBlock::ToolResult(result))
        }
        wit::ContentBlock::Other(other) => admit_other_block(admit, &other),
    }
}

fn admit_result_block(admit: &mut Admit<'_>, block: wit::ResultBlock) -> Result<ContentBlock, Refused> {
    match block {
        wit::ResultBlock::Text(block) => admit_text(admit, block),
        wit::ResultBlock::Reasoning(block) => admit_reasoning(admit, block),
        wit::ResultBlock::ToolCall(block) => admit_tool_call(admit, block),
        wit::ResultBlock::Other(other) if other.kind == "tool-result" => {
            let fields = object(admit, &other.fields).map_err(|fault| fault.inside("fields"))?;
            let nested = ToolResultBlock::from_json(Json::Object(fields))
                .map_err(|fault| Refused::at("fields", fault.to_string()))?;
            check_nested(admit, &nested)?;
            Ok(ContentBlock::ToolResult(nested))
        }
        wit::ResultBlock::Other(other) => admit_other_block(admit, &other),
    }
}

/// A nested result came as JSON, so the kinds inside it haven't been looked at.
fn check_nested(admit: &Admit<'_>, nested: &ToolResultBlock) -> Result<(), Refused> {
    nested.content.iter().try_for_each(|block| match block {
        ContentBlock::Other(other) => admit.check_kind(
            Sum::ContentBlock,
            other.kind(),
            &Json::Object(other.fields().clone()),
        ),
        ContentBlock::ToolResult(nested) => check_nested(admit, nested),
        ContentBlock::Text(_) | ContentBlock::Reasoning(_) | ContentBlock::ToolCall(_) => Ok(()),
    })
}

fn admit_text(admit: &mut Admit<'_>, block: wit::TextBlock) -> Result<ContentBlock, Refused> {
    admit.charge(OVERHEAD + block.text.len())?;
    if block.extra.is_none() {
        return Ok(ContentBlock::text(block.text));
    }
    record(
        admit,
        [("text", Some(Json::from(block.text)))],
        block.extra.as_deref(),
    )
    .map(ContentBlock::Text)
}

fn admit_reasoning(admit: &mut Admit<'_>, block: wit::ReasoningBlock) -> Result<ContentBlock, Refused> {
    admit.charge(OVERHEAD + block.text.len())?;
    if block.extra.is_none() {
        return Ok(ContentBlock::reasoning(block.text));
    }
    record(
        admit,
        [("text", Some(Json::from(block.text)))],
        block.extra.as_deref(),
    )
    .map(ContentBlock::Reasoning)
}

fn admit_tool_call(admit: &mut Admit<'_>, block: wit::ToolCallBlock) -> Result<ContentBlock, Refused> {
    admit.charge(OVERHEAD + block.id.len() + block.name.len() + block.arguments.len())?;
    if block.extra.is_none() {
        return Ok(ContentBlock::tool_call(
            CallId::new(block.id),
            block.name,
            block.arguments,
        ));
    }
    let known = [
        ("id", Some(Json::from(block.id))),
        ("name", Some(Json::from(block.name))),
        ("arguments", Some(Json::from(block.arguments))),
    ];
    record(admit, known, block.extra.as_deref()).map(ContentBlock::ToolCall)
}

/// A block of any kind that the guest was shown as it is.
fn recognise_block(admit: &Admit<'_>, other: &wit_types::Opaque) -> Option<ContentBlock> {
    fn find(content: &Content, other: &wit_types::Opaque) -> Option<ContentBlock> {
        content.iter().find_map(|block| match block {
            ContentBlock::Other(known) => {
                let is_it = known.kind() == other.kind
                    && text(known.fields()).is_ok_and(|fields| fields == other.fields);
                is_it.then(|| block.clone())
            }
            ContentBlock::ToolResult(result) => find(&result.content, other),
            ContentBlock::Text(_) | ContentBlock::Reasoning(_) | ContentBlock::ToolCall(_) => None,
        })
    }
    admit
        .shown()
        .contents
        .iter()
        .find_map(|content| find(content, other))
}

fn admit_other_block(admit: &mut Admit<'_>, other: &wit_types::Opaque) -> Result<ContentBlock, Refused> {
    if let Some(known) = recognise_block(admit, other) {
        admit.charge(OVERHEAD + other.kind.len() + other.fields.len())?;
        return Ok(known);
    }
    let fields = admit_fields(admit, Sum::ContentBlock, other)?;
    ContentBlock::other(other.kind.as_str(), fields).map_err(|fault| Refused::at("kind", fault.to_string()))
}

fn admit_fields(
    admit: &mut Admit<'_>,
    sum: Sum,
    other: &wit_types::Opaque,
) -> Result<hames_types::json::JsonMap, Refused> {
    admit.charge(OVERHEAD + other.kind.len())?;
    let fields = Json::Object(object(admit, &other.fields).map_err(|fault| fault.inside("fields"))?);
    admit.check_kind(sum, &other.kind, &fields)?;
    match fields {
        Json::Object(fields) => Ok(fields),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Err(Refused::at("fields", "must be an object"))
        }
    }
}

/// A guest's account of where something comes from.
pub(crate) fn admit_source(
    admit: &mut Admit<'_>,
    source: wit::MessageSource,
) -> Result<MessageSource, Refused> {
    match source {
        wit::MessageSource::User(user) => {
            if !admit.may_speak_as_user() {
                return Err(Refused::at(
                    "",
                    "is the person; that needs the grant `speak` with `as-user`",
                ));
            }
            if user.extra.is_none() {
                return Ok(MessageSource::USER);
            }
            record(admit, [], user.extra.as_deref()).map(MessageSource::User)
        }
        wit::MessageSource::Plugin(source) => {
            if !admit.may_speak_as(&source.plugin) {
                let name = crate::manifest::shown(&source.plugin);
                let problem = format!("is the plugin `{name}`; another name needs the grant `speak`");
                return Err(Refused::at("", problem));
            }
            admit.charge(source.plugin.len())?;
            if source.extra.is_none() {
                return Ok(MessageSource::plugin(source.plugin));
            }
            record(
                admit,
                [("plugin", Some(Json::from(source.plugin)))],
                source.extra.as_deref(),
            )
            .map(MessageSource::Plugin)
        }
        wit::MessageSource::Other(other) => {
            let fields = admit_fields(admit, Sum::MessageSource, &other)?;
            MessageSource::other(other.kind, fields).map_err(|fault| Refused::at("kind", fault.to_string()))
        }
    }
}

/// A context; its private state is shown to its owner alone.
pub(crate) fn context(context: &HookContext, viewer: For<'_>) -> wasmtime::Result<wit::Context> {
    let meta = context.meta.as_ref().filter(|_| viewer.may_see(&context.source));
    Ok(wit::Context {
        content: blocks(&context.content)?,
        source: source(&context.source)?,
        placement: context.placement.map(|placement| match placement {
            ContextPlacement::Separate => wit::ContextPlacement::Separate,
            ContextPlacement::PromptPrefix => wit::ContextPlacement::PromptPrefix,
        }),
        meta: meta.map(text).transpose()?,
        extra: extra(&context.extra)?,
    })
}

/// Several contexts.
pub(crate) fn contexts(contexts: &[HookContext], viewer: For<'_>) -> wasmtime::Result<Vec<wit::Context>> {
    contexts.iter().map(|it| context(it, viewer)).collect()
}

/// A guest's contexts.
pub(crate) fn admit_contexts(
    admit: &mut Admit<'_>,
    contexts: Vec<wit::Context>,
) -> Result<Vec<HookContext>, Refused> {
    contexts
        .into_iter()
        .enumerate()
        .map(|(at, context)| {
            admit_context(admit, context).map_err(|refused| refused.inside(&format!("[{at}]")))
        })
        .collect()
}

/// A guest's message. Replay state belongs to the adapter and comes from no guest.
pub(crate) fn admit_message(admit: &mut Admit<'_>, message: wit::Message) -> Result<Message, Refused> {
    let content = admit_blocks(admit, message.content).map_err(|refused| refused.inside("content"))?;
    let provenance = message
        .provenance
        .map(|provenance| admit_provenance(admit, provenance))
        .transpose()
        .map_err(|refused| refused.inside("provenance"))?;
    let role = match message.role {
        wit::Role::System => Role::System,
        wit::Role::User => Role::User,
        wit::Role::Assistant => Role::Assistant,
    };
    let known = [
        ("role", Some(Json::from(role.as_str()))),
        ("content", Some(Json::Array(Vec::new()))),
    ];
    let mut message: Message = record(admit, known, message.extra.as_deref())?;
    message.content = content;
    message.provenance = provenance.map(Arc::new);
    Ok(message)
}

fn admit_provenance(admit: &mut Admit<'_>, provenance: wit::Provenance) -> Result<Provenance, Refused> {
    if provenance.replay_state.is_some() {
        return Err(Refused::at("replay-state", "is the adapter's; leave it absent"));
    }
    admit.charge(provenance.provider.len() + provenance.model.len())?;
    let known = [
        ("provider", Some(Json::from(provenance.provider))),
        ("model", Some(Json::from(provenance.model))),
    ];
    record(admit, known, provenance.extra.as_deref())
}

/// A context that the guest was shown as it is; it keeps the private state that wasn't shown.
fn recognise_context(admit: &Admit<'_>, found: &wit::Context) -> Option<HookContext> {
    let viewer = For(admit.owner());
    let mut known = admit.shown().contexts.iter();
    known
        .find(|known| context(known, viewer).is_ok_and(|shown| shown == *found))
        .map(|known| HookContext::clone(known))
}

/// A guest's context.
pub(crate) fn admit_context(admit: &mut Admit<'_>, context: wit::Context) -> Result<HookContext, Refused> {
    if let Some(known) = recognise_context(admit, &context) {
        admit.charge(text(&known).map_or(OVERHEAD, |text| text.len()))?;
        return Ok(known);
    }
    let content = admit_blocks(admit, context.content).map_err(|fault| fault.inside("content"))?;
    let source = admit_source(admit, context.source).map_err(|fault| fault.inside("source"))?;
    let meta = context
        .meta
        .map(|meta| parse(admit, &meta).map_err(|fault| fault.inside("meta")))
        .transpose()?;
    let placement = context.placement.map(|placement| match placement {
        wit::ContextPlacement::Separate => ContextPlacement::Separate,
        wit::ContextPlacement::PromptPrefix => ContextPlacement::PromptPrefix,
    });
    let Some(extra) = context.extra else {
        return Ok(HookContext {
            content,
            source,
            placement,
            meta,
            extra: Extra::NONE,
        });
    };
    let known = [
        ("content", Some(Json::Array(Vec::new()))),
        ("source", to_json(&source).ok()),
        (
            "placement",
            placement.map(|placement| Json::from(placement.as_str())),
        ),
        ("meta", meta),
    ];
    let mut context: HookContext = record(admit, known, Some(&extra))?;
    context.content = content;
    Ok(context)
}
