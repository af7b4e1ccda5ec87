//! How does a recorded session look at a moment of its past? Through the port, over what was logged until then.

use std::sync::Arc;

use async_trait::async_trait;
use hames_types::event::{Event, EventBody};
use hames_types::fault::Fault;
use hames_types::header::SessionHeader;
use hames_types::id::Seq;
use hames_types::message::History;
use hames_types::port::plugin::{Recorded, Replaced, SessionAccess};
use hames_types::request::RequestHeader;
use hames_types::turn::TurnTrigger;

use crate::log::Log;

/// A recorded session: its header and all its events.
#[derive(Debug, Clone)]
pub struct RecordedSession {
    header: SessionHeader,
    events: Arc<[Arc<Event>]>,
}

impl RecordedSession {
    /// A session as a store holds it.
    #[must_use]
    pub fn new(header: SessionHeader, log: &Log) -> Self {
        Self {
            header,
            events: log.events().into(),
        }
    }
}

impl Recorded for RecordedSession {
    fn header(&self) -> &SessionHeader {
        &self.header
    }

    fn events(&self) -> &[Arc<Event>] {
        &self.events
    }

    fn before(&self, seq: Seq) -> Arc<dyn SessionAccess> {
        Arc::new(Moment {
            session: self.clone(),
            end: seq.index().min(self.events.len()),
        })
    }
}

/// A session as far as it had come.
struct Moment {
    session: RecordedSession,
    end: usize,
}

impl Moment {
    fn past(&self) -> &[Arc<Event>] {
        self.session.events.get(..self.end).unwrap_or_default()
    }

    fn log(&self) -> Result<Log, Fault> {
        Log::from_events(self.past().iter().cloned())
            .map_err(|error| Fault::of("SessionError", "SEED", &error))
    }
}

#[async_trait]
impl SessionAccess for Moment {
    fn header(&self) -> &SessionHeader {
        &self.session.header
    }

    fn length(&self) -> usize {
        self.end
    }

    fn events(&self, first: Seq, limit: usize) -> Vec<Arc<Event>> {
        let past = self.past();
        let from = first.index().min(past.len());
        let to = from.saturating_add(limit).min(past.len());
        past.get(from..to).unwrap_or_default().to_vec()
    }

    fn messages(&self) -> Result<History, Fault> {
        self.log()?
            .derive()
            .cloned()
            .map_err(|error| Fault::of("SessionError", "DERIVE", &error))
    }

    fn request_header(&self) -> Option<Arc<RequestHeader>> {
        // A log whose header isn't one has none, as a live session says.
        self.log().ok()?.header().ok().flatten().cloned()
    }

    async fn append(&self, body: EventBody, _out_of_band: Option<TurnTrigger>) -> Result<Seq, Fault> {
        Err(is_recorded(&body))
    }

    async fn replace(&self, body: EventBody, _replaced: Replaced) -> Result<Seq, Fault> {
        Err(is_recorded(&body))
    }
}

fn is_recorded(body: &EventBody) -> Fault {
    Fault::host(
        "SessionError",
        "RECORDED",
        format!("`{}` can't be appended to what is recorded", body.kind()),
    )
}
