//! How does each notice cross?

use std::sync::Arc;

use hames_types::id::SessionId;
use hames_types::port::notice::{
    AgentCreated, AgentDisposed, AgentError, CancelRequested, Queued, SessionEvent, SessionStart,
    StatusChanged, ToolResultReady,
};
use hames_types::turn::{AgentStatus, CancelCause, SessionStartSource};
use smol_str::SmolStr;
use wasmtime::Store;
use wasmtime::component::Instance;

use super::Tells;
use crate::bindings::exports::hames::plugin as wit;
use crate::bindings::hames::plugin::types::Fault;
use crate::convert::call::{call, outcome};
use crate::convert::content::{blocks, source};
use crate::convert::fault::fault;
use crate::exports::Exports;
use crate::invoke::Work;
use crate::plugin::Loaded;
use crate::point::Point;
use crate::seam::Viewer;
use crate::state::State;

/// What is the same for every notice.
macro_rules! told {
    ($module:ident, $field:ident, $point:ident, $notice:ident) => {
        const POINT: Point = Point::$point;
        type Indices = wit::$module::GuestIndices;
        type WitNotice = wit::$module::$notice;

        fn indices(exports: &Exports) -> Option<&Arc<Self::Indices>> {
            exports.$field.as_ref()
        }

        fn call<'a>(
            (indices, notice): (Arc<Self::Indices>, Self::WitNotice),
            store: &'a mut Store<State>,
            instance: &'a Instance,
        ) -> Work<'a, Result<(), Fault>> {
            Box::pin(async move {
                let guest = indices.load(&mut *store, instance)?;
                guest.call_observe(store, &notice).await
            })
        }
    };
}

impl Tells for SessionEvent {
    told!(on_session_event, session_event, SessionEvent, SessionEvent);

    fn agent(&self) -> Option<&SessionId> {
        Some(&self.session)
    }

    fn kinds(loaded: &Loaded) -> Option<Vec<SmolStr>> {
        let mut kinds: Vec<SmolStr> = loaded.manifest.events.iter().cloned().collect();
        kinds.sort();
        Some(kinds)
    }

    fn concerns(&self, loaded: &Loaded) -> bool {
        loaded.manifest.events.contains(self.event.kind())
    }

    fn tell(&self, viewer: Viewer<'_>) -> wasmtime::Result<Self::WitNotice> {
        Ok(wit::on_session_event::SessionEvent {
            session: self.session.to_string(),
            event: viewer.reader.event(&self.event)?,
            extra: None,
        })
    }
}

impl Tells for SessionStart {
    told!(on_session_start, session_start, SessionStart, SessionStart);

    fn agent(&self) -> Option<&SessionId> {
        Some(&self.agent)
    }

    fn tell(&self, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitNotice> {
        use wit::on_session_start::StartSource;
        Ok(wit::on_session_start::SessionStart {
            agent: self.agent.to_string(),
            source: match self.source {
                SessionStartSource::Startup => StartSource::Startup,
                SessionStartSource::Resume => StartSource::Resume,
                SessionStartSource::Clear => StartSource::Clear,
                SessionStartSource::Compact => StartSource::Compact,
            },
            extra: None,
        })
    }
}

impl Tells for StatusChanged {
    told!(on_status, status, Status, StatusChange);

    fn agent(&self) -> Option<&SessionId> {
        Some(&self.agent)
    }

    fn tell(&self, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitNotice> {
        Ok(wit::on_status::StatusChange {
            agent: self.agent.to_string(),
            status: match self.status {
                AgentStatus::Idle => wit::on_status::AgentStatus::Idle,
                AgentStatus::Running => wit::on_status::AgentStatus::Running,
                AgentStatus::Disposed => wit::on_status::AgentStatus::Disposed,
            },
            extra: None,
        })
    }
}

impl Tells for Queued {
    told!(on_queued, queued, Queued, Queued);

    fn agent(&self) -> Option<&SessionId> {
        Some(&self.agent)
    }

    fn tell(&self, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitNotice> {
        Ok(wit::on_queued::Queued {
            agent: self.agent.to_string(),
            content: blocks(&self.content)?,
            source: source(&self.source)?,
            contexts: u32::try_from(self.contexts).unwrap_or(u32::MAX),
            steering: self.steering,
            extra: None,
        })
    }
}

impl Tells for CancelRequested {
    told!(
        on_cancel_requested,
        cancel_requested,
        CancelRequested,
        CancelRequested
    );

    fn agent(&self) -> Option<&SessionId> {
        Some(&self.agent)
    }

    fn tell(&self, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitNotice> {
        use wit::on_cancel_requested::CancelCause as Cause;
        Ok(wit::on_cancel_requested::CancelRequested {
            agent: self.agent.to_string(),
            cause: match self.cause {
                CancelCause::User => Cause::User,
                CancelCause::Parent => Cause::Parent,
            },
            extra: None,
        })
    }
}

impl Tells for AgentError {
    told!(on_error, error, Error, AgentError);

    fn agent(&self) -> Option<&SessionId> {
        Some(&self.agent)
    }

    fn tell(&self, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitNotice> {
        Ok(wit::on_error::AgentError {
            agent: self.agent.to_string(),
            turn: self.turn.get(),
            step: self.step.get(),
            error: fault(&self.error)?,
            lost: self.lost.as_deref().map(blocks).transpose()?,
            extra: None,
        })
    }
}

impl Tells for ToolResultReady {
    told!(on_tool_result, tool_result, ToolResult, ToolResult);

    fn agent(&self) -> Option<&SessionId> {
        self.call.agent.as_ref()
    }

    fn tool(&self) -> Option<&str> {
        Some(&self.call.name)
    }

    fn tell(&self, viewer: Viewer<'_>) -> wasmtime::Result<Self::WitNotice> {
        Ok(wit::on_tool_result::ToolResult {
            call: call(&self.call)?,
            outcome: outcome(&self.outcome, viewer.reader, viewer.owns_tool)?,
            extra: None,
        })
    }
}

impl Tells for AgentCreated {
    told!(on_agent_created, agent_created, AgentCreated, AgentCreated);
    const VETOES: bool = true;

    fn agent(&self) -> Option<&SessionId> {
        Some(&self.agent)
    }

    fn tell(&self, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitNotice> {
        Ok(wit::on_agent_created::AgentCreated {
            agent: self.agent.to_string(),
            extra: None,
        })
    }
}

impl Tells for AgentDisposed {
    told!(on_agent_disposed, agent_disposed, AgentDisposed, AgentDisposed);

    fn agent(&self) -> Option<&SessionId> {
        Some(&self.agent)
    }

    fn tell(&self, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitNotice> {
        Ok(wit::on_agent_disposed::AgentDisposed {
            agent: self.agent.to_string(),
            extra: None,
        })
    }
}
