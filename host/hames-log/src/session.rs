//! A live session: a log with an order of turns, observers, and one appender at a time.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock, Weak};

use hames_types::event::{Event, EventBody};
use hames_types::header::SessionHeader;
use hames_types::id::{Seq, SessionId, StepNo, TurnNo};
use hames_types::message::History;
use hames_types::port::clock::Clock;
use hames_types::port::notice::SessionEvent;
use hames_types::request::RequestHeader;
use hames_types::scope::ScopeKey;
use parking_lot::{Mutex, ReentrantMutex, RwLock};
use smol_str::SmolStr;

use crate::draft::Draft;
use crate::error::{AppendError, DeriveError, Problem};
use crate::log::{Log, admit, check_route};
use crate::sessions::Registry;
use crate::trace::Trace;

/// A log that lives. Shared by everyone who reads it; appends come one at a time, in order, and are told to
/// observers in that order before the next one begins.
///
/// On top of the bare log it demands typed payloads, a route that isn't empty and the order of turns and steps
/// (R-INV), so that every event lies inside a turn.
pub struct Session {
    header: SessionHeader,
    clock: Arc<dyn Clock>,
    inner: RwLock<Inner>,
    /// Held for a whole append, observers included. Reentrant, so that an append from inside one is seen and refused
    /// instead of waiting for itself. Holds the kind that is being published.
    gate: ReentrantMutex<RefCell<Option<SmolStr>>>,
    pub(crate) life: Mutex<Life>,
    pub(crate) home: OnceLock<Home>,
}

struct Inner {
    log: Log,
    trace: Trace,
}

/// Where a session was published.
pub(crate) struct Home {
    pub(crate) registry: Weak<Registry>,
    pub(crate) scope: Option<ScopeKey>,
}

/// How far a published session is in its life.
#[derive(Debug, Default)]
pub(crate) struct Life {
    /// Creation, publication and out-of-band appends under way; detaching waits for them (R-STORE-4).
    pub(crate) holds: usize,
    pub(crate) announced: bool,
    pub(crate) detach: Detach,
    pub(crate) out_of_band: bool,
}

/// Whether a session is on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Detach {
    /// It stays.
    #[default]
    No,
    /// It goes as soon as nothing holds it.
    Wanted,
    /// It is gone.
    Done,
}

impl Session {
    pub(crate) fn new(header: SessionHeader, log: Log, clock: Arc<dyn Clock>) -> Self {
        let mut trace = Trace::default();
        for event in log.events() {
            trace.follow(event);
        }
        Self {
            header,
            clock,
            inner: RwLock::new(Inner { log, trace }),
            gate: ReentrantMutex::new(RefCell::new(None)),
            life: Mutex::default(),
            home: OnceLock::new(),
        }
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.header.id
    }

    /// The session's header.
    #[must_use]
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// The scope through which it was published (R-SCOPE-5).
    #[must_use]
    pub fn scope(&self) -> Option<ScopeKey> {
        self.home.get().and_then(|home| home.scope)
    }

    /// Appends an event (R-LOG-1) and tells the observers before it returns.
    ///
    /// # Errors
    /// [`AppendError`]; log, surface and history are unchanged, no number is used up, and nobody was told.
    pub fn append(&self, draft: Draft) -> Result<Arc<Event>, AppendError> {
        admit_live(&draft)?;
        let gate = self.gate.lock();
        // The guard exists for published sessions only (R-LOG-3); others have no observers.
        if let Some(during) = gate.borrow().clone() {
            return Err(AppendError::new(draft.data.kind(), Problem::Reentrant { during }));
        }
        let event = {
            let mut inner = self.inner.write();
            if let Err(fault) = inner.trace.check(&draft) {
                return Err(AppendError::new(draft.data.kind(), fault));
            }
            let event = inner.log.place(draft, self.clock.now_ms())?;
            inner.trace.follow(&event);
            event
        };
        self.publish(&gate, &event);
        Ok(event)
    }

    /// Runs `work` with nobody else appending in between: for several appends that belong together.
    pub fn exclusively<T>(&self, work: impl FnOnce(&Self) -> T) -> T {
        let _gate = self.gate.lock();
        work(self)
    }

    fn publish(&self, gate: &RefCell<Option<SmolStr>>, event: &Arc<Event>) {
        let Some(home) = self.home.get() else { return };
        let Some(registry) = home.registry.upgrade() else {
            return;
        };
        let is_wanted = registry.interest.wants(event);
        if registry.events.is_empty() && !is_wanted {
            return;
        }
        if !self.hold() {
            return;
        }
        *gate.borrow_mut() = Some(event.kind().into());
        let notice = SessionEvent {
            session: self.id().clone(),
            event: Arc::clone(event),
        };
        registry.events.tell(home.scope, &notice, crate::sessions::warn);
        if is_wanted {
            let observers = registry.interest.observers();
            observers.tell(home.scope, &notice, crate::sessions::warn);
        }
        *gate.borrow_mut() = None;
        registry.release(self);
    }

    /// Keeps the session published until it is released; says whether it is published.
    pub(crate) fn hold(&self) -> bool {
        let mut life = self.life.lock();
        if life.detach == Detach::Done {
            return false;
        }
        life.holds += 1;
        true
    }

    /// Looks at the log. Appends wait meanwhile, so `look` should be short and must not append.
    pub fn read<T>(&self, look: impl FnOnce(&Log) -> T) -> T {
        look(&self.inner.read().log)
    }

    /// The messages the model sees, shared with the log (R-PROJ-2).
    ///
    /// # Errors
    /// [`DeriveError`] naming the event that can't be shown.
    pub fn derive(&self) -> Result<History, DeriveError> {
        self.inner.write().log.derive().cloned()
    }

    /// The request header in force. A header that isn't one counts as none; a live session never logs such.
    #[must_use]
    pub fn request_header(&self) -> Option<Arc<RequestHeader>> {
        self.inner.read().log.header().ok().flatten().cloned()
    }

    /// The events from `from` on, at most `limit` of them. A snapshot: it never grows (R-LOG-6).
    #[must_use]
    pub fn events(&self, from: Seq, limit: usize) -> Vec<Arc<Event>> {
        let inner = self.inner.read();
        let events = inner.log.events();
        let from = from.index().min(events.len());
        let to = from.saturating_add(limit).min(events.len());
        events.get(from..to).unwrap_or_default().to_vec()
    }

    /// All events. A snapshot: it never grows.
    #[must_use]
    pub fn all_events(&self) -> Vec<Arc<Event>> {
        self.events(Seq::FIRST, usize::MAX)
    }

    /// How many events there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.read().log.len()
    }

    /// Whether nothing is recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The open turn.
    #[must_use]
    pub fn open_turn(&self) -> Option<TurnNo> {
        self.inner.read().trace.open_turn()
    }

    /// The open step.
    #[must_use]
    pub fn open_step(&self) -> Option<StepNo> {
        self.inner.read().trace.open_step()
    }

    /// The number the next turn gets.
    #[must_use]
    pub fn next_turn(&self) -> TurnNo {
        self.inner.read().trace.next_turn()
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Session")
            .field("id", self.id())
            .field("events", &self.len())
            .finish_non_exhaustive()
    }
}

/// What a live session asks of an event beyond its place.
fn admit_live(draft: &Draft) -> Result<(), AppendError> {
    let refuse = |problem: Problem| AppendError::new(draft.data.kind(), problem);
    admit(&draft.data).map_err(refuse)?;
    let body: &EventBody = draft
        .data
        .body()
        .map_err(|fault| refuse(Problem::Payload(fault.clone())))?;
    check_route(body).map_err(refuse)
}
