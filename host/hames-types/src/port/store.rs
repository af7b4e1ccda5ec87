//! Durability: sessions outlive the process.

use std::sync::Arc;

use async_trait::async_trait;

use crate::event::Event;
use crate::header::SessionHeader;
use crate::id::{Seq, SessionId};

/// The right to write one session, until somebody opens it after us.
///
/// Opening a session for writing raises its epoch; an append with an older epoch is refused
/// ([`StoreError::Fenced`]). So two processes can race for a session and one of them is told that it lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WriterEpoch(pub u64);

/// A session as it was stored.
#[derive(Debug, Clone)]
pub struct StoredSession {
    /// Its header.
    pub header: SessionHeader,
    /// Its events, contiguous from 0, exactly as they were appended.
    pub events: Vec<Arc<Event>>,
}

/// A session opened for writing.
#[derive(Debug, Clone)]
pub struct OpenedSession {
    /// What is stored; its interrupted turn is closed durably (R-REPAIR) unless it was adopted.
    pub stored: StoredSession,
    /// The right to append to it.
    pub epoch: WriterEpoch,
}

/// A durable home of sessions.
///
/// **Acknowledged is durable**: when `append` has returned, the events survive a kill of the process.
/// **Order**: appends of one session take effect in the order of their sequence numbers, without gap or overlap.
/// **All or nothing**: a failed append leaves what was stored before. **Cancellation**: a dropped call may or may
/// not have taken effect; the next `append` with the expected sequence tells.
#[async_trait]
pub trait Store: Send + Sync {
    /// Claims an id for a new session. Nothing is stored before the first append (R-PER-4).
    ///
    /// # Errors
    /// [`StoreError::Exists`] if any session of that id is stored.
    async fn create(&self, header: &SessionHeader) -> Result<WriterEpoch, StoreError>;

    /// Opens a stored session for writing and closes its interrupted turn durably before returning (R-PER-6).
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Damaged`], [`StoreError::Unsupported`], [`StoreError::Io`].
    async fn open(&self, id: &SessionId) -> Result<OpenedSession, StoreError>;

    /// Opens a stored session for writing and leaves its interrupted turn open: for a session that lives already and
    /// whose store comes late (R-PER-9). What a torn write left behind is removed.
    ///
    /// # Errors
    /// As [`Store::open`].
    async fn adopt(&self, id: &SessionId) -> Result<OpenedSession, StoreError>;

    /// Appends events that continue the stored ones. An empty batch does nothing.
    ///
    /// # Errors
    /// [`StoreError::OutOfOrder`] if `expected` isn't the stored length or the batch isn't contiguous from it,
    /// [`StoreError::Fenced`] if somebody opened the session since, [`StoreError::NotFound`] if somebody removed it,
    /// [`StoreError::Refused`], [`StoreError::Io`].
    async fn append(
        &self,
        header: &SessionHeader,
        epoch: WriterEpoch,
        expected: Seq,
        events: &[Arc<Event>],
    ) -> Result<(), StoreError>;

    /// Reads a stored session without claiming it and without changing anything.
    ///
    /// # Errors
    /// As [`Store::open`].
    async fn load(&self, id: &SessionId) -> Result<StoredSession, StoreError>;

    /// A stored session's header alone: the cheap way to ask whether it is stored.
    ///
    /// # Errors
    /// As [`Store::open`].
    async fn header(&self, id: &SessionId) -> Result<SessionHeader, StoreError>;

    /// The headers of all stored sessions.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    async fn list(&self) -> Result<Vec<SessionHeader>, StoreError>;

    /// Removes a session and everything stored of it.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Io`].
    async fn delete(&self, id: &SessionId) -> Result<(), StoreError>;

    /// Works off what was handed over, then lets go of files and threads. Later calls are refused with
    /// [`StoreError::Closed`].
    async fn close(&self);
}

/// Gives a stored session to whoever makes it live again, and from then on keeps it durable.
#[async_trait]
pub trait SessionLoader: Send + Sync {
    /// The session, its interrupted turn closed durably. The live session that is made of it is the one that may
    /// write from here on.
    ///
    /// # Errors
    /// As [`Store::open`].
    async fn load_for_resume(&self, id: &SessionId) -> Result<StoredSession, StoreError>;

    /// Whether the session is stored at all.
    ///
    /// # Errors
    /// [`StoreError::Io`] and whatever else keeps the store from telling.
    async fn is_stored(&self, id: &SessionId) -> Result<bool, StoreError>;
}

/// What can go wrong in a store, by what the caller can do about it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The id is taken.
    #[error("a session `{0}` is stored already; choose another id or resume it")]
    Exists(SessionId),
    /// There is none of that id.
    #[error("no session `{0}` is stored")]
    NotFound(SessionId),
    /// It is live: opening it would shut out whoever writes it.
    #[error("session `{0}` is live already; use it, or dispose of it first")]
    Live(SessionId),
    /// The append doesn't continue what is stored.
    #[error("session `{id}` is stored up to {stored}, the append begins at {found}")]
    OutOfOrder {
        /// The session.
        id: SessionId,
        /// The next sequence number the store expects.
        stored: Seq,
        /// What came.
        found: Seq,
    },
    /// Another writer took the session over.
    #[error(
        "session `{id}` was opened by another writer (epoch {current}, ours is {ours}); reopen it to go on"
    )]
    Fenced {
        /// The session.
        id: SessionId,
        /// Our epoch.
        ours: u64,
        /// The current one.
        current: u64,
    },
    /// What came can't be stored.
    #[error("session `{id}` can't be stored: {problem}")]
    Refused {
        /// The session.
        id: SessionId,
        /// What was found and what to do.
        problem: String,
    },
    /// What is stored can't be read.
    #[error("{place} is damaged: {problem}")]
    Damaged {
        /// The file, and where in it.
        place: String,
        /// What was found and what to do.
        problem: String,
        /// What found it.
        #[source]
        source: Option<Cause>,
    },
    /// Stored by a version this program doesn't read, or by another program.
    #[error("{place} has a format this program doesn't read: {problem}")]
    Unsupported {
        /// The file.
        place: String,
        /// What was found and what to do.
        problem: String,
        /// What found it.
        #[source]
        source: Option<Cause>,
    },
    /// The outside failed. What was stored before is as it was.
    #[error("{doing} {place} failed; {hint}")]
    Io {
        /// What was tried (`writing`).
        doing: &'static str,
        /// The file.
        place: String,
        /// What to do about it.
        hint: &'static str,
        /// Why.
        #[source]
        source: Cause,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// An error underneath, whosever it is.
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;
