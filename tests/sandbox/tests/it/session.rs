//! Does a plugin reach the session that calls it, and only with what it was granted?

use std::sync::Arc;

use hames_log::{Draft, LiveAccess, Log, SessionMeta, Sessions};
use hames_plugin::{Grant, PluginSpec, SessionGrant};
use hames_sandbox_tests::guests;
use hames_sandbox_tests::home::{Home, NOW_MS, call, call_of, first_tool, quiet};
use hames_types::event::{EventBody, TurnStart};
use hames_types::id::{PluginId, SessionId, TurnNo};
use hames_types::json::Extra;
use hames_types::message::MessageSource;
use hames_types::port::clock::FixedClock;
use hames_types::port::plugin::{AgentVerbs, Callers, SessionAccess};
use hames_types::turn::TurnTrigger;
use serde_json::json;

struct OneSession(Sessions);

impl Callers for OneSession {
    fn session(&self, id: &SessionId) -> Option<Arc<dyn SessionAccess>> {
        let session = self.0.get(id)?;
        Some(Arc::new(LiveAccess::new(self.0.clone(), session)))
    }

    fn agent(&self, _id: &SessionId) -> Option<Arc<dyn AgentVerbs>> {
        None
    }
}

#[tokio::test]
async fn todo_writes_the_list_into_the_calling_session() {
    let sessions = Sessions::new(Arc::new(FixedClock(NOW_MS)));
    let session = sessions
        .create(Some(SessionId::new("main")), SessionMeta::default(), Log::new())
        .unwrap();
    let start = TurnStart {
        turn: TurnNo::FIRST,
        trigger: TurnTrigger::message(MessageSource::USER),
        extra: Extra::NONE,
    };
    session
        .append(Draft::log_only(EventBody::TurnStart(start)))
        .unwrap();
    let home = Home::with(None, Some(Arc::new(OneSession(sessions.clone())))).unwrap();
    let mut spec = PluginSpec::new(PluginId::new("todo"), guests::plain("todo").unwrap());
    spec.grant = Grant {
        session: SessionGrant {
            todos: true,
            ..SessionGrant::default()
        },
        ..Grant::default()
    };
    let tool = first_tool(&home.sandbox.load(spec).await.unwrap()).unwrap();
    let list = json!({ "todos": [
        { "content": "read", "status": "completed" },
        { "content": "write", "status": "in_progress" },
    ] });
    let output = tool
        .execute(&call_of(&tool, "main", list.clone()), &quiet())
        .await
        .unwrap();
    assert_eq!(output.content.joined_text(), "1 of 2 todos done");
    let event = session.all_events().pop().unwrap();
    assert_eq!(event.kind(), "todo/write");
    assert_eq!(serde_json::to_value(&event.data).unwrap(), list);
    // Nobody's call has no session, and somebody else's isn't found.
    for lost in [call(&tool, list.clone()), call_of(&tool, "other", list.clone())] {
        let fault = tool.execute(&lost, &quiet()).await.unwrap_err();
        assert!(fault.message().contains("session"), "{}", fault.message());
    }
    assert_eq!(session.len(), 2);
    assert_eq!(tool.present_call(&list).unwrap().kind(), "generic");
}
