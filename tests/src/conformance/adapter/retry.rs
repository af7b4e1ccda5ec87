//! Does the retry policy decide, wait and record as the reference's did, under a real loop? (part 15)

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use async_trait::async_trait;
use futures_util::stream;
use hames_agent::listeners::Listeners;
use hames_agent::prompt::{PromptConfig, Prompts};
use hames_agent::retry::{Draw, Installed, RETRY_KIND, Retry, RetryConfig};
use hames_agent::router::Router;
use hames_agent::tools::Tools;
use hames_agent::{Agent, AgentOptions, Agents, Limits, SendOptions, Services, StartOptions};
use hames_log::{Place, Sessions};
use hames_types::chunk::StreamChunk;
use hames_types::content::Content;
use hames_types::decision::RequestErrorDecision;
use hames_types::event::Event;
use hames_types::failure::LlmFailure;
use hames_types::fault::Fault;
use hames_types::id::{ModelId, ProviderId};
use hames_types::json::{Extra, FromJson, Json, JsonMap};
use hames_types::port::clock::FixedClock;
use hames_types::port::listener::{Decide, Next, Observe};
use hames_types::port::llm::{ChunkStream, Llm};
use hames_types::port::notice::SessionEvent;
use hames_types::port::seam::{RequestError, RequestErrorAsk};
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::request::{Request, ToolSchema};
use hames_types::signal::Signal;
use hames_types::tool::{ToolCall, ToolDefinition, ToolOutput};
use hames_types::turn::CancelCause;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::super::case::Case;
use super::super::outcome::Outcome;

/// A retry policy under a loop.
///
/// # Errors
/// If the case doesn't say what it must.
pub fn run(case: &Case<'_>) -> anyhow::Result<Outcome> {
    // Time stands still and jumps to the next timer as soon as nothing else can go on: waits cost nothing.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()?;
    let shown = runtime.block_on(play(case))?;
    let outcomes = shown.iter().map(|(key, got)| {
        let expected = case.field(key);
        Outcome::compare(expected, got).within(&format!(".{key}"))
    });
    Ok(Outcome::first_of(outcomes))
}

/// What was seen, under the names of the case.
async fn play(case: &Case<'_>) -> anyhow::Result<JsonMap> {
    let stage = Stage::set(case)?;
    let agent = stage.agent().await?;
    let mut waits = stage.act_on_waits(case, &agent)?;
    let mut unused = Vec::new();
    for turn in case.list("turns")? {
        let entries = turn.as_array().context("a turn that is no list")?;
        lock(&stage.script.entries).extend(entries.iter().cloned());
        agent.send(Content::text("go"), SendOptions::default())?;
        agent.when_idle().await;
        unused.push(lock(&stage.script.entries).drain(..).count());
    }
    waits.abort_all();
    let events = agent.session().all_events();
    let mut shown = JsonMap::new();
    shown.insert(
        "decisions".to_owned(),
        Json::from(lock(&stage.record.decisions).clone()),
    );
    shown.insert("randomDraws".to_owned(), Json::from(*lock(&stage.draws)));
    shown.insert(
        "waits".to_owned(),
        Json::from(retries(&events).map(|event| delay_of(event)).collect::<Vec<_>>()),
    );
    shown.insert("requests".to_owned(), Json::from(*lock(&stage.script.requests)));
    shown.insert("unusedEntries".to_owned(), serde_json::to_value(unused)?);
    shown.insert("retryEvents".to_owned(), retry_events(&events)?);
    shown.insert(
        "log".to_owned(),
        Json::from(
            events
                .iter()
                .map(|event| line_of(event))
                .collect::<anyhow::Result<Vec<_>>>()?,
        ),
    );
    shown.insert("turnEnds".to_owned(), turn_ends(&events)?);
    Ok(shown)
}

/// Everything that plays along.
struct Stage {
    agents: Arc<Agents>,
    script: Arc<Script>,
    record: Arc<Record>,
    draws: Arc<Mutex<u64>>,
    policy: Arc<Installed>,
}

impl Stage {
    fn set(case: &Case<'_>) -> anyhow::Result<Self> {
        let sessions = Sessions::new(Arc::new(FixedClock(0)));
        let listeners = Arc::new(Listeners::new());
        let draws = Arc::new(Mutex::new(0));
        let record = Arc::new(Record {
            sessions: sessions.clone(),
            agent: Mutex::default(),
            decisions: Mutex::default(),
            delegated: AtomicBool::new(false),
            cancels_first: case.optional("cancelBeforePolicy").is_some(),
        });
        listeners.add::<RequestError>(None, Place::Last, Arc::new(Outer(Arc::clone(&record))));
        let config = config_of(case.field("config"))?;
        let policy = Retry::new(config, sessions.clone(), draw(case.field("random"), &draws)?)?;
        let policy = Arc::new(policy.install(&listeners));
        let inner = Inner {
            record: Arc::clone(&record),
            downstream: case.field("downstream").clone(),
            asked: Mutex::new(0),
        };
        listeners.add::<RequestError>(None, Place::Last, Arc::new(inner));
        let script = Arc::new(Script::default());
        let router = Router::new();
        router.register(&[ProviderId::new("p")], Arc::clone(&script) as _)?;
        let tools = Tools::new(Arc::clone(&listeners));
        tools.register(None, Arc::new(Probe::new()))?;
        let services = Services {
            sessions,
            listeners,
            tools: Arc::new(tools),
            prompts: Arc::new(Prompts::new(PromptConfig::default())?),
            router: Arc::new(router),
            limits: Limits::STANDARD,
        };
        Ok(Self {
            agents: Agents::new(services, None),
            script,
            record,
            draws,
            policy,
        })
    }

    async fn agent(&self) -> anyhow::Result<Arc<Agent>> {
        let options = StartOptions {
            options: AgentOptions {
                provider: Some(ProviderId::new("p")),
                model: Some(ModelId::new("m")),
            },
            ..StartOptions::default()
        };
        let agent = self.agents.start(options).await?;
        *lock(&self.record.agent) = Some(Arc::clone(&agent));
        Ok(agent)
    }

    /// Does during the k-th wait what the case says.
    fn act_on_waits(&self, case: &Case<'_>, agent: &Arc<Agent>) -> anyhow::Result<JoinSet<()>> {
        let (told, mut waits) = mpsc::unbounded_channel();
        let sessions = &self.agents.services().sessions;
        sessions
            .on_event()
            .add(None, Place::Last, Arc::new(OnRetry(told)));
        let acts = case.field("onWait").as_object().cloned().unwrap_or_default();
        let (agent, policy) = (Arc::clone(agent), Arc::clone(&self.policy));
        let services = Arc::clone(self.agents.services());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut number = 0;
            while waits.recv().await.is_some() {
                number += 1;
                match acts.get(&format!("{number}")).and_then(Json::as_str) {
                    Some("cancel") => agent.cancel(CancelCause::User),
                    Some("dispose") => policy.remove(&services.listeners),
                    Some(_) | None => {}
                }
            }
        });
        Ok(tasks)
    }
}

fn config_of(config: &Json) -> anyhow::Result<RetryConfig> {
    let mut config = config.clone();
    if let Some(fields) = config.as_object_mut() {
        // Null is JavaScript's way to leave a setting out.
        fields.retain(|_, value| !value.is_null());
    }
    Ok(serde_json::from_value(config)?)
}

fn draw(random: &Json, draws: &Arc<Mutex<u64>>) -> anyhow::Result<Draw> {
    let values: Vec<f64> = match random {
        Json::Array(values) => values.iter().filter_map(Json::as_f64).collect(),
        one @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_)) => {
            vec![one.as_f64().context("a case without `random`")?]
        }
    };
    let draws = Arc::clone(draws);
    Ok(Box::new(move || {
        let mut drawn = lock(&draws);
        let at = usize::try_from(*drawn).unwrap_or(usize::MAX);
        *drawn += 1;
        values.get(at).or(values.last()).copied().unwrap_or_default()
    }))
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The decisions, as an outermost listener sees them.
struct Record {
    sessions: Sessions,
    agent: Mutex<Option<Arc<Agent>>>,
    decisions: Mutex<Vec<Json>>,
    /// Whether the question in hand went past the policy.
    delegated: AtomicBool,
    cancels_first: bool,
}

impl Record {
    fn newest_wait(&self, ask: &RequestErrorAsk) -> Option<Json> {
        let events = self.sessions.get(&ask.at.agent)?.all_events();
        let newest = events.last().filter(|event| event.kind() == RETRY_KIND)?;
        Some(delay_of(newest))
    }
}

struct Outer(Arc<Record>);

#[async_trait]
impl Decide<RequestError> for Outer {
    async fn decide(
        &self,
        ask: &RequestErrorAsk,
        next: Next<'_, RequestError>,
    ) -> Result<RequestErrorDecision, Fault> {
        let record = &self.0;
        record.delegated.store(false, Ordering::SeqCst);
        if record.cancels_first
            && let Some(agent) = lock(&record.agent).clone()
        {
            agent.cancel(CancelCause::User);
        }
        let decision = next.run().await?;
        let delegated = record.delegated.load(Ordering::SeqCst);
        let mut shown = serde_json::json!({
            "turn": ask.at.turn,
            "step": ask.at.step,
            "failure": serde_json::to_value(&ask.failure).unwrap_or_default(),
            "priorCodes": ask.prior.iter().map(|failure| failure.code.as_str()).collect::<Vec<_>>(),
            "decision": match decision {
                RequestErrorDecision::Fail(_) => "fail",
                RequestErrorDecision::Retry(_) => "retry",
            },
            "by": if delegated { "delegated" } else { "policy" },
        });
        if let (Some(fields), Some(delay)) = (shown.as_object_mut(), record.newest_wait(ask)) {
            fields.insert("delayMs".to_owned(), delay);
        }
        lock(&record.decisions).push(shown);
        Ok(decision)
    }
}

/// The policy behind the policy.
struct Inner {
    record: Arc<Record>,
    downstream: Json,
    asked: Mutex<u64>,
}

#[async_trait]
impl Decide<RequestError> for Inner {
    async fn decide(
        &self,
        ask: &RequestErrorAsk,
        _: Next<'_, RequestError>,
    ) -> Result<RequestErrorDecision, Fault> {
        self.record.delegated.store(true, Ordering::SeqCst);
        let mut asked = lock(&self.asked);
        *asked += 1;
        let codes = self.downstream.get("retryCodes").and_then(Json::as_array);
        let by_code = codes.is_some_and(|codes| codes.iter().any(|code| *code == ask.failure.code.as_str()));
        let by_count = self
            .downstream
            .get("retryUpTo")
            .and_then(Json::as_u64)
            .is_some_and(|most| *asked <= most);
        Ok(if by_code || by_count {
            RequestErrorDecision::RETRY
        } else {
            RequestErrorDecision::FAIL
        })
    }
}

struct OnRetry(mpsc::UnboundedSender<()>);

impl Observe<SessionEvent> for OnRetry {
    fn observe(&self, notice: &SessionEvent) -> Result<(), Fault> {
        if notice.event.kind() == RETRY_KIND {
            self.0.send(()).map_err(|error| Fault::plain(error.to_string()))?;
        }
        Ok(())
    }
}

/// The model: the entries of the turn in hand, one a call.
#[derive(Default)]
struct Script {
    entries: Mutex<VecDeque<Json>>,
    requests: Mutex<u64>,
}

impl Llm for Script {
    fn stream(&self, _: Request, _: Signal) -> ChunkStream {
        *lock(&self.requests) += 1;
        let entry = lock(&self.entries).pop_front().unwrap_or_default();
        let items = items_of(&entry).unwrap_or_else(|error| vec![Err(Fault::plain(format!("{error:#}")))]);
        Box::pin(stream::iter(items))
    }
}

fn items_of(entry: &Json) -> anyhow::Result<Vec<Result<StreamChunk, Fault>>> {
    let text = |text: &str| {
        vec![
            serde_json::json!({ "type": "block-start", "index": 0, "blockType": "text" }),
            serde_json::json!({ "type": "text-delta", "index": 0, "text": text }),
            serde_json::json!({ "type": "block-end", "index": 0, "block": { "type": "text", "text": text } }),
        ]
    };
    let call_start =
        |index: u64| serde_json::json!({ "type": "block-start", "index": index, "blockType": "tool-call" });
    let call_delta = |index: u64, arguments: &str| {
        serde_json::json!({
            "type": "tool-call-delta", "index": index, "id": "c1", "name": "probe", "argumentsDelta": arguments,
        })
    };
    let finish = |kind: &str| serde_json::json!({ "type": "finish", "reason": { "kind": kind } });
    let mut chunks = Vec::new();
    match entry.get("ok").and_then(Json::as_str) {
        Some("tool") => {
            let block =
                serde_json::json!({ "type": "tool-call", "id": "c1", "name": "probe", "arguments": "{}" });
            chunks.extend([call_start(0), call_delta(0, "{}")]);
            chunks.push(serde_json::json!({ "type": "block-end", "index": 0, "block": block }));
            chunks.push(finish("tool-calls"));
        }
        Some(_) => {
            chunks = text("fine");
            chunks.push(finish("stop"));
        }
        None => {}
    }
    if entry.get("partial") == Some(&Json::Bool(true)) {
        chunks = text("par");
        chunks.extend([call_start(1), call_delta(1, "{")]);
    }
    if let Some(failure) = entry.get("inBand") {
        let reason = serde_json::json!({ "kind": "error", "failure": failure });
        chunks.push(serde_json::json!({ "type": "finish", "reason": reason }));
    }
    let mut items: Vec<Result<StreamChunk, Fault>> = chunks
        .into_iter()
        .map(|chunk| Ok(Ok(StreamChunk::from_json(chunk)?)))
        .collect::<anyhow::Result<_>>()?;
    if let Some(failure) = entry.get("fail") {
        items.push(Err(Fault::llm(LlmFailure::from_json(failure.clone())?)));
    }
    Ok(items)
}

/// The tool that makes a turn go on.
struct Probe(ToolDefinition);

impl Probe {
    fn new() -> Self {
        let schema = ToolSchema {
            name: "probe".into(),
            description: "probe".into(),
            parameters: Arc::default(),
            extra: Extra::NONE,
        };
        Self(ToolDefinition {
            schema,
            timeout_ms: None,
        })
    }
}

#[async_trait]
impl Tool for Probe {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn execute(&self, _: &ToolCall, _: &ToolRun) -> Result<ToolOutput, Fault> {
        Ok(ToolOutput::text("probed"))
    }
}

fn retries(events: &[Arc<Event>]) -> impl Iterator<Item = &Arc<Event>> {
    events.iter().filter(|event| event.kind() == RETRY_KIND)
}

fn data_of(event: &Event) -> Json {
    serde_json::to_value(&event.data).unwrap_or_default()
}

fn delay_of(event: &Event) -> Json {
    data_of(event).get("delayMs").cloned().unwrap_or_default()
}

fn retry_events(events: &[Arc<Event>]) -> anyhow::Result<Json> {
    let shown = retries(events).map(|event| {
        serde_json::json!({
            "seq": event.seq,
            "data": data_of(event),
            "surface": event.placement.is_some(),
        })
    });
    Ok(Json::from(shown.collect::<Vec<_>>()))
}

/// `step/start 1/2`, `assistant/chunk finish`, `turn/end 1`.
fn line_of(event: &Event) -> anyhow::Result<Json> {
    let data = data_of(event);
    let number = |key: &str| data.get(key).and_then(Json::as_u64);
    let kind = event.kind();
    let place = match (
        data.pointer("/chunk/type").and_then(Json::as_str),
        number("turn"),
        number("step"),
    ) {
        (Some(chunk), _, _) => format!(" {chunk}"),
        (None, Some(turn), Some(step)) => format!(" {turn}/{step}"),
        (None, Some(turn), None) => format!(" {turn}"),
        (None, None, _) => String::new(),
    };
    Ok(Json::from(format!("{kind}{place}")))
}

fn turn_ends(events: &[Arc<Event>]) -> anyhow::Result<Json> {
    let ends = events.iter().filter(|event| event.kind() == "turn/end");
    Ok(Json::from(ends.map(|event| data_of(event)).collect::<Vec<_>>()))
}

/// A retry policy's configuration: what its declared form makes of it, and what the policy says to that.
///
/// # Errors
/// If the case doesn't say what it must.
pub fn config(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let raw = raw_config(case);
    let declared = typed_config(raw);
    let schema = match &declared {
        Ok(config) => match config.check_ranges() {
            Ok(()) => serde_json::json!({ "ok": shown_config(config) }),
            Err(error) => serde_json::json!({ "error": error.to_string() }),
        },
        Err(error) => serde_json::json!({ "error": error.to_string() }),
    };
    // Who sets the policy up in Rust has codes that are text already: what isn't becomes its own text.
    let direct = typed_config(&with_codes_as_text(raw));
    Ok(Outcome::first_of([
        Outcome::compare(case.field("schema"), &schema).within(".schema"),
        Outcome::compare(case.field("afterSchema"), &verdict(declared)).within(".afterSchema"),
        Outcome::compare(case.field("withoutSchema"), &verdict(direct)).within(".withoutSchema"),
    ]))
}

/// What the policy says to a configuration.
fn verdict(config: anyhow::Result<RetryConfig>) -> Json {
    let accepted = config.is_ok_and(|config| config.check().is_ok());
    Json::from(if accepted { "accept" } else { "error" })
}

/// The configuration as the file writes it.
fn raw_config<'a>(case: &Case<'a>) -> &'a Json {
    let cases = case.document.get("retryConfig").and_then(Json::as_array);
    let own = cases
        .into_iter()
        .flatten()
        .find(|raw| raw.get("case") == case.optional("case"));
    own.and_then(|raw| raw.get("config")).unwrap_or(&Json::Null)
}

/// The configuration with its numbers as floats hold them: JSON has no text for some, Rust and TOML have.
fn typed_config(raw: &Json) -> anyhow::Result<RetryConfig> {
    let mut fields = raw.as_object().cloned().unwrap_or_default();
    let mut odd = Vec::new();
    fields.retain(|key, value| match value.get("$num").and_then(Json::as_str) {
        Some(text) => {
            odd.push((key.clone(), text.to_owned()));
            false
        }
        None => true,
    });
    let mut config = config_of(&Json::Object(fields))?;
    for (key, text) in odd {
        let number: f64 = text.parse()?;
        match key.as_str() {
            "initialDelayMs" => config.initial_delay_ms = number,
            "maxDelayMs" => config.max_delay_ms = number,
            "jitterRatio" => config.jitter_ratio = number,
            other => anyhow::bail!("`{other}` is no float"),
        }
    }
    Ok(config)
}

fn with_codes_as_text(raw: &Json) -> Json {
    let mut raw = raw.clone();
    if let Some(codes) = raw.get_mut("retryableCodes").and_then(Json::as_array_mut) {
        for code in codes.iter_mut().filter(|code| !code.is_string()) {
            *code = Json::from(code.to_string());
        }
    }
    raw
}

fn shown_config(config: &RetryConfig) -> Json {
    serde_json::json!({
        "maxTransientRetries": config.max_transient_retries,
        "initialDelayMs": config.initial_delay_ms,
        "maxDelayMs": config.max_delay_ms,
        "jitterRatio": config.jitter_ratio,
        "retryableCodes": config.retryable_codes,
    })
}
