//! Scripted listeners of the seams (part 5 of the format).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures_util::stream;
use hames_agent::Services;
use hames_agent::listeners::{Listeners, Serial, Told, Waterfall};
use hames_log::Place;
use hames_types::chunk::StreamChunk;
use hames_types::decision::HookContext;
use hames_types::event::NamedCode;
use hames_types::fault::Fault;
use hames_types::json::{FromJson, Json, JsonMap, to_json};
use hames_types::port::listener::{Consult, Decide, Next, Seam};
use hames_types::port::llm::ChunkStream;
use hames_types::port::notice::{
    AgentCreated, AgentError, CancelRequested, Queued, SessionStart, StatusChanged, ToolResultReady,
};
use hames_types::port::seam::{
    CallRequest, Execute, LlmStream, PostExecute, PostStep, PreExecute, PreStep, PromptSubmit, RequestError,
    SessionPrefix, StepAsk, StepResult, TurnAsk, TurnContinuation, TurnStop,
};
use hames_types::scope::ScopeKey;
use hames_types::signal::Signal;
use hames_types::tool::{ToolCall, ToolOutcome};
use serde_json::json;

use super::world::{World, given, list};
use super::{fault, observer::Noted, ops};

/// A listener of a script.
pub(super) struct Scripted {
    world: Arc<World>,
    script: Json,
    invocations: AtomicUsize,
}

impl Scripted {
    pub(super) fn world(&self) -> Arc<World> {
        Arc::clone(&self.world)
    }

    /// What this invocation does; `None` if it passes through. Counts only what matches.
    pub(super) fn invocation(&self, facts: &Json) -> Option<Json> {
        let wanted = self.script.get("match").and_then(Json::as_object);
        let matches = wanted
            .into_iter()
            .flatten()
            .all(|(key, value)| facts.get(key) == Some(value));
        if !matches {
            return None;
        }
        let at = self.invocations.fetch_add(1, Ordering::Relaxed);
        let own = self
            .script
            .get("calls")
            .and_then(|calls| calls.get(at))
            .filter(|call| !call.is_null());
        own.or(self.script.get("each")).cloned()
    }

    /// What comes before an answer: ops, a sleep, the signal, an error.
    async fn begin(&self, behaviour: &Json, signal: &Signal) -> Result<(), Fault> {
        ops::pause(&self.world, behaviour).await?;
        if behaviour.get("untilAbort").is_some() {
            signal.raised().await;
        }
        behaviour
            .get("throw")
            .map_or(Ok(()), |error| Err(fault::thrown(error)))
    }

    /// What comes after the rest of the chain has answered.
    async fn finish(&self, behaviour: &Json) -> Result<(), Fault> {
        match behaviour.get("afterDo") {
            Some(ops) => ops::run(self.world(), ops.clone()).await,
            None => Ok(()),
        }
    }
}

/// How a seam's questions and answers look in a script.
trait Spoken: Seam {
    fn facts(ask: &Self::Ask) -> Json;
    fn signal(ask: &Self::Ask) -> Signal;
    fn read(value: &Json) -> Result<Self::Answer, Fault>;
    fn write(answer: &Self::Answer) -> Json;
    /// Whether a rule of the script answers this question: `retryUpTo`.
    fn retries(_ask: &Self::Ask, _limit: u64) -> bool {
        false
    }
}

fn step_facts(at: &StepAsk) -> Json {
    json!({ "agent": at.agent.as_str(), "turn": at.turn.get(), "step": at.step.get() })
}

fn turn_facts(at: &TurnAsk) -> Json {
    json!({ "agent": at.agent.as_str(), "turn": at.turn.get() })
}

fn tool_facts(call: &ToolCall) -> Json {
    json!({
        "tool": call.name.as_str(), "callId": call.call_id.as_str(),
        "agent": call.agent.as_ref().map(|agent| agent.as_str()),
    })
}

fn written(value: &impl serde::Serialize) -> Json {
    to_json(value).unwrap_or_default()
}

macro_rules! spoken {
    ($( $seam:ty: |$ask:ident| $facts:expr, $signal:expr; )*) => { $(
        impl Spoken for $seam {
            fn facts($ask: &Self::Ask) -> Json {
                $facts
            }

            fn signal($ask: &Self::Ask) -> Signal {
                $signal.clone()
            }

            fn read(value: &Json) -> Result<Self::Answer, Fault> {
                given(value)
            }

            fn write(answer: &Self::Answer) -> Json {
                written(answer)
            }
        }
    )* };
}

spoken! {
    PromptSubmit: |ask| json!({
        "agent": ask.agent.as_str(), "source": ask.source.kind(),
    }), ask.signal;
    SessionPrefix: |ask| json!({ "agent": ask.agent.as_str() }), ask.signal;
    CallRequest: |ask| step_facts(&ask.at), ask.at.signal;
    StepResult: |ask| step_facts(&ask.at), ask.at.signal;
    PreExecute: |ask| tool_facts(&ask.call), ask.signal;
    PostExecute: |ask| tool_facts(&ask.call), ask.signal;
    TurnContinuation: |ask| turn_facts(&ask.at), ask.at.signal;
}

impl Spoken for RequestError {
    fn facts(ask: &Self::Ask) -> Json {
        let mut facts = step_facts(&ask.at);
        if let Some(fields) = facts.as_object_mut() {
            fields.insert("code".to_owned(), json!(ask.failure.code.as_str()));
        }
        facts
    }

    fn signal(ask: &Self::Ask) -> Signal {
        ask.at.signal.clone()
    }

    fn read(value: &Json) -> Result<Self::Answer, Fault> {
        given(value)
    }

    fn write(answer: &Self::Answer) -> Json {
        written(answer)
    }

    fn retries(ask: &Self::Ask, limit: u64) -> bool {
        (ask.prior.len() as u64) < limit
    }
}

impl Spoken for Execute {
    fn facts(ask: &Self::Ask) -> Json {
        tool_facts(&ask.call)
    }

    fn signal(ask: &Self::Ask) -> Signal {
        ask.signal.clone()
    }

    fn read(value: &Json) -> Result<Self::Answer, Fault> {
        let field = |key: &str| value.get(key);
        Ok(ToolOutcome {
            content: given(field("content").unwrap_or(&Json::Null))?,
            is_error: field("isError").and_then(Json::as_bool).unwrap_or_default(),
            error: field("error").map(given::<NamedCode>).transpose()?,
            contexts: field("additionalContexts")
                .map(given::<Vec<HookContext>>)
                .transpose()?
                .unwrap_or_default(),
            meta: field("meta").cloned(),
        })
    }

    fn write(answer: &Self::Answer) -> Json {
        let mut fields = JsonMap::new();
        fields.insert("content".to_owned(), written(&answer.content));
        fields.insert("isError".to_owned(), json!(answer.is_error));
        if let Some(error) = &answer.error {
            fields.insert("error".to_owned(), written(error));
        }
        if !answer.contexts.is_empty() {
            fields.insert("additionalContexts".to_owned(), written(&answer.contexts));
        }
        if let Some(meta) = &answer.meta {
            fields.insert("meta".to_owned(), meta.clone());
        }
        Json::Object(fields)
    }
}

/// What a script makes of the answer of the rest of the chain.
fn altered(behaviour: &Json, answer: Json) -> Option<Json> {
    if let Some(changes) = behaviour.get("merge").and_then(Json::as_object) {
        let mut fields = answer.as_object().cloned().unwrap_or_default();
        for (key, value) in changes {
            fields.insert(key.clone(), value.clone());
        }
        return Some(Json::Object(fields));
    }
    if let Some(contexts) = behaviour.get("addContexts").and_then(Json::as_array) {
        let mut fields = answer.as_object().cloned().unwrap_or_default();
        let mut all = fields
            .get("additionalContexts")
            .and_then(Json::as_array)
            .cloned()
            .unwrap_or_default();
        all.extend(contexts.iter().cloned());
        fields.insert("additionalContexts".to_owned(), Json::Array(all));
        return Some(Json::Object(fields));
    }
    let messages = behaviour.get("prependMessages").and_then(Json::as_array)?;
    let mut all = messages.clone();
    all.extend(answer.as_array().cloned().unwrap_or_default());
    Some(Json::Array(all))
}

#[async_trait]
impl<S: Spoken> Decide<S> for Scripted {
    async fn decide(&self, ask: &S::Ask, next: Next<'_, S>) -> Result<S::Answer, Fault> {
        let Some(behaviour) = self.invocation(&S::facts(ask)) else {
            return next.run().await;
        };
        self.begin(&behaviour, &S::signal(ask)).await?;
        if let Some(answer) = behaviour.get("return") {
            return S::read(answer);
        }
        if let Some(limit) = behaviour.get("retryUpTo").and_then(Json::as_u64)
            && S::retries(ask, limit)
        {
            return S::read(&json!({ "action": "retry" }));
        }
        let answer = next.run().await?;
        self.finish(&behaviour).await?;
        match altered(&behaviour, S::write(&answer)) {
            Some(altered) => S::read(&altered),
            None => Ok(answer),
        }
    }
}

/// `llm/stream` answers with a stream, which no script can alter.
struct ScriptedStream(Scripted);

#[async_trait]
impl Decide<LlmStream> for ScriptedStream {
    async fn decide(
        &self,
        ask: &<LlmStream as Seam>::Ask,
        next: Next<'_, LlmStream>,
    ) -> Result<ChunkStream, Fault> {
        let facts = json!({ "agent": ask.request.session_id.as_ref().map(|id| id.as_str()) });
        let Some(behaviour) = self.0.invocation(&facts) else {
            return next.run().await;
        };
        self.0.begin(&behaviour, &ask.signal).await?;
        if let Some(chunks) = behaviour.get("return").and_then(Json::as_array) {
            let chunks: Vec<_> = chunks
                .iter()
                .map(|chunk| {
                    StreamChunk::from_json(chunk.clone()).map_err(|error| Fault::plain(error.to_string()))
                })
                .collect();
            return Ok(Box::pin(stream::iter(chunks)));
        }
        let answer = next.run().await?;
        self.0.finish(&behaviour).await?;
        Ok(answer)
    }
}

/// Serial seams: what a script returns ends the chain.
trait SpokenSerial: Seam {
    fn facts(ask: &Self::Ask) -> Json;
    fn signal(ask: &Self::Ask) -> Signal;
    fn read(value: &Json) -> Option<Self::Answer>;
}

/// Anything but null and false is an answer.
fn is_answer(value: &Json) -> Option<()> {
    (!value.is_null() && *value != Json::Bool(false)).then_some(())
}

macro_rules! spoken_serial {
    ($( $seam:ty: |$ask:ident| $facts:expr; )*) => { $(
        impl SpokenSerial for $seam {
            fn facts($ask: &Self::Ask) -> Json {
                $facts
            }

            fn signal(ask: &Self::Ask) -> Signal {
                ask.signal.clone()
            }

            fn read(value: &Json) -> Option<Self::Answer> {
                is_answer(value)
            }
        }
    )* };
}

spoken_serial! {
    PreStep: |ask| step_facts(ask);
    PostStep: |ask| step_facts(ask);
    TurnStop: |ask| turn_facts(ask);
}

#[async_trait]
impl<S: SpokenSerial> Consult<S> for Scripted {
    async fn consult(&self, ask: &S::Ask) -> Result<Option<S::Answer>, Fault> {
        let Some(behaviour) = self.invocation(&S::facts(ask)) else {
            return Ok(None);
        };
        self.begin(&behaviour, &S::signal(ask)).await?;
        let answer = behaviour.get("return").and_then(S::read);
        self.finish(&behaviour).await?;
        Ok(answer)
    }
}

/// Registers the script's listeners: the global ones without a scope, the others inside an agent's.
pub(super) fn register(
    world: &Arc<World>,
    services: &Services,
    scope: Option<ScopeKey>,
) -> anyhow::Result<()> {
    for (number, script) in list(&world.script, "listeners").iter().enumerate() {
        let scoped = script.get("scope").and_then(Json::as_str) == Some("agent");
        if scoped == scope.is_some() {
            let place = match script.get("prepend").and_then(Json::as_bool) {
                Some(true) => Place::First,
                _ => Place::Last,
            };
            if let Some(guests) = world.guest_listeners() {
                let to = (&*services.listeners, &services.sessions);
                guests.register(number, script, to, (scope, place));
                continue;
            }
            let listener = Scripted {
                world: Arc::clone(world),
                script: script.clone(),
                invocations: AtomicUsize::new(0),
            };
            add(services, scope, place, listener)?;
        }
    }
    Ok(())
}

fn add(services: &Services, scope: Option<ScopeKey>, place: Place, listener: Scripted) -> anyhow::Result<()> {
    fn wrap<S: Waterfall + Spoken>(to: &Listeners, scope: Option<ScopeKey>, place: Place, who: Scripted) {
        to.add::<S>(scope, place, Arc::new(who));
    }
    fn ask<S: Serial + SpokenSerial>(to: &Listeners, scope: Option<ScopeKey>, place: Place, who: Scripted) {
        to.add::<S>(scope, place, Arc::new(who));
    }
    fn tell<N: Told + Noted>(to: &Listeners, scope: Option<ScopeKey>, place: Place, who: Scripted) {
        to.add::<N>(scope, place, Arc::new(who));
    }
    let (to, sessions) = (&*services.listeners, &services.sessions);
    let on = listener
        .script
        .get("on")
        .and_then(Json::as_str)
        .unwrap_or_default()
        .to_owned();
    match on.as_str() {
        "agent/prompt-submit" => wrap::<PromptSubmit>(to, scope, place, listener),
        "agent/session-prefix" => wrap::<SessionPrefix>(to, scope, place, listener),
        "agent/request" => wrap::<CallRequest>(to, scope, place, listener),
        "agent/step-result" => wrap::<StepResult>(to, scope, place, listener),
        "agent/request-error" => wrap::<RequestError>(to, scope, place, listener),
        "agent/turn-continuation" => wrap::<TurnContinuation>(to, scope, place, listener),
        "tools/pre-execute" => wrap::<PreExecute>(to, scope, place, listener),
        "tools/execute" => wrap::<Execute>(to, scope, place, listener),
        "tools/post-execute" => wrap::<PostExecute>(to, scope, place, listener),
        "llm/stream" => {
            to.add::<LlmStream>(scope, place, Arc::new(ScriptedStream(listener)));
        }
        "agent/pre-step" => ask::<PreStep>(to, scope, place, listener),
        "agent/post-step" => ask::<PostStep>(to, scope, place, listener),
        "agent/turn-stop" => ask::<TurnStop>(to, scope, place, listener),
        "agent/status" => tell::<StatusChanged>(to, scope, place, listener),
        "agent/queued" => tell::<Queued>(to, scope, place, listener),
        "agent/session-start" => tell::<SessionStart>(to, scope, place, listener),
        "agent/cancel-requested" => tell::<CancelRequested>(to, scope, place, listener),
        "agent/error" => tell::<AgentError>(to, scope, place, listener),
        "agent/created" => tell::<AgentCreated>(to, scope, place, listener),
        "tools/result" => tell::<ToolResultReady>(to, scope, place, listener),
        "session/event" => drop(sessions.on_event().add(scope, place, Arc::new(listener))),
        "session/created" => drop(sessions.on_created().add(scope, place, Arc::new(listener))),
        "session/flush" => drop(sessions.on_flush().add(scope, place, Arc::new(listener))),
        other => anyhow::bail!("the runner knows no listener on `{other}`"),
    }
    Ok(())
}
