//! Agents that the operator's configuration names: started with the process, each on its own (R-LIFE-10, R-LIFE-11).

use std::collections::HashSet;
use std::sync::Arc;

use hames_log::SessionMeta;
use hames_types::fault::Fault;
use hames_types::id::SessionId;
use hames_types::port::notice::ConfigStartFailed;
use hames_types::port::store::StoreError;
use smol_str::SmolStr;

use super::{Agents, Setup, StartOptions};
use crate::agent::AgentOptions;
use crate::error::StartError;

/// An agent the configuration names.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    /// Which session it has.
    pub session: ConfiguredSession,
    /// Which model it asks.
    pub options: AgentOptions,
    /// The folder a new session works in.
    pub cwd: Option<SmolStr>,
}

/// Where a configured agent's session comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfiguredSession {
    /// A new one; whoever reads the configuration makes its id.
    Fresh(SessionId),
    /// This one: resumed if it is stored, else created.
    Exact(SessionId),
    /// This one, which must be stored.
    Resume(SessionId),
}

impl ConfiguredSession {
    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        match self {
            Self::Fresh(id) | Self::Exact(id) | Self::Resume(id) => id,
        }
    }
}

/// Why no configured agent is started at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentConfigError {
    /// A session without an id.
    #[error("a configured agent names an empty session id; give it one or leave it out")]
    EmptyId,
    /// Two agents want one session.
    #[error("two configured agents name the session `{0}`; a session has one agent")]
    DuplicateId(SessionId),
}

impl Agents {
    /// Starts what the configuration names. One that can't start is told and keeps nobody else from starting.
    ///
    /// # Errors
    /// [`AgentConfigError`] before anything is started.
    pub async fn start_configured(
        self: &Arc<Self>,
        configs: Vec<AgentConfig>,
        setup: impl Fn() -> Option<Setup>,
    ) -> Result<(), AgentConfigError> {
        let mut ids = HashSet::new();
        for id in configs.iter().map(|config| config.session.id()) {
            if id.as_str().is_empty() {
                return Err(AgentConfigError::EmptyId);
            }
            if !ids.insert(id.clone()) {
                return Err(AgentConfigError::DuplicateId(id.clone()));
            }
        }
        for config in configs {
            let id = config.session.id().clone();
            if let Err(error) = self.start_one(config, setup()).await
                && !matches!(error, StartError::Closed)
            {
                let fault = Fault::of("StartError", "START_FAILED", &error);
                tracing::warn!(session = %id, error = %fault.chain(), "a configured agent could not be started");
                let notice = || ConfigStartFailed {
                    session: id.clone(),
                    error: fault,
                };
                self.services().listeners.tell(None, notice);
            }
        }
        Ok(())
    }

    async fn start_one(
        self: &Arc<Self>,
        config: AgentConfig,
        setup: Option<Setup>,
    ) -> Result<(), StartError> {
        let AgentConfig {
            session,
            options,
            cwd,
        } = config;
        let id = session.id().clone();
        self.wait_for_end(&id).await;
        let stored = match &session {
            ConfiguredSession::Fresh(_) => false,
            ConfiguredSession::Resume(_) => true,
            ConfiguredSession::Exact(id) => self.is_stored(id).await?,
        };
        if stored {
            return self.resume(&id, options, setup).await.map(|_| ());
        }
        let meta = SessionMeta {
            cwd,
            ..SessionMeta::default()
        };
        let start = StartOptions {
            id: Some(id),
            options,
            meta,
            setup,
            ..StartOptions::default()
        };
        self.start(start).await.map(|_| ())
    }

    async fn is_stored(&self, id: &SessionId) -> Result<bool, StartError> {
        let Some(loader) = &self.loader else {
            return Ok(false);
        };
        match loader.is_stored(id).await {
            Ok(stored) => Ok(stored),
            Err(StoreError::NotFound(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// An agent of that id that is on its way out is waited for.
    async fn wait_for_end(&self, id: &SessionId) {
        if let Some(agent) = self.get(id)
            && agent.status() == hames_types::turn::AgentStatus::Disposed
        {
            agent.when_disposed().await;
        }
    }
}
