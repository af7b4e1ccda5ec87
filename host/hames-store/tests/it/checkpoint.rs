//! Is everything durable before it has an effect, and nothing done when it can't be made so?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Result;
use async_trait::async_trait;
use hames_log::{Draft, Flush, Log, Place, Session, SessionMeta, Sessions};
use hames_store::Checkpoint;
use hames_types::fault::Fault;
use hames_types::id::{CallId, ModelId, ProviderId, SessionId, StepNo, TurnNo};
use hames_types::message::History;
use hames_types::port::clock::FixedClock;
use hames_types::port::listener::{Consult, Decide, Next, Rest};
use hames_types::port::llm::ChunkStream;
use hames_types::port::seam::{Execute, ExecuteAsk, LlmStream, PostStep, StepAsk, StreamAsk};
use hames_types::request::{CallConfig, Request};
use hames_types::signal::{Signal, SignalReason, Trigger};
use hames_types::tool::{ToolCall, ToolOutcome, ToolOutput};
use serde_json::json;

use crate::kit::id;

/// Counts how much of a session was flushed, and fails if it should.
#[derive(Default)]
struct Durable {
    events: AtomicUsize,
    full: AtomicBool,
}

#[async_trait]
impl Flush for Durable {
    async fn flush(&self, session: &Arc<Session>) -> Result<(), Fault> {
        if self.full.load(Ordering::SeqCst) {
            return Err(Fault::foreign("the disk is full"));
        }
        self.events.store(session.len(), Ordering::SeqCst);
        Ok(())
    }
}

/// What lies behind the checkpoint: notes how much was durable when it began.
struct Behind<'a>(&'a Durable, &'a AtomicUsize);

#[async_trait]
impl Rest<LlmStream> for Behind<'_> {
    async fn run(self: Box<Self>, _: Option<Request>) -> Result<ChunkStream, Fault> {
        self.1
            .store(self.0.events.load(Ordering::SeqCst), Ordering::SeqCst);
        Err(Fault::foreign("the adapter was asked"))
    }
}

#[async_trait]
impl Rest<Execute> for Behind<'_> {
    async fn run(self: Box<Self>, _: Option<Signal>) -> Result<ToolOutcome, Fault> {
        self.1
            .store(self.0.events.load(Ordering::SeqCst), Ordering::SeqCst);
        Ok(ToolOutcome::success(ToolOutput::text("ran"), Vec::new()))
    }
}

const NEVER: usize = usize::MAX;

struct World {
    checkpoint: Arc<Checkpoint>,
    durable: Arc<Durable>,
    seen: AtomicUsize,
}

fn world() -> Result<World> {
    let sessions = Sessions::new(Arc::new(FixedClock(1)));
    let durable = Arc::new(Durable::default());
    sessions
        .on_flush()
        .add(None, Place::Last, Arc::clone(&durable) as _);
    let session = sessions.create(Some(id("s")), SessionMeta::default(), Log::new())?;
    let start = json!({"turn": 1, "trigger": {"kind": "message", "source": {"kind": "user"}}});
    session.append(Draft::read("turn/start", start, None, None)?)?;
    Ok(World {
        checkpoint: Checkpoint::new(sessions),
        durable,
        seen: AtomicUsize::new(NEVER),
    })
}

impl World {
    async fn stream(&self, session: Option<&str>) -> Fault {
        let ask = StreamAsk {
            request: Request {
                config: CallConfig::new(ProviderId::new("p"), ModelId::new("m")),
                system: None,
                tools: None,
                messages: History::default(),
                session_id: session.map(SessionId::new),
                purpose: None,
            },
            from_loop: true,
            signal: Signal::never(),
        };
        let next = Next::new(Behind(&self.durable, &self.seen));
        let checkpoint: &dyn Decide<LlmStream> = &*self.checkpoint;
        match checkpoint.decide(&ask, next).await {
            Ok(_) => panic!("the adapter here only fails"),
            Err(fault) => fault,
        }
    }

    async fn execute(
        &self,
        agent: Option<&str>,
        parent: Option<&str>,
        signal: Signal,
    ) -> Result<ToolOutcome, Fault> {
        let ask = ExecuteAsk {
            call: ToolCall {
                call_id: CallId::new("c"),
                name: "t".into(),
                arguments: Arc::new(json!({})),
                agent: agent.map(SessionId::new),
                at: None,
                parent: parent.map(CallId::new),
            },
            timeout_ms: None,
            signal,
        };
        let next = Next::new(Behind(&self.durable, &self.seen));
        let checkpoint: &dyn Decide<Execute> = &*self.checkpoint;
        checkpoint.decide(&ask, next).await
    }

    fn seen(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn r_ckpt_1_a_request_leaves_only_once_what_led_to_it_is_durable() -> Result<()> {
    let world = world()?;
    assert_eq!(world.stream(Some("s")).await.message(), "the adapter was asked");
    assert_eq!(world.seen(), 1);
    world.durable.full.store(true, Ordering::SeqCst);
    world.seen.store(NEVER, Ordering::SeqCst);
    let fault = world.stream(Some("s")).await;
    assert_eq!(fault.message(), "the disk is full");
    assert!(fault.failure().is_none(), "it is no model's failure");
    assert_eq!(world.seen(), NEVER);
    // Nothing is at stake for a session nobody knows, or for none.
    for session in [Some("unknown"), None] {
        assert_eq!(world.stream(session).await.message(), "the adapter was asked");
    }
    Ok(())
}

#[tokio::test]
async fn r_ckpt_2_a_body_runs_only_once_its_call_is_durable() -> Result<()> {
    let world = world()?;
    assert!(!world.execute(Some("s"), None, Signal::never()).await?.is_error);
    assert_eq!(world.seen(), 1);

    world.seen.store(NEVER, Ordering::SeqCst);
    let cancelled = Trigger::new();
    cancelled.raise(SignalReason::Withdrawn);
    let outcome = world.execute(Some("s"), None, cancelled.signal()).await?;
    assert_eq!(
        outcome.error.map(|error| error.code).as_deref(),
        Some("ABORTED_BEFORE_DISPATCH")
    );
    assert_eq!(world.seen(), NEVER);

    world.durable.full.store(true, Ordering::SeqCst);
    assert!(world.execute(Some("s"), None, Signal::never()).await.is_err());
    assert_eq!(world.seen(), NEVER);
    // Nested calls and calls without an agent skip it.
    assert!(
        world
            .execute(Some("s"), Some("outer"), Signal::never())
            .await
            .is_ok()
    );
    assert!(world.execute(None, None, Signal::never()).await.is_ok());
    Ok(())
}

#[tokio::test]
async fn r_ckpt_3_a_step_is_durable_before_the_next_or_the_turn_fails() -> Result<()> {
    let world = world()?;
    let ask = StepAsk {
        agent: id("s"),
        turn: TurnNo::FIRST,
        step: StepNo::FIRST,
        signal: Signal::never(),
    };
    let checkpoint: &dyn Consult<PostStep> = &*world.checkpoint;
    assert_eq!(
        checkpoint.consult(&ask).await.map_err(|fault| fault.chain()),
        Ok(None)
    );
    assert_eq!(world.durable.events.load(Ordering::SeqCst), 1);
    world.durable.full.store(true, Ordering::SeqCst);
    assert!(checkpoint.consult(&ask).await.is_err());
    Ok(())
}
