//! What did a plugin's listeners decide? One event for each answer, kept until a step or a turn closes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hames_types::event::EventBody;
use hames_types::fault::Fault;
use hames_types::id::SessionId;
use hames_types::json::{Json, JsonMap};
use hames_types::port::plugin::Held;
use parking_lot::Mutex;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::cache::hex;
use crate::plugin::Loaded;
use crate::point::Point;
use crate::seam::Ask;
use crate::state::{Fixed, Spent};

/// The kind of the events.
pub const DECISION_KIND: &str = "plugin/decision";

/// Largest value that an event holds as it is, in bytes; of a larger one the digest.
const MAX_VALUE: usize = 16 * 1024;

/// Most decisions that wait for a step or a turn to close; later ones are dropped and the drop is told.
const MAX_WAITING: usize = 10_000;

/// Keeps decisions until their session's step or turn closes. A clone is the same ledger.
#[derive(Clone, Default)]
pub struct Ledger(Arc<Mutex<HashMap<SessionId, Vec<EventBody>>>>);

impl Ledger {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn keep(&self, session: &SessionId, decision: EventBody) {
        let mut waiting = self.0.lock();
        let waiting = waiting.entry(session.clone()).or_default();
        if waiting.len() < MAX_WAITING {
            waiting.push(decision);
        } else {
            tracing::error!(%session, "too many decisions wait for their step to close; one is not logged");
        }
    }
}

impl Held for Ledger {
    fn take(&self, session: &SessionId) -> Vec<EventBody> {
        self.0.lock().remove(session).unwrap_or_default()
    }
}

/// One decision on its way. Without a ledger and an agent it only fixes what clocks and randomness show.
pub(crate) struct Entry<'a> {
    loaded: &'a Loaded,
    fixed: Fixed,
    writing: Option<Box<Writing<'a>>>,
}

struct Writing<'a> {
    ledger: &'a Ledger,
    agent: SessionId,
    begun: Instant,
    spent: Spent,
    fields: JsonMap,
    /// What was answered, to leave out what counted if that is the same.
    answer: Option<Json>,
}

impl<'a> Entry<'a> {
    /// Begins one, before the guest is asked.
    pub(crate) fn begin(loaded: &'a Loaded, point: Point, ask: &impl Ask) -> Self {
        let who = &loaded.site.who;
        let ledger = loaded.ledger.as_ref().zip(ask.agent());
        // Neither the digest nor the time is free, so they are found only for those who can see them.
        let asked = (ledger.is_some() || who.grant.random.is_some()).then(|| digest(&ask.whole()));
        let fixed = Fixed {
            now_ms: loaded.time_of(ask.agent()),
            seed: asked.as_ref().map_or(0, seed),
        };
        let writing = ledger.zip(asked).map(|((ledger, agent), asked)| {
            let mut fields = JsonMap::new();
            let mut put = |key: &str, value: Json| fields.insert(key.to_owned(), value);
            put("plugin", who.id.as_str().into());
            put("component", loaded.digest.as_str().into());
            put("seam", point.as_str().into());
            put("about", ask.about());
            put("asked", hex(&asked).into());
            if who.grant.clocks.is_some() {
                put("clockMs", fixed.now_ms.into());
            }
            Box::new(Writing {
                ledger,
                agent: agent.clone(),
                begun: Instant::now(),
                spent: Spent::default(),
                fields,
                answer: None,
            })
        });
        Self {
            loaded,
            fixed,
            writing,
        }
    }

    /// What clocks and randomness show to the guest.
    pub(crate) const fn fixed(&self) -> Fixed {
        self.fixed
    }

    /// Where its fuel is written.
    pub(crate) fn spent(&self) -> Spent {
        self.writing
            .as_ref()
            .map_or_else(Spent::default, |writing| Arc::clone(&writing.spent))
    }

    /// The guest is done; what it waited for others isn't its time.
    pub(crate) fn stop(&mut self, waited: Duration) {
        if let Some(writing) = &mut self.writing {
            let took = writing.begun.elapsed().saturating_sub(waited).as_micros();
            let took = u64::try_from(took).unwrap_or(u64::MAX);
            writing.fields.insert("tookUs".to_owned(), took.into());
            // Nothing where it didn't come to a call.
            let fuel = writing.spent.get().copied().unwrap_or_default();
            writing.fields.insert("fuel".to_owned(), fuel.into());
        }
    }

    /// What the rest of the chain came to, if it was asked: the answer may depend on it.
    pub(crate) fn rest(&mut self, rest: Option<Result<Json, &Fault>>) {
        if let (Some(writing), Some(rest)) = (&mut self.writing, rest) {
            let rest = match rest {
                Ok(answer) => json!({ "answer": bounded(answer) }),
                Err(fault) => json!({ "error": told(fault) }),
            };
            writing.fields.insert("rest".to_owned(), rest);
        }
    }

    /// The guest answered.
    pub(crate) fn answered(&mut self, answer: impl FnOnce() -> Json) {
        if let Some(writing) = &mut self.writing {
            let answer = bounded(answer());
            writing.fields.insert("answer".to_owned(), answer.clone());
            writing.answer = Some(answer);
        }
    }

    /// The guest handed on the rest's error.
    pub(crate) fn propagated(&mut self) {
        if let Some(writing) = &mut self.writing {
            writing.fields.insert("propagated".to_owned(), true.into());
        }
    }

    /// The guest failed.
    pub(crate) fn failed(&mut self, fault: &Fault) {
        if let Some(writing) = &mut self.writing {
            writing.fields.insert("error".to_owned(), told(fault));
        }
    }

    /// Keeps it. `counted` is what came of it.
    pub(crate) fn close(self, counted: Result<Json, &Fault>) {
        let Some(mut writing) = self.writing else { return };
        // Only what differs from the answer: a restriction, or a failure that was passed over.
        if let Ok(counted) = counted {
            let counted = bounded(counted);
            if writing.answer.as_ref() != Some(&counted) {
                writing.fields.insert("counted".to_owned(), counted);
            }
        }
        let fields = Json::Object(std::mem::take(&mut writing.fields));
        match EventBody::decode(DECISION_KIND, fields) {
            Ok(decision) => writing.ledger.keep(&writing.agent, decision),
            Err(error) => {
                let plugin = &self.loaded.site.who.id;
                tracing::error!(%plugin, %error, "a decision can't be logged");
            }
        }
    }
}

/// Digest of a value's text.
pub(crate) fn digest(value: &Json) -> [u8; 32] {
    Sha256::digest(value.to_string()).into()
}

/// A seed out of a digest.
pub(crate) fn seed(digest: &[u8; 32]) -> u64 {
    digest
        .iter()
        .take(8)
        .fold(0, |seed, byte| (seed << 8) | u64::from(*byte))
}

/// The value, or its digest if it is large.
pub(crate) fn bounded(value: Json) -> Json {
    let bytes = value.to_string().len();
    if bytes <= MAX_VALUE {
        return value;
    }
    json!({ "sha256": hex(&digest(&value)), "bytes": bytes })
}

/// An error, for the log.
pub(crate) fn told(fault: &Fault) -> Json {
    bounded(json!({ "message": fault.chain(), "code": fault.code() }))
}
