//! The process that is killed: an agent with a scripted model, a tool that notes its calls, a durable store.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use futures_util::stream;
use hames_agent::listeners::Listeners;
use hames_agent::prompt::{PromptConfig, Prompts};
use hames_agent::router::Router;
use hames_agent::tools::Tools;
use hames_agent::{Agent, AgentOptions, Agents, Limits, SendOptions, Services, StartOptions};
use hames_log::{Place, Sessions};
use hames_store::{Checkpoint, Persistence};
use hames_types::chunk::{FinishReason, StreamChunk};
use hames_types::content::{Content, ContentBlock};
use hames_types::event::Event;
use hames_types::fault::Fault;
use hames_types::header::SessionHeader;
use hames_types::id::{CallId, ModelId, ProviderId, Seq, SessionId};
use hames_types::json::Extra;
use hames_types::message::{Plain, Role};
use hames_types::port::clock::FixedClock;
use hames_types::port::listener::{Consult, Decide};
use hames_types::port::llm::{ChunkStream, Llm};
use hames_types::port::seam::{Execute, LlmStream, PostStep};
use hames_types::port::store::{OpenedSession, SessionLoader, Store, StoreError, StoredSession, WriterEpoch};
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::request::{Request, ToolSchema};
use hames_types::signal::Signal;
use hames_types::tool::{ToolCall, ToolDefinition, ToolOutput};

use super::{Kind, SESSION, acknowledged, bodies};

const PROVIDER: &str = "scripted";

/// How many chunks an answer has.
const CHUNKS: usize = 40;

fn notes(file: &Path) -> anyhow::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .with_context(|| file.display().to_string())
}

/// A store that notes what it has acknowledged, right after it has.
struct Noting {
    store: Arc<dyn Store>,
    acknowledged: File,
}

#[async_trait]
impl Store for Noting {
    async fn create(&self, header: &SessionHeader) -> Result<WriterEpoch, StoreError> {
        self.store.create(header).await
    }

    async fn open(&self, id: &SessionId) -> Result<OpenedSession, StoreError> {
        self.store.open(id).await
    }

    async fn adopt(&self, id: &SessionId) -> Result<OpenedSession, StoreError> {
        self.store.adopt(id).await
    }

    async fn append(
        &self,
        header: &SessionHeader,
        epoch: WriterEpoch,
        expected: Seq,
        events: &[Arc<Event>],
    ) -> Result<(), StoreError> {
        self.store.append(header, epoch, expected, events).await?;
        let length = expected.get() + events.len() as u64;
        (&self.acknowledged)
            .write_all(format!("{length}\n").as_bytes())
            .map_err(|source| StoreError::Io {
                doing: "noting in",
                place: "the notes".to_owned(),
                hint: "check the folder",
                source: Arc::new(source),
            })
    }

    async fn load(&self, id: &SessionId) -> Result<StoredSession, StoreError> {
        self.store.load(id).await
    }

    async fn header(&self, id: &SessionId) -> Result<SessionHeader, StoreError> {
        self.store.header(id).await
    }

    async fn list(&self) -> Result<Vec<SessionHeader>, StoreError> {
        self.store.list().await
    }

    async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        self.store.delete(id).await
    }

    async fn close(&self) {
        self.store.close().await;
    }
}

/// A tool that notes that its body began, before it does anything.
struct Noted {
    definition: ToolDefinition,
    bodies: File,
}

#[async_trait]
impl Tool for Noted {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn execute(&self, call: &ToolCall, _: &ToolRun) -> Result<ToolOutput, Fault> {
        (&self.bodies)
            .write_all(format!("{}\n", call.call_id).as_bytes())
            .map_err(|error| Fault::foreign(error.to_string()))?;
        tokio::task::yield_now().await;
        Ok(ToolOutput::text("done"))
    }
}

/// A model that asks for two tools and then says something. What it asks for is named after what it was told, so
/// only a call that was forgotten can be asked for under the same id again.
struct Scripted;

#[async_trait]
impl Llm for Scripted {
    fn stream(&self, request: Request, _: Signal) -> ChunkStream {
        let told = request.messages.len();
        let answered = request
            .messages
            .iter()
            .last()
            .is_some_and(|last| last.role == Role::User && holds_result(&last.content));
        let chunks = if answered { speech(told) } else { calls(told) };
        Box::pin(stream::iter(chunks.into_iter().map(Ok)))
    }
}

fn holds_result(content: &Content) -> bool {
    content
        .iter()
        .any(|block| matches!(block, ContentBlock::ToolResult(_)))
}

fn calls(told: usize) -> Vec<StreamChunk> {
    let mut chunks = Vec::new();
    for index in 0..2 {
        let id = CallId::new(format!("c{told}-{index}"));
        chunks.push(StreamChunk::block_start(index, "tool-call"));
        chunks.push(StreamChunk::tool_call_delta(
            index,
            id.clone(),
            Some("note".into()),
            "{}",
        ));
        chunks.push(StreamChunk::block_end(
            index,
            ContentBlock::tool_call(id, "note", "{}"),
        ));
    }
    chunks.push(StreamChunk::finish(
        FinishReason::ToolCalls(Plain { extra: Extra::NONE }),
        None,
    ));
    chunks
}

fn speech(told: usize) -> Vec<StreamChunk> {
    let mut chunks = vec![StreamChunk::block_start(0, "text")];
    let mut text = String::new();
    for piece in 0..CHUNKS {
        let piece = format!("{told}.{piece} ");
        text.push_str(&piece);
        chunks.push(StreamChunk::text_delta(0, piece));
    }
    chunks.push(StreamChunk::block_end(0, ContentBlock::text(text)));
    chunks.push(StreamChunk::finish(FinishReason::STOP, None));
    chunks
}

/// An agent on a store, composed as the program does it.
pub struct World {
    /// Its agent.
    pub agent: Arc<Agent>,
    /// What makes it durable.
    pub persistence: Arc<Persistence>,
    agents: Arc<Agents>,
}

impl World {
    /// Starts the session, or resumes it if it is stored.
    ///
    /// # Errors
    /// Whatever keeps it from starting.
    pub async fn start(kind: Kind, folder: &Path) -> anyhow::Result<Self> {
        let sessions = Sessions::new(Arc::new(FixedClock(1_700_000_000_000)));
        let store = Arc::new(Noting {
            store: kind.open(folder)?,
            acknowledged: notes(&acknowledged(folder))?,
        });
        let persistence = Arc::new(Persistence::follow(&sessions, Arc::clone(&store) as _));
        let listeners = Arc::new(Listeners::new());
        let checkpoint = Checkpoint::new(sessions.clone());
        listeners.add::<LlmStream>(
            None,
            Place::First,
            Arc::clone(&checkpoint) as Arc<dyn Decide<LlmStream>>,
        );
        listeners.add::<Execute>(
            None,
            Place::First,
            Arc::clone(&checkpoint) as Arc<dyn Decide<Execute>>,
        );
        listeners.add::<PostStep>(None, Place::First, checkpoint as Arc<dyn Consult<PostStep>>);
        let tools = Tools::new(Arc::clone(&listeners));
        let schema = ToolSchema {
            name: "note".into(),
            description: "notes that it ran".into(),
            parameters: Arc::default(),
            extra: Extra::NONE,
        };
        let tool = Noted {
            definition: ToolDefinition {
                schema,
                timeout_ms: None,
            },
            bodies: notes(&bodies(folder))?,
        };
        tools.register(None, Arc::new(tool))?;
        let router = Router::new();
        router.register(&[ProviderId::new(PROVIDER)], Arc::new(Scripted))?;
        let services = Services {
            sessions,
            listeners,
            tools: Arc::new(tools),
            prompts: Arc::new(Prompts::new(PromptConfig::default())?),
            router: Arc::new(router),
            limits: Limits::STANDARD,
        };
        let agents = Agents::new(services, Some(Arc::clone(&persistence) as Arc<dyn SessionLoader>));
        let options = AgentOptions {
            provider: Some(ProviderId::new(PROVIDER)),
            model: Some(ModelId::new("m")),
        };
        let id = SessionId::new(SESSION);
        let agent = match store.load(&id).await {
            Ok(_) => agents.resume(&id, options, None).await?,
            Err(StoreError::NotFound(_)) => {
                let start = StartOptions {
                    id: Some(id),
                    options,
                    ..StartOptions::default()
                };
                agents.start(start).await?
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Self {
            agent,
            persistence,
            agents,
        })
    }

    /// Runs one turn to its end.
    ///
    /// # Errors
    /// If the agent takes no prompt.
    pub async fn turn(&self) -> anyhow::Result<()> {
        self.agent.send(Content::text("go on"), SendOptions::default())?;
        self.agent.when_idle().await;
        Ok(())
    }

    /// The orderly end.
    ///
    /// # Errors
    /// If something could not be stored.
    pub async fn close(self) -> anyhow::Result<()> {
        self.agents.close().await;
        match self.persistence.close().await {
            Ok(()) => Ok(()),
            Err(failures) => Err(failures
                .into_iter()
                .next()
                .map_or_else(|| anyhow::anyhow!("closing failed"), Into::into)),
        }
    }
}

/// Runs turns until the process is killed, or `turns` of them.
///
/// # Errors
/// Whatever goes wrong before that.
pub fn run(kind: Kind, folder: &Path, turns: usize) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let world = World::start(kind, folder).await?;
        for _ in 0..turns {
            world.turn().await?;
        }
        world.close().await
    })
}
