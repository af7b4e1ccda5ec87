//! The closing events an interrupted log is owed (R-REPAIR): a pure function of its events.

use std::sync::Arc;

use hames_types::content::Content;
use hames_types::event::{
    Event, EventBody, EventData, NamedCode, Placement, StepMark, SurfaceOp, ToolResultEvent, TurnEnd,
};
use hames_types::id::{CallId, Seq, StepNo, TurnNo};
use hames_types::json::Extra;
use hames_types::message::Plain;
use hames_types::turn::TurnEndReason;

use crate::trace::TOOL_NOT_STARTED;

/// Code of a result that stands for a call whose outcome nobody knows.
pub const TOOL_OUTCOME_UNKNOWN: &str = "TOOL_OUTCOME_UNKNOWN";

const UNKNOWN_TEXT: &str = "Error: the process ended while this tool call was running, so nobody knows whether it \
     took effect. Look before calling it again.";
const NOT_STARTED_TEXT: &str = "Error: the process ended before this tool call began; it had no effect.";

/// What stands open at a log's end.
#[derive(Default)]
struct Tail {
    turn: Option<TurnNo>,
    step: Option<StepNo>,
    /// Unanswered calls in the order of the transcript.
    pending: Vec<Pending>,
}

struct Pending {
    turn: TurnNo,
    step: StepNo,
    call_id: CallId,
    /// The `tool/call` event, if the call got that far.
    call: Option<Seq>,
}

/// The events that close a log's interrupted turn; none if no turn is open.
///
/// They continue the log's numbers and bear its last time. Nothing recorded is dropped (R-REPAIR-6).
#[must_use]
pub fn closers(events: &[Arc<Event>]) -> Vec<Arc<Event>> {
    let (Some(last), Some(opened)) = (events.last(), events.iter().rposition(|event| is_boundary(event)))
    else {
        return Vec::new();
    };
    let mut tail = Tail::default();
    for event in events.get(opened..).unwrap_or_default() {
        tail.follow(event);
    }
    let Some(turn) = tail.turn else { return Vec::new() };
    let mut closing = Closing {
        next: last.seq.next(),
        time_ms: last.time_ms,
        events: Vec::new(),
    };
    for pending in tail.pending {
        closing.result(pending);
    }
    if let Some(step) = tail.step {
        closing.log_only(EventBody::StepEnd(StepMark {
            turn,
            step,
            extra: Extra::NONE,
        }));
    }
    let reason = TurnEndReason::Interrupted(Plain::NEW);
    closing.log_only(EventBody::TurnEnd(TurnEnd {
        turn,
        reason,
        extra: Extra::NONE,
    }));
    closing.events
}

fn is_boundary(event: &Event) -> bool {
    matches!(event.kind(), "turn/start" | "turn/end")
}

impl Tail {
    fn follow(&mut self, event: &Event) {
        let Some(body) = event.body() else { return };
        match body {
            EventBody::TurnStart(start) => {
                *self = Self {
                    turn: Some(start.turn),
                    ..Self::default()
                }
            }
            EventBody::TurnEnd(_) => *self = Self::default(),
            EventBody::StepStart(mark) => {
                self.step = Some(mark.step);
                self.pending.clear();
            }
            EventBody::StepEnd(_) => {
                self.step = None;
                self.pending.clear();
            }
            EventBody::AssistantMessage(message) => {
                for call in message.content.tool_calls() {
                    if !self.pending.iter().any(|pending| pending.call_id == call.id) {
                        let (turn, step, call_id) = (message.turn, message.step, call.id.clone());
                        self.pending.push(Pending {
                            turn,
                            step,
                            call_id,
                            call: None,
                        });
                    }
                }
            }
            EventBody::ToolCall(call) => {
                if let Some(pending) = self
                    .pending
                    .iter_mut()
                    .find(|pending| pending.call_id == call.call_id)
                {
                    pending.call = Some(event.seq);
                }
            }
            EventBody::ToolResult(result) => self.pending.retain(|pending| pending.call_id != result.call_id),
            EventBody::UserMessage(_)
            | EventBody::PromptBlocked(_)
            | EventBody::ContextMessage(_)
            | EventBody::AssistantChunk(_)
            | EventBody::SteeringMessage(_)
            | EventBody::TodoWrite(_)
            | EventBody::RequestHeader(_)
            | EventBody::Other(_) => {}
        }
    }
}

struct Closing {
    next: Seq,
    time_ms: u64,
    events: Vec<Arc<Event>>,
}

impl Closing {
    fn push(&mut self, body: EventBody, placement: Option<Box<Placement>>) {
        let data = EventData::Typed(body);
        self.events.push(Arc::new(Event {
            seq: self.next,
            time_ms: self.time_ms,
            data,
            placement,
        }));
        self.next = self.next.next();
    }

    fn log_only(&mut self, body: EventBody) {
        self.push(body, None);
    }

    fn result(&mut self, pending: Pending) {
        let Pending {
            turn,
            step,
            call_id,
            call,
        } = pending;
        let (text, error) = match call {
            Some(_) => (
                UNKNOWN_TEXT,
                NamedCode::new("ToolOutcomeUnknownError", TOOL_OUTCOME_UNKNOWN),
            ),
            None => (
                NOT_STARTED_TEXT,
                NamedCode::new("ToolNotStartedError", TOOL_NOT_STARTED),
            ),
        };
        let body = EventBody::ToolResult(Box::new(ToolResultEvent {
            turn,
            step,
            call_id,
            content: Content::text(text),
            is_error: true,
            error: Some(error),
            meta: None,
            extra: Extra::NONE,
        }));
        let sources = call.map(|seq| Box::from([seq]));
        self.push(
            body,
            Some(Box::new(Placement {
                op: SurfaceOp::Append,
                sources,
            })),
        );
    }
}
