//! The registry and the pipeline, driven through tools and listeners made of closures.

mod pipeline;
mod policy;
mod registry;
mod timeout;

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use hames_types::content::Content;
use hames_types::decision::{HookContext, PostToolDecision, PreToolDecision};
use hames_types::fault::Fault;
use hames_types::id::{CallId, SessionId};
use hames_types::json::{Extra, FromJson, Json, JsonMap};
use hames_types::message::MessageSource;
use hames_types::port::listener::{Decide, Next, Observe, Seam};
use hames_types::port::notice::ToolResultReady;
use hames_types::port::seam::{Execute, PostExecute, PreExecute};
use hames_types::port::tool::{Guard, Tool, ToolRun};
use hames_types::request::ToolSchema;
use hames_types::signal::{Signal, SignalReason, Trigger};
use hames_types::tool::{ExecutionMode, ToolCall, ToolDefinition, ToolOutcome, ToolOutput};
use hames_types::turn::InterruptReason;
use parking_lot::Mutex;
use serde_json::json;
use smol_str::SmolStr;

use super::{Caller, Tools};
use crate::listeners::{Listeners, Waterfall};
use hames_log::Place;

pub(super) type Body =
    Arc<dyn Fn(ToolCall, ToolRun) -> BoxFuture<'static, Result<ToolOutput, Fault>> + Send + Sync>;

pub(super) struct Scripted {
    definition: ToolDefinition,
    mode: Result<ExecutionMode, Fault>,
    body: Body,
}

#[async_trait]
impl Tool for Scripted {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn classify(&self, _: &Json) -> Result<ExecutionMode, Fault> {
        self.mode.clone()
    }

    async fn execute(&self, call: &ToolCall, run: &ToolRun) -> Result<ToolOutput, Fault> {
        (self.body)(call.clone(), run.clone()).await
    }
}

pub(super) fn tool_with<F, D>(name: &str, body: F) -> Scripted
where
    F: Fn(ToolCall, ToolRun) -> D + Send + Sync + 'static,
    D: Future<Output = Result<ToolOutput, Fault>> + Send + 'static,
{
    Scripted {
        definition: ToolDefinition {
            schema: ToolSchema {
                name: name.into(),
                description: SmolStr::default(),
                parameters: Arc::new(JsonMap::new()),
                extra: Extra::NONE,
            },
            timeout_ms: None,
        },
        mode: Ok(ExecutionMode::Parallel),
        body: Arc::new(move |call, run| Box::pin(body(call, run))),
    }
}

/// A tool that answers its own name.
pub(super) fn tool(name: &'static str) -> Arc<Scripted> {
    Arc::new(tool_with(
        name,
        move |_, _| async move { Ok(ToolOutput::text(name)) },
    ))
}

pub(super) fn context(text: &str) -> HookContext {
    HookContext::new(Content::text(text), MessageSource::plugin("test"))
}

pub(super) fn texts(outcome: &ToolOutcome) -> Vec<String> {
    let contexts = outcome.contexts.iter();
    contexts.map(|context| context.content.joined_text()).collect()
}

pub(super) fn decision<T: FromJson>(value: Json) -> T {
    T::from_json(value).unwrap()
}

/// A listener made of a closure that gets the rest of the chain.
pub(super) struct Listener<F>(pub(super) F);

pub(super) fn listener<S, F>(act: F) -> Listener<F>
where
    S: Seam,
    F: for<'a> Fn(&'a S::Ask, Next<'a, S>) -> BoxFuture<'a, Result<S::Answer, Fault>> + Send + Sync,
{
    Listener(act)
}

#[async_trait]
impl<S, F> Decide<S> for Listener<F>
where
    S: Seam,
    F: for<'a> Fn(&'a S::Ask, Next<'a, S>) -> BoxFuture<'a, Result<S::Answer, Fault>> + Send + Sync,
{
    async fn decide(&self, ask: &S::Ask, next: Next<'_, S>) -> Result<S::Answer, Fault> {
        (self.0)(ask, next).await
    }
}

pub(super) struct Says(pub(super) Result<Option<SmolStr>, Fault>);

#[async_trait]
impl Guard for Says {
    async fn check(&self, _: &ToolCall) -> Result<Option<SmolStr>, Fault> {
        self.0.clone()
    }
}

struct Collects(Arc<Mutex<Vec<ToolResultReady>>>);

impl Observe<ToolResultReady> for Collects {
    fn observe(&self, notice: &ToolResultReady) -> Result<(), Fault> {
        self.0.lock().push(notice.clone());
        Err(Fault::foreign("contained"))
    }
}

/// Everything one call needs.
pub(super) struct Bench {
    pub(super) listeners: Arc<Listeners>,
    pub(super) tools: Arc<Tools>,
    pub(super) trigger: Trigger,
    pub(super) told: Arc<Mutex<Vec<ToolResultReady>>>,
    trace: Arc<Mutex<Vec<&'static str>>>,
}

impl Bench {
    pub(super) fn new() -> Self {
        let listeners = Arc::new(Listeners::new());
        let told = Arc::default();
        listeners.add::<ToolResultReady>(None, Place::Last, Arc::new(Collects(Arc::clone(&told))));
        Self {
            tools: Arc::new(Tools::new(Arc::clone(&listeners))),
            listeners,
            trigger: Trigger::new(),
            told,
            trace: Arc::default(),
        }
    }

    pub(super) fn with(tool: Scripted) -> Self {
        let bench = Self::new();
        bench.tools.register(None, Arc::new(tool)).unwrap();
        bench
    }

    pub(super) fn on<S: Waterfall>(&self, listener: impl Decide<S> + 'static) {
        self.listeners.add::<S>(None, Place::Last, Arc::new(listener));
    }

    /// Writes down which phases are reached.
    pub(super) fn watch(&self) {
        let trace = |what: &'static str| {
            let trace = Arc::clone(&self.trace);
            move || trace.lock().push(what)
        };
        let (pre, execute, post) = (trace("pre"), trace("execute"), trace("post"));
        self.on::<PreExecute>(listener::<PreExecute, _>(move |_, next| {
            pre();
            Box::pin(next.run())
        }));
        self.on::<Execute>(listener::<Execute, _>(move |_, next| {
            execute();
            Box::pin(next.run())
        }));
        self.on::<PostExecute>(listener::<PostExecute, _>(move |_, next| {
            post();
            Box::pin(next.run())
        }));
    }

    pub(super) fn phases(&self) -> Vec<&'static str> {
        self.trace.lock().clone()
    }

    pub(super) fn cancel(&self) {
        cancel(&self.trigger);
    }

    pub(super) async fn call(&self, name: &str) -> ToolOutcome {
        self.call_with(name, json!({})).await
    }

    pub(super) async fn call_with(&self, name: &str, arguments: Json) -> ToolOutcome {
        let caller = Caller {
            scope: None,
            signal: self.trigger.signal(),
        };
        self.tools.call(call(name, arguments), caller).await
    }
}

pub(super) fn cancel(trigger: &Trigger) {
    trigger.raise(SignalReason::Interrupt(InterruptReason::User));
}

pub(super) fn call(name: &str, arguments: Json) -> ToolCall {
    ToolCall {
        call_id: CallId::new("c1"),
        name: name.into(),
        arguments: Arc::new(arguments),
        agent: Some(SessionId::new("main")),
        at: None,
        parent: None,
    }
}

/// An outcome as `text` or `text [code]`, with a mark if it is an error.
pub(super) fn shown(outcome: &ToolOutcome) -> String {
    let mark = if outcome.is_error { "!" } else { "" };
    let text = outcome.content.joined_text();
    match &outcome.error {
        Some(error) => format!("{mark}{text} [{} {}]", error.name, error.code),
        None => format!("{mark}{text}"),
    }
}

pub(super) const ABORTED: &str = "!Error: tool call aborted [AbortError ABORTED]";
pub(super) const ABORTED_BEFORE: &str =
    "!Error: tool call aborted before dispatch [AbortError ABORTED_BEFORE_DISPATCH]";

pub(super) fn raised() -> Signal {
    let trigger = Trigger::new();
    cancel(&trigger);
    trigger.signal()
}

pub(super) fn ok() -> Scripted {
    tool_with("t", |_, _| async { Ok(ToolOutput::text("done")) })
}

pub(super) fn deferring(result: Result<ToolOutput, Fault>) -> Scripted {
    tool_with("t", move |_, run| {
        run.defer(context("deferred"));
        let result = result.clone();
        async move { result }
    })
}

/// Answers pre-execute with a decision.
pub(super) fn pre(bench: &Bench, answer: Json) {
    let answer: PreToolDecision = decision(answer);
    bench.on::<PreExecute>(listener::<PreExecute, _>(move |_, _| {
        let answer = answer.clone();
        Box::pin(async move { Ok(answer) })
    }));
}

pub(super) fn post(bench: &Bench, answer: Json) {
    let answer: PostToolDecision = decision(answer);
    bench.on::<PostExecute>(listener::<PostExecute, _>(move |_, _| {
        let answer = answer.clone();
        Box::pin(async move { Ok(answer) })
    }));
}

pub(super) fn block(text: &str) -> Json {
    json!([{"type": "text", "text": text}])
}

pub(super) fn added(text: &str) -> Json {
    json!([{"content": block(text), "source": {"kind": "plugin", "plugin": "p"}}])
}
