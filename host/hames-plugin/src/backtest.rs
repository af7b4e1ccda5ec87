//! What would another policy have decided? Its listeners are asked again what was asked in recorded sessions.
//!
//! Asked are `prompt-submit`, `pre-execute`, `guard` and `post-execute`, with the session as it stood then, the clock
//! and the numbers as they were then, and the rest of the chain as it answered then. Nothing they do has an effect:
//! they reach no live session, no agent, and a store of their own.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use hames_types::decision::{PostToolDecision, PreToolDecision, PromptAllow, PromptBlock, PromptDecision};
use hames_types::event::{Event, EventBody, ToolCallEvent, ToolResultEvent};
use hames_types::fault::Fault;
use hames_types::id::{CallId, PluginId, Seq, SessionId};
use hames_types::json::{Extra, FromJson, Json, JsonMap};
use hames_types::kinds::KindRegistry;
use hames_types::port::listener::{Next, Rest, Seam};
use hames_types::port::plugin::{AgentVerbs, Callers, Recorded, SessionAccess};
use hames_types::port::registration::Registration;
use hames_types::port::seam::{PostExecuteAsk, PreExecuteAsk, PromptAsk};
use hames_types::signal::Signal;
use hames_types::tool::{ToolCall, ToolOutcome};
use parking_lot::RwLock;
use serde_json::json;

use crate::error::LoadError;
use crate::keep::MemoryStore;
use crate::ledger::{DECISION_KIND, bounded, told};
use crate::load::{PluginSpec, Sandbox};
use crate::point::Point;
use crate::seam::asks::value;
use crate::who::Services;

/// What a backtest found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Backtest {
    /// How many questions were asked.
    pub asked: usize,
    /// Where another answer would have been given than was.
    pub differences: Vec<Difference>,
}

/// A decision that would differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The session.
    pub session: SessionId,
    /// The event that was asked about.
    pub seq: Seq,
    /// The seam.
    pub point: Point,
    /// The call, if it is about one.
    pub call: Option<CallId>,
    /// What was decided: this plugin's recorded decision, or what happens where nobody decides.
    pub then: Json,
    /// What would be decided now.
    pub now: Json,
}

/// Asks a component's listeners what was asked in recorded sessions.
///
/// Dropping the future ends the backtest and leaves nothing behind.
///
/// # Errors
/// [`LoadError`] if the component isn't loaded; a listener that fails has decided to fail.
pub async fn backtest(
    sandbox: &Sandbox,
    spec: PluginSpec,
    sessions: &[Arc<dyn Recorded>],
) -> Result<Backtest, LoadError> {
    let moment = Arc::<Moment>::default();
    let services = Services {
        callers: Some(Arc::<Moment>::clone(&moment)),
        store: Arc::new(MemoryStore::default()),
        kinds: Arc::new(RwLock::new(KindRegistry::new())),
        ..sandbox.services().clone()
    };
    let plugin = sandbox.lending(services).unrecorded().load(spec).await?;
    let mut replay = Replay {
        listeners: plugin.listeners(),
        id: plugin.id(),
        moment,
        found: Backtest::default(),
    };
    for session in sessions {
        replay.session(&**session).await;
    }
    Ok(replay.found)
}

/// The session that is looked at, as it stood at one moment.
#[derive(Default)]
struct Moment(RwLock<Option<Arc<dyn SessionAccess>>>);

impl Callers for Moment {
    fn session(&self, _id: &SessionId) -> Option<Arc<dyn SessionAccess>> {
        self.0.read().clone()
    }

    fn agent(&self, _id: &SessionId) -> Option<Arc<dyn AgentVerbs>> {
        None
    }
}

struct Replay {
    listeners: Vec<Registration>,
    id: PluginId,
    moment: Arc<Moment>,
    found: Backtest,
}

/// A decision that this plugin made when the session was recorded, and the turn in which.
type Decided = (u64, JsonMap);

/// Where in which session.
#[derive(Clone, Copy)]
struct Place<'a> {
    session: &'a SessionId,
    decisions: &'a [Decided],
    turn: u64,
    seq: Seq,
}

impl<'a> Place<'a> {
    /// What was decided then at a point, if this plugin decided it.
    fn recorded(self, point: Point, call: Option<&ToolCall>) -> Known<'a> {
        let found = self.decisions.iter().find(|(turn, fields)| {
            let about = |key: &str| fields.get("about").and_then(|about| about.get(key));
            *turn == self.turn
                && fields.get("seam").and_then(Json::as_str) == Some(point.as_str())
                && call.is_none_or(|call| {
                    about("callId").and_then(Json::as_str) == Some(call.call_id.as_str())
                        && about("step").and_then(Json::as_u64) == call.at.map(|(_, step)| step.get())
                })
        });
        Known(found.map(|(_, fields)| fields))
    }
}

/// What is known of a decision.
#[derive(Clone, Copy)]
struct Known<'a>(Option<&'a JsonMap>);

impl Known<'_> {
    /// What counted then; `default` if this plugin wasn't asked.
    fn then(self, default: Json) -> Json {
        let Some(fields) = self.0 else {
            return bounded(default);
        };
        let error = |holder: &JsonMap| holder.get("error").map(|error| json!({ "error": error }));
        fields
            .get("counted")
            .or_else(|| fields.get("answer"))
            .cloned()
            .or_else(|| error(fields))
            .or_else(|| fields.get("rest").and_then(Json::as_object).and_then(error))
            .unwrap_or(Json::Null)
    }

    /// The rest of the chain, answering as it did; `default` if it wasn't asked or its answer is too large to be kept.
    fn rest<S: Seam<Answer: FromJson>>(self, default: S::Answer) -> Next<'static, S> {
        let rest = self.0.and_then(|fields| fields.get("rest"));
        let error = rest.and_then(|rest| rest.get("error"));
        let answer = match error {
            Some(error) => Err(fault(error)),
            None => Ok(rest
                .and_then(|rest| rest.get("answer"))
                .and_then(|answer| S::Answer::from_json(answer.clone()).ok())
                .unwrap_or(default)),
        };
        Next::new(Answered(answer))
    }
}

fn fault(error: &Json) -> Fault {
    let text = |key: &str| error.get(key).and_then(Json::as_str);
    let fault = Fault::foreign(text("message").unwrap_or_default());
    match text("code") {
        Some(code) => fault.with_code(code),
        None => fault,
    }
}

/// A rest of a chain whose answer is known.
struct Answered<T>(Result<T, Fault>);

#[async_trait]
impl<S: Seam> Rest<S> for Answered<S::Answer> {
    async fn run(self: Box<Self>, _pass: Option<S::Pass>) -> Result<S::Answer, Fault> {
        self.0
    }
}

fn call_of(session: &SessionId, called: &ToolCallEvent) -> ToolCall {
    let raw = called.arguments.as_str();
    // As the loop reads it (R-SCHED-1).
    let arguments = if raw.is_empty() {
        Json::Object(JsonMap::new())
    } else {
        serde_json::from_str(raw).unwrap_or_else(|_| Json::String(raw.to_owned()))
    };
    ToolCall {
        call_id: called.call_id.clone(),
        name: called.name.clone(),
        arguments: Arc::new(arguments),
        agent: Some(session.clone()),
        at: Some((called.turn, called.step)),
        parent: None,
    }
}

fn outcome(result: &ToolResultEvent) -> ToolOutcome {
    ToolOutcome {
        content: result.content.clone(),
        is_error: result.is_error,
        error: result.error.clone(),
        contexts: Vec::new(),
        meta: result.meta.clone(),
    }
}

/// The prompt of a turn, and what became of it.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "of all the events two record a prompt"
)]
fn prompt(session: &SessionId, body: &EventBody) -> Option<(PromptAsk, PromptDecision)> {
    let (content, source, then) = match body {
        EventBody::UserMessage(message) => {
            let said = message
                .envelope
                .as_ref()
                .map_or(&message.content, |envelope| &envelope.display_content);
            (said.clone(), message.source.clone(), allow())
        }
        EventBody::PromptBlocked(blocked) => (
            blocked.content.clone(),
            blocked.source.clone(),
            PromptDecision::Block(PromptBlock {
                reason: blocked.reason.clone(),
                extra: Extra::NONE,
            }),
        ),
        _ => return None,
    };
    let ask = PromptAsk {
        agent: session.clone(),
        content,
        source,
        // They are in the log as messages of their own and can't be told from others.
        contexts: Vec::new(),
        signal: Signal::never(),
    };
    Some((ask, then))
}

fn allow() -> PromptDecision {
    PromptDecision::Allow(PromptAllow {
        content: None,
        additional_contexts: None,
        extra: Extra::NONE,
    })
}

impl Replay {
    async fn session(&mut self, session: &dyn Recorded) {
        let decisions = self.decisions(session.events());
        let mut calls: HashMap<CallId, ToolCall> = HashMap::new();
        let mut turn = 0;
        let mut awaits_prompt = false;
        for event in session.events() {
            let at = Place {
                session: &session.header().id,
                decisions: &decisions,
                turn,
                seq: event.seq,
            };
            let Some(body) = event.body() else { continue };
            if let EventBody::TurnStart(start) = body {
                turn = start.turn.get();
                awaits_prompt = true;
            } else if let EventBody::ToolCall(called) = body {
                let call = call_of(at.session, called);
                self.look(session.before(event.seq.next()));
                self.before_call(at, &call).await;
                calls.insert(call.call_id.clone(), call);
            } else if let EventBody::ToolResult(result) = body
                && let Some(call) = calls.get(&result.call_id)
            {
                self.look(session.before(event.seq));
                self.behind_call(at, call, result).await;
            } else if awaits_prompt && let Some((ask, then)) = prompt(at.session, body) {
                awaits_prompt = false;
                self.look(session.before(event.seq));
                self.prompt(at, &ask, &then).await;
            }
        }
    }

    fn look(&self, moment: Arc<dyn SessionAccess>) {
        *self.moment.0.write() = Some(moment);
    }

    /// What this plugin decided when the session was recorded.
    fn decisions(&self, events: &[Arc<Event>]) -> Vec<Decided> {
        let mut decisions = Vec::new();
        let mut turn = 0;
        for event in events {
            if let Some(EventBody::TurnStart(start)) = event.body() {
                turn = start.turn.get();
            }
            if let Some(EventBody::Other(other)) = event.body()
                && other.kind() == DECISION_KIND
                && let Json::Object(fields) = other.data()
                && fields.get("plugin").and_then(Json::as_str) == Some(self.id.as_str())
            {
                decisions.push((turn, fields.clone()));
            }
        }
        decisions
    }

    async fn before_call(&mut self, at: Place<'_>, call: &ToolCall) {
        for listener in self.listeners.clone() {
            if let Registration::PreExecute(listener) = listener {
                let known = at.recorded(Point::PreExecute, Some(call));
                let ask = PreExecuteAsk {
                    call: call.clone(),
                    signal: Signal::never(),
                };
                let now = listener.decide(&ask, known.rest(PreToolDecision::ALLOW)).await;
                let then = known.then(value(&PreToolDecision::ALLOW));
                self.compare(
                    at,
                    Point::PreExecute,
                    Some(call),
                    (then, now.map(|it| value(&it))),
                );
            } else if let Registration::Guard(guard) = listener {
                let then = at.recorded(Point::Guard, Some(call)).then(Json::Null);
                let now = guard.check(call).await;
                self.compare(at, Point::Guard, Some(call), (then, now.map(|it| json!(it))));
            }
        }
    }

    async fn behind_call(&mut self, at: Place<'_>, call: &ToolCall, result: &ToolResultEvent) {
        for listener in self.listeners.clone() {
            if let Registration::PostExecute(listener) = listener {
                let known = at.recorded(Point::PostExecute, Some(call));
                let ask = PostExecuteAsk {
                    call: call.clone(),
                    outcome: outcome(result),
                    signal: Signal::never(),
                };
                let now = listener.decide(&ask, known.rest(PostToolDecision::ACCEPT)).await;
                let then = known.then(value(&PostToolDecision::ACCEPT));
                self.compare(
                    at,
                    Point::PostExecute,
                    Some(call),
                    (then, now.map(|it| value(&it))),
                );
            }
        }
    }

    async fn prompt(&mut self, at: Place<'_>, ask: &PromptAsk, then: &PromptDecision) {
        for listener in self.listeners.clone() {
            if let Registration::PromptSubmit(listener) = listener {
                let known = at.recorded(Point::PromptSubmit, None);
                let now = listener.decide(ask, known.rest(allow())).await;
                let then = known.then(value(then));
                self.compare(at, Point::PromptSubmit, None, (then, now.map(|it| value(&it))));
            }
        }
    }

    fn compare(
        &mut self,
        at: Place<'_>,
        point: Point,
        call: Option<&ToolCall>,
        (then, now): (Json, Result<Json, Fault>),
    ) {
        self.found.asked += 1;
        let now = match now {
            Ok(answer) => bounded(answer),
            Err(fault) => json!({ "error": told(&fault) }),
        };
        if then != now {
            self.found.differences.push(Difference {
                session: at.session.clone(),
                seq: at.seq,
                point,
                call: call.map(|call| call.call_id.clone()),
                then,
                now,
            });
        }
    }
}
