//! How does a plugin reach the session that calls it? Through the port, over the live session.

use std::sync::Arc;

use async_trait::async_trait;
use hames_types::event::{Event, EventBody, SurfaceOp};
use hames_types::fault::Fault;
use hames_types::header::SessionHeader;
use hames_types::id::Seq;
use hames_types::message::History;
use hames_types::port::plugin::{Replaced, SessionAccess};
use hames_types::request::RequestHeader;
use hames_types::turn::TurnTrigger;

use crate::draft::Draft;
use crate::session::Session;
use crate::sessions::Sessions;

/// A live session as plugins reach it.
pub struct LiveAccess {
    sessions: Sessions,
    session: Arc<Session>,
}

impl LiveAccess {
    /// The session, and the registry it is published in.
    #[must_use]
    pub fn new(sessions: Sessions, session: Arc<Session>) -> Self {
        Self { sessions, session }
    }
}

#[async_trait]
impl SessionAccess for LiveAccess {
    fn header(&self) -> &SessionHeader {
        self.session.header()
    }

    fn length(&self) -> usize {
        self.session.len()
    }

    fn events(&self, first: Seq, limit: usize) -> Vec<Arc<Event>> {
        self.session.events(first, limit)
    }

    fn messages(&self) -> Result<History, Fault> {
        self.session
            .derive()
            .map_err(|error| Fault::of("SessionError", "DERIVE", &error))
    }

    fn request_header(&self) -> Option<Arc<RequestHeader>> {
        self.session.request_header()
    }

    async fn append(&self, body: EventBody, out_of_band: Option<TurnTrigger>) -> Result<Seq, Fault> {
        let event = match out_of_band {
            Some(trigger) => self
                .sessions
                .append_out_of_band(&self.session, body, trigger)
                .await
                .map_err(|error| Fault::of("SessionError", "APPEND", &error))?,
            None => self
                .session
                .append(Draft::log_only(body))
                .map_err(|error| Fault::of("SessionError", "APPEND", &error))?,
        };
        Ok(event.seq)
    }

    async fn replace(&self, body: EventBody, replaced: Replaced) -> Result<Seq, Fault> {
        let Replaced { first, last, sources } = replaced;
        let appended = self.session.exclusively(|session| {
            let mut sources = sources;
            for node in session.read(|log| between(log.surface().nodes(), first, last)) {
                // The order in which they are given says something; what wasn't named comes behind.
                if !sources.contains(&node) {
                    sources.push(node);
                }
            }
            let op = SurfaceOp::Replace {
                start: first,
                end: last,
            };
            session.append(Draft::placed(body, op, Some(sources.into())))
        });
        match appended {
            Ok(event) => Ok(event.seq),
            Err(error) => Err(Fault::of("SessionError", "APPEND", &error)),
        }
    }
}

/// The nodes from one to another; none if they aren't there in this order, which the append then refuses.
fn between(nodes: &[Seq], first: Seq, last: Seq) -> Vec<Seq> {
    let place = |wanted: Seq| nodes.iter().position(|node| *node == wanted);
    match (place(first), place(last)) {
        (Some(first), Some(last)) => nodes.get(first..=last).unwrap_or_default().to_vec(),
        (None, _) | (_, None) => Vec::new(),
    }
}
