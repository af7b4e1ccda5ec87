//! How does a plugin reach the agent that calls it? Through the ports, over the live agents.

use std::sync::{Arc, Weak};

use hames_log::LiveAccess;
use hames_types::content::Content;
use hames_types::decision::HookContext;
use hames_types::fault::Fault;
use hames_types::id::SessionId;
use hames_types::message::MessageSource;
use hames_types::port::plugin::{AgentVerbs, Callers, SessionAccess};
use hames_types::turn::CancelCause;

use crate::agent::{Agent, InjectOptions, SendOptions};
use crate::agents::Agents;

/// Finds the live agents for plugins. Holds them weakly: plugins don't keep a process alive.
#[derive(Clone)]
pub struct LiveCallers(Weak<Agents>);

impl LiveCallers {
    /// Finds these.
    #[must_use]
    pub fn new(agents: &Arc<Agents>) -> Self {
        Self(Arc::downgrade(agents))
    }
}

impl Callers for LiveCallers {
    fn session(&self, id: &SessionId) -> Option<Arc<dyn SessionAccess>> {
        let sessions = self.0.upgrade()?.services().sessions.clone();
        let session = sessions.get(id)?;
        Some(Arc::new(LiveAccess::new(sessions, session)))
    }

    fn agent(&self, id: &SessionId) -> Option<Arc<dyn AgentVerbs>> {
        let agent = self.0.upgrade()?.get(id)?;
        Some(Arc::new(Verbs(agent)))
    }
}

/// One agent's verbs.
struct Verbs(Arc<Agent>);

impl AgentVerbs for Verbs {
    fn send(&self, content: Content, source: MessageSource, contexts: Vec<HookContext>) -> Result<(), Fault> {
        let source = Some(source);
        Ok(self.0.send(content, SendOptions { source, contexts })?)
    }

    fn steer(
        &self,
        content: Content,
        source: MessageSource,
        contexts: Vec<HookContext>,
    ) -> Result<(), Fault> {
        let source = Some(source);
        Ok(self.0.steer(content, SendOptions { source, contexts })?)
    }

    fn inject(&self, context: HookContext) -> Result<(), Fault> {
        let options = InjectOptions {
            source: Some(context.source),
            meta: context.meta,
        };
        Ok(self.0.inject(context.content, options)?)
    }

    fn cancel(&self, cause: CancelCause) {
        self.0.cancel(cause);
    }
}
