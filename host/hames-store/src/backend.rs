//! What does a store do, without saying on which thread? Blocking verbs, one implementation per kind of store.

use std::sync::Arc;

use hames_types::event::{Event, EventData};
use hames_types::header::SessionHeader;
use hames_types::id::{Seq, SessionId};
use hames_types::json::Json;
use hames_types::port::store::{OpenedSession, StoreError, StoredSession, WriterEpoch};

use crate::query::{self, Page};
use crate::transfer::Form;

/// A kind of store. Each call is whole: it took effect, or it failed and changed nothing.
///
/// The verbs are those of [`Store`](hames_types::port::store::Store); [`Home`](crate::Home) puts them on their thread.
pub trait Backend: Sized + Send + 'static {
    /// A second handle on the same store, for reading beside the writer.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    fn twin(&self) -> Result<Self, StoreError>;

    /// See [`Store::create`](hames_types::port::store::Store::create).
    ///
    /// # Errors
    /// As there.
    fn create(&mut self, header: &SessionHeader) -> Result<WriterEpoch, StoreError>;

    /// Raises the session's epoch, removes what a torn write left behind, and reads what is stored.
    ///
    /// # Errors
    /// As [`Store::open`](hames_types::port::store::Store::open).
    fn claim(&mut self, id: &SessionId) -> Result<OpenedSession, StoreError>;

    /// See [`Store::append`](hames_types::port::store::Store::append). The batch was checked and isn't empty.
    ///
    /// # Errors
    /// As there.
    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError>;

    /// See [`Store::load`](hames_types::port::store::Store::load).
    ///
    /// # Errors
    /// As there.
    fn load(&mut self, id: &SessionId) -> Result<StoredSession, StoreError>;

    /// See [`Store::list`](hames_types::port::store::Store::list).
    ///
    /// # Errors
    /// As there.
    fn list(&mut self) -> Result<Vec<SessionHeader>, StoreError>;

    /// See [`Store::delete`](hames_types::port::store::Store::delete).
    ///
    /// # Errors
    /// As there.
    fn delete(&mut self, id: &SessionId) -> Result<(), StoreError>;

    /// Stores a readable log as a new session, each payload's text as it stands there.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the log isn't whole, [`StoreError::Exists`], [`StoreError::Io`].
    fn import(&mut self, log: &[u8]) -> Result<SessionHeader, StoreError>;

    /// A session as a readable log, each payload's text as it is stored.
    ///
    /// # Errors
    /// As [`Backend::load`].
    fn export(&mut self, id: &SessionId, form: Form) -> Result<Vec<u8>, StoreError>;

    /// Reads a bounded part of a session.
    ///
    /// # Errors
    /// As [`Backend::load`].
    fn page(&mut self, id: &SessionId, from: Seq, limit: usize) -> Result<Page, StoreError> {
        Ok(query::page_of(&self.load(id)?.events, from, limit))
    }

    /// A session's header, without its events.
    ///
    /// # Errors
    /// As [`Backend::load`].
    fn header(&mut self, id: &SessionId) -> Result<SessionHeader, StoreError> {
        self.list()?
            .into_iter()
            .find(|header| header.id == *id)
            .ok_or_else(|| StoreError::NotFound(id.clone()))
    }

    /// The sessions forked from a session or delegated by it.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    fn children(&mut self, id: &SessionId) -> Result<Vec<SessionHeader>, StoreError> {
        let mut headers = self.list()?;
        headers.retain(|header| header.fields.parent_session.as_ref() == Some(id));
        Ok(headers)
    }
}

/// One append.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// The session.
    pub header: &'a SessionHeader,
    /// The writer.
    pub epoch: WriterEpoch,
    /// How many events the writer believes to be stored.
    pub expected: Seq,
    /// The events, contiguous from there; at least one.
    pub events: &'a [Arc<Event>],
}

impl<'a> Batch<'a> {
    /// Checks a batch; `None` if it is empty.
    ///
    /// # Errors
    /// [`StoreError::OutOfOrder`] if it isn't contiguous, [`StoreError::Refused`] if it speaks the vocabulary of a
    /// past that was never released (R-PER-5).
    pub fn check(
        header: &'a SessionHeader,
        epoch: WriterEpoch,
        expected: Seq,
        events: &'a [Arc<Event>],
    ) -> Result<Option<Self>, StoreError> {
        let mut next = expected;
        for event in events {
            if event.seq != next {
                return Err(StoreError::OutOfOrder {
                    id: header.id.clone(),
                    stored: next,
                    found: event.seq,
                });
            }
            refuse_legacy(&header.id, event)?;
            next = next.next();
        }
        Ok((!events.is_empty()).then_some(Self {
            header,
            epoch,
            expected,
            events,
        }))
    }

    /// How many events are stored once the batch is.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.expected.get() + self.events.len() as u64
    }

    /// Whether the batch may follow what is stored under `epoch` up to `length`.
    ///
    /// # Errors
    /// [`StoreError::Fenced`], [`StoreError::OutOfOrder`].
    pub fn follows(&self, epoch: u64, length: u64) -> Result<(), StoreError> {
        let id = || self.header.id.clone();
        if epoch != self.epoch.0 {
            return Err(StoreError::Fenced {
                id: id(),
                ours: self.epoch.0,
                current: epoch,
            });
        }
        if length != self.expected.get() {
            return Err(StoreError::OutOfOrder {
                id: id(),
                stored: Seq::new(length),
                found: self.expected,
            });
        }
        Ok(())
    }
}

/// Refuses words that a log may not contain (R-LOG-2, R-PER-5).
pub(crate) fn refuse_legacy(id: &SessionId, event: &Event) -> Result<(), StoreError> {
    let word = match (event.kind(), &event.data) {
        (kind @ ("request/header-delta" | "mode/set"), _) => kind,
        ("request/header", EventData::Kept(_))
            if event
                .data
                .kept()
                .and_then(|data| data.get("reason"))
                .and_then(Json::as_str)
                == Some("fallback") =>
        {
            "fallback"
        }
        _ => return Ok(()),
    };
    Err(StoreError::Refused {
        id: id.clone(),
        problem: format!(
            "event {} uses `{word}`, a word of an old format that is not supported",
            event.seq
        ),
    })
}
