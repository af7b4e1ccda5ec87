//! The real stack with a model, tools and listeners that take an arbitrary but repeatable course.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use fastrand::Rng;
use futures_util::stream;
use hames_agent::listeners::Listeners;
use hames_agent::prompt::{PromptConfig, Prompts};
use hames_agent::router::Router;
use hames_agent::tools::Tools;
use hames_agent::{Agent, AgentOptions, Agents, Limits, Services, StartOptions};
use hames_log::Sessions;
use hames_types::chunk::{FinishReason, StreamChunk};
use hames_types::content::ContentBlock;
use hames_types::failure::LlmFailure;
use hames_types::fault::Fault;
use hames_types::id::{CallId, ModelId, ProviderId};
use hames_types::json::{Extra, Json, JsonMap};
use hames_types::message::Plain;
use hames_types::port::clock::FixedClock;
use hames_types::port::llm::{ChunkStream, Llm};
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::request::{Request, ToolSchema};
use hames_types::signal::Signal;
use hames_types::tool::{ExecutionMode, ToolCall, ToolDefinition, ToolOutput};
use parking_lot::Mutex;
use smol_str::SmolStr;

use crate::conformance::loop_cases::yielding::{Yields, everywhere, idle};

/// Chance decided by a seed, shared by everyone of one rig.
#[derive(Clone)]
pub struct Dice(Arc<Mutex<Rng>>);

impl Dice {
    /// The same course for the same seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(Rng::with_seed(seed))))
    }

    /// A number below `end`.
    #[must_use]
    pub fn below(&self, end: usize) -> usize {
        self.0.lock().usize(0..end.max(1))
    }

    /// As many yields as chance has it, asked anew each time.
    #[must_use]
    pub fn yields(&self) -> Yields {
        let dice = self.clone();
        Arc::new(move || dice.below(4))
    }
}

/// An agent on the real stack whose model, tools and listeners follow the dice.
pub struct Rig {
    /// The host.
    pub agents: Arc<Agents>,
    /// Bodies that run.
    pub bodies: Arc<AtomicUsize>,
}

impl Rig {
    /// A host with a model and three tools that follow `dice`, every request checked against the log.
    ///
    /// # Errors
    /// If a part refuses to be registered.
    pub fn new(dice: &Dice) -> anyhow::Result<Self> {
        let bodies = Arc::new(AtomicUsize::new(0));
        let listeners = Arc::new(Listeners::new());
        let tools = Arc::new(Tools::new(Arc::clone(&listeners)));
        for (name, mode) in [
            ("solo", ExecutionMode::Exclusive),
            ("beside", ExecutionMode::Parallel),
            ("deaf", ExecutionMode::Parallel),
        ] {
            let tool = Chancy {
                definition: definition(name),
                mode,
                dice: dice.clone(),
                bodies: Arc::clone(&bodies),
            };
            tools.register(None, Arc::new(tool))?;
        }
        let prompts = Prompts::new(PromptConfig::default())?;
        prompts.tools(None, Arc::clone(&tools) as _)?;
        let router = Router::new();
        router.register(&[ProviderId::new("dice")], Arc::new(Model { dice: dice.clone() }))?;
        let services = Services {
            sessions: Sessions::new(Arc::new(FixedClock(0))),
            listeners,
            tools,
            prompts: Arc::new(prompts),
            router: Arc::new(router),
            limits: Limits {
                max_parallel_tool_calls: 1 + dice.below(4),
                check_requests: true,
                ..Limits::STANDARD
            },
        };
        everywhere(&services, &dice.yields());
        Ok(Self {
            agents: Agents::new(services, None),
            bodies,
        })
    }

    /// Starts an agent that asks the rig's model.
    ///
    /// # Errors
    /// If it can't be started.
    pub async fn start(&self) -> anyhow::Result<Arc<Agent>> {
        let options = AgentOptions {
            provider: Some(ProviderId::new("dice")),
            model: Some(ModelId::new("m")),
        };
        Ok(self
            .agents
            .start(StartOptions {
                options,
                ..StartOptions::default()
            })
            .await?)
    }
}

fn definition(name: &str) -> ToolDefinition {
    let schema = ToolSchema {
        name: name.into(),
        description: name.into(),
        parameters: Arc::new(JsonMap::new()),
        extra: Extra::NONE,
    };
    ToolDefinition {
        schema,
        timeout_ms: None,
    }
}

/// Text, calls, failures and cut-off answers, as the dice fall.
struct Model {
    dice: Dice,
}

impl Model {
    fn answer(&self) -> Vec<Result<StreamChunk, Fault>> {
        let mut chunks = vec![
            StreamChunk::block_start(0, "text"),
            StreamChunk::text_delta(0, "so"),
        ];
        chunks.push(StreamChunk::block_end(0, ContentBlock::text("so")));
        let calls = [0, 0, 1, 2, 4]
            .get(self.dice.below(5))
            .copied()
            .unwrap_or_default();
        for index in 1..=calls {
            let name = ["solo", "beside", "deaf", "nobody"]
                .get(self.dice.below(4))
                .copied()
                .unwrap_or("solo");
            let call = ContentBlock::tool_call(CallId::new(format!("c{index}")), name, "{}");
            chunks.push(StreamChunk::block_end(index, call));
        }
        let mut chunks: Vec<_> = chunks.into_iter().map(Ok).collect();
        match self.dice.below(8) {
            0 => chunks.push(Err(Fault::llm(LlmFailure::new("SERVER", "the dice said so")))),
            1 => chunks.push(Ok(StreamChunk::finish(FinishReason::MaxTokens(Plain::NEW), None))),
            _ => chunks.push(Ok(StreamChunk::finish(FinishReason::STOP, None))),
        }
        chunks
    }
}

impl Llm for Model {
    fn stream(&self, _: Request, signal: Signal) -> ChunkStream {
        let (yields, items) = (self.dice.yields(), self.answer().into_iter());
        Box::pin(stream::unfold(
            (items, yields, signal),
            |(mut items, yields, signal)| async move {
                idle(&yields).await;
                if signal.is_raised() {
                    return None;
                }
                items.next().map(|item| (item, (items, yields, signal)))
            },
        ))
    }
}

/// Takes its time, succeeds or fails, and minds its signal unless it is deaf.
struct Chancy {
    definition: ToolDefinition,
    mode: ExecutionMode,
    dice: Dice,
    bodies: Arc<AtomicUsize>,
}

struct Running<'a>(&'a AtomicUsize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl Tool for Chancy {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn classify(&self, _: &Json) -> Result<ExecutionMode, Fault> {
        Ok(self.mode)
    }

    async fn execute(&self, _: &ToolCall, run: &ToolRun) -> Result<ToolOutput, Fault> {
        self.bodies.fetch_add(1, Ordering::Relaxed);
        let _running = Running(&self.bodies);
        for _ in 0..self.dice.below(6) {
            if self.definition.schema.name != "deaf" && run.signal.is_raised() {
                return Err(Fault::foreign("stopped"));
            }
            tokio::task::yield_now().await;
        }
        let said: SmolStr = format!("{} says so", self.definition.schema.name).into();
        if self.dice.below(5) == 0 {
            Err(Fault::foreign(said))
        } else {
            Ok(ToolOutput::text(said))
        }
    }
}
