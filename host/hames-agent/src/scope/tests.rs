//! Whose a scope is, and what is bound to one.

use std::sync::Arc;

use hames_log::{Draft, Log, Place, SessionMeta, Sessions};
use hames_types::fault::Fault;
use hames_types::id::SessionId;
use hames_types::port::clock::FixedClock;
use hames_types::port::listener::{Notice, Observe};
use hames_types::port::notice::{
    AgentCreated, AgentDisposed, AgentError, CancelRequested, ConfigStartFailed, Queued, SessionStart,
    StatusChanged, ToolResultReady,
};
use hames_types::port::seam::{
    Approval, CallRequest, Execute, LlmStream, PostExecute, PostStep, PreExecute, PreStep, PromptAssemble,
    PromptSubmit, RequestError, SessionPrefix, StepResult, TurnContinuation, TurnStop,
};
use parking_lot::Mutex;
use serde_json::json;

use super::Scope;
use crate::listeners::Heard;

#[test]
fn r_scope_1_a_scope_is_itself_and_no_other_s_of_the_same_agent() {
    let (first, second) = (Scope::new(), Scope::new());
    assert_ne!(first.key(), second.key());
    assert_eq!(first.key(), first.key());
}

#[test]
fn r_scope_3_and_4_everything_is_scoped_but_the_stream_and_failed_starts() {
    let scoped = [
        PromptSubmit::SCOPED,
        SessionPrefix::SCOPED,
        PromptAssemble::SCOPED,
        PreStep::SCOPED,
        CallRequest::SCOPED,
        StepResult::SCOPED,
        PreExecute::SCOPED,
        Approval::SCOPED,
        Execute::SCOPED,
        PostExecute::SCOPED,
        PostStep::SCOPED,
        RequestError::SCOPED,
        TurnContinuation::SCOPED,
        TurnStop::SCOPED,
        AgentCreated::SCOPED,
        AgentDisposed::SCOPED,
        SessionStart::SCOPED,
        StatusChanged::SCOPED,
        Queued::SCOPED,
        CancelRequested::SCOPED,
        AgentError::SCOPED,
        ToolResultReady::SCOPED,
    ];
    assert_eq!(scoped, [true; 22]);
    assert_eq!([LlmStream::SCOPED, ConfigStartFailed::SCOPED], [false; 2]);
}

type Heards = Arc<Mutex<Vec<(&'static str, &'static str)>>>;

/// Writes down what it is told under a name.
struct Hears(&'static str, Heards);

impl<N: Notice> Observe<N> for Hears {
    fn observe(&self, _: &N) -> Result<(), Fault> {
        self.1.lock().push((self.0, N::NAME));
        Ok(())
    }
}

#[test]
fn r_scope_5_a_session_is_told_of_in_the_scope_through_which_it_was_entered_all_its_life() {
    let sessions = Sessions::new(Arc::new(FixedClock(0)));
    let (own, other, heard) = (Scope::new(), Scope::new(), Heards::default());
    for (name, scope) in [("own", Some(&own)), ("other", Some(&other)), ("all", None)] {
        let hears = || Arc::new(Hears(name, Arc::clone(&heard)));
        let key = scope.map(Scope::key);
        sessions.on_created().add(key, Place::Last, hears());
        sessions.on_event().add(key, Place::Last, hears());
        sessions.on_disposed().add(key, Place::Last, hears());
    }
    let id = Some(SessionId::new("main"));
    let session = sessions.prepare(id, SessionMeta::default(), Log::new()).unwrap();
    sessions.enter(&session, Some(own.key())).unwrap();
    sessions.announce(&session).unwrap();
    let trigger = json!({"kind": "message", "source": {"kind": "user"}});
    let data = json!({"turn": 1, "trigger": trigger});
    session
        .append(Draft::read("turn/start", data, None, None).unwrap())
        .unwrap();
    sessions.detach(&session);

    let notices = ["session/created", "session/event", "session/disposed"];
    let expected: Vec<_> = notices
        .into_iter()
        .flat_map(|notice| [("own", notice), ("all", notice)])
        .collect();
    assert_eq!(*heard.lock(), expected);
}
