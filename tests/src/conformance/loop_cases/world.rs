//! Everything a script acts in: the live context, and what outlives a restart of it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context as _;
use hames_agent::listeners::Listeners;
use hames_agent::router::Router;
use hames_agent::tools::{Restriction, ToolEntry, Tools};
use hames_agent::{
    Agent, AgentConfig, AgentOptions, Agents, ConfiguredSession, Limits, Services, Setup, StartOptions,
};
use hames_log::{Log, Session, SessionMeta, Sessions};
use hames_store::Persistence;
use hames_types::fault::Fault;
use hames_types::id::{ProviderId, SessionId};
use hames_types::json::{FromJson, Json};
use hames_types::port::clock::FixedClock;
use hames_types::port::llm::Llm;
use hames_types::port::store::SessionLoader;
use parking_lot::Mutex;
use serde_json::json;
use smol_str::SmolStr;
use tokio::sync::watch;

use super::adapter::ScriptAdapter;
use super::approval::ScriptApprover;
use super::extras::Extras;
use super::prompt::prompts;
use super::store::Shelf;
use super::tool::ScriptGuard;
use super::{fault, listener, observer, ops, sandbox, tool, yielding};

/// How often the runner lets everything runnable go on before it takes it to be settled.
const SETTLING_ROUNDS: usize = 120;

/// What a script acts in.
pub(super) struct World {
    pub(super) main: String,
    pub(super) script: Json,
    record: Mutex<Record>,
    context: Mutex<Option<Arc<Living>>>,
    gates: Mutex<HashMap<String, watch::Sender<bool>>>,
    extras: Extras,
    shelf: Mutex<Option<Shelf>>,
    bodies: AtomicUsize,
}

/// What is recorded, and what goes on over a restart.
#[derive(Default)]
pub(super) struct Record {
    pub(super) requests: Vec<Json>,
    pub(super) live: Vec<Json>,
    pub(super) op_errors: Vec<Json>,
    pub(super) responses: Vec<VecDeque<Json>>,
    counters: HashMap<String, usize>,
    /// Every session that was live, in the order of its id.
    pub(super) sessions: BTreeMap<SessionId, Arc<Session>>,
    ending: Vec<Arc<Agent>>,
    muted: bool,
}

/// One context: what a restart replaces.
struct Living {
    agents: Arc<Agents>,
    persistence: Option<Arc<Persistence>>,
    tools: Mutex<HashMap<String, ToolEntry>>,
}

impl World {
    pub(super) fn new(script: &Json, extras: Extras) -> anyhow::Result<Arc<Self>> {
        let main = script
            .get("session")
            .and_then(|session| session.get("id"))
            .and_then(Json::as_str)
            .unwrap_or("main")
            .to_owned();
        let mut record = Record::default();
        for adapter in adapters(script) {
            let responses = adapter
                .get("responses")
                .and_then(Json::as_array)
                .cloned()
                .unwrap_or_default();
            record.responses.push(responses.into());
        }
        let shelf = match (extras.kind, script.get("persistence")) {
            (Some(kind), Some(persistence)) => Some(Shelf::new(kind, persistence)?),
            _ => None,
        };
        let world = Arc::new(Self {
            main,
            script: script.clone(),
            record: Mutex::new(record),
            context: Mutex::new(None),
            gates: Mutex::default(),
            shelf: Mutex::new(shelf),
            extras,
            bodies: AtomicUsize::new(0),
        });
        world.extras.serve(&world);
        world.compose()?;
        Ok(world)
    }

    /// The tools, if they are guests.
    pub(super) fn guests(&self) -> Option<&sandbox::Tools> {
        self.extras.guests.as_ref()
    }

    /// The listeners, if they are guests.
    pub(super) fn guest_listeners(&self) -> Option<&sandbox::listeners::Guests> {
        self.extras.listeners.as_ref()
    }

    /// Builds a context and registers everything global.
    fn compose(self: &Arc<Self>) -> anyhow::Result<()> {
        let listeners = Arc::new(Listeners::new());
        let tools = Arc::new(Tools::new(Arc::clone(&listeners)));
        let services = Services {
            sessions: Sessions::new(Arc::new(FixedClock(0))),
            prompts: Arc::new(prompts(&self.script, &tools)?),
            router: Arc::new(self.router()?),
            limits: self.limits(),
            listeners,
            tools,
        };
        observer::record_all(self, &services);
        let persistence = match &*self.shelf.lock() {
            Some(shelf) => Some(shelf.follow(&services)?),
            None => None,
        };
        let loader = persistence
            .clone()
            .map(|persistence| persistence as Arc<dyn SessionLoader>);
        let agents = Agents::new(services, loader);
        *self.context.lock() = Some(Arc::new(Living {
            agents,
            persistence,
            tools: Mutex::default(),
        }));
        for tool in list(&self.script, "tools") {
            if tool.get("scope").and_then(Json::as_str) != Some("agent") {
                self.register_tool(tool)?;
            }
        }
        let agents = self.agents();
        let services = agents.services();
        for guard in list(&self.script, "guards") {
            let text = |key: &str| guard.get(key).and_then(Json::as_str).unwrap_or_default();
            let guard = ScriptGuard {
                tool: text("tool").into(),
                reason: text("reason").into(),
            };
            services.tools.guard(None, Arc::new(guard))?;
        }
        if let Some(answers) = self.script.get("approval").and_then(Json::as_array) {
            let approver = ScriptApprover {
                world: Arc::clone(self),
                answers: answers.clone(),
            };
            services.tools.set_approver(Some(Arc::new(approver)));
        }
        if let Some(repeats) = &self.extras.repeats {
            repeats.register(services)?;
        }
        listener::register(self, services, None)?;
        if let Some(yields) = &self.extras.yields {
            yielding::everywhere(services, yields);
        }
        Ok(())
    }

    fn router(self: &Arc<Self>) -> anyhow::Result<Router> {
        let router = Router::new();
        for (index, adapter) in adapters(&self.script).into_iter().enumerate() {
            let providers: Vec<ProviderId> = list(&adapter, "providers")
                .iter()
                .filter_map(Json::as_str)
                .map(ProviderId::new)
                .collect();
            let script: Arc<dyn Llm> = Arc::new(ScriptAdapter {
                world: Arc::clone(self),
                index,
            });
            router.register(&providers, script)?;
        }
        Ok(router)
    }

    fn limits(&self) -> Limits {
        let cap = self.script.get("maxParallelToolCalls").and_then(Json::as_u64);
        Limits {
            max_parallel_tool_calls: cap.and_then(|cap| usize::try_from(cap).ok()).unwrap_or(10),
            // The recording has no such cap.
            max_forced_continuations: None,
            check_requests: true,
            ..Limits::STANDARD
        }
    }

    /// Starts the configured agents, and the main one unless the script wants none.
    pub(super) async fn open(self: &Arc<Self>) {
        self.start_configured().await;
        let session = self.script.get("session").cloned().unwrap_or_else(|| json!({}));
        if session.get("create").and_then(Json::as_bool) == Some(false) {
            return;
        }
        let mut op = json!({ "op": "createAgent", "id": self.main });
        if let (Some(fields), Some(given)) = (op.as_object_mut(), session.as_object()) {
            for key in ["meta", "seed"] {
                if let Some(value) = given.get(key) {
                    fields.insert(key.to_owned(), value.clone());
                }
            }
        }
        drop(ops::run(Arc::clone(self), json!([op])).await);
    }

    async fn start_configured(self: &Arc<Self>) {
        let text = |config: &Json, key: &str| config.get(key).and_then(Json::as_str).map(str::to_owned);
        let configured = list(&self.script, "configAgents")
            .iter()
            .map(|config| AgentConfig {
                session: match (text(config, "sessionId"), text(config, "resumeSessionId")) {
                    (Some(id), _) => ConfiguredSession::Exact(SessionId::new(id)),
                    (None, Some(id)) => ConfiguredSession::Resume(SessionId::new(id)),
                    (None, None) => {
                        let label = text(config, "id").unwrap_or_default();
                        ConfiguredSession::Fresh(SessionId::new(format!("{label}-session-1")))
                    }
                },
                options: ops::agent_options(config),
                cwd: text(config, "cwd").map(Into::into),
            });
        let setup = || Some(self.setup(None));
        if let Err(error) = self.agents().start_configured(configured.collect(), setup).await {
            let entry = json!({ "op": "configAgents", "message": error.to_string() });
            self.record(|record| record.op_errors.push(entry));
        }
    }

    fn living(&self) -> Option<Arc<Living>> {
        self.context.lock().clone()
    }

    /// Lets others go first, if the scenario is played that way.
    pub(super) async fn idle(&self) {
        if let Some(yields) = &self.extras.yields {
            yielding::idle(yields).await;
        }
    }

    /// Whether the scenario is interrupted at a place its script doesn't know of.
    pub(super) fn is_interrupted(&self) -> bool {
        self.extras.watch.is_some()
    }

    /// Counts a tool body while it runs.
    pub(super) fn body(&self) -> BodyGuard<'_> {
        self.bodies.fetch_add(1, Ordering::Relaxed);
        BodyGuard(&self.bodies)
    }

    pub(super) fn bodies_running(&self) -> usize {
        self.bodies.load(Ordering::Relaxed)
    }

    /// Ends the context for good, and everything that keeps it.
    pub(super) async fn end(&self) {
        self.agents().close().await;
        self.wait_disposed().await;
        self.settle().await;
    }

    pub(super) fn agents(&self) -> Arc<Agents> {
        #[expect(clippy::unwrap_used, reason = "a context is there from `new` on")]
        Arc::clone(&self.living().unwrap().agents)
    }

    pub(super) fn sessions(&self) -> Sessions {
        self.agents().services().sessions.clone()
    }

    pub(super) fn session(&self, id: &Option<String>) -> Option<Arc<Session>> {
        self.sessions()
            .get(&SessionId::new(id.as_deref().unwrap_or(&self.main)))
    }

    pub(super) fn agent(&self, id: &Option<String>) -> Option<Arc<Agent>> {
        let id = SessionId::new(id.as_deref().unwrap_or(&self.main));
        let live = self.agents().get(&id);
        // An agent that is going away can still be spoken to.
        live.or_else(|| {
            self.record
                .lock()
                .ending
                .iter()
                .rev()
                .find(|agent| *agent.id() == id)
                .cloned()
        })
    }

    pub(super) fn agent_options(&self) -> AgentOptions {
        match self.script.get("agentOptions") {
            Some(options) => ops::agent_options(options),
            None => ops::agent_options(&json!({ "provider": "mock", "model": "m1" })),
        }
    }

    /// What composes every agent of the script.
    pub(super) fn setup(self: &Arc<Self>, fails: Option<Fault>) -> Setup {
        let world = Arc::clone(self);
        Box::new(move |agent| {
            Box::pin(async move {
                world
                    .compose_agent(&agent)
                    .map_err(|error| Fault::plain(format!("{error:#}")))?;
                world.record(|record| record.ending.push(agent));
                fails.map_or(Ok(()), Err)
            })
        })
    }

    fn compose_agent(self: &Arc<Self>, agent: &Arc<Agent>) -> anyhow::Result<()> {
        let agents = self.agents();
        let services = agents.services();
        for tool in list(&self.script, "tools") {
            if tool.get("scope").and_then(Json::as_str) == Some("agent") {
                let tool = tool::build(Arc::clone(self), tool)?;
                services.tools.register(Some(agent.scope()), tool)?;
            }
        }
        for restriction in list(&self.script, "restrict") {
            let names = |key: &str| ops::typed::<Vec<SmolStr>>(restriction.get(key));
            let denied = names("deny")?.unwrap_or_default();
            let restriction = match names("allow")? {
                Some(allowed) => Restriction::allow(allowed).and_deny(denied),
                None => Restriction::deny(denied),
            };
            services.tools.restrict(agent.scope(), restriction)?;
        }
        listener::register(self, services, Some(agent.scope_key()))
    }

    pub(super) async fn create_agent(self: &Arc<Self>, op: &Json) -> anyhow::Result<()> {
        let seed = match (op.get("seed").and_then(Json::as_array), op.get("seedFrom")) {
            (Some(seed), _) => Log::from_records(seed.clone())?,
            (None, Some(from)) => self.seed_from(from)?,
            (None, None) => Log::new(),
        };
        let options = StartOptions {
            id: op.get("id").and_then(Json::as_str).map(SessionId::new),
            options: op
                .get("agentOptions")
                .map_or_else(|| self.agent_options(), ops::agent_options),
            meta: meta(op.get("meta"))?,
            seed,
            setup: Some(self.setup(op.get("setupThrows").map(fault::thrown))),
            signal: None,
        };
        let watch = self
            .extras
            .watch
            .clone()
            .filter(|_| options.id.as_ref().is_some_and(|id| id.as_str() == self.main));
        let Some(watch) = watch else {
            self.agents().start(options).await?;
            return Ok(());
        };
        let (agent, life) = self.agents().start_undriven(options).await?;
        #[expect(
            clippy::disallowed_methods,
            reason = "ends with its agent, which the scenario waits for"
        )]
        drop(tokio::spawn(watch.over(&agent, life)));
        Ok(())
    }

    fn seed_from(&self, from: &Json) -> anyhow::Result<Log> {
        let id = from.get("session").and_then(Json::as_str).map(str::to_owned);
        let session = self.session(&id).context("no such session")?;
        let boundary = from
            .get("boundary")
            .and_then(Json::as_u64)
            .context("no boundary")?;
        let inherited = session
            .all_events()
            .into_iter()
            .filter(|event| event.seq.get() <= boundary);
        Ok(Log::from_events(inherited)?)
    }

    pub(super) fn register_tool(self: &Arc<Self>, script: &Json) -> anyhow::Result<()> {
        let tool = tool::build(Arc::clone(self), script)?;
        let living = self.living().context("no context")?;
        let entry = living.agents.services().tools.register(None, tool)?;
        let name = script.get("name").and_then(Json::as_str).unwrap_or_default();
        living.tools.lock().insert(name.to_owned(), entry);
        Ok(())
    }

    pub(super) fn unregister_tool(&self, name: &str) {
        let Some(living) = self.living() else { return };
        let entry = living.tools.lock().remove(name);
        if let Some(entry) = entry {
            living.agents.services().tools.unregister(entry);
        }
    }

    pub(super) fn record<T>(&self, change: impl FnOnce(&mut Record) -> T) -> T {
        change(&mut self.record.lock())
    }

    /// Adds an entry to the live trace, with the main log's length.
    pub(super) fn note(&self, mut entry: Json) {
        let main = SessionId::new(self.main.as_str());
        let known = self.record(|record| record.sessions.get(&main).cloned());
        let at = known.map_or(0, |session| session.len());
        if let Some(fields) = entry.as_object_mut() {
            fields.insert("at".to_owned(), json!(at));
        }
        self.record(|record| {
            if !record.muted {
                record.live.push(entry);
            }
        });
    }

    /// How often something has happened before.
    pub(super) fn count(&self, what: &str) -> usize {
        self.record(|record| {
            let count = record.counters.entry(what.to_owned()).or_default();
            *count += 1;
            *count - 1
        })
    }

    pub(super) fn next_response(&self, adapter: usize) -> Option<Json> {
        self.record(|record| record.responses.get_mut(adapter)?.pop_front())
    }

    fn gate_of(&self, name: &str) -> watch::Sender<bool> {
        self.gates
            .lock()
            .entry(name.to_owned())
            .or_insert_with(|| watch::channel(false).0)
            .clone()
    }

    pub(super) async fn gate(&self, name: &str) {
        let mut open = self.gate_of(name).subscribe();
        // The sender lives as long as the world does.
        drop(open.wait_for(|open| *open).await);
    }

    pub(super) fn open_gate(&self, name: &str) {
        self.gate_of(name).send_replace(true);
    }

    pub(super) fn is_gate_open(&self, name: &str) -> bool {
        *self.gate_of(name).borrow()
    }

    /// Lets everything runnable finish without moving the clock.
    pub(super) async fn settle(&self) {
        for _ in 0..SETTLING_ROUNDS {
            tokio::task::yield_now().await;
        }
    }

    pub(super) async fn wait_disposed(&self) {
        let ending = self.record(|record| record.ending.clone());
        for agent in ending {
            if agent.status() == hames_types::turn::AgentStatus::Disposed {
                agent.when_disposed().await;
            }
        }
    }

    /// Waits until every agent is idle and every disposal has finished.
    pub(super) async fn quiesce(&self) {
        for agent in self.agents().live() {
            agent.when_idle().await;
        }
        self.wait_disposed().await;
        self.settle().await;
    }

    /// Ends the context and builds a new one on the same store.
    pub(super) async fn restart(self: &Arc<Self>) {
        self.end_context().await;
        self.begin_context().await;
    }

    /// As a restart, but only what is durable now survives, and nothing more is told of the old context.
    pub(super) async fn crash(self: &Arc<Self>) {
        let left = self.shelf.lock().as_ref().map(Shelf::as_it_is).transpose();
        // Nothing of the old context is left to look at, not even its main log.
        self.record(|record| record.sessions.clear());
        self.note(json!({ "kind": "crash" }));
        self.record(|record| record.muted = true);
        self.end_context().await;
        self.record(|record| record.muted = false);
        match left {
            Ok(left) => *self.shelf.lock() = left,
            Err(error) => self.problem("crash", &error),
        }
        self.begin_context().await;
    }

    async fn end_context(&self) {
        let Some(living) = self.living() else { return };
        living.agents.close().await;
        if let Some(persistence) = &living.persistence
            && let Err(failures) = persistence.close().await
        {
            // A flush that was to fail fails here, too; the scenario has seen it already.
            drop(failures);
        }
        self.record(|record| record.ending.clear());
    }

    async fn begin_context(self: &Arc<Self>) {
        if let Err(error) = self.compose() {
            self.problem("restart", &error);
        }
        self.start_configured().await;
    }

    /// Something of the runner's own failed; shown as a failed op, which no recording has.
    fn problem(&self, op: &str, error: &anyhow::Error) {
        let entry = json!({ "op": op, "message": format!("{error:#}") });
        self.record(|record| record.op_errors.push(entry));
    }
}

/// A tool body that runs.
pub(super) struct BodyGuard<'a>(&'a AtomicUsize);

impl Drop for BodyGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn adapters(script: &Json) -> Vec<Json> {
    match script.get("adapters").and_then(Json::as_array) {
        Some(adapters) => adapters.clone(),
        None => vec![json!({ "providers": ["mock"], "responses": script.get("responses") })],
    }
}

fn meta(value: Option<&Json>) -> anyhow::Result<SessionMeta> {
    let value = value.cloned().unwrap_or_else(|| json!({}));
    Ok(SessionMeta {
        cwd: ops::typed(value.get("cwd"))?,
        created_at_ms: None,
        parent_session: ops::typed(value.get("parentSession"))?,
        seed_length: ops::typed(value.get("seedLength"))?,
        delegation_depth: ops::typed(value.get("delegationDepth"))?,
    })
}

/// A list of the script; nothing if it isn't there.
pub(super) fn list<'a>(script: &'a Json, key: &str) -> &'a [Json] {
    script
        .get(key)
        .and_then(Json::as_array)
        .map_or(&[], Vec::as_slice)
}

/// A scripted value as one of ours, as a fault where a listener or tool gave it.
pub(super) fn given<T: FromJson>(value: &Json) -> Result<T, Fault> {
    T::from_json(value.clone()).map_err(|error| Fault::plain(error.to_string()))
}
