//! Serves `session`: the calling agent's log, in bounded pages, and appending what is the plugin's own.

use std::sync::Arc;

use hames_types::content::Content;
use hames_types::event::{ContextMessage, Event, EventBody, EventData, ToolResultEvent, UserMessage};
use hames_types::fault::Fault;
use hames_types::id::Seq;
use hames_types::json::Extra;
use hames_types::kinds::Sum;
use hames_types::message::MessageSource;
use hames_types::port::plugin::{Replaced, SessionAccess};
use hames_types::turn::TurnTrigger;

use crate::bindings::hames::plugin::events as wit;
use crate::bindings::hames::plugin::session::{
    ContentBlock, Host, Info, Message, Page, SessionError, StandIn, Todo,
};
use crate::convert::content::{admit_blocks, message};
use crate::convert::events::{For, admit_todos, header};
use crate::convert::json::{extra, parse, text};
use crate::convert::{Admit, Refused};
use crate::error::Limit;
use crate::limits::{MAX_PAGE, MAX_PAGE_BYTES};
use crate::state::State;

/// Events looked at between two looks at the page's size.
const STRIDE: usize = 64;

impl Host for State {
    fn describe(&mut self) -> wasmtime::Result<Result<Info, SessionError>> {
        let session = match self.readable() {
            Ok(session) => session,
            Err(refused) => return Ok(Err(refused)),
        };
        let fields = &session.header().fields;
        Ok(Ok(Info {
            id: session.header().id.to_string(),
            created_at: text(&fields.created_at_ms)?,
            cwd: fields.cwd.as_ref().map(ToString::to_string),
            parent: fields.parent_session.as_ref().map(ToString::to_string),
            seed_length: fields.seed_length,
            delegation_depth: fields.delegation_depth,
            length: session.length() as u64,
            extra: extra(&fields.extra)?,
        }))
    }

    fn read(
        &mut self,
        first: u64,
        limit: u32,
        kinds: Option<Vec<String>>,
    ) -> wasmtime::Result<Result<Page, SessionError>> {
        let session = match self.readable() {
            Ok(session) => session,
            Err(refused) => return Ok(Err(refused)),
        };
        let limit = usize::try_from(limit).unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE);
        let wanted = |event: &Event| {
            kinds
                .as_ref()
                .is_none_or(|kinds| kinds.iter().any(|kind| kind == event.kind()))
        };
        self.page(&*session, Seq::new(first), limit, &wanted).map(Ok)
    }

    fn newest(&mut self, kind: String) -> wasmtime::Result<Result<Option<wit::Event>, SessionError>> {
        let session = match self.readable() {
            Ok(session) => session,
            Err(refused) => return Ok(Err(refused)),
        };
        let mut end = session.length();
        while end > 0 {
            let start = end.saturating_sub(STRIDE);
            let events = session.events(Seq::at(start), end - start);
            if let Some(event) = events.iter().rev().find(|event| event.kind() == kind) {
                return For(self.who.id.as_str())
                    .event(event)
                    .map(|event| Ok(Some(event)));
            }
            end = start;
        }
        Ok(Ok(None))
    }

    fn messages(&mut self, limit: u32) -> wasmtime::Result<Result<Vec<Message>, SessionError>> {
        let session = match self.readable() {
            Ok(session) => session,
            Err(refused) => return Ok(Err(refused)),
        };
        let history = match session.messages() {
            Ok(history) => history,
            Err(fault) => return Ok(Err(SessionError::Refused(fault.chain()))),
        };
        let limit = usize::try_from(limit).unwrap_or(MAX_PAGE).min(MAX_PAGE);
        let mut messages = Vec::new();
        let mut bytes = 0_usize;
        for found in history.iter().rev().take(limit) {
            bytes = bytes.saturating_add(text(&**found)?.len());
            if bytes > MAX_PAGE_BYTES {
                break;
            }
            messages.push(message(found)?);
        }
        messages.reverse();
        Ok(Ok(messages))
    }

    fn header(&mut self) -> wasmtime::Result<Result<Option<wit::RequestHeader>, SessionError>> {
        let session = match self.readable() {
            Ok(session) => session,
            Err(refused) => return Ok(Err(refused)),
        };
        session
            .request_header()
            .map(|found| header(&found))
            .transpose()
            .map(Ok)
    }

    async fn append(&mut self, kind: String, data: String) -> wasmtime::Result<Result<u64, SessionError>> {
        let begun = self.own_event(&kind, &data);
        Ok(match begun {
            Ok((session, body, trigger)) => self.take_and_append(session, body, trigger).await,
            Err(refused) => Err(refused),
        })
    }

    async fn write_todos(&mut self, todos: Vec<Todo>) -> wasmtime::Result<Result<u64, SessionError>> {
        let begun = self.todo_event(todos);
        Ok(match begun {
            Ok((session, body)) => self.take_and_append(session, body, None).await,
            Err(refused) => Err(refused),
        })
    }

    async fn replace(
        &mut self,
        first: u64,
        last: u64,
        kind: StandIn,
        content: Vec<ContentBlock>,
        sources: Vec<u64>,
    ) -> wasmtime::Result<Result<u64, SessionError>> {
        let replaced = Replaced {
            first: Seq::new(first),
            last: Seq::new(last),
            sources: sources.into_iter().map(Seq::new).collect(),
        };
        let begun = self.replacing_message(kind, content);
        Ok(match begun {
            Ok((session, body)) => self.take_and_replace(session, body, replaced).await,
            Err(refused) => Err(refused),
        })
    }

    async fn replace_result(
        &mut self,
        result: u64,
        content: Vec<ContentBlock>,
    ) -> wasmtime::Result<Result<u64, SessionError>> {
        let result = Seq::new(result);
        let replaced = Replaced {
            first: result,
            last: result,
            sources: Vec::new(),
        };
        let begun = self.replacing_result(result, content);
        Ok(match begun {
            Ok((session, body)) => self.take_and_replace(session, body, replaced).await,
            Err(refused) => Err(refused),
        })
    }
}

impl State {
    /// The session whose surface may be changed.
    fn surface(&self) -> Result<Arc<dyn SessionAccess>, SessionError> {
        if !self.who.grant.session.surface {
            return Err(SessionError::Denied(
                "replacing parts of the history is not granted".to_owned(),
            ));
        }
        self.session()
    }

    fn content(&self, content: Vec<ContentBlock>) -> Result<Content, SessionError> {
        let mut admit = Admit::new(&self.who, self.who.limits.output, Limit::Output);
        Ok(admit_blocks(&mut admit, content).map_err(|refused| refused.inside("content"))?)
    }

    fn replacing_message(
        &self,
        kind: StandIn,
        content: Vec<ContentBlock>,
    ) -> Result<(Arc<dyn SessionAccess>, EventBody), SessionError> {
        let session = self.surface()?;
        let (content, extra) = (self.content(content)?, Extra::NONE);
        let source = MessageSource::plugin(self.who.id.as_str());
        let body = match kind {
            StandIn::Prompt => EventBody::UserMessage(UserMessage {
                content,
                source,
                envelope: None,
                extra,
            }),
            StandIn::Context => EventBody::ContextMessage(Box::new(ContextMessage {
                content,
                source,
                meta: None,
                extra,
            })),
        };
        Ok((session, body))
    }

    fn replacing_result(
        &self,
        result: Seq,
        content: Vec<ContentBlock>,
    ) -> Result<(Arc<dyn SessionAccess>, EventBody), SessionError> {
        let session = self.surface()?;
        let found = session.events(result, 1);
        let Some(EventData::Typed(EventBody::ToolResult(old))) = found.first().map(|event| &event.data)
        else {
            let problem = format!("event {} is no tool's result", result.get());
            return Err(SessionError::Refused(problem));
        };
        let new = ToolResultEvent {
            content: self.content(content)?,
            ..(**old).clone()
        };
        Ok((session, EventBody::ToolResult(Box::new(new))))
    }

    async fn take_and_replace(
        &mut self,
        session: Arc<dyn SessionAccess>,
        body: EventBody,
        replaced: Replaced,
    ) -> Result<u64, SessionError> {
        if !self.meter.appended.take(1) {
            return Err(SessionError::Limit("events appended by one call".to_owned()));
        }
        match session.replace(body, replaced).await {
            Ok(seq) => Ok(seq.get()),
            Err(fault) => Err(refuse(&fault)),
        }
    }

    fn session(&self) -> Result<Arc<dyn SessionAccess>, SessionError> {
        self.call.session.clone().ok_or(SessionError::NoSession)
    }

    fn readable(&self) -> Result<Arc<dyn SessionAccess>, SessionError> {
        if !self.who.grant.session.read {
            return Err(SessionError::Denied(
                "reading the session is not granted".to_owned(),
            ));
        }
        self.session()
    }

    fn page(
        &self,
        session: &dyn SessionAccess,
        first: Seq,
        limit: usize,
        wanted: &dyn Fn(&Event) -> bool,
    ) -> wasmtime::Result<Page> {
        let mut page = Page {
            events: Vec::new(),
            next: None,
        };
        let mut bytes = 0_usize;
        let mut at = first;
        loop {
            let events = session.events(at, STRIDE);
            let Some(last) = events.last() else {
                return Ok(page);
            };
            at = last.seq.next();
            for event in events.iter().filter(|event| wanted(event)) {
                bytes = bytes.saturating_add(text(&**event)?.len());
                let is_full = page.events.len() >= limit || bytes > MAX_PAGE_BYTES;
                if is_full && !page.events.is_empty() {
                    page.next = Some(event.seq.get());
                    return Ok(page);
                }
                page.events.push(For(self.who.id.as_str()).event(event)?);
            }
        }
    }

    #[expect(
        clippy::type_complexity,
        reason = "the three things an append is made of, used once"
    )]
    fn own_event(
        &self,
        kind: &str,
        data: &str,
    ) -> Result<(Arc<dyn SessionAccess>, EventBody, Option<TurnTrigger>), SessionError> {
        if !self.who.grant.session.append {
            return Err(SessionError::Denied("appending is not granted".to_owned()));
        }
        let session = self.session()?;
        if Sum::SessionEvent.core_kinds().contains(&kind) {
            let problem = format!("`{kind}` is a kind of the core; a plugin appends its own");
            return Err(SessionError::Refused(problem));
        }
        let mut admit = Admit::new(&self.who, self.who.limits.output, Limit::Output);
        let data = parse(&mut admit, data)?;
        admit.check_kind(Sum::SessionEvent, kind, &data)?;
        let body = EventBody::decode(kind, data).map_err(|fault| SessionError::Refused(fault.to_string()))?;
        let is_out_of_band = self.who.services.kinds.read().is_out_of_band(kind);
        let trigger =
            is_out_of_band.then(|| TurnTrigger::injection(MessageSource::plugin(self.who.id.as_str())));
        Ok((session, body, trigger))
    }

    fn todo_event(&self, todos: Vec<Todo>) -> Result<(Arc<dyn SessionAccess>, EventBody), SessionError> {
        if !self.who.grant.session.todos {
            return Err(SessionError::Denied(
                "writing the todo list is not granted".to_owned(),
            ));
        }
        let session = self.session()?;
        let mut admit = Admit::new(&self.who, self.who.limits.output, Limit::Output);
        let list = admit_todos(&mut admit, todos)?;
        Ok((session, EventBody::TodoWrite(list)))
    }

    async fn take_and_append(
        &mut self,
        session: Arc<dyn SessionAccess>,
        body: EventBody,
        trigger: Option<TurnTrigger>,
    ) -> Result<u64, SessionError> {
        if !self.meter.appended.take(1) {
            return Err(SessionError::Limit("events appended by one call".to_owned()));
        }
        // A turn of its own takes time, and nobody waits here: what isn't in a turn already is refused.
        let trigger = trigger.filter(|_| !self.call.is_synchronous);
        match session.append(body, trigger).await {
            Ok(seq) => Ok(seq.get()),
            Err(fault) => Err(refuse(&fault)),
        }
    }
}

impl From<Refused> for SessionError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Limit(_) => Self::Limit("bytes of one event".to_owned()),
            Refused::At { .. } => Self::Refused(refused.to_string()),
        }
    }
}

fn refuse(fault: &Fault) -> SessionError {
    SessionError::Refused(fault.chain())
}
