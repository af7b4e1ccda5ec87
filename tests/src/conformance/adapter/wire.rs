//! One recorded call: the request it sends and what comes of the answer.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use futures_util::StreamExt;
use hames_agent::listeners::Listeners;
use hames_agent::router::Router;
use hames_llm::Adapter;
use hames_llm::chat::{ChatConfig, dialect};
use hames_llm::http::{Http, HttpSettings, UserAgent};
use hames_llm::key::{KeySource, Secret};
use hames_llm::limits::Limits;
use hames_types::fault::Fault;
use hames_types::id::ProviderId;
use hames_types::json::{FromJson, Json};
use hames_types::message::History;
use hames_types::port::clock::FixedClock;
use hames_types::port::llm::Llm;
use hames_types::port::seam::StreamAsk;
use hames_types::request::{CallConfig, Purpose, Request, ToolSchema};
use hames_types::signal::{Signal, SignalReason, Trigger};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::server::{Answer, Received, Server};

/// What one call came to.
#[derive(Debug)]
pub struct Heard {
    /// What the server saw.
    pub requests: Vec<Received>,
    /// What was delivered.
    pub chunks: Vec<Json>,
    /// What it ended in.
    pub failure: Option<Fault>,
    /// Whether the consumer stopped by itself.
    pub stopped: bool,
}

/// Runs one call of the recorded route against a server that plays `response`.
///
/// # Errors
/// If the case doesn't say what it must.
pub fn call(
    config: &Json,
    options: &Json,
    response: &Json,
    consumer: &Json,
    now_ms: u64,
) -> anyhow::Result<Heard> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let server = Server::start(Answer::read(response)?).await?;
        let base_url = base_url(config, &server);
        let model = route(config, base_url, now_ms)?;
        let (chunks, failure, stopped) = consume(&model, request(options)?, consumer).await?;
        Ok(Heard {
            requests: server.received(),
            chunks,
            failure,
            stopped,
        })
    })
}

fn base_url(config: &Json, server: &Server) -> String {
    if config.get("unreachable") == Some(&Json::Bool(true)) {
        // Port 1 of the loopback: nothing listens there.
        return "http://127.0.0.1:1".to_owned();
    }
    let path = config.get("basePath").and_then(Json::as_str).unwrap_or_default();
    format!("{}{path}", server.base_url)
}

/// The recorded route, as an operator would configure it.
fn route(config: &Json, base_url: String, now_ms: u64) -> anyhow::Result<Router> {
    let text = |key: &str| config.get(key).and_then(Json::as_str);
    let mut limits = Limits::default();
    if let Some(idle_ms) = config.get("streamIdleTimeoutMs").and_then(Json::as_u64) {
        // The reference has one timer for the head and for the rest.
        limits.idle = Duration::from_millis(idle_ms);
        limits.headers = limits.idle;
    }
    let settings = HttpSettings {
        limits,
        user_agent: UserAgent::default(),
        ..HttpSettings::default()
    };
    let http = Http::new(&settings, Arc::new(FixedClock(now_ms)))?;
    let chat = ChatConfig {
        base_url: Some(base_url),
        thinking: text("thinking").map(|word| word == "enabled"),
        reasoning_effort: text("reasoningEffort").map(Into::into),
        ..ChatConfig::new(
            &dialect::DEEPSEEK,
            KeySource::Value(Secret::new(text("apiKey").unwrap_or("test-key"))),
        )
    };
    let router = Router::new();
    let adapter: Arc<dyn Llm> = Arc::new(Adapter::chat(chat, http)?);
    router.register(&[ProviderId::new("deepseek")], adapter)?;
    Ok(router)
}

/// The request an options object describes.
fn request(options: &Json) -> anyhow::Result<Request> {
    let field = |key: &str| options.get(key).cloned();
    Ok(Request {
        config: CallConfig::from_json(without_call_fields(options))?,
        system: field("system").and_then(|system| system.as_str().map(Into::into)),
        tools: field("tools")
            .map(Vec::<ToolSchema>::from_json)
            .transpose()?
            .map(Arc::new),
        messages: History::from_json(field("messages").context("options without messages")?)?,
        session_id: field("sessionId").map(FromJson::from_json).transpose()?,
        purpose: field("purpose").map(Purpose::from_json).transpose()?,
    })
}

fn without_call_fields(options: &Json) -> Json {
    let mut config = options.clone();
    if let Some(fields) = config.as_object_mut() {
        for key in ["system", "tools", "messages", "sessionId", "purpose"] {
            fields.shift_remove(key);
        }
    }
    config
}

type Consumed = (Vec<Json>, Option<Fault>, bool);

/// Reads the stream as the recorded consumer did.
async fn consume(model: &Router, request: Request, consumer: &Json) -> anyhow::Result<Consumed> {
    let number = |key: &str| consumer.get(key).and_then(Json::as_u64);
    let (trigger, cancelled) = (Trigger::new(), SignalReason::Withdrawn);
    if consumer.get("before") == Some(&Json::Bool(true)) {
        trigger.raise(cancelled);
    }
    let signal: Signal = trigger.signal();
    let mut later = JoinSet::new();
    if let Some(after_ms) = number("afterMs") {
        let trigger = trigger.clone();
        later.spawn(async move {
            sleep(Duration::from_millis(after_ms)).await;
            trigger.raise(cancelled);
        });
    }
    let ask = StreamAsk {
        request,
        from_loop: false,
        signal,
    };
    let listeners = Listeners::default();
    let mut stream = model.stream(&listeners, ask).await?.stream;
    let (mut chunks, mut failure, mut stopped) = (Vec::new(), None, false);
    while let Some(item) = stream.next().await {
        match item {
            Ok(chunk) => chunks.push(serde_json::to_value(&chunk)?),
            Err(fault) => failure = Some(fault),
        }
        let seen = Some(chunks.len() as u64);
        if number("afterChunks") == seen {
            trigger.raise(cancelled);
        }
        if number("returnAfterChunks") == seen {
            stopped = true;
            break;
        }
        if let Some(pause_ms) = number("sleepPerChunkMs") {
            sleep(Duration::from_millis(pause_ms)).await;
        }
    }
    drop(stream);
    later.join_all().await;
    Ok((chunks, failure, stopped))
}
