//! What does the log say of one turn? Its prompt, its steps, and everything that came from outside the loop.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use hames_log::{project, surface::Surface};
use hames_types::content::Content;
use hames_types::decision::HookContext;
use hames_types::event::{Event, EventBody, SurfaceOp, ToolResultEvent};
use hames_types::header::SessionHeader;
use hames_types::id::{CallId, Seq, StepNo, TurnNo};
use hames_types::json::Extra;
use hames_types::message::{History, MessageSource};
use hames_types::port::store::StoredSession;
use hames_types::request::{Request, RequestHeader};
use hames_types::tool::ToolOutcome;

/// One turn as it was recorded.
pub(super) struct Score {
    pub(super) turn: TurnNo,
    /// How many events stand before it.
    pub(super) start: usize,
    /// How many stand before what follows it.
    pub(super) end: usize,
    pub(super) prompt: Content,
    pub(super) source: MessageSource,
    /// What entered the history before the prompt.
    pub(super) early: Vec<Arc<Event>>,
    pub(super) steps: Vec<Step>,
    /// What came of each call, in the order of the log: an id may come again in a later step.
    pub(super) outcomes: HashMap<(StepNo, CallId), ToolOutcome>,
}

/// One step as it was recorded.
pub(super) struct Step {
    pub(super) step: StepNo,
    /// What entered the history between the step before and this one and isn't the loop's own.
    pub(super) entered: Vec<Arc<Event>>,
    /// The header in force.
    pub(super) header: RequestHeader,
    /// What the model was sent.
    pub(super) request: Request,
    /// What was logged as its answer, if it came to that.
    pub(super) answer: Option<Content>,
}

impl Score {
    /// The turns of a session in which a model was asked something.
    ///
    /// # Errors
    /// If the log can't be derived, or has what a replay can't bring about.
    pub(super) fn turns(stored: &StoredSession) -> anyhow::Result<Vec<Arc<Self>>> {
        let events = &stored.events;
        let inherited = usize::try_from(stored.header.fields.seed_length.unwrap_or(0))?;
        let mut header: Option<RequestHeader> = None;
        let mut turns = Vec::new();
        let mut at = 0;
        while let Some(event) = events.get(at) {
            let Some(EventBody::TurnStart(opened)) = event.body() else {
                at += 1;
                continue;
            };
            let end = events
                .iter()
                .skip(at)
                .position(|event| matches!(event.body(), Some(EventBody::TurnEnd(_))))
                .map_or(events.len(), |after| at + after + 1);
            let score = Self::read(&stored.header, events, (at, end), opened.turn, &mut header)?;
            // What was inherited was somebody else's to ask.
            let asked = score.filter(|score| score.start >= inherited && !score.steps.is_empty());
            turns.extend(asked.map(Arc::new));
            at = end;
        }
        Ok(turns)
    }

    fn read(
        session: &SessionHeader,
        events: &[Arc<Event>],
        (start, end): (usize, usize),
        turn: TurnNo,
        header: &mut Option<RequestHeader>,
    ) -> anyhow::Result<Option<Self>> {
        let mut reader = Reader {
            events,
            header,
            session,
            prompt: None,
            steps: Vec::new(),
            outcomes: HashMap::new(),
            entered: Vec::new(),
            early: Vec::new(),
            last_result: None,
            replaced: None,
        };
        for at in start..end {
            reader
                .take(at)
                .with_context(|| format!("turn {turn} can't be replayed"))?;
        }
        let Reader {
            prompt,
            early,
            steps,
            outcomes,
            ..
        } = reader;
        Ok(prompt.map(|(prompt, source)| Self {
            turn,
            start,
            end,
            prompt,
            source,
            early,
            steps: steps.into_iter().flatten().collect(),
            outcomes,
        }))
    }
}

struct Reader<'a> {
    events: &'a [Arc<Event>],
    header: &'a mut Option<RequestHeader>,
    session: &'a SessionHeader,
    prompt: Option<(Content, MessageSource)>,
    /// A step that made no call has no request.
    steps: Vec<Option<Step>>,
    outcomes: HashMap<(StepNo, CallId), ToolOutcome>,
    entered: Vec<Arc<Event>>,
    early: Vec<Arc<Event>>,
    /// The newest result, as long as what follows may have been handed over with it.
    last_result: Option<(StepNo, CallId)>,
    /// What replaced a part of the history in this turn.
    replaced: Option<Seq>,
}

impl Reader<'_> {
    fn take(&mut self, at: usize) -> anyhow::Result<()> {
        let Some(event) = self.events.get(at) else {
            return Ok(());
        };
        if event
            .placement
            .as_ref()
            .is_some_and(|placement| placement.op != SurfaceOp::Append)
        {
            self.replaced = Some(event.seq);
        }
        match event.body() {
            Some(EventBody::UserMessage(message)) => {
                self.prompt = Some((message.content.clone(), message.source.clone()));
                self.early.append(&mut self.entered);
            }
            Some(EventBody::StepStart(mark)) => self.open(at, mark.step)?,
            Some(EventBody::RequestHeader(logged)) => *self.header = Some(logged.header.clone()),
            Some(EventBody::AssistantMessage(message)) => {
                if let Some(Some(step)) = self.steps.last_mut() {
                    step.answer = Some(message.content.clone());
                }
            }
            Some(EventBody::ToolResult(result)) => self.result(result),
            Some(EventBody::ContextMessage(_) | EventBody::SteeringMessage(_)) => {
                self.entered.push(Arc::clone(event));
            }
            Some(
                EventBody::TurnStart(_)
                | EventBody::TurnEnd(_)
                | EventBody::StepEnd(_)
                | EventBody::PromptBlocked(_)
                | EventBody::AssistantChunk(_)
                | EventBody::ToolCall(_)
                | EventBody::TodoWrite(_)
                | EventBody::Other(_),
            )
            | None => {}
        }
        Ok(())
    }

    fn open(&mut self, at: usize, step: StepNo) -> anyhow::Result<()> {
        // A replacement names events by number, and a replayed turn may number its own otherwise.
        if let Some(seq) = self.replaced {
            bail!(
                "event {seq} replaces a part of the history between its steps, which only what wrote it can do again"
            );
        }
        // The header that a step logs stands behind its start.
        let logged = self
            .events
            .iter()
            .skip(at + 1)
            .map_while(|event| match event.body() {
                Some(EventBody::StepStart(_) | EventBody::StepEnd(_) | EventBody::TurnEnd(_)) => None,
                body => Some(body),
            });
        let mut is_asked = false;
        for body in logged {
            match body {
                Some(EventBody::RequestHeader(logged)) => *self.header = Some(logged.header.clone()),
                Some(EventBody::AssistantChunk(_) | EventBody::AssistantMessage(_)) => is_asked = true,
                _ => {}
            }
        }
        let entered = std::mem::take(&mut self.entered);
        self.last_result = None;
        let Some(header) = self.header.clone().filter(|_| is_asked) else {
            self.steps.push(None);
            return Ok(());
        };
        let history = derive(self.events.get(..at).unwrap_or_default())?;
        let request = Request {
            config: header.config.clone(),
            system: header.system.clone(),
            tools: header.tools.clone(),
            messages: match &header.message_prefix {
                Some(prefix) => prefix.clone().followed_by(&history),
                None => history,
            },
            session_id: Some(self.session.id.clone()),
            purpose: None,
        };
        self.steps.push(Some(Step {
            step,
            entered,
            header,
            request,
            answer: None,
        }));
        Ok(())
    }

    /// What entered since the result before it came with that one: results are logged in order, each with its contexts.
    fn result(&mut self, result: &ToolResultEvent) {
        if let Some(outcome) = self
            .last_result
            .take()
            .and_then(|key| self.outcomes.get_mut(&key))
        {
            outcome
                .contexts
                .extend(self.entered.drain(..).filter_map(|event| context(&event)));
        }
        let key = (result.step, result.call_id.clone());
        self.last_result = Some(key.clone());
        let outcome = ToolOutcome {
            content: result.content.clone(),
            is_error: result.is_error,
            error: result.error.clone(),
            contexts: Vec::new(),
            meta: result.meta.clone(),
        };
        self.outcomes.insert(key, outcome);
    }
}

fn context(event: &Event) -> Option<HookContext> {
    let Some(EventBody::ContextMessage(message)) = event.body() else {
        return None;
    };
    Some(HookContext {
        content: message.content.clone(),
        source: message.source.clone(),
        placement: None,
        meta: message.meta.clone(),
        extra: Extra::NONE,
    })
}

/// The history that a log leads to.
pub(super) fn derive(events: &[Arc<Event>]) -> anyhow::Result<History> {
    let (surface, _) = Surface::fold(events).map_err(|(seq, fault)| {
        anyhow::Error::new(fault).context(format!("event {seq} has no place in the history"))
    })?;
    Ok(project::derive(&surface, events)?)
}
