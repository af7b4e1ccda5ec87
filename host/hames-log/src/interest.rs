//! Who is told of some kinds of events only? What nobody asked for costs one look at a word of bits.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hames_types::event::{Event, EventBody};
use hames_types::fault::Fault;
use hames_types::open::OpenSum;
use hames_types::port::listener::Observe;
use hames_types::port::notice::SessionEvent;
use hames_types::scope::ScopeKey;
use smol_str::SmolStr;

use crate::slot::{ListenerId, Place, Slot};

/// Observers of some kinds of events.
#[derive(Default)]
pub struct Interest {
    /// A bit for each kind that somebody asked for; those of observers that are gone stay.
    wanted: AtomicU32,
    observers: Slot<dyn Observe<SessionEvent>>,
}

impl Interest {
    /// Adds an observer of these kinds. It is told behind those who are told everything.
    pub fn add(
        &self,
        kinds: &[SmolStr],
        scope: Option<ScopeKey>,
        place: Place,
        observer: Arc<dyn Observe<SessionEvent>>,
    ) -> ListenerId {
        let picky = Picky {
            kinds: kinds.iter().cloned().collect(),
            observer,
        };
        let id = self.observers.add(scope, place, Arc::new(picky));
        let bits = kinds.iter().fold(0, |bits, kind| bits | bit_of(kind));
        self.wanted.fetch_or(bits, Ordering::Release);
        id
    }

    /// Takes an observer back. Nothing happens if it is gone already.
    pub fn remove(&self, id: ListenerId) {
        self.observers.remove(id);
    }

    /// Takes back everything of a scope.
    pub fn remove_scope(&self, scope: ScopeKey) {
        self.observers.remove_scope(scope);
    }

    /// Whether somebody may want to be told of this event.
    pub(crate) fn wants(&self, event: &Event) -> bool {
        let wanted = self.wanted.load(Ordering::Acquire);
        // What is live is typed, so an event without a body is none of those that anybody named.
        wanted != 0 && event.body().is_some_and(|body| wanted & bit(body.ordinal()) != 0)
    }

    pub(crate) const fn observers(&self) -> &Slot<dyn Observe<SessionEvent>> {
        &self.observers
    }
}

/// An observer and the kinds it named: the bits are shared, by observers and by all kinds that aren't the core's.
struct Picky {
    kinds: HashSet<SmolStr>,
    observer: Arc<dyn Observe<SessionEvent>>,
}

impl Observe<SessionEvent> for Picky {
    fn observe(&self, notice: &SessionEvent) -> Result<(), Fault> {
        if self.kinds.contains(notice.event.kind()) {
            return self.observer.observe(notice);
        }
        Ok(())
    }
}

fn bit_of(kind: &str) -> u32 {
    let kinds = EventBody::KINDS;
    bit(kinds
        .iter()
        .position(|known| *known == kind)
        .unwrap_or(kinds.len()))
}

fn bit(ordinal: usize) -> u32 {
    // There are far fewer kinds than bits; were there more, the last would be shared.
    1 << ordinal.min(31)
}
