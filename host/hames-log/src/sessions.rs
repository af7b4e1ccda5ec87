//! The live sessions of a process: who is published, who is told, how a session is created, flushed and forked.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use futures_util::future::join_all;
use hames_types::event::{Event, EventBody, TurnEnd, TurnStart};
use hames_types::fault::Fault;
use hames_types::header::SessionHeader;
use hames_types::id::{Seq, SessionId};
use hames_types::json::Extra;
use hames_types::message::Plain;
use hames_types::open::OpenSum;
use hames_types::port::clock::Clock;
use hames_types::port::listener::Observe;
use hames_types::port::notice::{SessionCreated, SessionDisposed, SessionEvent};
use hames_types::scope::ScopeKey;
use hames_types::turn::{TurnEndReason, TurnTrigger};
use parking_lot::Mutex;
use serde_json::Number;
use smol_str::SmolStr;

use crate::draft::Draft;
use crate::error::{CreateError, FlushError, ForkError, OutOfBandError};
use crate::interest::Interest;
use crate::log::Log;
use crate::session::{Detach, Home, Session};
use crate::slot::Slot;

/// Makes a session durable, as far as it has come.
#[async_trait]
pub trait Flush: Send + Sync {
    /// Returns when everything appended before the call is durable.
    ///
    /// # Errors
    /// Why it isn't; what was appended stays and is tried again with the next flush.
    async fn flush(&self, session: &Arc<Session>) -> Result<(), Fault>;
}

/// The live sessions of a process.
///
/// A session is *prepared* (built and checked), *entered* (its id is taken), *announced* (observers are told, and may
/// veto), and at last *detached*.
#[derive(Clone)]
pub struct Sessions {
    registry: Arc<Registry>,
}

pub(crate) struct Registry {
    live: Mutex<HashMap<SessionId, Arc<Session>>>,
    clock: Arc<dyn Clock>,
    pub(crate) created: Slot<dyn Observe<SessionCreated>>,
    pub(crate) events: Slot<dyn Observe<SessionEvent>>,
    pub(crate) interest: Interest,
    pub(crate) disposed: Slot<dyn Observe<SessionDisposed>>,
    flush: Slot<dyn Flush>,
}

/// What a new session is told about itself.
#[derive(Debug, Clone, Default)]
pub struct SessionMeta {
    /// The folder it works in.
    pub cwd: Option<SmolStr>,
    /// When it was created; now if absent.
    pub created_at_ms: Option<Number>,
    /// The session it was forked from.
    pub parent_session: Option<SessionId>,
    /// How many events it inherited.
    pub seed_length: Option<u64>,
    /// How deep in a chain of delegations it is.
    pub delegation_depth: Option<u64>,
}

pub(crate) fn warn(notice: &'static str, fault: &Fault) {
    tracing::warn!(notice, fault = %fault.chain(), "an observer failed");
}

impl Sessions {
    /// None live.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            registry: Arc::new(Registry {
                live: Mutex::default(),
                clock,
                created: Slot::new(),
                events: Slot::new(),
                interest: Interest::default(),
                disposed: Slot::new(),
                flush: Slot::new(),
            }),
        }
    }

    /// Who is told of a published session; a fault vetoes it.
    #[must_use]
    pub fn on_created(&self) -> &Slot<dyn Observe<SessionCreated>> {
        &self.registry.created
    }

    /// Who is told of every committed event.
    #[must_use]
    pub fn on_event(&self) -> &Slot<dyn Observe<SessionEvent>> {
        &self.registry.events
    }

    /// Who is told of committed events of some kinds.
    #[must_use]
    pub fn on_kinds(&self) -> &Interest {
        &self.registry.interest
    }

    /// Who is told that a session is no longer live.
    #[must_use]
    pub fn on_disposed(&self) -> &Slot<dyn Observe<SessionDisposed>> {
        &self.registry.disposed
    }

    /// Who makes sessions durable.
    #[must_use]
    pub fn on_flush(&self) -> &Slot<dyn Flush> {
        &self.registry.flush
    }

    /// The clock every session of this registry uses.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.registry.clock
    }

    /// The live session of an id.
    #[must_use]
    pub fn get(&self, id: &SessionId) -> Option<Arc<Session>> {
        self.registry.live.lock().get(id).cloned()
    }

    /// The live sessions, in no particular order.
    #[must_use]
    pub fn live(&self) -> Vec<Arc<Session>> {
        self.registry.live.lock().values().cloned().collect()
    }

    /// Builds a session that nobody knows yet (R-STORE-1). Without an id the next free `session-<n>` is taken.
    ///
    /// # Errors
    /// [`CreateError::Taken`], [`CreateError::Header`].
    pub fn prepare(
        &self,
        id: Option<SessionId>,
        meta: SessionMeta,
        seed: Log,
    ) -> Result<Arc<Session>, CreateError> {
        let id = match id {
            Some(id) if self.registry.live.lock().contains_key(&id) => return Err(CreateError::Taken(id)),
            Some(id) => id,
            None => self.free_id(),
        };
        let mut header = SessionHeader::new(id, self.registry.clock.now_ms());
        if let Some(created_at_ms) = meta.created_at_ms {
            header.fields.created_at_ms = created_at_ms;
        }
        header.fields.cwd = meta.cwd;
        header.fields.parent_session = meta.parent_session;
        header.fields.seed_length = meta.seed_length;
        header.fields.delegation_depth = meta.delegation_depth;
        header.check()?;
        Ok(self.prepare_with(header, seed))
    }

    /// Builds a session from a header that was checked already, as a store holds it.
    #[must_use]
    pub fn prepare_with(&self, header: SessionHeader, seed: Log) -> Arc<Session> {
        Arc::new(Session::new(header, seed, Arc::clone(&self.registry.clock)))
    }

    fn free_id(&self) -> SessionId {
        let live = self.registry.live.lock();
        (1_u64..)
            .map(|number| SessionId::new(format!("session-{number}")))
            .find(|id| !live.contains_key(id))
            .unwrap_or_else(|| SessionId::new("session-0"))
    }

    /// Takes the session's id (R-STORE-2).
    ///
    /// # Errors
    /// [`CreateError::Taken`] if another has it, [`CreateError::Published`] if this session was entered before.
    pub fn enter(&self, session: &Arc<Session>, scope: Option<ScopeKey>) -> Result<(), CreateError> {
        let mut live = self.registry.live.lock();
        let id = session.id();
        if live.get(id).is_some_and(|known| !Arc::ptr_eq(known, session)) {
            return Err(CreateError::Taken(id.clone()));
        }
        let home = Home {
            registry: Arc::downgrade(&self.registry),
            scope,
        };
        if session.home.set(home).is_err() {
            return Err(CreateError::Published(id.clone()));
        }
        live.insert(id.clone(), Arc::clone(session));
        Ok(())
    }

    /// Tells the observers (R-STORE-3). After a veto the session is still entered; the caller detaches it.
    ///
    /// # Errors
    /// [`CreateError::Published`] for a session that isn't entered or was announced before,
    /// [`CreateError::Vetoed`].
    pub fn announce(&self, session: &Arc<Session>) -> Result<(), CreateError> {
        let id = session.id().clone();
        {
            let mut life = session.life.lock();
            if life.announced || life.detach == Detach::Done || session.home.get().is_none() {
                return Err(CreateError::Published(id));
            }
            life.announced = true;
            life.holds += 1;
        }
        let notice = SessionCreated { session: id.clone() };
        let told = self.registry.created.ask(session.scope(), &notice);
        self.registry.release(session);
        told.map_err(|fault| CreateError::Vetoed { id, fault })
    }

    /// Ends the session's life here; waits for nothing, and is deferred while the session is being told about
    /// (R-STORE-4). Nothing happens the second time.
    pub fn detach(&self, session: &Arc<Session>) {
        {
            let mut life = session.life.lock();
            if life.detach == Detach::No {
                life.detach = Detach::Wanted;
            }
        }
        self.registry.settle(session);
    }

    /// Builds, enters and announces a session; a veto takes it back (R-STORE-6).
    ///
    /// # Errors
    /// Those of the three.
    pub fn create(
        &self,
        id: Option<SessionId>,
        meta: SessionMeta,
        seed: Log,
    ) -> Result<Arc<Session>, CreateError> {
        let session = self.prepare(id, meta, seed)?;
        self.publish(&session, None)?;
        Ok(session)
    }

    /// Enters and announces a prepared session; a veto takes it back.
    ///
    /// # Errors
    /// Those of the two.
    pub fn publish(&self, session: &Arc<Session>, scope: Option<ScopeKey>) -> Result<(), CreateError> {
        self.enter(session, scope)?;
        self.announce(session).inspect_err(|_| self.detach(session))
    }

    /// Makes a live session durable: starts every listener, waits for all of them (R-FLUSH-2).
    ///
    /// # Errors
    /// [`FlushError::NotLive`], or the failure of the first registered listener that failed (R-FLUSH-3).
    pub async fn flush(&self, session: &Arc<Session>) -> Result<(), FlushError> {
        let live = self
            .get(session.id())
            .is_some_and(|known| Arc::ptr_eq(&known, session));
        if !live {
            return Err(FlushError::NotLive(session.id().clone()));
        }
        if self.registry.flush.is_empty() {
            return Ok(());
        }
        let listeners = self.registry.flush.reached_by(session.scope());
        let flushed = join_all(listeners.iter().map(|listener| listener.flush(session))).await;
        flushed
            .into_iter()
            .find_map(Result::err)
            .map_or(Ok(()), |fault| Err(FlushError::Failed(fault)))
    }

    /// Forks a live session at the end of a turn (R-FORK): the child inherits everything up to `boundary`,
    /// inclusive, or everything. It is published before this returns.
    ///
    /// # Errors
    /// [`ForkError`], in the order of its arms.
    pub fn fork(
        &self,
        source: &SessionId,
        boundary: Option<u64>,
        child: Option<SessionId>,
    ) -> Result<Arc<Session>, ForkError> {
        if let Some(child) = child.as_ref().filter(|child| self.get(child).is_some()) {
            return Err(ForkError::AlreadyExists(child.clone()));
        }
        let source = self
            .get(source)
            .ok_or_else(|| ForkError::NotFound(source.clone()))?;
        let seed = cut(&source, boundary)?;
        let meta = SessionMeta {
            cwd: source.header().fields.cwd.clone(),
            created_at_ms: None,
            parent_session: Some(source.id().clone()),
            seed_length: Some(seed.len() as u64),
            delegation_depth: None,
        };
        let seed = Log::from_events(seed).map_err(CreateError::Seed)?;
        Ok(self.create(child, meta, seed)?)
    }

    /// Appends an event of a plugin's kind whether a turn is open or not (R-OOB). Outside of one it gets a turn of
    /// its own, which is flushed.
    ///
    /// # Errors
    /// [`OutOfBandError`]; once its own turn is open it is closed and flushed whatever happens (R-OOB-3).
    pub async fn append_out_of_band(
        &self,
        session: &Arc<Session>,
        body: EventBody,
        trigger: TurnTrigger,
    ) -> Result<Arc<Event>, OutOfBandError> {
        {
            let mut life = session.life.lock();
            if life.out_of_band {
                return Err(OutOfBandError::Busy(session.id().clone()));
            }
            life.out_of_band = true;
            life.holds += 1;
        }
        let _under_way = OutOfBand {
            registry: &self.registry,
            session,
        };
        let (appended, own_turn) = session.exclusively(|session| {
            if session.open_turn().is_some() {
                return Ok((append_foreign(session, body), false));
            }
            let turn = session.next_turn();
            let start = TurnStart {
                turn,
                trigger,
                extra: Extra::NONE,
            };
            session.append(Draft::log_only(EventBody::TurnStart(start)))?;
            let appended = append_foreign(session, body);
            let reason = TurnEndReason::Completed(Plain::NEW);
            let end = EventBody::TurnEnd(TurnEnd {
                turn,
                reason,
                extra: Extra::NONE,
            });
            let ended = session.append(Draft::log_only(end));
            Ok::<_, OutOfBandError>((
                appended.and_then(|event| ended.map(|_| event).map_err(OutOfBandError::from)),
                true,
            ))
        })?;
        let flushed = if own_turn {
            self.flush(session).await
        } else {
            Ok(())
        };
        let event = appended?;
        flushed?;
        Ok(event)
    }
}

/// Appends an event that isn't the loop's (R-OOB-1).
fn append_foreign(session: &Session, body: EventBody) -> Result<Arc<Event>, OutOfBandError> {
    if EventBody::KINDS.contains(&body.kind()) {
        return Err(OutOfBandError::CoreKind(body.kind().into()));
    }
    Ok(session.append(Draft::log_only(body))?)
}

/// Marks an out-of-band append as over, however it ended.
struct OutOfBand<'a> {
    registry: &'a Registry,
    session: &'a Arc<Session>,
}

impl Drop for OutOfBand<'_> {
    fn drop(&mut self) {
        self.session.life.lock().out_of_band = false;
        self.registry.release(self.session);
    }
}

/// The events a fork inherits.
fn cut(source: &Arc<Session>, boundary: Option<u64>) -> Result<Vec<Arc<Event>>, ForkError> {
    let events = source.all_events();
    let invalid = |boundary| {
        let (id, length) = (source.id().clone(), events.len());
        ForkError::InvalidBoundary { id, boundary, length }
    };
    let boundary = match (boundary, events.last()) {
        (None, None) => return Ok(Vec::new()),
        (None, Some(last)) => last.seq,
        (Some(boundary), _) => Seq::new(boundary),
    };
    let last = events
        .get(boundary.index())
        .ok_or_else(|| invalid(boundary.get()))?;
    if last.kind() != "turn/end" {
        return Err(ForkError::OpenTurn {
            id: source.id().clone(),
            boundary,
        });
    }
    Ok(events.get(..=boundary.index()).unwrap_or_default().to_vec())
}

impl Registry {
    /// Ends one hold; the last one makes a deferred detach happen.
    pub(crate) fn release(&self, session: &Session) {
        session.life.lock().holds -= 1;
        self.settle(session);
    }

    fn settle(&self, session: &Session) {
        let announced = {
            let mut life = session.life.lock();
            if life.detach != Detach::Wanted || life.holds > 0 {
                return;
            }
            life.detach = Detach::Done;
            life.announced
        };
        {
            // A later session of the same id stays (R-STORE-7).
            let mut live = self.live.lock();
            if live
                .get(session.id())
                .is_some_and(|known| std::ptr::eq(Arc::as_ptr(known), session))
            {
                live.remove(session.id());
            }
        }
        // Told only if its creation was told, so that the two always pair (R-STORE-5).
        if announced {
            let notice = SessionDisposed {
                session: session.id().clone(),
            };
            self.disposed.tell(session.scope(), &notice, warn);
        }
    }
}

/// A registry that doesn't keep the process's sessions alive.
#[derive(Clone)]
pub struct WeakSessions(Weak<Registry>);

impl Sessions {
    /// A handle that doesn't keep the sessions alive: for those whom the sessions themselves hold.
    #[must_use]
    pub fn downgrade(&self) -> WeakSessions {
        WeakSessions(Arc::downgrade(&self.registry))
    }
}

impl WeakSessions {
    /// The registry, if it is still there.
    #[must_use]
    pub fn upgrade(&self) -> Option<Sessions> {
        self.0.upgrade().map(|registry| Sessions { registry })
    }
}
