//! How do live sessions become durable? An observer follows them and writes what is new whenever one is flushed.
//!
//! ```text
//! created ──► begin: claim the id, or take a stored prefix over ──► flush: append what the store lacks ──► disposed: flush once more, let go
//! ```
//! A session's log is its own buffer: it only grows, so what is to be written is whatever lies behind the store's end.
//! A failed write keeps everything; the next flush tries again (R-PER-8).

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use hames_log::{Flush, ListenerId, Place, Session, Sessions, WeakSessions};
use hames_types::event::Event;
use hames_types::fault::Fault;
use hames_types::header::SessionHeader;
use hames_types::id::{Seq, SessionId};
use hames_types::port::listener::Observe;
use hames_types::port::notice::{SessionCreated, SessionDisposed};
use hames_types::port::store::{SessionLoader, Store, StoreError, StoredSession, WriterEpoch};
use parking_lot::Mutex;
use tokio::task::JoinSet;

/// Why a live session can't be made durable.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PersistError {
    /// What is stored under its id is another session's.
    #[error(
        "session `{id}` is stored already and the live one doesn't continue it ({difference}); resume the stored one \
         or choose another id"
    )]
    Collision {
        /// The id.
        id: SessionId,
        /// In what they differ.
        difference: String,
    },
    /// The store failed.
    #[error("session `{id}` can't be made durable")]
    Store {
        /// The session.
        id: SessionId,
        /// Why.
        #[source]
        source: StoreError,
    },
}

/// Makes the sessions of a registry durable.
///
/// Dropping it stops the following and writes nothing more; [`Persistence::close`] is the orderly end.
pub struct Persistence {
    follower: Arc<Follower>,
}

struct Follower {
    store: Arc<dyn Store>,
    sessions: WeakSessions,
    ids: Mutex<Ids>,
    tasks: Mutex<JoinSet<()>>,
}

#[derive(Default)]
struct Ids {
    tracked: HashMap<SessionId, Arc<Tracked>>,
    listeners: Vec<ListenerOf>,
    closed: bool,
}

enum ListenerOf {
    Created(ListenerId),
    Disposed(ListenerId),
    Flush(ListenerId),
}

/// One id. Everything that concerns it happens one after the other (R-PER-3).
#[derive(Default)]
struct Tracked {
    chain: tokio::sync::Mutex<Stored>,
    /// Live sessions of this id that were announced and not yet let go, oldest first.
    owners: Mutex<Vec<Arc<Session>>>,
}

/// What the store holds of an id, as far as it is ours.
#[derive(Default)]
struct Stored {
    /// The right to write; none before the id was claimed.
    epoch: Option<WriterEpoch>,
    header: Option<SessionHeader>,
    /// What was loaded for whoever becomes the owner.
    prefix: Vec<Arc<Event>>,
    /// How many events are stored.
    length: u64,
    /// Whose they are; by address.
    owner: Option<Arc<Session>>,
}

impl Persistence {
    /// Follows a registry: the sessions that are live already (R-PER-11) and those to come.
    ///
    /// Needs a running tokio runtime whenever sessions are announced or detached.
    #[must_use]
    pub fn follow(sessions: &Sessions, store: Arc<dyn Store>) -> Self {
        let follower = Arc::new(Follower {
            store,
            sessions: sessions.downgrade(),
            ids: Mutex::default(),
            tasks: Mutex::default(),
        });
        let ear = Arc::new(Ear(Arc::clone(&follower)));
        follower.ids.lock().listeners = vec![
            ListenerOf::Created(
                sessions
                    .on_created()
                    .add(None, Place::Last, Arc::clone(&ear) as _),
            ),
            ListenerOf::Disposed(
                sessions
                    .on_disposed()
                    .add(None, Place::Last, Arc::clone(&ear) as _),
            ),
            ListenerOf::Flush(sessions.on_flush().add(None, Place::Last, ear)),
        ];
        for session in sessions.live() {
            follower.begin(&session);
        }
        Self { follower }
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.follower.store
    }

    /// The orderly end (R-PER-12): follows nobody any more, writes what is left of every session, closes the store.
    ///
    /// # Errors
    /// What couldn't be written, for each session; the store is closed all the same.
    pub async fn close(&self) -> Result<(), Vec<PersistError>> {
        self.follower.stop_listening();
        self.follower.settle().await;
        let tracked: Vec<Arc<Tracked>> = self.follower.ids.lock().tracked.values().cloned().collect();
        let mut failures = Vec::new();
        for tracked in tracked {
            let owners = tracked.owners.lock().clone();
            for session in owners {
                if let Err(failure) = self.follower.persist(&tracked, &session).await {
                    failures.push(failure);
                }
            }
        }
        self.follower.store.close().await;
        if failures.is_empty() {
            Ok(())
        } else {
            Err(failures)
        }
    }

    /// Waits until everything that detached sessions left to do is done.
    pub async fn settle(&self) {
        self.follower.settle().await;
    }
}

#[async_trait]
impl SessionLoader for Persistence {
    async fn load_for_resume(&self, id: &SessionId) -> Result<StoredSession, StoreError> {
        let tracked = self.follower.tracked(id);
        let mut stored = tracked.chain.lock().await;
        if stored.owner.is_some() {
            return Err(StoreError::Live(id.clone()));
        }
        let opened = self.follower.store.open(id).await?;
        *stored = Stored {
            epoch: Some(opened.epoch),
            header: Some(opened.stored.header.clone()),
            length: opened.stored.events.len() as u64,
            prefix: opened.stored.events.clone(),
            owner: None,
        };
        Ok(opened.stored)
    }

    async fn is_stored(&self, id: &SessionId) -> Result<bool, StoreError> {
        match self.follower.store.header(id).await {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Persistence {
    fn drop(&mut self) {
        self.follower.stop_listening();
    }
}

impl Follower {
    fn tracked(&self, id: &SessionId) -> Arc<Tracked> {
        Arc::clone(self.ids.lock().tracked.entry(id.clone()).or_default())
    }

    fn stop_listening(&self) {
        let listeners = {
            let mut ids = self.ids.lock();
            ids.closed = true;
            std::mem::take(&mut ids.listeners)
        };
        let Some(sessions) = self.sessions.upgrade() else {
            return;
        };
        for listener in listeners {
            match listener {
                ListenerOf::Created(id) => sessions.on_created().remove(id),
                ListenerOf::Disposed(id) => sessions.on_disposed().remove(id),
                ListenerOf::Flush(id) => sessions.on_flush().remove(id),
            }
        }
    }

    async fn settle(&self) {
        loop {
            let mut tasks = std::mem::take(&mut *self.tasks.lock());
            if tasks.is_empty() {
                return;
            }
            while let Some(ended) = tasks.join_next().await {
                if let Err(error) = ended {
                    tracing::warn!(%error, "a session's last write did not end");
                }
            }
        }
    }

    /// Takes note of a new session and claims its id (R-PER-7). A failure shows at its next flush (R-PER-10).
    fn begin(self: &Arc<Self>, session: &Arc<Session>) {
        let tracked = self.tracked(session.id());
        tracked.owners.lock().push(Arc::clone(session));
        let seed = session.len();
        let (this, session) = (Arc::clone(self), Arc::clone(session));
        self.tasks.lock().spawn(async move {
            let mut stored = tracked.chain.lock().await;
            let begun = this.own(&mut stored, &session).await;
            // A seed is stored at once (R-PER-15); later events wait for a flush.
            let seeded = match begun {
                Ok(()) => this.drain(&mut stored, &session, seed).await,
                Err(failure) => Err(failure),
            };
            if let Err(failure) = seeded {
                tracing::debug!(%failure, "a new session is not durable yet");
            }
        });
    }

    /// Writes what is left of a detached session and lets go of it (R-PER-13).
    fn retire(self: &Arc<Self>, id: &SessionId) {
        let live = self.sessions.upgrade().and_then(|sessions| sessions.get(id));
        let tracked = self.tracked(id);
        let gone: Vec<Arc<Session>> = tracked
            .owners
            .lock()
            .iter()
            .filter(|owner| live.as_ref().is_none_or(|live| !Arc::ptr_eq(live, owner)))
            .cloned()
            .collect();
        for session in gone {
            let (this, tracked) = (Arc::clone(self), Arc::clone(&tracked));
            self.tasks.lock().spawn(async move {
                match this.persist(&tracked, &session).await {
                    Ok(()) => this.release(&tracked, &session).await,
                    Err(failure) => {
                        // An owner with nothing to write frees its id; one with events keeps them for the end.
                        if session.is_empty() {
                            this.release(&tracked, &session).await;
                        }
                        tracing::warn!(%failure, "a detached session could not be written to its end");
                    }
                }
            });
        }
    }

    async fn release(&self, tracked: &Arc<Tracked>, session: &Arc<Session>) {
        let mut stored = tracked.chain.lock().await;
        if stored
            .owner
            .as_ref()
            .is_some_and(|owner| Arc::ptr_eq(owner, session))
        {
            *stored = Stored::default();
        }
        let mut ids = self.ids.lock();
        let mut owners = tracked.owners.lock();
        owners.retain(|owner| !Arc::ptr_eq(owner, session));
        if owners.is_empty() && stored.epoch.is_none() {
            ids.tracked.remove(session.id());
        }
    }

    /// Makes everything durable that the session holds now.
    async fn persist(&self, tracked: &Tracked, session: &Arc<Session>) -> Result<(), PersistError> {
        let mut stored = tracked.chain.lock().await;
        self.own(&mut stored, session).await?;
        self.drain(&mut stored, session, session.len()).await
    }

    /// Makes sure that what is stored under the id is this session's (R-PER-9).
    async fn own(&self, stored: &mut Stored, session: &Arc<Session>) -> Result<(), PersistError> {
        let id = session.id();
        if let Some(owner) = &stored.owner {
            if Arc::ptr_eq(owner, session) {
                return Ok(());
            }
            // Another live session has it; one that stored nothing and has nothing to store gives way.
            if stored.length > 0 || !owner.is_empty() {
                return Err(collision(id, "another live session writes it"));
            }
            *stored = Stored::default();
        }
        if stored.epoch.is_none() {
            match self.store.create(session.header()).await {
                Ok(epoch) => stored.epoch = Some(epoch),
                Err(StoreError::Exists(_)) => self.take_over(stored, session).await?,
                Err(source) => return Err(failed(id, source)),
            }
        } else if let (Some(header), prefix) = (&stored.header, &stored.prefix) {
            continues(session, header, prefix)?;
        }
        stored.header = None;
        stored.prefix = Vec::new();
        stored.owner = Some(Arc::clone(session));
        Ok(())
    }

    /// Takes over what is stored if the session continues it; its open turn is the session's (R-PER-9).
    async fn take_over(&self, stored: &mut Stored, session: &Arc<Session>) -> Result<(), PersistError> {
        let id = session.id();
        // Looking comes first: adopting shuts out a writer, who may be the rightful one.
        let there = self.store.load(id).await.map_err(|source| failed(id, source))?;
        continues(session, &there.header, &there.events)?;
        let adopted = self.store.adopt(id).await.map_err(|source| failed(id, source))?;
        continues(session, &adopted.stored.header, &adopted.stored.events)?;
        stored.epoch = Some(adopted.epoch);
        stored.length = adopted.stored.events.len() as u64;
        Ok(())
    }

    /// Appends the session's events up to `length` that the store lacks.
    async fn drain(
        &self,
        stored: &mut Stored,
        session: &Arc<Session>,
        length: usize,
    ) -> Result<(), PersistError> {
        let id = session.id();
        let Some(epoch) = stored.epoch else {
            return Ok(());
        };
        loop {
            let from = Seq::new(stored.length);
            let events = session.events(from, length.saturating_sub(from.index()));
            if events.is_empty() {
                return Ok(());
            }
            let end = from.get() + events.len() as u64;
            match self.store.append(session.header(), epoch, from, &events).await {
                Ok(()) => stored.length = end,
                // An append whose caller went away took effect after all. Nobody else has our epoch.
                Err(StoreError::OutOfOrder { stored: there, .. })
                    if there > from && there.index() <= session.len() =>
                {
                    stored.length = there.get();
                }
                Err(source) => return Err(failed(id, source)),
            }
        }
    }
}

fn failed(id: &SessionId, source: StoreError) -> PersistError {
    PersistError::Store {
        id: id.clone(),
        source,
    }
}

fn collision(id: &SessionId, difference: impl Into<String>) -> PersistError {
    PersistError::Collision {
        id: id.clone(),
        difference: difference.into(),
    }
}

/// Whether a live session continues what is stored: the same folder (R-PER-14), the same events.
fn continues(session: &Session, header: &SessionHeader, stored: &[Arc<Event>]) -> Result<(), PersistError> {
    let id = session.id();
    if header.fields.cwd != session.header().fields.cwd {
        return Err(collision(id, "it works in another folder"));
    }
    let live = session.events(Seq::FIRST, stored.len());
    if live.len() < stored.len() {
        let (live, stored) = (live.len(), stored.len());
        return Err(collision(
            id,
            format!("it has {live} events, {stored} are stored"),
        ));
    }
    match live
        .iter()
        .zip(stored)
        .find(|(live, stored)| !Arc::ptr_eq(live, stored) && live != stored)
    {
        Some((event, _)) => Err(collision(id, format!("event {} differs", event.seq))),
        None => Ok(()),
    }
}

/// What the registry holds of a follower.
struct Ear(Arc<Follower>);

impl Observe<SessionCreated> for Ear {
    fn observe(&self, notice: &SessionCreated) -> Result<(), Fault> {
        if let Some(session) = self
            .0
            .sessions
            .upgrade()
            .and_then(|live| live.get(&notice.session))
        {
            self.0.begin(&session);
        }
        Ok(())
    }
}

impl Observe<SessionDisposed> for Ear {
    fn observe(&self, notice: &SessionDisposed) -> Result<(), Fault> {
        self.0.retire(&notice.session);
        Ok(())
    }
}

#[async_trait]
impl Flush for Ear {
    async fn flush(&self, session: &Arc<Session>) -> Result<(), Fault> {
        let tracked = self.0.tracked(session.id());
        self.0
            .persist(&tracked, session)
            .await
            .map_err(|failure| Fault::of("PersistError", "PERSISTENCE_FAILED", &failure))
    }
}
