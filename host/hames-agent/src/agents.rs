//! The live agents of a process: how one starts, who vetoes it, and in which order it ends (R-LIFE).

mod configured;
mod owners;

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use hames_log::{Log, Session, SessionMeta};
use hames_types::fault::Fault;
use hames_types::header::SessionHeader;
use hames_types::id::SessionId;
use hames_types::port::notice::{AgentCreated, AgentDisposed, SessionStart};
use hames_types::port::store::SessionLoader;
use hames_types::signal::Signal;
use hames_types::turn::SessionStartSource;
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::agent::{Agent, AgentOptions};
use crate::driver;
use crate::error::StartError;
use crate::initiator;
use crate::scope::Scope;
use crate::services::Services;

pub use configured::{AgentConfig, AgentConfigError, ConfiguredSession};

/// Composes an agent before anybody is told of it: registers what concerns it alone. It never drives (R-LIFE-3).
pub type Setup =
    Box<dyn FnOnce(Arc<Agent>) -> Pin<Box<dyn Future<Output = Result<(), Fault>> + Send>> + Send>;

/// What an agent starts with.
#[derive(Default)]
pub struct StartOptions {
    /// Its id and its session's; the next free `session-<n>` if absent.
    pub id: Option<SessionId>,
    /// Which model it asks.
    pub options: AgentOptions,
    /// What its session is told about itself.
    pub meta: SessionMeta,
    /// What its session goes on from.
    pub seed: Log,
    /// Composes it.
    pub setup: Option<Setup>,
    /// Withdraws the start while it is under way; afterwards it has no effect (R-LIFE-4).
    pub signal: Option<Signal>,
}

/// The live agents of a process, and the only way to start one.
pub struct Agents {
    services: Arc<Services>,
    loader: Option<Arc<dyn SessionLoader>>,
    live: Mutex<Live>,
}

#[derive(Default)]
struct Live {
    agents: HashMap<SessionId, Arc<Agent>>,
    tasks: Vec<JoinHandle<()>>,
    closed: bool,
}

/// An agent's whole life after its start, as a future: its driver, then its end.
pub type Life = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Agents {
    /// None live. Without a `loader` nothing can be resumed.
    #[must_use]
    pub fn new(services: Services, loader: Option<Arc<dyn SessionLoader>>) -> Arc<Self> {
        Arc::new(Self {
            services: Arc::new(services),
            loader,
            live: Mutex::default(),
        })
    }

    /// What the agents share.
    #[must_use]
    pub fn services(&self) -> &Arc<Services> {
        &self.services
    }

    /// The live agent of an id.
    #[must_use]
    pub fn get(&self, id: &SessionId) -> Option<Arc<Agent>> {
        self.live.lock().agents.get(id).cloned()
    }

    /// The live agents, in no particular order.
    #[must_use]
    pub fn live(&self) -> Vec<Arc<Agent>> {
        self.live.lock().agents.values().cloned().collect()
    }

    /// Starts an agent and drives it on the current runtime until it is disposed.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left of the agent then, and its id is free.
    pub async fn start(self: &Arc<Self>, options: StartOptions) -> Result<Arc<Agent>, StartError> {
        let (agent, life) = self.start_undriven(options).await?;
        self.drive(life);
        Ok(agent)
    }

    /// Starts an agent that does nothing until somebody polls its life.
    ///
    /// # Errors
    /// As [`Agents::start`].
    pub async fn start_undriven(
        self: &Arc<Self>,
        start: StartOptions,
    ) -> Result<(Arc<Agent>, Life), StartError> {
        let StartOptions {
            id,
            options,
            meta,
            seed,
            setup,
            signal,
        } = start;
        let session = self.services.sessions.prepare(id, meta, seed)?;
        let agent = self.unpublished(session, options);
        self.publish(agent, setup, signal, SessionStartSource::Startup)
            .await
    }

    /// Resumes a stored session as a live agent and drives it.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left of the agent then.
    pub async fn resume(
        self: &Arc<Self>,
        id: &SessionId,
        options: AgentOptions,
        setup: Option<Setup>,
    ) -> Result<Arc<Agent>, StartError> {
        let loader = self
            .loader
            .clone()
            .ok_or_else(|| StartError::NoStore(id.clone()))?;
        if self.services.sessions.get(id).is_some() {
            return Err(StartError::Taken(id.clone()));
        }
        let stored = loader.load_for_resume(id).await?;
        let seed = Log::from_events(stored.events)?;
        let header: SessionHeader = stored.header;
        let session = self.services.sessions.prepare_with(header, seed);
        let agent = self.unpublished(session, options);
        let (agent, life) = self
            .publish(agent, setup, None, SessionStartSource::Resume)
            .await?;
        self.drive(life);
        Ok(agent)
    }

    fn drive(&self, life: Life) {
        let mut live = self.live.lock();
        live.tasks.retain(|task| !task.is_finished());
        #[expect(clippy::disallowed_methods, reason = "owned here and awaited by `close`")]
        live.tasks.push(tokio::spawn(life));
    }

    fn unpublished(&self, session: Arc<Session>, options: AgentOptions) -> Arc<Agent> {
        let scope = Arc::new(Scope::new());
        let creator = initiator::current()
            .and_then(|id| self.get(&id))
            .map(|agent| agent.scope_key());
        Arc::new(Agent::new(session, options, scope, Arc::clone(&self.services)).started_by(creator))
    }

    async fn publish(
        self: &Arc<Self>,
        agent: Arc<Agent>,
        setup: Option<Setup>,
        signal: Option<Signal>,
        source: SessionStartSource,
    ) -> Result<(Arc<Agent>, Life), StartError> {
        let published = self.try_publish(&agent, setup, signal, source).await;
        if let Err(error) = published {
            agent.begin_disposal();
            agent.driver_done();
            self.end_scope(&agent);
            agent.gone();
            return Err(error);
        }
        let agents = Arc::clone(self);
        let living = Arc::clone(&agent);
        let life = async move {
            let id = living.id().clone();
            initiator::on_behalf_of(Some(id), driver::drive(&living)).await;
            agents.end(&living).await;
        };
        Ok((agent, Box::pin(life)))
    }

    /// The arrows of R-LIFE-1, liveness looked at between them.
    async fn try_publish(
        &self,
        agent: &Arc<Agent>,
        setup: Option<Setup>,
        signal: Option<Signal>,
        source: SessionStartSource,
    ) -> Result<(), StartError> {
        let id = agent.id();
        let withdrawn = || {
            signal
                .as_ref()
                .is_some_and(Signal::is_raised)
                .then(|| StartError::Cancelled(id.clone()))
        };
        if let Some(error) = withdrawn() {
            return Err(error);
        }
        if let Some(setup) = setup {
            setup(Arc::clone(agent))
                .await
                .map_err(|fault| StartError::Setup {
                    id: id.clone(),
                    fault,
                })?;
        }
        if let Some(error) = withdrawn() {
            return Err(error);
        }
        let (session, key) = (agent.session(), Some(agent.scope_key()));
        // Every turn of a live session is closed, by the loop or by repair; this one would be neither's.
        if let Some(turn) = session.open_turn() {
            return Err(StartError::OpenSeed { id: id.clone(), turn });
        }
        self.services.sessions.enter(session, key)?;
        if let Err(error) = self.enter(agent) {
            self.services.sessions.detach(session);
            return Err(error);
        }
        let announced = self
            .services
            .sessions
            .announce(session)
            .map_err(StartError::from)
            .and_then(|()| {
                let notice = AgentCreated { agent: id.clone() };
                self.services
                    .listeners
                    .veto(key, &notice)
                    .map_err(|fault| StartError::Vetoed {
                        id: id.clone(),
                        fault,
                    })
                    .inspect_err(|_| self.tell_disposed(agent))
            });
        if let Err(error) = announced {
            // Whoever was told of the beginning is told of the end, the agent before its session (R-LIFE-5).
            self.leave(agent);
            self.services.sessions.detach(session);
            return Err(error);
        }
        agent.state.lock().status.published = true;
        let start = || SessionStart {
            agent: id.clone(),
            source,
        };
        self.services.listeners.tell(key, start);
        Ok(())
    }

    fn enter(&self, agent: &Arc<Agent>) -> Result<(), StartError> {
        let mut live = self.live.lock();
        if live.closed {
            return Err(StartError::Closed);
        }
        if live.agents.contains_key(agent.id()) {
            return Err(StartError::Taken(agent.id().clone()));
        }
        live.agents.insert(agent.id().clone(), Arc::clone(agent));
        Ok(())
    }

    fn leave(&self, agent: &Arc<Agent>) {
        let mut live = self.live.lock();
        if live
            .agents
            .get(agent.id())
            .is_some_and(|known| Arc::ptr_eq(known, agent))
        {
            live.agents.remove(agent.id());
        }
    }

    fn tell_disposed(&self, agent: &Agent) {
        let id = || agent.id().clone();
        self.services
            .listeners
            .tell(Some(agent.scope_key()), || AgentDisposed { agent: id() });
    }

    /// The end of a life, after its driver has ended (R-LIFE-6).
    async fn end(&self, agent: &Arc<Agent>) {
        let flushes = std::mem::take(&mut *agent.flushes.lock());
        for flush in flushes {
            // A flush that panicked or was torn down with its runtime has nothing more to wait for.
            drop(flush.await);
        }
        self.end_owned(agent).await;
        // Its id is free from here on (R-LIFE-9).
        self.leave(agent);
        self.tell_disposed(agent);
        self.services.sessions.detach(agent.session());
        self.end_scope(agent);
        agent.gone();
    }

    fn end_scope(&self, agent: &Agent) {
        let scope = agent.scope();
        scope.end();
        let key = scope.key();
        self.services.listeners.end_scope(key);
        self.services.tools.end_scope(key);
        self.services.prompts.end_scope(key);
        self.services.sessions.on_kinds().remove_scope(key);
    }

    /// Disposes every agent, waits for all of them, and lets none start any more.
    pub async fn close(&self) {
        let (agents, tasks) = {
            let mut live = self.live.lock();
            live.closed = true;
            let agents: Vec<_> = live.agents.values().cloned().collect();
            (agents, std::mem::take(&mut live.tasks))
        };
        for agent in &agents {
            agent.dispose();
        }
        for task in tasks {
            if let Err(error) = task.await {
                tracing::error!(error = %error, "an agent's driver did not end in order");
            }
        }
    }
}
