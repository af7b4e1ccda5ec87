//! How is a recorded turn run again? The real loop, with the recording behind every point at which it asks.

use std::sync::Arc;

use anyhow::Context as _;
use async_trait::async_trait;
use hames_agent::listeners::Listeners;
use hames_agent::prompt::{PromptConfig, Prompts};
use hames_agent::router::Router;
use hames_agent::tools::Tools;
use hames_agent::{AgentOptions, Agents, Limits, SendOptions, Services, StartOptions};
use hames_llm::replay::{Recording, Replay};
use hames_log::{Draft, Log, Place, SessionMeta, Sessions};
use hames_types::decision::{ContinuationDecision, PromptAllow, PromptDecision, RequestErrorDecision};
use hames_types::event::Event;
use hames_types::fault::Fault;
use hames_types::id::{SessionId, StepNo};
use hames_types::json::Extra;
use hames_types::message::{History, Message};
use hames_types::port::listener::{Decide, Next};
use hames_types::port::llm::ChunkStream;
use hames_types::port::seam::{
    AssembleAsk, CallRequest, ContinuationAsk, Execute, ExecuteAsk, LlmStream, PrefixAsk, PromptAsk,
    PromptAssemble, PromptSubmit, RequestAsk, RequestError, RequestErrorAsk, SessionPrefix, StepResult,
    StepResultAsk, StreamAsk, TurnContinuation,
};
use hames_types::port::store::StoredSession;
use hames_types::prompt::{PromptAssembly, PromptSection, PromptVariable};
use hames_types::request::CallConfig;
use hames_types::tool::ToolOutcome;
use parking_lot::Mutex;

use super::compare::{self, Difference};
use super::score::{Score, Step};
use crate::outside::SystemClock;

/// What came of a turn.
pub(super) struct Played {
    /// How many requests came out the same.
    pub(super) requests: usize,
    /// The first that didn't.
    pub(super) difference: Option<Difference>,
}

/// Runs a turn again.
///
/// # Errors
/// If what stands before it is no log, or it can't be run at all.
pub(super) async fn play(stored: &StoredSession, score: &Arc<Score>) -> anyhow::Result<Played> {
    let before = stored.events.get(..score.start).unwrap_or_default();
    let own = stored.events.get(score.start..score.end).unwrap_or_default();
    let sessions = Sessions::new(Arc::new(SystemClock));
    let listeners = Arc::new(Listeners::new());
    let tools = Arc::new(Tools::new(Arc::clone(&listeners)));
    let router = Router::new();
    let mut providers: Vec<_> = score
        .steps
        .iter()
        .map(|step| step.header.config.provider.clone())
        .collect();
    providers.sort();
    providers.dedup();
    let recording = Recording::of(Some(stored.header.id.clone()), own.iter().map(Arc::as_ref));
    router.register(&providers, Arc::new(Replay::new(vec![recording])))?;
    let player = Arc::new(Player::new(Arc::clone(score), sessions.clone()));
    player.listen(&listeners);
    let services = Services {
        sessions: sessions.clone(),
        listeners,
        tools,
        prompts: Arc::new(Prompts::new(PromptConfig::default())?),
        router: Arc::new(router),
        limits: Limits {
            max_steps: u64::MAX,
            max_forced_continuations: None,
            ..Limits::STANDARD
        },
    };
    let agents = Agents::new(services, None);
    let agent = agents
        .start(StartOptions {
            id: Some(stored.header.id.clone()),
            options: AgentOptions {
                provider: providers.first().cloned(),
                model: score.steps.first().map(|step| step.header.config.model.clone()),
            },
            meta: SessionMeta {
                cwd: stored.header.fields.cwd.clone(),
                ..SessionMeta::default()
            },
            seed: Log::from_events(before.iter().cloned())?,
            ..StartOptions::default()
        })
        .await
        .context("the session can't be brought to where the turn begins")?;
    let send = SendOptions {
        source: Some(score.source.clone()),
        contexts: Vec::new(),
    };
    agent.send(score.prompt.clone(), send)?;
    agent.when_idle().await;
    agents.close().await;
    player.played()
}

/// The recording behind the seams.
struct Player {
    score: Arc<Score>,
    sessions: Sessions,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    /// How many requests were made.
    asked: usize,
    difference: Option<Difference>,
    /// What kept a request from being compared.
    broken: Option<serde_json::Error>,
}

impl Player {
    fn new(score: Arc<Score>, sessions: Sessions) -> Self {
        Self {
            score,
            sessions,
            progress: Mutex::default(),
        }
    }

    fn listen(self: &Arc<Self>, listeners: &Listeners) {
        listeners.add::<PromptSubmit>(None, Place::First, Arc::clone(self) as _);
        listeners.add::<SessionPrefix>(None, Place::First, Arc::clone(self) as _);
        listeners.add::<PromptAssemble>(None, Place::First, Arc::clone(self) as _);
        listeners.add::<CallRequest>(None, Place::First, Arc::clone(self) as _);
        listeners.add::<LlmStream>(None, Place::First, Arc::clone(self) as _);
        listeners.add::<StepResult>(None, Place::First, Arc::clone(self) as _);
        listeners.add::<Execute>(None, Place::First, Arc::clone(self) as _);
        listeners.add::<RequestError>(None, Place::First, Arc::clone(self) as _);
        listeners.add::<TurnContinuation>(None, Place::First, Arc::clone(self) as _);
    }

    /// The recorded step whose request comes next.
    fn next(&self) -> Result<&Step, Fault> {
        let asked = self.progress.lock().asked;
        let step = self.score.steps.get(asked);
        step.ok_or_else(|| Fault::plain("the log has no further request in this turn"))
    }

    /// Appends what came from outside the loop, where it came.
    fn enter(&self, agent: Option<&SessionId>, events: &[Arc<Event>]) -> Result<(), Fault> {
        let session = agent.and_then(|id| self.sessions.get(id));
        let session = session.ok_or_else(|| Fault::plain("the session is gone"))?;
        for event in events {
            // What it was made from has other numbers here.
            let mut placement = event.placement.clone();
            if let Some(placement) = &mut placement {
                placement.sources = None;
            }
            let draft = Draft {
                data: event.data.clone(),
                placement,
            };
            session
                .append(draft)
                .map_err(|error| Fault::of("ReplayError", "REPLAY", &error))?;
        }
        Ok(())
    }

    /// Whether another request follows those that were made.
    fn has_more(&self) -> bool {
        let progress = self.progress.lock();
        progress.difference.is_none() && progress.asked < self.score.steps.len()
    }

    /// What came of it.
    fn played(&self) -> anyhow::Result<Played> {
        let mut progress = self.progress.lock();
        if let Some(broken) = progress.broken.take() {
            return Err(broken.into());
        }
        if progress.difference.is_none()
            && let Some(missing) = self.score.steps.get(progress.asked)
        {
            progress.difference = Some(Difference {
                turn: self.score.turn,
                step: missing.step,
                place: "request".to_owned(),
                recorded: compare::value(&missing.request)?,
                replayed: serde_json::Value::Null,
            });
        }
        let difference = progress.difference.take();
        let made = progress.asked - usize::from(difference.is_some()).min(progress.asked);
        Ok(Played {
            requests: made,
            difference,
        })
    }
}

#[async_trait]
impl Decide<PromptSubmit> for Player {
    async fn decide(&self, ask: &PromptAsk, _: Next<'_, PromptSubmit>) -> Result<PromptDecision, Fault> {
        self.enter(Some(&ask.agent), &self.score.early)?;
        // The contexts that went with it are in the log behind it and enter with the first step.
        Ok(PromptDecision::Allow(PromptAllow {
            content: Some(ask.content.clone()),
            additional_contexts: None,
            extra: Extra::NONE,
        }))
    }
}

#[async_trait]
impl Decide<SessionPrefix> for Player {
    async fn decide(&self, _: &PrefixAsk, _: Next<'_, SessionPrefix>) -> Result<History, Fault> {
        Ok(self.next()?.header.message_prefix.clone().unwrap_or_default())
    }
}

#[async_trait]
impl Decide<PromptAssemble> for Player {
    /// The first question of every step, so what entered before it enters now.
    async fn decide(&self, ask: &AssembleAsk, _: Next<'_, PromptAssemble>) -> Result<PromptAssembly, Fault> {
        let step = self.next()?;
        self.enter(ask.agent.as_ref(), &step.entered)?;
        // By way of a variable, since a text of its own would be looked through for variables.
        let system = step.header.system.clone();
        Ok(PromptAssembly {
            sections: vec![PromptSection {
                name: "recorded".into(),
                text: if system.is_some() {
                    "{{recorded}}".into()
                } else {
                    "".into()
                },
                extra: Extra::NONE,
            }],
            variables: vec![PromptVariable {
                name: "recorded".into(),
                value: system,
                extra: Extra::NONE,
            }],
            tools: step.header.tools.as_deref().cloned().unwrap_or_default(),
            extra: Extra::NONE,
        })
    }
}

#[async_trait]
impl Decide<CallRequest> for Player {
    async fn decide(&self, _: &RequestAsk, _: Next<'_, CallRequest>) -> Result<CallConfig, Fault> {
        Ok(self.next()?.header.config.clone())
    }
}

#[async_trait]
impl Decide<LlmStream> for Player {
    async fn decide(&self, ask: &StreamAsk, next: Next<'_, LlmStream>) -> Result<ChunkStream, Fault> {
        let step = self.next()?;
        let compared = compare::value(&step.request)
            .and_then(|recorded| Ok(compare::first(&recorded, &compare::value(&ask.request)?)));
        let found = {
            let mut progress = self.progress.lock();
            progress.asked += 1;
            match compared {
                Ok(found) => {
                    progress.difference = found.map(|(place, recorded, replayed)| Difference {
                        turn: self.score.turn,
                        step: step.step,
                        place,
                        recorded,
                        replayed,
                    });
                }
                Err(error) => progress.broken = Some(error),
            }
            progress.difference.is_some() || progress.broken.is_some()
        };
        if found {
            return Err(Fault::plain("the request isn't the recorded one"));
        }
        next.run().await
    }
}

#[async_trait]
impl Decide<StepResult> for Player {
    /// A listener may have changed what was said; what was logged is what the next request holds.
    async fn decide(&self, ask: &StepResultAsk, _: Next<'_, StepResult>) -> Result<Message, Fault> {
        let mut message = ask.message.clone();
        let asked = self.progress.lock().asked;
        let answered = asked.checked_sub(1).and_then(|at| self.score.steps.get(at));
        if let Some(content) = answered.and_then(|step| step.answer.clone()) {
            message.content = content;
        }
        Ok(message)
    }
}

#[async_trait]
impl Decide<Execute> for Player {
    async fn decide(&self, ask: &ExecuteAsk, _: Next<'_, Execute>) -> Result<ToolOutcome, Fault> {
        let id = &ask.call.call_id;
        let at = ask.call.at.map(|(_, step)| step);
        let recorded = self
            .recorded_step(at)
            .and_then(|step| self.score.outcomes.get(&(step, id.clone())));
        recorded
            .cloned()
            .ok_or_else(|| Fault::plain(format!("the log has no result of the call `{id}`")))
    }
}

impl Player {
    /// The recorded number of a step that is replayed: one that made no call isn't replayed and takes no number.
    fn recorded_step(&self, replayed: Option<StepNo>) -> Option<StepNo> {
        let asked = self.progress.lock().asked;
        replayed
            .and(asked.checked_sub(1))
            .and_then(|at| self.score.steps.get(at))
            .map(|step| step.step)
    }
}

#[async_trait]
impl Decide<RequestError> for Player {
    async fn decide(
        &self,
        _: &RequestErrorAsk,
        _: Next<'_, RequestError>,
    ) -> Result<RequestErrorDecision, Fault> {
        Ok(if self.has_more() {
            RequestErrorDecision::RETRY
        } else {
            RequestErrorDecision::FAIL
        })
    }
}

#[async_trait]
impl Decide<TurnContinuation> for Player {
    async fn decide(
        &self,
        _: &ContinuationAsk,
        _: Next<'_, TurnContinuation>,
    ) -> Result<ContinuationDecision, Fault> {
        Ok(if self.has_more() {
            ContinuationDecision::CONTINUE
        } else {
            ContinuationDecision::STOP
        })
    }
}
