//! How do blocking stores become the port? Writes go through one lane, reads through another.

use std::sync::Arc;

use async_trait::async_trait;
use hames_log::repair;
use hames_types::event::Event;
use hames_types::header::SessionHeader;
use hames_types::id::{Seq, SessionId};
use hames_types::port::store::{OpenedSession, Store, StoreError, StoredSession, WriterEpoch};

use crate::backend::{Backend, Batch};
use crate::error;
use crate::lane::{Lane, Threading};
use crate::query::{self, Lineage, Page, Trace};
use crate::transfer::Form;

/// A store of some kind, on its threads.
pub struct Home<B> {
    writer: Arc<Lane<B>>,
    reader: Arc<Lane<B>>,
}

impl<B> Clone for Home<B> {
    fn clone(&self) -> Self {
        Self {
            writer: Arc::clone(&self.writer),
            reader: Arc::clone(&self.reader),
        }
    }
}

impl<B: Backend> Home<B> {
    /// Puts a backend to work.
    ///
    /// # Errors
    /// [`StoreError::Io`] if a thread can't be started or the store can't be opened a second time.
    pub fn new(backend: B, threading: Threading) -> Result<Self, StoreError> {
        match threading {
            Threading::Inline => {
                let lane = Arc::new(Lane::inline(backend));
                Ok(Self {
                    reader: Arc::clone(&lane),
                    writer: lane,
                })
            }
            Threading::Own => {
                let twin = backend.twin()?;
                let start = |name, backend| {
                    Lane::thread(name, backend)
                        .map(Arc::new)
                        .map_err(|source| error::io("starting", "the store's thread", source))
                };
                Ok(Self {
                    writer: start("hames-store-write", backend)?,
                    reader: start("hames-store-read", twin)?,
                })
            }
        }
    }

    /// Stores a readable log as a new session; payloads keep their text. Gives its header.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the log isn't whole to its end, [`StoreError::Unsupported`],
    /// [`StoreError::Exists`], [`StoreError::Io`].
    pub async fn import(&self, log: Vec<u8>) -> Result<SessionHeader, StoreError> {
        self.writer.run(move |backend| backend.import(&log)).await
    }

    /// A session as a readable log. What was imported and exported comes out as it came in.
    ///
    /// # Errors
    /// As [`Store::load`].
    pub async fn export(&self, id: &SessionId, form: Form) -> Result<Vec<u8>, StoreError> {
        let id = id.clone();
        self.reader.run(move |backend| backend.export(&id, form)).await
    }

    /// Reads at most `limit` events from `from` on (at most [`query::MAX_PAGE`]).
    ///
    /// # Errors
    /// As [`Store::load`].
    pub async fn page(&self, id: &SessionId, from: Seq, limit: usize) -> Result<Page, StoreError> {
        let id = id.clone();
        let limit = limit.min(query::MAX_PAGE);
        self.reader
            .run(move |backend| backend.page(&id, from, limit))
            .await
    }

    /// Where a session comes from and what came of it.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Io`].
    pub async fn lineage(&self, id: &SessionId) -> Result<Lineage, StoreError> {
        let id = id.clone();
        self.reader.run(move |backend| query::lineage(backend, &id)).await
    }

    /// What an event was made from and what was made from it.
    ///
    /// # Errors
    /// As [`Store::load`]; [`StoreError::OutOfOrder`] if the session hasn't that event.
    pub async fn trace(&self, id: &SessionId, seq: Seq) -> Result<Trace, StoreError> {
        let id = id.clone();
        self.reader
            .run(move |backend| query::trace(&id, &backend.load(&id)?.events, seq))
            .await
    }

    pub(crate) fn reader(&self) -> &Lane<B> {
        &self.reader
    }
}

#[async_trait]
impl<B: Backend> Store for Home<B> {
    async fn create(&self, header: &SessionHeader) -> Result<WriterEpoch, StoreError> {
        let header = header.clone();
        self.writer.run(move |backend| backend.create(&header)).await
    }

    async fn open(&self, id: &SessionId) -> Result<OpenedSession, StoreError> {
        let id = id.clone();
        self.writer.run(move |backend| repaired(backend, &id)).await
    }

    async fn adopt(&self, id: &SessionId) -> Result<OpenedSession, StoreError> {
        let id = id.clone();
        self.writer.run(move |backend| claimed(backend, &id)).await
    }

    async fn append(
        &self,
        header: &SessionHeader,
        epoch: WriterEpoch,
        expected: Seq,
        events: &[Arc<Event>],
    ) -> Result<(), StoreError> {
        if Batch::check(header, epoch, expected, events)?.is_none() {
            return Ok(());
        }
        let (header, events) = (header.clone(), events.to_vec());
        self.writer
            .run(move |backend| {
                backend.append(&Batch {
                    header: &header,
                    epoch,
                    expected,
                    events: &events,
                })
            })
            .await
    }

    async fn load(&self, id: &SessionId) -> Result<StoredSession, StoreError> {
        let id = id.clone();
        self.reader
            .run(move |backend| {
                let stored = backend.load(&id)?;
                speaks_our_words(&id, &stored)?;
                Ok(stored)
            })
            .await
    }

    async fn header(&self, id: &SessionId) -> Result<SessionHeader, StoreError> {
        let id = id.clone();
        self.reader.run(move |backend| backend.header(&id)).await
    }

    async fn list(&self) -> Result<Vec<SessionHeader>, StoreError> {
        self.reader.run(B::list).await
    }

    async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        let id = id.clone();
        self.writer.run(move |backend| backend.delete(&id)).await
    }

    async fn close(&self) {
        self.writer.close().await;
        self.reader.close().await;
    }
}

fn claimed<B: Backend>(backend: &mut B, id: &SessionId) -> Result<OpenedSession, StoreError> {
    let opened = backend.claim(id)?;
    speaks_our_words(id, &opened.stored)?;
    Ok(opened)
}

/// Refuses a session of an old format (R-PER-6).
fn speaks_our_words(id: &SessionId, stored: &StoredSession) -> Result<(), StoreError> {
    stored
        .events
        .iter()
        .try_for_each(|event| crate::backend::refuse_legacy(id, event))
}

/// Claims a session and closes its interrupted turn (R-PER-6). The claim shuts the old writer out, so nothing comes
/// between what was read and the closers.
fn repaired<B: Backend>(backend: &mut B, id: &SessionId) -> Result<OpenedSession, StoreError> {
    let mut opened = claimed(backend, id)?;
    let closers = repair::closers(&opened.stored.events);
    let expected = Seq::at(opened.stored.events.len());
    if let Some(batch) = Batch::check(&opened.stored.header, opened.epoch, expected, &closers)? {
        backend.append(&batch)?;
    }
    opened.stored.events.extend(closers);
    Ok(opened)
}
