//! The operations of a script (part 3 of the format).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use hames_agent::{AgentOptions, InjectOptions, SendOptions};
use hames_log::Draft;
use hames_types::content::Content;
use hames_types::decision::HookContext;
use hames_types::event::EventBody;
use hames_types::fault::Fault;
use hames_types::id::SessionId;
use hames_types::json::{FromJson, Json};
use hames_types::message::MessageSource;
use hames_types::turn::{CancelCause, TurnTrigger};
use serde_json::json;

use super::tool::read;
use super::world::World;

/// What an op that failed says: its class, its code if it has one, its text.
struct Failed {
    name: &'static str,
    code: Option<String>,
    message: String,
    fault: Option<Fault>,
}

impl Failed {
    fn error(error: impl std::fmt::Display) -> Self {
        Self {
            name: "Error",
            code: None,
            message: error.to_string(),
            fault: None,
        }
    }

    fn typed(error: impl std::fmt::Display) -> Self {
        Self {
            name: "TypeError",
            ..Self::error(error)
        }
    }
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        Self::error(fault)
    }
}

impl From<anyhow::Error> for Failed {
    fn from(error: anyhow::Error) -> Self {
        Self::error(format!("{error:#}"))
    }
}

/// What a step of an adapter, a tool, a listener or an answerer may do before it goes on: ops, a sleep, a gate.
pub(super) async fn pause(world: &Arc<World>, step: &Json) -> Result<(), Fault> {
    if let Some(ops) = step.get("do") {
        run(Arc::clone(world), ops.clone()).await?;
    }
    if let Some(ms) = step.get("sleep").and_then(Json::as_u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
    if let Some(name) = step.get("gate").and_then(Json::as_str) {
        world.gate(name).await;
    }
    Ok(())
}

/// Runs a list of ops. What fails is recorded and the list goes on, unless the op propagates.
pub(super) fn run(world: Arc<World>, list: Json) -> Pin<Box<dyn Future<Output = Result<(), Fault>> + Send>> {
    Box::pin(async move {
        for op in list.as_array().into_iter().flatten() {
            let Err(failed) = one(&world, op).await else {
                continue;
            };
            let mut entry = json!({ "op": op.get("op"), "name": failed.name, "message": failed.message });
            if let (Some(code), Some(fields)) = (&failed.code, entry.as_object_mut()) {
                fields.insert("code".to_owned(), json!(code));
            }
            world.record(|record| record.op_errors.push(entry));
            if op.get("propagate").and_then(Json::as_bool) == Some(true) {
                return Err(failed.fault.unwrap_or_else(|| Fault::foreign(failed.message)));
            }
        }
        Ok(())
    })
}

async fn one(world: &Arc<World>, op: &Json) -> Result<(), Failed> {
    let word = op.get("op").and_then(Json::as_str).unwrap_or_default();
    match word {
        "send" | "steer" | "inject" | "cancel" | "dispose" => verb(world, op, word),
        "append" => append(world, op),
        "fork" => fork(world, op),
        "registerTool" => world
            .register_tool(op.get("tool").unwrap_or(&Json::Null))
            .map_err(Failed::from),
        "unregisterTool" => {
            world.unregister_tool(op.get("name").and_then(Json::as_str).unwrap_or_default());
            Ok(())
        }
        "open" => {
            world.open_gate(
                op.get("name")
                    .or(op.get("gate"))
                    .and_then(Json::as_str)
                    .unwrap_or_default(),
            );
            Ok(())
        }
        _ => waiting(world, op, word).await,
    }
}

async fn waiting(world: &Arc<World>, op: &Json, word: &str) -> Result<(), Failed> {
    match word {
        "waitIdle" => {
            agent(world, op)?.when_idle().await;
            Ok(())
        }
        "waitDisposed" => {
            world.wait_disposed().await;
            Ok(())
        }
        "sleep" => {
            let ms = op.get("ms").and_then(Json::as_u64).unwrap_or_default();
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Ok(())
        }
        "gate" => {
            world
                .gate(
                    op.get("gate")
                        .or(op.get("name"))
                        .and_then(Json::as_str)
                        .unwrap_or_default(),
                )
                .await;
            Ok(())
        }
        "settle" => {
            world.settle().await;
            Ok(())
        }
        "createAgent" => world.create_agent(op).await.map_err(Failed::from),
        "appendOutOfBand" => out_of_band(world, op).await,
        "restart" => {
            world.restart().await;
            Ok(())
        }
        "crash" => {
            world.crash().await;
            Ok(())
        }
        "resume" => resume(world, op).await,
        other => Err(Failed::error(format!("the runner knows no op `{other}`"))),
    }
}

fn verb(world: &Arc<World>, op: &Json, word: &str) -> Result<(), Failed> {
    let agent = agent(world, op)?;
    match word {
        "cancel" => {
            let word = op
                .get("cause")
                .and_then(|cause| cause.get("kind"))
                .and_then(Json::as_str);
            agent.cancel(word.and_then(CancelCause::from_word).unwrap_or(CancelCause::User));
            return Ok(());
        }
        "dispose" => {
            agent.dispose();
            return Ok(());
        }
        _ => {}
    }
    let content: Content = read(op.get("content").unwrap_or(&Json::Null)).map_err(Failed::typed)?;
    let source = op
        .get("source")
        .map(read::<MessageSource>)
        .transpose()
        .map_err(Failed::typed)?;
    let contexts = op
        .get("contexts")
        .map(read::<Vec<HookContext>>)
        .transpose()
        .map_err(Failed::typed)?;
    let options = SendOptions {
        source,
        contexts: contexts.unwrap_or_default(),
    };
    let said = match word {
        "send" => agent.send(content, options),
        "steer" => agent.steer(content, options),
        _ => {
            let meta = op.get("meta").cloned();
            agent.inject(
                content,
                InjectOptions {
                    source: options.source,
                    meta,
                },
            )
        }
    };
    said.map_err(|error| {
        let fault = Fault::from(error.clone());
        let refused = match error {
            hames_agent::VerbError::NotLossless { .. } => Failed::typed(error),
            hames_agent::VerbError::Disposed(_) | hames_agent::VerbError::Append(_) => Failed::error(error),
        };
        Failed {
            fault: Some(fault),
            ..refused
        }
    })
}

fn append(world: &Arc<World>, op: &Json) -> Result<(), Failed> {
    let session = world.session(&addressed(op)).context("no such session")?;
    let kind = op.get("type").and_then(Json::as_str).unwrap_or_default();
    let field = |key: &str| op.get(key).cloned();
    let draft = Draft::read(
        kind,
        field("data").unwrap_or(Json::Null),
        field("surfaceOp"),
        field("sourceEventSeqs"),
    );
    draft
        .and_then(|draft| session.append(draft))
        .map(|_| ())
        .map_err(Failed::error)
}

fn fork(world: &Arc<World>, op: &Json) -> Result<(), Failed> {
    let text = |key: &str| op.get(key).and_then(Json::as_str);
    let source = SessionId::new(text("source").unwrap_or(&world.main));
    // Any number that isn't a position in a log is past its end.
    let boundary = op
        .get("boundary")
        .map(|boundary| boundary.as_u64().unwrap_or(u64::MAX));
    let forked = world
        .sessions()
        .fork(&source, boundary, text("child").map(SessionId::new));
    forked.map(|_| ()).map_err(|error| Failed {
        name: "SessionForkError",
        code: Some(error.code().to_owned()),
        ..Failed::error(error)
    })
}

async fn out_of_band(world: &Arc<World>, op: &Json) -> Result<(), Failed> {
    let session = world.session(&addressed(op)).context("no such session")?;
    let kind = op.get("type").and_then(Json::as_str).unwrap_or_default();
    let body =
        EventBody::decode(kind, op.get("data").cloned().unwrap_or(Json::Null)).map_err(Failed::error)?;
    let trigger: TurnTrigger = read(op.get("trigger").unwrap_or(&Json::Null))?;
    let appended = world.sessions().append_out_of_band(&session, body, trigger).await;
    appended.map(|_| ()).map_err(Failed::error)
}

async fn resume(world: &Arc<World>, op: &Json) -> Result<(), Failed> {
    let id = SessionId::new(op.get("id").and_then(Json::as_str).unwrap_or(&world.main));
    let options = op
        .get("agentOptions")
        .map_or_else(|| world.agent_options(), agent_options);
    let agents = world.agents();
    let resumed = agents.resume(&id, options, Some(world.setup(None))).await;
    resumed.map(|_| ()).map_err(|error| match error.fault() {
        Some(fault) => Failed::error(fault),
        None => Failed::error(error),
    })
}

/// The id an op is addressed to; the main one if it names none.
fn addressed(op: &Json) -> Option<String> {
    let named = op.get("agent").or(op.get("session")).and_then(Json::as_str);
    named.map(str::to_owned)
}

fn agent(world: &Arc<World>, op: &Json) -> Result<Arc<hames_agent::Agent>, Failed> {
    Ok(world.agent(&addressed(op)).context("no such agent")?)
}

/// The options of an agent in the words of a script.
pub(super) fn agent_options(value: &Json) -> AgentOptions {
    let id = |key: &str| value.get(key).and_then(Json::as_str);
    AgentOptions {
        provider: id("provider").map(hames_types::id::ProviderId::new),
        model: id("model").map(hames_types::id::ModelId::new),
    }
}

/// A value of a script as one of ours.
pub(super) fn typed<T: FromJson>(value: Option<&Json>) -> anyhow::Result<Option<T>> {
    value
        .map(|value| T::from_json(value.clone()))
        .transpose()
        .map_err(Into::into)
}
