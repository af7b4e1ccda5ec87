//! A list of listeners in order, some of them bound to a scope.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hames_types::fault::Fault;
use hames_types::port::listener::{Notice, Observe};
use hames_types::scope::ScopeKey;
use parking_lot::RwLock;

/// Names one registration, to take it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenerId(u64);

/// Where a new listener stands among those that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Behind all of them: innermost in a chain.
    Last,
    /// Before all of them: outermost in a chain (R-DISP-3).
    First,
}

/// Listeners of one kind (`dyn Decide<…>`, `dyn Observe<…>`) in the order in which they are asked.
///
/// A dispatch takes the list as it is when it begins; later changes concern later dispatches (R-DISP-6).
pub struct Slot<T: ?Sized> {
    entries: RwLock<Arc<[Entry<T>]>>,
    next: AtomicU64,
}

struct Entry<T: ?Sized> {
    id: ListenerId,
    scope: Option<ScopeKey>,
    listener: Arc<T>,
}

impl<T: ?Sized> Clone for Entry<T> {
    fn clone(&self) -> Self {
        Self {
            id: self.id,
            scope: self.scope,
            listener: Arc::clone(&self.listener),
        }
    }
}

impl<T: ?Sized> Slot<T> {
    /// Nobody listens.
    #[must_use]
    pub fn new() -> Self {
        Self {
            entries: RwLock::new(Arc::from([])),
            next: AtomicU64::new(0),
        }
    }

    /// Adds a listener; with a `scope` it hears only what concerns that scope (R-SCOPE-2).
    pub fn add(&self, scope: Option<ScopeKey>, place: Place, listener: Arc<T>) -> ListenerId {
        let id = ListenerId(self.next.fetch_add(1, Ordering::Relaxed));
        let entry = Entry { id, scope, listener };
        let mut entries = self.entries.write();
        let mut list = entries.to_vec();
        match place {
            Place::Last => list.push(entry),
            Place::First => list.insert(0, entry),
        }
        *entries = list.into();
        id
    }

    /// Takes a listener back. Nothing happens if it is gone already.
    pub fn remove(&self, id: ListenerId) {
        self.retain(|entry| entry.id != id);
    }

    /// Takes back everything of a scope.
    pub fn remove_scope(&self, scope: ScopeKey) {
        self.retain(|entry| entry.scope != Some(scope));
    }

    fn retain(&self, keep: impl Fn(&Entry<T>) -> bool) {
        let mut entries = self.entries.write();
        if entries.iter().all(&keep) {
            return;
        }
        *entries = entries.iter().filter(|entry| keep(entry)).cloned().collect();
    }

    /// Who hears a dispatch that concerns `carrier`: everyone without a scope and those of that scope.
    #[must_use]
    pub fn reached_by(&self, carrier: Option<ScopeKey>) -> Vec<Arc<T>> {
        let entries = Arc::clone(&self.entries.read());
        entries
            .iter()
            .filter(|entry| entry.scope.is_none() || entry.scope == carrier)
            .map(|entry| Arc::clone(&entry.listener))
            .collect()
    }

    /// Everyone, whatever their scope: for what isn't filtered (R-SCOPE-4).
    #[must_use]
    pub fn everyone(&self) -> Vec<Arc<T>> {
        let entries = Arc::clone(&self.entries.read());
        entries.iter().map(|entry| Arc::clone(&entry.listener)).collect()
    }

    /// Whether nobody listens at all: the cheap question before making what would be told.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.read().is_empty()
    }
}

impl<T: ?Sized> Default for Slot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<N: Notice> Slot<dyn Observe<N>> {
    /// Tells everyone it concerns. A fault is handed to `warn` and hurts nobody else (R-DISP-4).
    pub fn tell(&self, carrier: Option<ScopeKey>, notice: &N, mut warn: impl FnMut(&'static str, &Fault)) {
        let entries = Arc::clone(&self.entries.read());
        for entry in entries
            .iter()
            .filter(|entry| entry.scope.is_none() || entry.scope == carrier)
        {
            if let Err(fault) = observe_contained(&*entry.listener, notice) {
                warn(N::NAME, &fault);
            }
        }
    }

    /// Tells everyone it concerns until one vetoes.
    ///
    /// # Errors
    /// The fault of the first who vetoes; those behind it aren't told.
    pub fn ask(&self, carrier: Option<ScopeKey>, notice: &N) -> Result<(), Fault> {
        self.reached_by(carrier)
            .iter()
            .try_for_each(|observer| observe_contained(&**observer, notice))
    }
}

/// Tells one observer. One that panics has failed like one that returns a fault: whoever tells it, perhaps in the
/// middle of an append, goes on.
///
/// # Errors
/// The observer's own fault, or what its panic said.
pub fn observe_contained<N: Notice>(observer: &dyn Observe<N>, notice: &N) -> Result<(), Fault> {
    catch_unwind(AssertUnwindSafe(|| observer.observe(notice)))
        .unwrap_or_else(|panic| Err(Fault::panicked(&*panic)))
}
