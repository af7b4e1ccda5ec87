//! The bare log: what was recorded, in order, and the folds that follow it.
//!
//! It keeps records as they are. Whether a payload fits its kind, and whether turns are in order, is asked by the
//! live session ([`crate::Session`]) on top of it.

use std::sync::Arc;

use hames_types::event::{Event, EventBody, EventData};
use hames_types::id::Seq;
use hames_types::json::DecodeError;
use hames_types::message::History;
use hames_types::request::{HeaderReason, RequestHeader};

use crate::draft::Draft;
use crate::error::{AppendError, DeriveError, Problem};
use crate::header::HeaderFold;
use crate::project::Projection;
use crate::surface::Surface;

/// An append-only sequence of events with its surface, its history and its request header.
///
/// **A refused append changes nothing.** Costs don't depend on the length: an append is O(1) apart from the range a
/// replacement covers, a derivation is O(what is new).
#[derive(Debug, Clone, Default)]
pub struct Log {
    events: Vec<Arc<Event>>,
    surface: Surface,
    header: HeaderFold,
    projection: Projection,
}

impl Log {
    /// Nothing recorded.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records an event (R-LOG-1). The sequence number is the log's length.
    ///
    /// # Errors
    /// [`AppendError`] naming the event's kind, the rule and what offends.
    pub fn append(&mut self, draft: Draft, time_ms: u64) -> Result<Arc<Event>, AppendError> {
        if let Err(problem) = admit(&draft.data) {
            return Err(AppendError::new(draft.data.kind(), problem));
        }
        self.place(draft, time_ms)
    }

    /// Records an event whose own content was checked already: only its place is still asked.
    pub(crate) fn place(&mut self, draft: Draft, time_ms: u64) -> Result<Arc<Event>, AppendError> {
        let seq = self.next_seq();
        let change = match self
            .surface
            .check(draft.placement.as_deref(), &draft.data, seq, &self.events)
        {
            Ok(change) => change,
            Err(fault) => return Err(AppendError::new(draft.data.kind(), fault)),
        };
        let event = Arc::new(Event {
            seq,
            time_ms,
            data: draft.data,
            placement: draft.placement,
        });
        self.commit(change, Arc::clone(&event));
        Ok(event)
    }

    pub(crate) fn reserve(&mut self, events: usize) {
        self.events.reserve(events);
    }

    pub(crate) fn commit(&mut self, change: crate::surface::Change, event: Arc<Event>) {
        self.surface.commit(change, event.seq);
        self.header.follow(&event);
        self.events.push(event);
    }

    /// Everything recorded, oldest first.
    #[must_use]
    pub fn events(&self) -> &[Arc<Event>] {
        &self.events
    }

    /// How many events there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether nothing is recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The number the next event gets.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        Seq::at(self.events.len())
    }

    /// Which events form the history.
    #[must_use]
    pub fn surface(&self) -> &Surface {
        &self.surface
    }

    /// The request header in force, in canonical form; `None` before the first (R-HDR-4).
    ///
    /// # Errors
    /// The last header event, if its payload isn't a header.
    pub fn header(&self) -> Result<Option<&Arc<RequestHeader>>, &(Seq, DecodeError)> {
        self.header.header()
    }

    /// The messages the model sees (R-PROJ-1).
    ///
    /// # Errors
    /// [`DeriveError`] naming the event that can't be shown; asking again gives it again.
    pub fn derive(&mut self) -> Result<&History, DeriveError> {
        self.projection.follow(&self.surface, &self.events)
    }
}

/// What is asked of an event before its place: lossless, and of the living vocabulary.
pub(crate) fn admit(data: &EventData) -> Result<(), Problem> {
    match data.body() {
        Ok(EventBody::Other(other)) if other.kind() == "request/header-delta" => {
            Err(Problem::Legacy("`request/header-delta`"))
        }
        Ok(body) => body.check_lossless().map_err(Problem::NotLossless),
        // Kept payloads were checked when they were read.
        Err(_) => Ok(()),
    }
}

/// What is asked beyond the bare log of live sessions and of seeds: a route that isn't empty (R-SEED-3, A-5).
pub(crate) fn check_route(body: &EventBody) -> Result<(), Problem> {
    let (provider, model, fields) = match body {
        EventBody::RequestHeader(logged) => {
            let config = &logged.header.config;
            (
                &config.provider,
                &config.model,
                ["header.config.provider", "header.config.model"],
            )
        }
        EventBody::AssistantMessage(message) => {
            let provenance = &message.provenance;
            (
                &provenance.provider,
                &provenance.model,
                ["provenance.provider", "provenance.model"],
            )
        }
        EventBody::TurnStart(_)
        | EventBody::TurnEnd(_)
        | EventBody::StepStart(_)
        | EventBody::StepEnd(_)
        | EventBody::UserMessage(_)
        | EventBody::PromptBlocked(_)
        | EventBody::ContextMessage(_)
        | EventBody::AssistantChunk(_)
        | EventBody::ToolCall(_)
        | EventBody::ToolResult(_)
        | EventBody::SteeringMessage(_)
        | EventBody::TodoWrite(_)
        | EventBody::Other(_) => return Ok(()),
    };
    let [provider_field, model_field] = fields;
    if provider.as_str().is_empty() {
        return Err(Problem::EmptyRoute {
            field: provider_field,
        });
    }
    if model.as_str().is_empty() {
        return Err(Problem::EmptyRoute { field: model_field });
    }
    Ok(())
}

/// Why the next header of a driver that has logged none is logged: whether the log knows one (R-REQ-4).
#[must_use]
pub fn first_header_reason(log: &Log) -> HeaderReason {
    match log.header() {
        Ok(None) => HeaderReason::Initial,
        Ok(Some(_)) | Err(_) => HeaderReason::Resume,
    }
}
