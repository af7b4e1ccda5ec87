//! Do sessions come, go and fork as in the reference? (part 8, `store`)

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use futures_util::FutureExt;
use hames_log::error::ForkError;
use hames_log::{Draft, Log, Place, Session, SessionMeta, Sessions};
use hames_types::fault::Fault;
use hames_types::id::SessionId;
use hames_types::json::{FromJson, Json, to_json};
use hames_types::port::clock::FixedClock;
use hames_types::port::listener::Observe;
use hames_types::port::notice::SessionEvent;
use serde_json::{Number, json};

use super::case::Case;
use super::log_view::draft;
use super::outcome::Outcome;
use super::rules::{self, Rule};

/// A list of operations on an empty store of live sessions.
///
/// # Errors
/// If the case isn't of the format.
pub fn run(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let bench = Bench::new();
    let ops = case.list("ops")?;
    let got = ops
        .iter()
        .map(|op| bench.run(op))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let results = case.list("results")?.iter().map(without_class).collect();
    let last_failed = got.last().is_some_and(|result| result.get("error").is_some());
    let expect = if last_failed { "error" } else { "accept" };
    let outcome = Outcome::first_of([
        Outcome::compare(&Json::Array(results), &Json::Array(got)).within(".results"),
        Outcome::compare(case.field("expect"), &json!(expect)).within(".expect"),
    ]);
    Ok(match (outcome, deviation(ops)) {
        (Outcome::Failed(_), Some(rule)) => Outcome::Deviating(rule),
        (outcome, _) => outcome,
    })
}

/// The names of the reference's error classes are its own; codes and texts are compared.
fn without_class(result: &Json) -> Json {
    let mut result = result.clone();
    if let Some(fields) = result.as_object_mut() {
        fields.shift_remove("errorName");
    }
    result
}

/// The rule by which live sessions differ from what the reference let pass, if the operations use such a thing.
fn deviation(ops: &[Json]) -> Option<&'static Rule> {
    let mut open: HashMap<&str, bool> = HashMap::new();
    let appended = ops.iter().filter_map(|op| {
        let event = op.get("event").or_else(|| op.get("first"))?;
        Some((op.get("id")?.as_str()?, event))
    });
    for (id, event) in appended {
        let turn_is_open = open.entry(id).or_default();
        let opens = event.get("type").and_then(Json::as_str) == Some("turn/start");
        let closes = event.get("type").and_then(Json::as_str) == Some("turn/end");
        if *turn_is_open == opens {
            return Some(&rules::ENCLOSURE);
        }
        if lacks_route(event) {
            return Some(&rules::LIVE_ROUTE);
        }
        *turn_is_open = !closes;
    }
    None
}

fn lacks_route(event: &Json) -> bool {
    let path = match event.get("type").and_then(Json::as_str) {
        Some("assistant/message") => "/data/provenance",
        Some("request/header") => "/data/header/config",
        _ => return false,
    };
    ["provider", "model"].iter().any(|name| {
        event
            .pointer(&format!("{path}/{name}"))
            .and_then(Json::as_str)
            .is_none_or(str::is_empty)
    })
}

/// A process's sessions, and an observer that appends when it is told to.
struct Bench {
    sessions: Sessions,
    intruder: Arc<Intruder>,
}

/// Appends one event from inside the next publication it sees.
#[derive(Default)]
struct Intruder {
    armed: Mutex<Option<(Arc<Session>, Draft)>>,
    refusal: Mutex<Option<String>>,
}

impl Observe<SessionEvent> for Intruder {
    fn observe(&self, _: &SessionEvent) -> Result<(), Fault> {
        let armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((session, draft)) = armed {
            let refusal = session.append(draft).err().map(|error| error.to_string());
            *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = refusal;
        }
        Ok(())
    }
}

impl Bench {
    fn new() -> Self {
        let sessions = Sessions::new(Arc::new(FixedClock(0)));
        let intruder = Arc::new(Intruder::default());
        sessions.on_event().add(
            None,
            Place::Last,
            Arc::clone(&intruder) as Arc<dyn Observe<SessionEvent>>,
        );
        Self { sessions, intruder }
    }

    fn run(&self, op: &Json) -> anyhow::Result<Json> {
        match op.get("op").and_then(Json::as_str) {
            Some("create") => Ok(self.create(op).unwrap_or_else(|error| refused(&error, None))),
            Some("append") => self.append(op),
            Some("appendReentrant") => self.append_reentrant(op),
            Some("fork") => Ok(self.fork(op)),
            Some("flushDetached") => self.flush_detached(),
            other => bail!("the runner knows no operation {other:?}"),
        }
    }

    fn session(&self, op: &Json) -> anyhow::Result<Arc<Session>> {
        let id = id_in(op, "id").context("the operation names no session")?;
        self.sessions
            .get(&id)
            .with_context(|| format!("no session `{id}`"))
    }

    fn create(&self, op: &Json) -> anyhow::Result<Json> {
        let records = op
            .get("seed")
            .and_then(Json::as_array)
            .cloned()
            .unwrap_or_default();
        let seed = Log::from_records(records)?;
        let session = self.sessions.create(id_in(op, "id"), meta(op)?, seed)?;
        Ok(json!({"id": to_json(session.id())?, "header": to_json(session.header())?}))
    }

    fn append(&self, op: &Json) -> anyhow::Result<Json> {
        let session = self.session(op)?;
        let event = op.get("event").context("nothing to append")?;
        Ok(match draft(event)?.and_then(|draft| session.append(draft)) {
            Ok(event) => json!({"seq": event.seq.get()}),
            Err(error) => refused(&error.into(), None),
        })
    }

    fn append_reentrant(&self, op: &Json) -> anyhow::Result<Json> {
        let session = self.session(op)?;
        let read = |name: &str| draft(op.get(name).with_context(|| format!("no `{name}`"))?);
        let inner = read("inner")??;
        *self.intruder.armed.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((Arc::clone(&session), inner));
        session.append(read("first")??)?;
        let refusal = self
            .intruder
            .refusal
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        Ok(json!({"inner": refusal, "length": session.len()}))
    }

    fn fork(&self, op: &Json) -> Json {
        let source = id_in(op, "source").unwrap_or_else(|| SessionId::new(""));
        // A boundary that isn't a number of an event names none.
        let boundary = op
            .get("boundary")
            .map(|boundary| boundary.as_u64().unwrap_or(u64::MAX));
        let forked = self.sessions.fork(&source, boundary, id_in(op, "child"));
        forked.map_or_else(
            |error| {
                let code = match &error {
                    ForkError::Create(_) => None,
                    ForkError::AlreadyExists(_)
                    | ForkError::NotFound(_)
                    | ForkError::NotLive(_)
                    | ForkError::InvalidBoundary { .. }
                    | ForkError::OpenTurn { .. } => Some(error.code()),
                };
                refused(&error.into(), code)
            },
            |child| json!({"id": child.id().as_str(), "header": header_of(&child), "length": child.len()}),
        )
    }

    fn flush_detached(&self) -> anyhow::Result<Json> {
        let session = self.sessions.create(None, SessionMeta::default(), Log::new())?;
        self.sessions.detach(&session);
        let flushed = self.sessions.flush(&session).now_or_never();
        Ok(
            match flushed.context("a flush without listeners has nothing to wait for")? {
                Ok(()) => json!({}),
                Err(error) => refused(&error.into(), None),
            },
        )
    }
}

fn header_of(session: &Session) -> Json {
    to_json(session.header()).unwrap_or(Json::Null)
}

fn refused(error: &anyhow::Error, code: Option<&'static str>) -> Json {
    let mut result = json!({"error": format!("{error:#}")});
    if let (Some(fields), Some(code)) = (result.as_object_mut(), code) {
        fields.insert("errorCode".to_owned(), json!(code));
    }
    result
}

fn id_in(op: &Json, key: &str) -> Option<SessionId> {
    op.get(key).and_then(Json::as_str).map(SessionId::new)
}

fn meta(op: &Json) -> anyhow::Result<SessionMeta> {
    let field = |name: &str| op.get("meta").and_then(|meta| meta.get(name)).cloned();
    Ok(SessionMeta {
        cwd: field("cwd").map(FromJson::from_json).transpose()?,
        created_at_ms: field("createdAt").map(Number::from_json).transpose()?,
        parent_session: field("parentSession").map(FromJson::from_json).transpose()?,
        seed_length: field("seedLength").map(FromJson::from_json).transpose()?,
        delegation_depth: field("delegationDepth").map(FromJson::from_json).transpose()?,
    })
}
