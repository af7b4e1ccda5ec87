//! How agents start, end and wait, through the handle itself.

use std::sync::Arc;

use async_trait::async_trait;
use hames_agent::initiator;
use hames_agent::listeners::{Heard, Listeners};
use hames_agent::prompt::{PromptConfig, PromptContext, Prompts};
use hames_agent::router::Router;
use hames_agent::target::ModelTarget;
use hames_agent::tools::Tools;
use hames_agent::{
    Agent, AgentConfig, AgentConfigError, AgentOptions, Agents, ConfiguredSession, Limits, SendOptions,
    Services, Setup, StartError, StartOptions,
};
use hames_log::{Place, Sessions};
use hames_types::content::Content;
use hames_types::decision::PromptDecision;
use hames_types::fault::Fault;
use hames_types::id::{ModelId, ProviderId, SessionId, StepNo, TurnNo};
use hames_types::json::FromJson;
use hames_types::port::clock::FixedClock;
use hames_types::port::listener::{Decide, Next, Notice, Observe};
use hames_types::port::notice::{
    AgentCreated, AgentDisposed, SessionCreated, SessionDisposed, SessionEvent, SessionStart, StatusChanged,
};
use hames_types::port::seam::{CallRequest, PromptAsk, PromptSubmit, RequestAsk, StepAsk};
use hames_types::request::CallConfig;
use hames_types::signal::{Signal, SignalReason, Trigger};
use hames_types::turn::AgentStatus;
use parking_lot::Mutex;
use serde_json::json;

type Trace = Arc<Mutex<Vec<String>>>;

/// Writes down what it is told.
struct Writes(Trace);

impl<N: Notice> Observe<N> for Writes {
    fn observe(&self, _: &N) -> Result<(), Fault> {
        self.0.lock().push(N::NAME.to_owned());
        Ok(())
    }
}

/// Refuses every prompt, so that no model is needed, and writes down on whose behalf it was asked.
struct Refuses(Trace);

#[async_trait]
impl Decide<PromptSubmit> for Refuses {
    async fn decide(&self, _: &PromptAsk, _: Next<'_, PromptSubmit>) -> Result<PromptDecision, Fault> {
        let whose = initiator::current().map(|id| id.to_string());
        self.0
            .lock()
            .push(format!("prompt for {}", whose.unwrap_or_default()));
        tokio::task::yield_now().await;
        Ok(PromptDecision::from_json(json!({"kind": "block", "reason": "no"})).unwrap())
    }
}

fn observe<N: Notice + Heard<Listener = dyn Observe<N>>>(listeners: &Listeners, trace: &Trace) {
    listeners.add::<N>(None, Place::Last, Arc::new(Writes(Arc::clone(trace))));
}

fn agents() -> (Arc<Agents>, Trace) {
    let (listeners, trace) = (Arc::new(Listeners::new()), Trace::default());
    let sessions = Sessions::new(Arc::new(FixedClock(0)));
    sessions
        .on_created()
        .add(None, Place::Last, Arc::new(Writes(Arc::clone(&trace))));
    sessions
        .on_disposed()
        .add(None, Place::Last, Arc::new(Writes(Arc::clone(&trace))));
    observe::<AgentCreated>(&listeners, &trace);
    observe::<AgentDisposed>(&listeners, &trace);
    observe::<SessionStart>(&listeners, &trace);
    observe::<StatusChanged>(&listeners, &trace);
    let refuses = Refuses(Arc::clone(&trace));
    listeners.add::<PromptSubmit>(None, Place::Last, Arc::new(refuses));
    let services = Services {
        sessions,
        tools: Arc::new(Tools::new(Arc::clone(&listeners))),
        prompts: Arc::new(Prompts::new(PromptConfig::default()).unwrap()),
        router: Arc::new(Router::new()),
        limits: Limits::STANDARD,
        listeners,
    };
    (Agents::new(services, None), trace)
}

fn named(id: &str) -> StartOptions {
    StartOptions {
        id: Some(SessionId::new(id)),
        ..StartOptions::default()
    }
}

fn take(trace: &Trace) -> Vec<String> {
    std::mem::take(&mut *trace.lock())
}

const BIRTH: [&str; 3] = [SessionCreated::NAME, AgentCreated::NAME, SessionStart::NAME];
const DEATH: [&str; 3] = [StatusChanged::NAME, AgentDisposed::NAME, SessionDisposed::NAME];

#[tokio::test]
async fn r_life_1_and_6_an_agent_is_told_of_behind_its_session_and_ends_before_it() {
    let (agents, trace) = agents();
    let written = Arc::clone(&trace);
    let setup: Setup = Box::new(move |agent| {
        Box::pin(async move {
            let live = agent.status() == AgentStatus::Idle;
            written.lock().push(format!("set-up, idle {live}"));
            Ok(())
        })
    });
    let start = StartOptions {
        setup: Some(setup),
        ..named("a")
    };
    let agent = agents.start(start).await.unwrap();
    let mut expected = vec!["set-up, idle true"];
    expected.extend(BIRTH);
    assert_eq!(take(&trace), expected);

    agent.dispose();
    agent.dispose();
    tokio::join!(agent.when_disposed(), agent.when_disposed());
    assert_eq!(take(&trace), DEATH);
    assert!(agents.get(agent.id()).is_none());
}

#[tokio::test]
async fn r_life_4_a_withdrawn_start_publishes_nothing_and_a_withdrawal_after_the_start_kills_nobody() {
    let (agents, trace) = agents();
    let trigger = Trigger::new();
    let start = || StartOptions {
        signal: Some(trigger.signal()),
        ..named("a")
    };
    let agent = agents.start(start()).await.unwrap();
    take(&trace);
    trigger.raise(SignalReason::Withdrawn);
    tokio::task::yield_now().await;
    assert_eq!(agent.status(), AgentStatus::Idle);

    let late = StartOptions {
        id: Some(SessionId::new("b")),
        ..start()
    };
    let refused = agents.start(late).await.unwrap_err();
    assert!(matches!(refused, StartError::Cancelled(_)), "{refused}");
    assert_eq!(take(&trace), Vec::<String>::new());
    agents.close().await;
}

#[tokio::test]
async fn r_life_7_whoever_owns_the_agents_ends_them_all_and_no_other_starts() {
    let (agents, trace) = agents();
    for id in ["a", "b"] {
        agents.start(named(id)).await.unwrap();
    }
    take(&trace);
    agents.close().await;

    let told = take(&trace);
    let disposed = told.iter().filter(|name| *name == AgentDisposed::NAME);
    assert_eq!(disposed.count(), 2, "{told:?}");
    assert!(agents.live().is_empty());
    let refused = agents.start(named("c")).await.unwrap_err();
    assert!(matches!(refused, StartError::Closed), "{refused}");
}

#[tokio::test]
async fn r_life_8_and_9_an_id_has_one_agent_at_a_time_and_is_free_behind_it() {
    let (agents, _) = agents();
    let first = agents.start(named("a")).await.unwrap();
    assert_eq!(first.id(), first.session().id());
    let refused = agents.start(named("a")).await.map(|agent| agent.status());
    assert!(refused.is_err(), "{refused:?}");

    first.dispose();
    first.when_disposed().await;
    let second = agents.start(named("a")).await.unwrap();
    assert!(!Arc::ptr_eq(&first, &second));
    assert_ne!(first.scope_key(), second.scope_key());
    agents.close().await;
}

fn configured(session: ConfiguredSession) -> AgentConfig {
    AgentConfig {
        session,
        options: AgentOptions::default(),
        cwd: None,
    }
}

#[tokio::test]
async fn r_life_10_a_configuration_that_cannot_hold_starts_nobody() {
    let (agents, trace) = agents();
    let exact = |id: &str| configured(ConfiguredSession::Exact(SessionId::new(id)));
    let cases = [
        (vec![exact("a"), exact("")], AgentConfigError::EmptyId),
        (
            vec![exact("a"), exact("a")],
            AgentConfigError::DuplicateId(SessionId::new("a")),
        ),
    ];
    for (configs, expected) in cases {
        let refused = agents.start_configured(configs, || None).await;
        assert_eq!(refused, Err(expected));
        assert_eq!(take(&trace), Vec::<String>::new());
    }
}

#[tokio::test]
async fn r_life_13_a_turn_runs_on_its_agent_s_behalf_and_what_was_before_is_back_behind_it() {
    let (agents, trace) = agents();
    let agent = agents.start(named("a")).await.unwrap();
    take(&trace);
    assert_eq!(initiator::current(), None);
    let outer = Some(SessionId::new("outer"));
    initiator::on_behalf_of(outer.clone(), async {
        initiator::on_behalf_of(None, async { assert_eq!(initiator::current(), None) }).await;
        assert_eq!(initiator::current(), outer);
        // Sent on somebody else's behalf, run on the agent's own.
        agent.send(Content::text("x"), SendOptions::default()).unwrap();
        agent.when_idle().await;
    })
    .await;
    assert!(take(&trace).contains(&"prompt for a".to_owned()));
    agents.close().await;
}

#[tokio::test]
async fn r_idle_1_and_4_waiting_ends_with_the_work_or_with_the_agent() {
    let (agents, trace) = agents();
    let agent = agents.start(named("a")).await.unwrap();
    agent.when_idle().await;

    // Queued and not yet started counts as work.
    agent.send(Content::text("x"), SendOptions::default()).unwrap();
    assert_eq!(agent.status(), AgentStatus::Idle);
    tokio::join!(agent.when_idle(), agent.when_idle());
    assert_eq!(agent.session().open_turn(), None);
    assert!(take(&trace).contains(&"prompt for a".to_owned()));

    agent.send(Content::text("y"), SendOptions::default()).unwrap();
    tokio::join!(agent.when_idle(), async {
        tokio::task::yield_now().await;
        agent.dispose();
    });
    agent.when_idle().await;
    assert_eq!(agent.status(), AgentStatus::Disposed);
    agents.close().await;
}

/// Starts an agent on another's behalf.
async fn start_for(agents: &Arc<Agents>, creator: &str, id: &str) -> Arc<Agent> {
    let start = agents.start(named(id));
    initiator::on_behalf_of(Some(SessionId::new(creator)), start)
        .await
        .unwrap()
}

#[tokio::test]
async fn r_life_14_who_started_whom_is_known_while_they_live_and_is_not_the_lineage_of_sessions() {
    let (agents, _) = agents();
    let root = agents.start(named("root")).await.unwrap();
    let child = start_for(&agents, "root", "child").await;
    let grandchild = start_for(&agents, "child", "grandchild").await;
    let stranger = start_for(&agents, "nobody that lives", "stranger").await;

    assert!(agents.is_owned_by(&child, &root) && agents.is_owned_by(&grandchild, &root));
    assert!(!agents.is_owned_by(&root, &child) && !agents.is_owned_by(&stranger, &root));
    assert!(!agents.is_owned_by(&root, &root));
    let mut roots: Vec<_> = agents
        .roots()
        .iter()
        .map(|agent| agent.id().to_string())
        .collect();
    roots.sort();
    assert_eq!(roots, ["root", "stranger"]);
    assert_eq!(child.session().header().fields.parent_session, None);
    agents.close().await;
}

#[tokio::test]
async fn r_life_7_an_agent_does_not_outlive_its_creator() {
    let (agents, trace) = agents();
    let root = agents.start(named("root")).await.unwrap();
    let child = start_for(&agents, "root", "child").await;
    let grandchild = start_for(&agents, "child", "grandchild").await;
    let stranger = agents.start(named("stranger")).await.unwrap();
    child.send(Content::text("x"), SendOptions::default()).unwrap();
    take(&trace);

    root.dispose();
    root.when_disposed().await;

    for agent in [&root, &child, &grandchild] {
        assert_eq!(agent.status(), AgentStatus::Disposed);
        assert!(agents.get(agent.id()).is_none());
        assert_eq!(agent.session().open_turn(), None);
    }
    assert_eq!(stranger.status(), AgentStatus::Idle);
    // Another agent of the creator's id is another creator.
    let again = agents.start(named("root")).await.unwrap();
    assert!(!agents.is_owned_by(&child, &again));
    agents.close().await;
}

#[tokio::test]
async fn r_life_15_a_step_sees_one_model_whenever_it_is_switched() {
    let (agents, _) = agents();
    let agent = agents.start(named("a")).await.unwrap();
    let services = agents.services();
    let target = ModelTarget::install(&agent, ProviderId::new("p1"), ModelId::new("m1")).unwrap();
    let signal = Signal::never();
    let assembled = || async {
        let context = PromptContext {
            agent: Some(agent.id()),
            scope: Some(agent.scope_key()),
            provider: None,
            model: None,
            cwd: None,
            signal: &signal,
        };
        let assembly = services
            .prompts
            .assemble(&services.listeners, context)
            .await
            .unwrap();
        let value = |name: &str| {
            let variable = assembly.variables.iter().find(|variable| variable.name == name);
            variable
                .and_then(|variable| variable.value.clone())
                .unwrap_or_default()
                .to_string()
        };
        (value("provider"), value("model"))
    };
    let asked = |seed: CallConfig| async {
        let (turn, step) = (TurnNo::FIRST, StepNo::FIRST);
        let at = StepAsk {
            agent: agent.id().clone(),
            turn,
            step,
            signal: signal.clone(),
        };
        let ask = RequestAsk {
            at,
            config: seed.clone(),
        };
        let key = Some(agent.scope_key());
        let decided = services
            .listeners
            .decide::<CallRequest, _, _>(key, &ask, |_| async { Ok(seed) });
        let config = decided.await.unwrap();
        (config.provider.to_string(), config.model.to_string())
    };
    let pair = |provider: &str, model: &str| (provider.to_owned(), model.to_owned());
    let seed = CallConfig::new(ProviderId::new("old"), ModelId::new("old"));

    assert_eq!(assembled().await, pair("p1", "m1"));
    target.select(ProviderId::new("p2"), ModelId::new("m2"));
    assert_eq!(asked(seed.clone()).await, pair("p1", "m1"));
    assert_eq!(assembled().await, pair("p2", "m2"));
    assert_eq!(asked(seed).await, pair("p2", "m2"));
    assert_eq!(target.selected(), (ProviderId::new("p2"), ModelId::new("m2")));
    agents.close().await;
}

/// Panics at every event.
struct Panics;

impl Observe<SessionEvent> for Panics {
    fn observe(&self, _: &SessionEvent) -> Result<(), Fault> {
        panic!("an observer's own fault");
    }
}

#[tokio::test]
async fn an_observer_that_panics_hurts_neither_the_log_nor_the_other_observers() {
    let (agents, trace) = agents();
    let events = agents.services().sessions.on_event();
    events.add(None, Place::Last, Arc::new(Panics));
    events.add(None, Place::Last, Arc::new(Writes(Arc::clone(&trace))));
    let agent = agents.start(named("a")).await.unwrap();
    take(&trace);

    for _ in 0..2 {
        agent.send(Content::text("x"), SendOptions::default()).unwrap();
        agent.when_idle().await;
    }

    let told = take(&trace)
        .iter()
        .filter(|name| *name == SessionEvent::NAME)
        .count();
    assert_eq!(told, agent.session().len());
    assert_eq!(agent.session().len(), 6);
    agents.close().await;
}
