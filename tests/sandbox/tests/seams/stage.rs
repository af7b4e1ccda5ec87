//! A whole loop around the plugins of a test: a model that calls a tool once and is done, and real listeners' lists.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream;
use hames_agent::listeners::Listeners;
use hames_agent::prompt::{PromptConfig, Prompts};
use hames_agent::router::Router;
use hames_agent::tools::Tools;
use hames_agent::{Agent, AgentOptions, Agents, Limits, LiveCallers, SendOptions, Services, StartOptions};
use hames_log::Sessions;
use hames_plugin::{Capacity, Ledger, Plugin, PluginSpec, Point, Sandbox};
use hames_sandbox_tests::home::Home;
use hames_sandbox_tests::listening::Listening;
use hames_sandbox_tests::trial::narrow;
use hames_store::{Persistence, SqliteStore, Threading};
use hames_types::chunk::{FinishReason, StreamChunk};
use hames_types::content::{Content, ContentBlock};
use hames_types::event::{Event, EventBody, ToolResultEvent};
use hames_types::failure::LlmFailure;
use hames_types::fault::Fault;
use hames_types::id::{CallId, ModelId, PluginId, ProviderId};
use hames_types::json::{Extra, FromJson, Json, JsonMap};
use hames_types::message::Role;
use hames_types::port::clock::FixedClock;
use hames_types::port::llm::{ChunkStream, Llm};
use hames_types::port::store::SessionLoader;
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::request::{Request, ToolSchema};
use hames_types::signal::Signal;
use hames_types::tool::{ToolCall, ToolDefinition, ToolOutput};
use hames_types::turn::TurnEndReason;

/// A loop, and a sandbox that reaches it.
pub(crate) struct Stage {
    pub(crate) agents: Arc<Agents>,
    pub(crate) sandbox: Sandbox,
    pub(crate) home: Home,
    pub(crate) model_fails: Arc<AtomicBool>,
    persistence: Option<Arc<Persistence>>,
}

/// Calls `t` when asked by a person, and says "done" when it has the result.
struct Model {
    tool: &'static str,
    fails: Arc<AtomicBool>,
}

impl Llm for Model {
    fn stream(&self, request: Request, _: Signal) -> ChunkStream {
        if self.fails.load(Ordering::Relaxed) {
            let failure = Fault::llm(LlmFailure::new("SERVER", "the model failed"));
            return Box::pin(stream::iter([Err(failure)]));
        }
        let has_result = request.messages.iter().last().is_some_and(|message| {
            message.role == Role::User
                && message
                    .content
                    .iter()
                    .any(|block| matches!(block, ContentBlock::ToolResult(_)))
        });
        let block = if has_result {
            ContentBlock::text("done")
        } else {
            ContentBlock::tool_call(CallId::new("c1"), self.tool, "{}")
        };
        let chunks = [
            StreamChunk::block_end(0, block),
            StreamChunk::finish(FinishReason::STOP, None),
        ];
        Box::pin(stream::iter(chunks.map(Ok)))
    }
}

/// Answers "ok", or the content it is called with.
struct Native(ToolDefinition);

#[async_trait]
impl Tool for Native {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn execute(&self, call: &ToolCall, _: &ToolRun) -> Result<ToolOutput, Fault> {
        let mut output = ToolOutput::text("ok");
        if let Some(content) = call.arguments.get("answer") {
            output.content = Content::from_json(content.clone()).unwrap();
        }
        Ok(output)
    }
}

fn native(name: &str) -> Arc<dyn Tool> {
    Arc::new(Native(ToolDefinition {
        schema: ToolSchema {
            name: name.into(),
            description: name.into(),
            parameters: Arc::new(JsonMap::new()),
            extra: Extra::NONE,
        },
        timeout_ms: None,
    }))
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with("native", Capacity::default(), None)
    }

    /// `tool` is the one the model calls; `native` is there.
    pub(crate) fn with(tool: &'static str, capacity: Capacity, ledger: Option<Ledger>) -> Self {
        Self::build(tool, capacity, ledger, None)
    }

    /// With sessions in a file.
    pub(crate) fn stored(tool: &'static str, file: &Path) -> Self {
        Self::build(tool, Capacity::default(), None, Some(file))
    }

    fn build(tool: &'static str, capacity: Capacity, ledger: Option<Ledger>, file: Option<&Path>) -> Self {
        let listeners = Arc::new(Listeners::new());
        if let Some(ledger) = &ledger {
            listeners.add_held(Arc::new(ledger.clone()));
        }
        let tools = Arc::new(Tools::new(Arc::clone(&listeners)));
        tools.register(None, native("native")).unwrap();
        let model_fails = Arc::<AtomicBool>::default();
        let router = Router::new();
        let fails = Arc::clone(&model_fails);
        router
            .register(&[ProviderId::new("p")], Arc::new(Model { tool, fails }))
            .unwrap();
        let services = Services {
            sessions: Sessions::new(Arc::new(FixedClock(1_700_000_000_000))),
            prompts: Arc::new(Prompts::new(PromptConfig::default()).unwrap()),
            router: Arc::new(router),
            limits: Limits::STANDARD,
            tools,
            listeners,
        };
        let persistence = file.map(|file| {
            let store = SqliteStore::open_file(file, Threading::Own).unwrap();
            Arc::new(Persistence::follow(&services.sessions, Arc::new(store)))
        });
        let loader = persistence.clone().map(|it| it as Arc<dyn SessionLoader>);
        let agents = Agents::new(services, loader);
        let home = Home::new().unwrap();
        let mut lent = home.services();
        lent.callers = Some(Arc::new(LiveCallers::new(&agents)));
        let mut sandbox = Sandbox::with_capacity(lent, None, capacity).unwrap();
        if let Some(ledger) = ledger {
            sandbox = sandbox.recording(ledger);
        }
        Self {
            agents,
            sandbox,
            home,
            model_fails,
            persistence,
        }
    }

    /// Loads a plugin and registers everything it brings.
    pub(crate) async fn add(&self, spec: PluginSpec) -> anyhow::Result<Plugin> {
        let plugin = self.sandbox.load(spec).await?;
        let services = self.agents.services();
        for tool in plugin.tools()? {
            services.tools.register(None, tool)?;
        }
        for listener in plugin.listeners() {
            services.register(None, listener)?;
        }
        if let Some(part) = plugin.prompt() {
            services.prompts.part(None, &part)?;
        }
        Ok(plugin)
    }

    /// Ends everything and makes it durable.
    pub(crate) async fn close(self) {
        self.agents.close().await;
        if let Some(persistence) = &self.persistence {
            persistence.close().await.unwrap();
        }
    }

    /// Starts an agent.
    pub(crate) async fn start(&self) -> Arc<Agent> {
        let options = StartOptions {
            options: options(),
            ..StartOptions::default()
        };
        self.agents.start(options).await.unwrap()
    }

    /// Runs one prompt in an agent of its own, to the end.
    pub(crate) async fn run(&self) -> Run {
        let agent = self.start().await;
        agent.send(Content::text("go"), SendOptions::default()).unwrap();
        agent.when_idle().await;
        Run(agent.session().all_events())
    }
}

/// Where the model is.
pub(crate) fn options() -> AgentOptions {
    AgentOptions {
        provider: Some(ProviderId::new("p")),
        model: Some(ModelId::new("m")),
    }
}

/// A plugin that may do everything at its seams, with little time.
pub(crate) fn spec(id: &str, made: &Listening) -> PluginSpec {
    let mut spec = PluginSpec::new(PluginId::new(id), made.component(id).unwrap());
    spec.limits = narrow();
    spec.limits.decide = Duration::from_millis(150);
    spec.grant.full = Point::ALL.to_vec();
    spec
}

/// What was logged.
pub(crate) struct Run(pub(crate) Vec<Arc<Event>>);

impl Run {
    /// How the last turn ended.
    pub(crate) fn end(&self) -> &TurnEndReason {
        match self.0.last().and_then(|event| event.body()) {
            Some(EventBody::TurnEnd(end)) => &end.reason,
            _ => panic!("the log ends with something else than the turn's end"),
        }
    }

    /// The code of the error with which the last turn ended.
    pub(crate) fn error(&self) -> Option<&str> {
        match self.end() {
            TurnEndReason::Error(error) => error.code.as_deref(),
            _ => None,
        }
    }

    /// The result of the one call.
    pub(crate) fn result(&self) -> Option<&ToolResultEvent> {
        self.0.iter().find_map(|event| match event.body()? {
            EventBody::ToolResult(result) => Some(&**result),
            _ => None,
        })
    }

    /// The events of a kind, as data.
    pub(crate) fn of(&self, kind: &str) -> Vec<Json> {
        let events = self.0.iter().filter(|event| event.kind() == kind);
        events
            .map(|event| serde_json::to_value(&**event).unwrap()["data"].clone())
            .collect()
    }

    /// Whether everything that was opened was closed.
    pub(crate) fn is_balanced(&self) -> bool {
        let count = |kind: &str| self.0.iter().filter(|event| event.kind() == kind).count();
        count("turn/start") == count("turn/end")
            && count("step/start") == count("step/end")
            && count("tool/call") == count("tool/result")
    }
}
