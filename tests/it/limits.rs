//! What ends a turn that would never end by itself, and what two calls under one id amount to.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream;
use hames_agent::listeners::Listeners;
use hames_agent::prompt::{PromptConfig, Prompts};
use hames_agent::router::Router;
use hames_agent::tools::Tools;
use hames_agent::{AgentOptions, Agents, Limits, SendOptions, Services, StartOptions};
use hames_log::{Place, Sessions};
use hames_types::chunk::{FinishReason, StreamChunk};
use hames_types::content::{Content, ContentBlock};
use hames_types::decision::{ContinuationDecision, RequestErrorDecision};
use hames_types::event::EventBody;
use hames_types::fault::Fault;
use hames_types::id::{CallId, ModelId, ProviderId};
use hames_types::message::Message;
use hames_types::port::clock::FixedClock;
use hames_types::port::listener::{Decide, Next};
use hames_types::port::llm::{ChunkStream, Llm};
use hames_types::port::seam::{
    ContinuationAsk, RequestError, RequestErrorAsk, StepResult, StepResultAsk, TurnContinuation,
};
use hames_types::request::Request;
use hames_types::signal::Signal;
use hames_types::turn::{ErrorEnd, TurnEndReason};
use parking_lot::Mutex;

/// Says the same every time.
struct Says(Vec<ContentBlock>);

impl Llm for Says {
    fn stream(&self, _: Request, _: Signal) -> ChunkStream {
        let blocks = (0..)
            .zip(self.0.clone())
            .map(|(index, block)| StreamChunk::block_end(index, block));
        let chunks: Vec<_> = blocks
            .chain([StreamChunk::finish(FinishReason::STOP, None)])
            .map(Ok)
            .collect();
        Box::pin(stream::iter(chunks))
    }
}

fn call(id: &str) -> ContentBlock {
    ContentBlock::tool_call(CallId::new(id), "nobody", "{}")
}

fn agents(says: Vec<ContentBlock>, limits: Limits) -> Arc<Agents> {
    let listeners = Arc::new(Listeners::new());
    let router = Router::new();
    router
        .register(&[ProviderId::new("p")], Arc::new(Says(says)))
        .unwrap();
    let services = Services {
        sessions: Sessions::new(Arc::new(FixedClock(0))),
        tools: Arc::new(Tools::new(Arc::clone(&listeners))),
        prompts: Arc::new(Prompts::new(PromptConfig::default()).unwrap()),
        router: Arc::new(router),
        limits,
        listeners,
    };
    Agents::new(services, None)
}

/// Runs one prompt; how its turn failed, and how many steps it took.
async fn failed(agents: &Arc<Agents>) -> (ErrorEnd, usize) {
    let options = AgentOptions {
        provider: Some(ProviderId::new("p")),
        model: Some(ModelId::new("m")),
    };
    let agent = agents
        .start(StartOptions {
            options,
            ..StartOptions::default()
        })
        .await
        .unwrap();
    agent.send(Content::text("go"), SendOptions::default()).unwrap();
    agent.when_idle().await;
    let events = agent.session().all_events();
    let steps = events.iter().filter(|event| event.kind() == "step/end").count();
    assert_eq!(agent.session().open_turn(), None);
    agents.close().await;
    let Some(EventBody::TurnEnd(end)) = events.last().and_then(|event| event.body()) else {
        panic!("the log ends with something else than the turn's end");
    };
    let TurnEndReason::Error(error) = &end.reason else {
        panic!("the turn ended as {:?}", end.reason)
    };
    ((**error).clone(), steps)
}

#[tokio::test]
async fn a_17_a_model_that_never_stops_calling_tools_is_stopped_by_the_limit_of_steps() {
    let limits = Limits {
        max_steps: 3,
        ..Limits::STANDARD
    };
    let (error, steps) = failed(&agents(vec![call("c")], limits)).await;
    assert_eq!(error.code.as_deref(), Some("MAX_STEPS"));
    assert!(error.message.is_some_and(|message| message.contains("max_steps")));
    assert_eq!((error.step.get(), steps), (3, 3));
}

/// Makes the turn go on, always, and writes down whether it was told that it did so before.
struct Relentless(Arc<Mutex<Vec<bool>>>);

#[async_trait]
impl Decide<TurnContinuation> for Relentless {
    async fn decide(
        &self,
        ask: &ContinuationAsk,
        _: Next<'_, TurnContinuation>,
    ) -> Result<ContinuationDecision, Fault> {
        self.0.lock().push(ask.stop_hook_active);
        Ok(ContinuationDecision::CONTINUE)
    }
}

#[tokio::test]
async fn a_13_a_listener_that_never_lets_go_is_told_so_and_stopped_by_a_limit() {
    let limits = Limits {
        max_forced_continuations: Some(2),
        ..Limits::STANDARD
    };
    let agents = agents(vec![ContentBlock::text("done")], limits);
    let told = Arc::default();
    let relentless = Arc::new(Relentless(Arc::clone(&told)));
    agents
        .services()
        .listeners
        .add::<TurnContinuation>(None, Place::Last, relentless);
    let (error, steps) = failed(&agents).await;
    assert_eq!(error.code.as_deref(), Some("CONTINUATION_LIMIT"));
    assert_eq!(steps, 3);
    assert_eq!(*told.lock(), [false, true, true]);
}

/// Counts how often a recovery was asked for.
struct Counts(Arc<Mutex<usize>>);

#[async_trait]
impl Decide<RequestError> for Counts {
    async fn decide(
        &self,
        _: &RequestErrorAsk,
        next: Next<'_, RequestError>,
    ) -> Result<RequestErrorDecision, Fault> {
        *self.0.lock() += 1;
        next.run().await
    }
}

/// Puts two calls of one id into the answer.
struct Twins;

#[async_trait]
impl Decide<StepResult> for Twins {
    async fn decide(&self, _: &StepResultAsk, next: Next<'_, StepResult>) -> Result<Message, Fault> {
        let said = next.run().await?;
        Ok(Message {
            content: Content::from(vec![call("c"), call("c")]),
            ..said
        })
    }
}

#[tokio::test]
async fn a_11_twin_calls_fail_the_request_if_the_model_made_them_and_the_step_if_a_listener_did() {
    for by_listener in [false, true] {
        let says = if by_listener {
            vec![call("c")]
        } else {
            vec![call("c"), call("c")]
        };
        let agents = agents(says, Limits::STANDARD);
        let asked = Arc::default();
        let listeners = &agents.services().listeners;
        listeners.add::<RequestError>(None, Place::Last, Arc::new(Counts(Arc::clone(&asked))));
        if by_listener {
            listeners.add::<StepResult>(None, Place::Last, Arc::new(Twins));
        }
        let (error, _) = failed(&agents).await;
        let code = error.failure.as_ref().map(|failure| failure.code.as_str());
        assert_eq!(code, (!by_listener).then_some("MALFORMED_RESPONSE"));
        assert_eq!(error.message.is_some(), by_listener);
        assert_eq!(*asked.lock(), usize::from(!by_listener));
    }
}
