//! The order of turns and steps: what may follow what (R-INV). A hard rule for live sessions.

use std::collections::HashMap;

use hames_types::event::{Event, EventBody, Placement, SurfaceOp};
use hames_types::id::{CallId, StepNo, TurnNo};

use crate::draft::Draft;
use crate::error::TraceFault;

/// Where a log stands: the open turn, the open step, the unanswered calls.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    last_turn: Option<TurnNo>,
    open: Option<OpenTurn>,
}

#[derive(Debug, Clone)]
struct OpenTurn {
    turn: TurnNo,
    step: Option<StepNo>,
    next_step: StepNo,
    unanswered: HashMap<CallId, u32>,
}

/// Code of a result that stands for a call that never started (R-REPAIR-3).
pub const TOOL_NOT_STARTED: &str = "TOOL_NOT_STARTED";

impl Trace {
    /// The open turn.
    #[must_use]
    pub fn open_turn(&self) -> Option<TurnNo> {
        self.open.as_ref().map(|open| open.turn)
    }

    /// The open step.
    #[must_use]
    pub fn open_step(&self) -> Option<StepNo> {
        self.open.as_ref().and_then(|open| open.step)
    }

    /// The number the next turn gets.
    #[must_use]
    pub fn next_turn(&self) -> TurnNo {
        self.last_turn.map_or(TurnNo::FIRST, TurnNo::next)
    }

    /// Looks whether `draft` may come next. Changes nothing (R-INV-9).
    ///
    /// # Errors
    /// [`TraceFault`] naming what is open and what came.
    pub fn check(&self, draft: &Draft) -> Result<(), TraceFault> {
        let Ok(body) = draft.data.body() else {
            return self.open.as_ref().map(|_| ()).ok_or(TraceFault::NoTurn);
        };
        if let EventBody::TurnStart(start) = body {
            return match &self.open {
                Some(open) => Err(TraceFault::TurnOpen {
                    turn: start.turn,
                    open: open.turn,
                }),
                None => same_turn_number(self.next_turn(), start.turn),
            };
        }
        let open = self.open.as_ref().ok_or(TraceFault::NoTurn)?;
        match body {
            EventBody::TurnEnd(end) => {
                open.in_turn(end.turn)?;
                open.step
                    .map_or(Ok(()), |step| Err(TraceFault::StepOpen { open: step }))
            }
            EventBody::StepStart(mark) => {
                open.in_turn(mark.turn)?;
                match open.step {
                    Some(step) => Err(TraceFault::StepOpen { open: step }),
                    None => same_step(open.next_step, mark.step),
                }
            }
            EventBody::StepEnd(mark) => open.in_step(mark.turn, mark.step),
            EventBody::AssistantChunk(chunk) => open.in_step(chunk.turn, chunk.step),
            EventBody::AssistantMessage(message) if appends(&draft.placement) => {
                open.in_step(message.turn, message.step)
            }
            EventBody::ToolCall(call) => open.in_step(call.turn, call.step),
            EventBody::ToolResult(result) if appends(&draft.placement) => {
                open.in_step(result.turn, result.step)?;
                let never_started = result.is_error
                    && result
                        .error
                        .as_ref()
                        .is_some_and(|error| error.code == TOOL_NOT_STARTED);
                if never_started
                    || open
                        .unanswered
                        .get(&result.call_id)
                        .is_some_and(|count| *count > 0)
                {
                    Ok(())
                } else {
                    Err(TraceFault::NoCall {
                        call_id: result.call_id.clone(),
                    })
                }
            }
            EventBody::TurnStart(_)
            | EventBody::UserMessage(_)
            | EventBody::PromptBlocked(_)
            | EventBody::ContextMessage(_)
            | EventBody::AssistantMessage(_)
            | EventBody::ToolResult(_)
            | EventBody::SteeringMessage(_)
            | EventBody::TodoWrite(_)
            | EventBody::RequestHeader(_)
            | EventBody::Other(_) => Ok(()),
        }
    }

    /// Moves on after `event` was committed. A log that never passed [`Trace::check`] is followed as well as it goes.
    pub fn follow(&mut self, event: &Event) {
        let Some(body) = event.body() else { return };
        match body {
            EventBody::TurnStart(start) => {
                self.last_turn = Some(start.turn);
                self.open = Some(OpenTurn {
                    turn: start.turn,
                    step: None,
                    next_step: StepNo::FIRST,
                    unanswered: HashMap::new(),
                });
            }
            EventBody::TurnEnd(_) => self.open = None,
            EventBody::StepStart(mark) => self.in_open(|open| {
                open.step = Some(mark.step);
                open.next_step = mark.step.next();
            }),
            EventBody::StepEnd(_) => self.in_open(|open| {
                open.step = None;
                open.unanswered.clear();
            }),
            EventBody::ToolCall(call) => {
                self.in_open(|open| *open.unanswered.entry(call.call_id.clone()).or_default() += 1);
            }
            EventBody::ToolResult(result) if appends(&event.placement) => self.in_open(|open| {
                if let Some(count) = open.unanswered.get_mut(&result.call_id) {
                    *count = count.saturating_sub(1);
                }
            }),
            EventBody::UserMessage(_)
            | EventBody::PromptBlocked(_)
            | EventBody::ContextMessage(_)
            | EventBody::AssistantChunk(_)
            | EventBody::AssistantMessage(_)
            | EventBody::ToolResult(_)
            | EventBody::SteeringMessage(_)
            | EventBody::TodoWrite(_)
            | EventBody::RequestHeader(_)
            | EventBody::Other(_) => {}
        }
    }

    fn in_open(&mut self, change: impl FnOnce(&mut OpenTurn)) {
        if let Some(open) = &mut self.open {
            change(open);
        }
    }
}

impl OpenTurn {
    fn in_turn(&self, turn: TurnNo) -> Result<(), TraceFault> {
        if turn == self.turn {
            Ok(())
        } else {
            Err(TraceFault::OtherTurn {
                open: self.turn,
                found: turn,
            })
        }
    }

    fn in_step(&self, turn: TurnNo, step: StepNo) -> Result<(), TraceFault> {
        self.in_turn(turn)?;
        same_step(self.step.ok_or(TraceFault::NoStep)?, step)
    }
}

fn appends(placement: &Option<Box<Placement>>) -> bool {
    placement
        .as_ref()
        .is_none_or(|placement| placement.op == SurfaceOp::Append)
}

fn same_turn_number(expected: TurnNo, found: TurnNo) -> Result<(), TraceFault> {
    if expected == found {
        Ok(())
    } else {
        Err(TraceFault::TurnNumber { expected, found })
    }
}

fn same_step(expected: StepNo, found: StepNo) -> Result<(), TraceFault> {
    if expected == found {
        Ok(())
    } else {
        Err(TraceFault::StepNumber { expected, found })
    }
}
