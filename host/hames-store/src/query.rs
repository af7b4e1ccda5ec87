//! What can be asked about stored sessions beside loading them whole? Bounded reads, lineage, traces.

use std::sync::Arc;

use hames_types::event::Event;
use hames_types::header::SessionHeader;
use hames_types::id::{Seq, SessionId};
use hames_types::port::store::StoreError;

use crate::backend::Backend;

/// Most events given at once: what one reader can make the store hold in memory.
pub const MAX_PAGE: usize = 4096;

/// Longest chain of parents followed; a longer one is cut, so a cycle in bad headers ends.
pub const MAX_ANCESTORS: usize = 64;

/// A part of a session.
#[derive(Debug, Clone)]
pub struct Page {
    /// The events asked for, in order, exactly as they were appended.
    pub events: Vec<Arc<Event>>,
    /// Where to go on; none at the end.
    pub next: Option<Seq>,
}

/// Where a session comes from and what came of it.
#[derive(Debug, Clone)]
pub struct Lineage {
    /// The session.
    pub session: SessionHeader,
    /// Its parent, the parent's parent and so on, as far as they are stored.
    pub ancestors: Vec<SessionHeader>,
    /// The sessions that name it as their parent.
    pub children: Vec<SessionHeader>,
}

/// How an event hangs together with others of its session.
#[derive(Debug, Clone)]
pub struct Trace {
    /// The event.
    pub event: Arc<Event>,
    /// What it says it was made from.
    pub made_from: Vec<Seq>,
    /// The later events that say they were made from it.
    pub made_into: Vec<Seq>,
}

/// A page of a session that is in memory.
pub(crate) fn page_of(events: &[Arc<Event>], from: Seq, limit: usize) -> Page {
    let rest = events.get(from.index()..).unwrap_or_default();
    let page = rest.get(..limit).unwrap_or(rest);
    Page {
        events: page.to_vec(),
        next: (page.len() < rest.len()).then(|| Seq::at(from.index() + page.len())),
    }
}

pub(crate) fn lineage<B: Backend>(backend: &mut B, id: &SessionId) -> Result<Lineage, StoreError> {
    let session = backend.header(id)?;
    let mut ancestors: Vec<SessionHeader> = Vec::new();
    let mut parent = session.fields.parent_session.clone();
    while let Some(id) = parent.filter(|_| ancestors.len() < MAX_ANCESTORS) {
        let header = match backend.header(&id) {
            Ok(header) => header,
            // Deleted, or stored elsewhere.
            Err(StoreError::NotFound(_)) => break,
            Err(error) => return Err(error),
        };
        if header.id == session.id || ancestors.iter().any(|known| known.id == header.id) {
            break;
        }
        parent = header.fields.parent_session.clone();
        ancestors.push(header);
    }
    Ok(Lineage {
        children: backend.children(id)?,
        session,
        ancestors,
    })
}

pub(crate) fn trace(id: &SessionId, events: &[Arc<Event>], seq: Seq) -> Result<Trace, StoreError> {
    let event = events.get(seq.index()).ok_or_else(|| StoreError::OutOfOrder {
        id: id.clone(),
        stored: Seq::at(events.len()),
        found: seq,
    })?;
    let made_into = events
        .iter()
        .filter(|later| sources(later).contains(&seq))
        .map(|later| later.seq)
        .collect();
    Ok(Trace {
        event: Arc::clone(event),
        made_from: sources(event).to_vec(),
        made_into,
    })
}

fn sources(event: &Event) -> &[Seq] {
    event
        .placement
        .as_ref()
        .and_then(|placement| placement.sources.as_deref())
        .unwrap_or_default()
}
