//! The handle of an agent: what one can say to it, and how to wait for it.

mod status;
mod verbs;

pub(crate) use verbs::context_draft;

use std::sync::Arc;

use hames_log::Session;
use hames_types::decision::HookContext;
use hames_types::id::{ModelId, ProviderId, SessionId};
use hames_types::json::Json;
use hames_types::message::MessageSource;
use hames_types::scope::ScopeKey;
use hames_types::signal::Trigger;
use hames_types::turn::AgentStatus;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use crate::inbox::Inbox;
use crate::scope::Scope;
use crate::services::Services;

/// Which model an agent asks unless a listener says otherwise.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentOptions {
    /// The provider route.
    pub provider: Option<ProviderId>,
    /// The model.
    pub model: Option<ModelId>,
}

/// What may go with a message.
#[derive(Debug, Clone, Default)]
pub struct SendOptions {
    /// Where it came from; a person if absent.
    pub source: Option<MessageSource>,
    /// Contexts for the model that go with it.
    pub contexts: Vec<HookContext>,
}

/// What may go with an injected context.
#[derive(Debug, Clone, Default)]
pub struct InjectOptions {
    /// Where it came from; a person if absent.
    pub source: Option<MessageSource>,
    /// Its owner's private state, kept in the log and hidden from the model.
    pub meta: Option<Json>,
}

/// A live agent. It and its session bear one id.
pub struct Agent {
    session: Arc<Session>,
    options: AgentOptions,
    scope: Arc<Scope>,
    creator: Option<ScopeKey>,
    pub(crate) services: Arc<Services>,
    pub(crate) state: Mutex<State>,
    /// Wakes the driver: something was queued, or the agent is disposed.
    pub(crate) wake: Notify,
    /// Flushes of idle injections under way; disposal waits for them (R-INJ-5).
    pub(crate) flushes: Mutex<Vec<JoinHandle<()>>>,
}

/// What changes in an agent's life.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) inbox: Inbox,
    pub(crate) status: Status,
    /// Raises the running turn's signal. There from just before the turn until just before its end is logged.
    pub(crate) owner: Option<Trigger>,
    /// Work was cancelled before the driver woke up for it.
    pub(crate) cancelled_before_run: bool,
    /// Injections that wait for the running tool batch; `None` when none runs.
    pub(crate) deferred: Option<Vec<HookContext>>,
    /// Whether the last turn was terminally stopped: then late steering is dropped (R-CONT-6).
    pub(crate) terminal: bool,
    /// A turn couldn't open: its prompt waits until somebody says something.
    pub(crate) stalled: bool,
    pub(crate) idle_waiters: Vec<oneshot::Sender<()>>,
    pub(crate) gone_waiters: Vec<oneshot::Sender<()>>,
    pub(crate) end_waiters: Vec<oneshot::Sender<()>>,
}

/// The status and whether anybody was told of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) now: AgentStatus,
    pub(crate) published: bool,
    pub(crate) driver_done: bool,
    pub(crate) gone: bool,
}

impl State {
    /// Whether a turn should run.
    pub(crate) fn has_work(&self) -> bool {
        !self.stalled && !self.inbox.queued.is_empty()
    }
}

impl Default for Status {
    fn default() -> Self {
        Self {
            now: AgentStatus::Idle,
            published: false,
            driver_done: false,
            gone: false,
        }
    }
}

impl Agent {
    pub(crate) fn new(
        session: Arc<Session>,
        options: AgentOptions,
        scope: Arc<Scope>,
        services: Arc<Services>,
    ) -> Self {
        Self {
            session,
            options,
            scope,
            creator: None,
            services,
            state: Mutex::default(),
            wake: Notify::new(),
            flushes: Mutex::default(),
        }
    }

    pub(crate) fn started_by(self, creator: Option<ScopeKey>) -> Self {
        Self { creator, ..self }
    }

    /// The scope of the agent on whose behalf this one was started, if there was one.
    pub(crate) fn creator(&self) -> Option<ScopeKey> {
        self.creator
    }

    /// The one identity of agent and session.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        self.session.id()
    }

    /// Its session.
    #[must_use]
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// What it was started with.
    #[must_use]
    pub fn options(&self) -> &AgentOptions {
        &self.options
    }

    /// Its scope: what is registered under it concerns this agent alone and ends with it.
    #[must_use]
    pub fn scope(&self) -> &Arc<Scope> {
        &self.scope
    }

    /// What dispatches that concern this agent are keyed by.
    #[must_use]
    pub fn scope_key(&self) -> ScopeKey {
        self.scope.key()
    }

    /// What it is doing. `Running` spans consecutive turns and their checkpoints; it doesn't say that a turn is open.
    #[must_use]
    pub fn status(&self) -> AgentStatus {
        self.state.lock().status.now
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Agent")
            .field("id", self.id())
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
