//! Notifications: the recorder of the live trace, and scripted observers.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use hames_agent::Services;
use hames_agent::listeners::{Listeners, Told};
use hames_log::{Flush, Place, Session};
use hames_types::event::EventBody;
use hames_types::fault::Fault;
use hames_types::json::{Json, to_json};
use hames_types::port::listener::{Notice, Observe};
use hames_types::port::notice::{
    AgentCreated, AgentDisposed, AgentError, CancelRequested, ConfigStartFailed, Queued, SessionCreated,
    SessionDisposed, SessionEvent, SessionStart, StatusChanged, ToolResultReady,
};
use serde_json::json;

use super::listener::Scripted;
use super::world::World;
use super::{fault, ops};

/// What the live trace says of a notice.
pub(super) trait Noted: Notice {
    /// The entry; `None` if the trace doesn't have this notice.
    fn entry(&self) -> Option<Json>;
    /// What a script can match on.
    fn facts(&self) -> Json;
}

macro_rules! noted {
    ($( $notice:ty: |$this:ident| $entry:expr, $facts:expr; )*) => { $(
        impl Noted for $notice {
            fn entry(&self) -> Option<Json> {
                let $this = self;
                $entry
            }

            fn facts(&self) -> Json {
                let $this = self;
                $facts
            }
        }
    )* };
}

noted! {
    SessionCreated: |this| Some(json!({ "kind": "session-created", "session": this.session.as_str() })),
        json!({ "session": this.session.as_str() });
    SessionDisposed: |this| Some(json!({ "kind": "session-disposed", "session": this.session.as_str() })),
        json!({ "session": this.session.as_str() });
    SessionEvent: |this| event_entry(this), event_facts(this);
    AgentCreated: |this| Some(json!({ "kind": "agent-created", "agent": this.agent.as_str() })),
        json!({ "agent": this.agent.as_str() });
    AgentDisposed: |this| Some(json!({ "kind": "agent-disposed", "agent": this.agent.as_str() })),
        json!({ "agent": this.agent.as_str() });
    SessionStart: |this| Some(json!({
            "kind": "session-start", "agent": this.agent.as_str(), "source": this.source.as_str(),
        })),
        json!({ "agent": this.agent.as_str(), "source": this.source.as_str() });
    StatusChanged: |this| Some(json!({
            "kind": "status", "agent": this.agent.as_str(), "status": this.status.as_str(),
        })),
        json!({ "agent": this.agent.as_str(), "status": this.status.as_str() });
    Queued: |this| Some(json!({
            "kind": "queued", "agent": this.agent.as_str(), "steering": this.steering,
            "source": to_json(&this.source).unwrap_or_default(), "contexts": this.contexts,
        })),
        json!({ "agent": this.agent.as_str(), "steering": this.steering });
    CancelRequested: |this| Some(json!({
            "kind": "cancel-requested", "agent": this.agent.as_str(), "cause": { "kind": this.cause.as_str() },
        })),
        json!({ "agent": this.agent.as_str() });
    AgentError: |this| Some(error_entry(this)), json!({ "agent": this.agent.as_str() });
    ToolResultReady: |this| Some(json!({
            "kind": "tool-result", "tool": this.call.name.as_str(), "callId": this.call.call_id.as_str(),
            "isError": this.outcome.is_error,
        })),
        json!({
            "tool": this.call.name.as_str(), "callId": this.call.call_id.as_str(),
            "agent": this.call.agent.as_ref().map(|agent| agent.as_str()),
        });
    ConfigStartFailed: |this| Some(json!({ "kind": "config-start-failed", "session": this.session.as_str() })),
        json!({ "session": this.session.as_str() });
}

/// Events are compared as the log has them, not as they were told.
fn event_entry(_: &SessionEvent) -> Option<Json> {
    None
}

fn error_entry(this: &AgentError) -> Json {
    let mut entry = json!({
        "kind": "error", "agent": this.agent.as_str(), "turn": this.turn.get(), "step": this.step.get(),
        "message": this.error.message(),
    });
    if let (Some(code), Some(fields)) = (this.error.code(), entry.as_object_mut()) {
        fields.insert("code".to_owned(), json!(code));
    }
    entry
}

fn event_facts(notice: &SessionEvent) -> Json {
    let data = to_json(&notice.event.data).unwrap_or_default();
    let mut facts = json!({
        "session": notice.session.as_str(), "type": notice.event.kind(), "seq": notice.event.seq.get(),
    });
    if let Some(fields) = facts.as_object_mut() {
        for key in ["turn", "step"] {
            if let Some(value) = data.get(key) {
                fields.insert(key.to_owned(), value.clone());
            }
        }
        if let Some(EventBody::AssistantChunk(chunk)) = notice.event.body() {
            fields.insert("chunk".to_owned(), json!(chunk.chunk.kind()));
        }
    }
    facts
}

/// Writes the live trace. Registered before every scripted listener.
struct Recorder(Weak<World>);

impl<N: Noted> Observe<N> for Recorder {
    fn observe(&self, notice: &N) -> Result<(), Fault> {
        if let (Some(world), Some(entry)) = (self.0.upgrade(), notice.entry()) {
            world.note(entry);
        }
        Ok(())
    }
}

/// Remembers every session that was ever live, to show it at the end.
struct Rememberer(Weak<World>);

impl Observe<SessionCreated> for Rememberer {
    fn observe(&self, notice: &SessionCreated) -> Result<(), Fault> {
        if let Some(world) = self.0.upgrade()
            && let Some(session) = world.session(&Some(notice.session.to_string()))
        {
            world.record(|record| record.sessions.insert(notice.session.clone(), session));
        }
        Ok(())
    }
}

#[async_trait]
impl Flush for Recorder {
    async fn flush(&self, session: &Arc<Session>) -> Result<(), Fault> {
        if let Some(world) = self.0.upgrade() {
            world.note(json!({ "kind": "flush", "session": session.id().as_str() }));
        }
        Ok(())
    }
}

/// Registers the recorder everywhere.
pub(super) fn record_all(world: &Arc<World>, services: &Services) {
    fn on<N: Noted + Told>(listeners: &Listeners, world: &Arc<World>) {
        listeners.add::<N>(None, Place::Last, Arc::new(Recorder(Arc::downgrade(world))));
    }
    let recorder = || Arc::new(Recorder(Arc::downgrade(world)));
    let sessions = &services.sessions;
    sessions
        .on_created()
        .add(None, Place::Last, Arc::new(Rememberer(Arc::downgrade(world))));
    sessions.on_created().add(None, Place::Last, recorder());
    sessions.on_disposed().add(None, Place::Last, recorder());
    sessions.on_flush().add(None, Place::Last, recorder());
    let listeners = &services.listeners;
    on::<AgentCreated>(listeners, world);
    on::<AgentDisposed>(listeners, world);
    on::<SessionStart>(listeners, world);
    on::<StatusChanged>(listeners, world);
    on::<Queued>(listeners, world);
    on::<CancelRequested>(listeners, world);
    on::<AgentError>(listeners, world);
    on::<ToolResultReady>(listeners, world);
    on::<ConfigStartFailed>(listeners, world);
}

impl<N: Noted> Observe<N> for Scripted {
    fn observe(&self, notice: &N) -> Result<(), Fault> {
        let Some(behaviour) = self.invocation(&notice.facts()) else {
            return Ok(());
        };
        self.act_now(behaviour)
    }
}

impl Scripted {
    /// Does what a notification's listener does: its ops at once, and what waits later.
    fn act_now(&self, behaviour: Json) -> Result<(), Fault> {
        let world = self.world();
        let mut acting: Pin<Box<dyn Future<Output = Result<(), Fault>> + Send>> = Box::pin(async move {
            ops::pause(&world, &behaviour).await?;
            behaviour
                .get("throw")
                .map_or(Ok(()), |error| Err(fault::thrown(error)))
        });
        match acting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(acted) => acted,
            Poll::Pending => {
                #[expect(
                    clippy::disallowed_methods,
                    reason = "a script's notification goes on by itself"
                )]
                drop(tokio::spawn(acting));
                Ok(())
            }
        }
    }
}

#[async_trait]
impl Flush for Scripted {
    async fn flush(&self, session: &Arc<Session>) -> Result<(), Fault> {
        let facts = json!({ "session": session.id().as_str() });
        let Some(behaviour) = self.invocation(&facts) else {
            return Ok(());
        };
        ops::pause(&self.world(), &behaviour).await?;
        behaviour
            .get("throw")
            .map_or(Ok(()), |error| Err(fault::thrown(error)))
    }
}
