//! How do the log's entries cross? To the guest only: what a guest appends is a kind of its own, as JSON.

use hames_types::chunk::{FailedFinish, FinishReason, StreamChunk};
use hames_types::event::{
    Envelope, Event, EventBody, Placement, SurfaceOp, Todo, TodoStatus, TodoWrite, UserMessage,
};
use hames_types::json::{Extra, Json};
use hames_types::message::MessageSource;
use hames_types::request::{CallConfig, HeaderReason, RequestHeader, ToolSchema};
use hames_types::turn::{SourcedTrigger, TurnEndReason, TurnTrigger};

use super::content::{block, blocks, message, opaque, plain, provenance, source};
use super::fault::{failure, usage};
use super::json::{extra, object, parse, record, text};
use super::{Admit, Refused};
use crate::bindings::hames::plugin::events as wit;
use crate::bindings::hames::plugin::types as wit_types;

/// Converts for one plugin: private state is shown to its owner alone.
#[derive(Clone, Copy)]
pub(crate) struct For<'a>(pub(crate) &'a str);

impl For<'_> {
    /// Whether private state of this source is its own.
    pub(crate) fn may_see(self, of: &MessageSource) -> bool {
        match of {
            MessageSource::Plugin(plugin) => plugin.plugin == self.0,
            MessageSource::User(_) | MessageSource::Other(_) => false,
        }
    }

    pub(crate) fn event(self, event: &Event) -> wasmtime::Result<wit::Event> {
        Ok(wit::Event {
            seq: event.seq.get(),
            time: event.time_ms,
            body: match (event.body(), event.data.kept()) {
                (Some(body), _) => self.body(body)?,
                (None, kept) => wit::EventBody::Other(wit_types::Opaque {
                    kind: event.kind().to_owned(),
                    fields: text(&kept)?,
                }),
            },
            placement: event.placement.as_deref().map(placement),
        })
    }

    fn body(self, body: &EventBody) -> wasmtime::Result<wit::EventBody> {
        Ok(match body {
            EventBody::TurnStart(body) => wit::EventBody::TurnStart(wit::TurnStart {
                turn: body.turn.get(),
                trigger: trigger(&body.trigger)?,
                extra: extra(&body.extra)?,
            }),
            EventBody::TurnEnd(body) => wit::EventBody::TurnEnd(wit::TurnEnd {
                turn: body.turn.get(),
                reason: end_reason(&body.reason)?,
                extra: extra(&body.extra)?,
            }),
            EventBody::StepStart(mark) => wit::EventBody::StepStart(step_mark(mark)?),
            EventBody::StepEnd(mark) => wit::EventBody::StepEnd(step_mark(mark)?),
            EventBody::UserMessage(body) => wit::EventBody::UserMessage(self.user_message(body)?),
            EventBody::PromptBlocked(body) => wit::EventBody::PromptBlocked(wit::PromptBlocked {
                content: blocks(&body.content)?,
                source: source(&body.source)?,
                reason: body.reason.to_string(),
                extra: extra(&body.extra)?,
            }),
            EventBody::ContextMessage(body) => wit::EventBody::ContextMessage(wit::ContextMessage {
                content: blocks(&body.content)?,
                source: source(&body.source)?,
                meta: shown_meta(self.may_see(&body.source), body.meta.as_ref())?,
                extra: extra(&body.extra)?,
            }),
            EventBody::AssistantChunk(body) => wit::EventBody::AssistantChunk(wit::AssistantChunk {
                turn: body.turn.get(),
                step: body.step.get(),
                chunk: chunk(&body.chunk)?,
                extra: extra(&body.extra)?,
            }),
            EventBody::AssistantMessage(body) => wit::EventBody::AssistantMessage(wit::AssistantMessage {
                turn: body.turn.get(),
                step: body.step.get(),
                content: blocks(&body.content)?,
                provenance: provenance(&body.provenance)?,
                usage: body.usage.as_ref().map(usage).transpose()?,
                extra: extra(&body.extra)?,
            }),
            EventBody::ToolCall(_) | EventBody::ToolResult(_) => tool_event(body)?,
            EventBody::SteeringMessage(body) => wit::EventBody::SteeringMessage(wit::SteeringMessage {
                turn: body.turn.get(),
                content: blocks(&body.content)?,
                source: source(&body.source)?,
                envelope: body.envelope.as_deref().map(|it| self.envelope(it)).transpose()?,
                extra: extra(&body.extra)?,
            }),
            EventBody::TodoWrite(body) => wit::EventBody::TodoWrite(wit::TodoWrite {
                todos: body.todos.iter().map(todo).collect::<wasmtime::Result<_>>()?,
                extra: extra(&body.extra)?,
            }),
            EventBody::RequestHeader(body) => wit::EventBody::RequestHeader(wit::HeaderEvent {
                header: header(&body.header)?,
                reason: match body.reason {
                    HeaderReason::Initial => wit::HeaderReason::Initial,
                    HeaderReason::Resume => wit::HeaderReason::Resume,
                    HeaderReason::Change => wit::HeaderReason::Change,
                },
                extra: extra(&body.extra)?,
            }),
            EventBody::Other(other) => wit::EventBody::Other(wit_types::Opaque {
                kind: other.kind().to_owned(),
                fields: text(other.data())?,
            }),
        })
    }

    fn user_message(self, body: &UserMessage) -> wasmtime::Result<wit::UserMessage> {
        Ok(wit::UserMessage {
            content: blocks(&body.content)?,
            source: source(&body.source)?,
            envelope: body.envelope.as_deref().map(|it| self.envelope(it)).transpose()?,
            extra: extra(&body.extra)?,
        })
    }

    fn envelope(self, envelope: &Envelope) -> wasmtime::Result<wit::Envelope> {
        let prefix = envelope.prefix_contexts.iter().map(|context| {
            Ok(wit::PrefixContext {
                source: source(&context.source)?,
                meta: shown_meta(self.may_see(&context.source), context.meta.as_ref())?,
                extra: extra(&context.extra)?,
            })
        });
        Ok(wit::Envelope {
            display_content: blocks(&envelope.display_content)?,
            prefix_contexts: prefix.collect::<wasmtime::Result<_>>()?,
            extra: extra(&envelope.extra)?,
        })
    }
}

fn shown_meta(shown: bool, meta: Option<&Json>) -> wasmtime::Result<Option<String>> {
    meta.filter(|_| shown).map(text).transpose()
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "called for two arms alone; the rest is `body`'s"
)]
fn tool_event(body: &EventBody) -> wasmtime::Result<wit::EventBody> {
    match body {
        EventBody::ToolCall(body) => Ok(wit::EventBody::ToolCall(wit::ToolCallEvent {
            turn: body.turn.get(),
            step: body.step.get(),
            call_id: body.call_id.to_string(),
            name: body.name.to_string(),
            arguments: body.arguments.to_string(),
            extra: extra(&body.extra)?,
        })),
        EventBody::ToolResult(body) => Ok(wit::EventBody::ToolResult(wit::ToolResultEvent {
            turn: body.turn.get(),
            step: body.step.get(),
            call_id: body.call_id.to_string(),
            content: blocks(&body.content)?,
            is_error: body.is_error,
            error: body.error.as_ref().map(super::call::named_code).transpose()?,
            // Whose it is doesn't stand in the event.
            meta: None,
            extra: extra(&body.extra)?,
        })),
        other => Ok(wit::EventBody::Other(wit_types::Opaque {
            kind: other.kind().to_owned(),
            fields: text(other)?,
        })),
    }
}

fn step_mark(mark: &hames_types::event::StepMark) -> wasmtime::Result<wit::StepMark> {
    Ok(wit::StepMark {
        turn: mark.turn.get(),
        step: mark.step.get(),
        extra: extra(&mark.extra)?,
    })
}

fn placement(placement: &Placement) -> wit::Placement {
    wit::Placement {
        op: match placement.op {
            SurfaceOp::Append => wit::SurfaceOp::Append,
            SurfaceOp::Replace { start, end } => wit::SurfaceOp::Replace((start.get(), end.get())),
        },
        sources: placement
            .sources
            .as_ref()
            .map(|sources| sources.iter().map(|seq| seq.get()).collect()),
    }
}

pub(crate) fn trigger(trigger: &TurnTrigger) -> wasmtime::Result<wit::TurnTrigger> {
    let sourced = |it: &SourcedTrigger| -> wasmtime::Result<wit::SourcedTrigger> {
        Ok(wit::SourcedTrigger {
            source: source(&it.source)?,
            extra: extra(&it.extra)?,
        })
    };
    Ok(match trigger {
        TurnTrigger::Message(it) => wit::TurnTrigger::Message(sourced(it)?),
        TurnTrigger::Injection(it) => wit::TurnTrigger::Injection(sourced(it)?),
        TurnTrigger::Other(it) => wit::TurnTrigger::Other(opaque(it)?),
    })
}

fn end_reason(reason: &TurnEndReason) -> wasmtime::Result<wit::TurnEndReason> {
    Ok(match reason {
        TurnEndReason::Completed(it) => wit::TurnEndReason::Completed(plain(it)?),
        TurnEndReason::Aborted(it) => wit::TurnEndReason::Aborted(plain(it)?),
        TurnEndReason::Error(it) => wit::TurnEndReason::Error(wit::ErrorEnd {
            step: it.step.get(),
            failure: it.failure.as_ref().map(failure).transpose()?,
            message: it.message.as_ref().map(ToString::to_string),
            code: it.code.as_ref().map(ToString::to_string),
            extra: extra(&it.extra)?,
        }),
        TurnEndReason::Disposed(it) => wit::TurnEndReason::Disposed(plain(it)?),
        TurnEndReason::MaxTokens(it) => wit::TurnEndReason::MaxTokens(plain(it)?),
        TurnEndReason::Rejected(it) => wit::TurnEndReason::Rejected(wit::RejectedEnd {
            reason: it.reason.to_string(),
            extra: extra(&it.extra)?,
        }),
        TurnEndReason::Interrupted(it) => wit::TurnEndReason::Interrupted(plain(it)?),
        TurnEndReason::Other(it) => wit::TurnEndReason::Other(opaque(it)?),
    })
}

fn finish_reason(reason: &FinishReason) -> wasmtime::Result<wit::FinishReason> {
    let failed = |it: &FailedFinish| -> wasmtime::Result<wit::FailedFinish> {
        Ok(wit::FailedFinish {
            failure: failure(&it.failure)?,
            extra: extra(&it.extra)?,
        })
    };
    Ok(match reason {
        FinishReason::Stop(it) => wit::FinishReason::Stop(plain(it)?),
        FinishReason::ToolCalls(it) => wit::FinishReason::ToolCalls(plain(it)?),
        FinishReason::MaxTokens(it) => wit::FinishReason::MaxTokens(plain(it)?),
        FinishReason::Aborted(it) => wit::FinishReason::Aborted(failed(it)?),
        FinishReason::Error(it) => wit::FinishReason::Error(failed(it)?),
        FinishReason::Other(it) => wit::FinishReason::Other(opaque(it)?),
    })
}

fn chunk(chunk: &StreamChunk) -> wasmtime::Result<wit::StreamChunk> {
    let delta = |it: &hames_types::chunk::TextDelta| -> wasmtime::Result<wit::TextDelta> {
        Ok(wit::TextDelta {
            index: it.index,
            text: it.text.to_string(),
            extra: extra(&it.extra)?,
        })
    };
    Ok(match chunk {
        StreamChunk::BlockStart(it) => wit::StreamChunk::BlockStart(wit::BlockStart {
            index: it.index,
            block_type: it.block_type.to_string(),
            extra: extra(&it.extra)?,
        }),
        StreamChunk::TextDelta(it) => wit::StreamChunk::TextDelta(delta(it)?),
        StreamChunk::ReasoningDelta(it) => wit::StreamChunk::ReasoningDelta(delta(it)?),
        StreamChunk::ToolCallDelta(it) => wit::StreamChunk::ToolCallDelta(wit::ToolCallDelta {
            index: it.index,
            id: it.id.to_string(),
            name: it.name.as_ref().map(ToString::to_string),
            arguments_delta: it.arguments_delta.to_string(),
            extra: extra(&it.extra)?,
        }),
        StreamChunk::BlockEnd(it) => wit::StreamChunk::BlockEnd(wit::BlockEnd {
            index: it.index,
            block: block(&it.block)?,
            extra: extra(&it.extra)?,
        }),
        StreamChunk::Usage(it) => wit::StreamChunk::Usage(wit::UsageChunk {
            usage: usage(&it.usage)?,
            extra: extra(&it.extra)?,
        }),
        StreamChunk::Finish(it) => wit::StreamChunk::Finish(wit::Finish {
            reason: finish_reason(&it.reason)?,
            extra: extra(&it.extra)?,
        }),
    })
}

fn todo(todo: &Todo) -> wasmtime::Result<wit::Todo> {
    Ok(wit::Todo {
        content: todo.content.to_string(),
        status: match todo.status {
            TodoStatus::Pending => wit::TodoStatus::Pending,
            TodoStatus::InProgress => wit::TodoStatus::InProgress,
            TodoStatus::Completed => wit::TodoStatus::Completed,
        },
        extra: extra(&todo.extra)?,
    })
}

/// Provider, model and sampling.
pub(crate) fn config(config: &CallConfig) -> wasmtime::Result<wit::CallConfig> {
    Ok(wit::CallConfig {
        provider: config.provider.to_string(),
        model: config.model.to_string(),
        temperature: config.temperature.as_ref().map(text).transpose()?,
        max_tokens: config.max_tokens,
        stop: config
            .stop
            .as_ref()
            .map(|stop| stop.iter().map(ToString::to_string).collect()),
        extra: extra(&config.extra)?,
    })
}

/// A guest's choice of provider, model and sampling.
pub(crate) fn admit_config(admit: &mut Admit<'_>, config: wit::CallConfig) -> Result<CallConfig, Refused> {
    admit.charge(config.provider.len() + config.model.len())?;
    let temperature = config
        .temperature
        .map(|number| parse(admit, &number).map_err(|refused| refused.inside("temperature")))
        .transpose()?;
    for stop in config.stop.iter().flatten() {
        admit.charge(stop.len() + 16)?;
    }
    let known = [
        ("provider", Some(Json::from(config.provider))),
        ("model", Some(Json::from(config.model))),
        ("temperature", temperature),
        ("maxTokens", config.max_tokens.map(Json::from)),
        ("stop", config.stop.map(Json::from)),
    ];
    record(admit, known, config.extra.as_deref())
}

/// A guest's tool as the model is to see it.
pub(crate) fn admit_tool_schema(admit: &mut Admit<'_>, tool: wit::ToolSchema) -> Result<ToolSchema, Refused> {
    admit.charge(tool.name.len() + tool.description.len())?;
    let parameters = object(admit, &tool.parameters).map_err(|refused| refused.inside("parameters"))?;
    let known = [
        ("name", Some(Json::from(tool.name))),
        ("description", Some(Json::from(tool.description))),
        ("parameters", Some(Json::Object(parameters))),
    ];
    record(admit, known, tool.extra.as_deref())
}

pub(crate) fn header(header: &RequestHeader) -> wasmtime::Result<wit::RequestHeader> {
    Ok(wit::RequestHeader {
        config: config(&header.config)?,
        system: header.system.as_ref().map(ToString::to_string),
        tools: match &header.tools {
            Some(tools) => Some(tools.iter().map(tool_schema).collect::<wasmtime::Result<_>>()?),
            None => None,
        },
        message_prefix: match &header.message_prefix {
            Some(prefix) => Some(
                prefix
                    .iter()
                    .map(|it| message(it))
                    .collect::<wasmtime::Result<_>>()?,
            ),
            None => None,
        },
        extra: extra(&header.extra)?,
    })
}

pub(crate) fn tool_schema(tool: &ToolSchema) -> wasmtime::Result<wit::ToolSchema> {
    Ok(wit::ToolSchema {
        name: tool.name.to_string(),
        description: tool.description.to_string(),
        parameters: text(&*tool.parameters)?,
        extra: extra(&tool.extra)?,
    })
}

/// A guest's todo list.
pub(crate) fn admit_todos(admit: &mut Admit<'_>, todos: Vec<wit::Todo>) -> Result<TodoWrite, Refused> {
    let todos = todos.into_iter().map(|todo| {
        admit.charge(todo.content.len() + 16)?;
        let status = match todo.status {
            wit::TodoStatus::Pending => TodoStatus::Pending,
            wit::TodoStatus::InProgress => TodoStatus::InProgress,
            wit::TodoStatus::Completed => TodoStatus::Completed,
        };
        let known = [
            ("content", Some(Json::from(todo.content))),
            ("status", Some(Json::from(status.as_str()))),
        ];
        record::<Todo>(admit, known, todo.extra.as_deref())
    });
    Ok(TodoWrite {
        todos: todos.collect::<Result<_, Refused>>()?,
        extra: Extra::NONE,
    })
}
