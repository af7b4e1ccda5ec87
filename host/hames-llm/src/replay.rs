//! A model that says what it said in a recorded session, call by call.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use hames_types::chunk::StreamChunk;
use hames_types::event::{Event, EventBody};
use hames_types::failure::LlmFailure;
use hames_types::fault::Fault;
use hames_types::id::{ProviderId, SessionId, StepNo, TurnNo};
use hames_types::json::{FromJson, Json};
use hames_types::port::llm::{ChunkStream, Llm};
use hames_types::request::Request;
use hames_types::signal::Signal;
use hames_types::turn::TurnEndReason;
use smol_str::{SmolStr, format_smolstr};

use crate::items::{aborted, all, just};

#[cfg(test)]
mod tests;

/// Code of a call that the recording doesn't have.
pub const REPLAY_EXHAUSTED: &str = "REPLAY_EXHAUSTED";

/// One recorded call.
#[derive(Debug, Clone, Default, PartialEq)]
struct RecordedCall {
    chunks: Vec<StreamChunk>,
    end: CallEnd,
}

/// How a recorded call ended, where its chunks don't say it.
#[derive(Debug, Clone, Default, PartialEq)]
enum CallEnd {
    /// Nothing in the log says how: it was interrupted.
    #[default]
    Interrupted,
    /// With its last chunk.
    Whole,
    /// With a failure that was raised, not streamed.
    Failed(LlmFailure),
}

/// The model calls of one session, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recording {
    session: Option<SessionId>,
    calls: Vec<RecordedCall>,
}

impl Recording {
    /// The calls a log records. `session` lets a request of that session find them; any other session takes the next
    /// recording nobody has taken.
    #[must_use]
    pub fn of<'a>(session: Option<SessionId>, log: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut reader = Reader::default();
        for event in log {
            reader.take(event);
        }
        let calls = reader.calls.into_iter().map(|(_, call)| call);
        Self {
            session,
            // A step that left no trace of a call made none.
            calls: calls
                .filter(|call| !call.chunks.is_empty() || call.end != CallEnd::Interrupted)
                .collect(),
        }
    }
}

#[derive(Default)]
struct Reader {
    calls: Vec<((TurnNo, StepNo), RecordedCall)>,
}

impl Reader {
    fn take(&mut self, event: &Event) {
        let Some(body) = event.body() else {
            return;
        };
        match body {
            EventBody::StepStart(step) => self.calls.push(((step.turn, step.step), RecordedCall::default())),
            EventBody::AssistantChunk(chunk) => {
                if let Some(call) = self.call(chunk.turn, chunk.step) {
                    call.chunks.push(chunk.chunk.clone());
                    if matches!(chunk.chunk, StreamChunk::Finish(_)) {
                        call.end = CallEnd::Whole;
                    }
                }
            }
            EventBody::AssistantMessage(message) => {
                if let Some(call) = self.call(message.turn, message.step) {
                    call.end = CallEnd::Whole;
                }
            }
            EventBody::TurnEnd(end) => {
                if let TurnEndReason::Error(error) = &end.reason
                    && let Some(failure) = &error.failure
                {
                    self.fail(end.turn, error.step, failure);
                }
            }
            EventBody::Other(other) if other.kind() == "llm/retry" => {
                self.retried(other.data());
            }
            EventBody::TurnStart(_)
            | EventBody::StepEnd(_)
            | EventBody::UserMessage(_)
            | EventBody::PromptBlocked(_)
            | EventBody::ContextMessage(_)
            | EventBody::ToolCall(_)
            | EventBody::ToolResult(_)
            | EventBody::SteeringMessage(_)
            | EventBody::TodoWrite(_)
            | EventBody::RequestHeader(_)
            | EventBody::Other(_) => {}
        }
    }

    fn retried(&mut self, data: &Json) -> Option<()> {
        let number = |name: &str| data.get(name).and_then(Json::as_u64);
        let failure = LlmFailure::from_json(data.get("failure")?.clone()).ok()?;
        self.fail(
            TurnNo::new(number("turn")?),
            StepNo::new(number("step")?),
            &failure,
        );
        Some(())
    }

    /// A failure that was streamed is in the chunks already.
    fn fail(&mut self, turn: TurnNo, step: StepNo, failure: &LlmFailure) {
        if let Some(call) = self.call(turn, step)
            && call.end == CallEnd::Interrupted
        {
            call.end = CallEnd::Failed(failure.clone());
        }
    }

    fn call(&mut self, turn: TurnNo, step: StepNo) -> Option<&mut RecordedCall> {
        let newest_first = self.calls.iter_mut().rev();
        newest_first
            .filter(|(at, _)| *at == (turn, step))
            .map(|(_, call)| call)
            .next()
    }
}

/// The adapter.
#[derive(Debug)]
pub struct Replay {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    recordings: Vec<Arc<Recording>>,
    taken: Vec<bool>,
    places: HashMap<Option<SessionId>, (Arc<Recording>, usize)>,
}

impl Replay {
    /// Replays `recordings`: a session's own, or the next one in this order for a session that has none.
    #[must_use]
    pub fn new(recordings: Vec<Recording>) -> Self {
        Self {
            state: Mutex::new(State {
                taken: vec![false; recordings.len()],
                recordings: recordings.into_iter().map(Arc::new).collect(),
                places: HashMap::new(),
            }),
        }
    }

    fn next_call(&self, session: Option<SessionId>) -> Option<RecordedCall> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.places.contains_key(&session) {
            let recording = state.take_for(session.as_ref())?;
            state.places.insert(session.clone(), (recording, 0));
        }
        let (recording, place) = state.places.get_mut(&session)?;
        let call = recording.calls.get(*place)?.clone();
        *place += 1;
        Some(call)
    }
}

impl State {
    fn take_for(&mut self, session: Option<&SessionId>) -> Option<Arc<Recording>> {
        let own = session.and_then(|session| {
            let mut recordings = self.recordings.iter();
            recordings.position(|recording| recording.session.as_ref() == Some(session))
        });
        let at = own.or_else(|| self.taken.iter().position(|taken| !taken))?;
        *self.taken.get_mut(at)? = true;
        self.recordings.get(at).cloned()
    }
}

impl Llm for Replay {
    fn stream(&self, request: Request, signal: Signal) -> ChunkStream {
        let Some(call) = self.next_call(request.session_id) else {
            let problem = format_smolstr!("the recording has no further model call");
            return just(Err(Fault::llm(LlmFailure::new(REPLAY_EXHAUSTED, problem))));
        };
        let mut items: VecDeque<_> = call.chunks.into_iter().map(Ok).collect();
        match call.end {
            CallEnd::Whole => {}
            CallEnd::Failed(failure) => items.push_back(Err(Fault::llm(failure))),
            CallEnd::Interrupted => items.push_back(Err(aborted())),
        }
        all(items, signal)
    }

    fn provider_name(&self, _: &ProviderId) -> Option<SmolStr> {
        Some(SmolStr::new_static("Replay"))
    }
}
