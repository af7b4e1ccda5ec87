//! A log from what was recorded elsewhere: a store, a fork, a test (R-SEED).

use std::sync::Arc;

use hames_types::event::{Event, EventBody};
use hames_types::id::Seq;
use hames_types::json::{DecodeError, FromJson, Json, check_lossless, shortened};
use hames_types::turn::TurnEndReason;

use crate::draft::Draft;
use crate::error::{AppendError, Problem, SeedError, SeedProblem};
use crate::log::{Log, admit, check_route};

impl Log {
    /// A log from records as they stand in a file or a message.
    ///
    /// # Errors
    /// [`SeedError`] naming the first entry that is refused.
    pub fn from_records(records: Vec<Json>) -> Result<Self, SeedError> {
        let events = records
            .into_iter()
            .enumerate()
            .map(|(index, record)| read_event(record).map_err(|problem| SeedError { index, problem }))
            .collect::<Result<Vec<_>, _>>()?;
        Self::from_events(events.into_iter().map(Arc::new))
    }

    /// A log from events that were decoded already. Nothing is copied.
    ///
    /// # Errors
    /// [`SeedError`] naming the first entry that is refused.
    pub fn from_events(events: impl IntoIterator<Item = Arc<Event>>) -> Result<Self, SeedError> {
        let events = events.into_iter();
        let mut log = Self::new();
        log.reserve(events.size_hint().0);
        for (index, event) in events.enumerate() {
            log.accept(event)
                .map_err(|problem| SeedError { index, problem })?;
        }
        Ok(log)
    }

    fn accept(&mut self, event: Arc<Event>) -> Result<(), SeedProblem> {
        let expected = self.next_seq();
        if event.seq != expected {
            return Err(SeedProblem::Seq {
                expected,
                found: event.seq,
            });
        }
        check_seeded(&event)?;
        let change = self
            .surface()
            .check(event.placement.as_deref(), &event.data, event.seq, self.events())
            .map_err(|fault| AppendError::new(event.kind(), fault))?;
        self.commit(change, event);
        Ok(())
    }
}

/// What is asked of a seed's entry beyond its place.
fn check_seeded(event: &Event) -> Result<(), SeedProblem> {
    let refuse = |problem: Problem| SeedProblem::Append(AppendError::new(event.kind(), problem));
    admit(&event.data).map_err(refuse)?;
    match event.data.body() {
        Ok(EventBody::TurnEnd(end)) => match &end.reason {
            TurnEndReason::Aborted(plain) => match plain.extra.iter().next() {
                Some((key, _)) => Err(SeedProblem::AbortedDetail(key.to_owned())),
                None => Ok(()),
            },
            TurnEndReason::Completed(_)
            | TurnEndReason::Error(_)
            | TurnEndReason::Disposed(_)
            | TurnEndReason::MaxTokens(_)
            | TurnEndReason::Rejected(_)
            | TurnEndReason::Interrupted(_)
            | TurnEndReason::Other(_) => Ok(()),
        },
        Ok(body) => check_route(body).map_err(refuse),
        // A route that isn't even there is as empty as one that is "" (R-SEED-3).
        Err(fault) if matches!(event.kind(), "request/header" | "assistant/message") => {
            check_kept_route(event, fault).map_err(refuse)
        }
        Err(_) => Ok(()),
    }
}

fn check_kept_route(event: &Event, fault: &DecodeError) -> Result<(), Problem> {
    let data = event.data.kept().unwrap_or(&Json::Null);
    let route = match event.kind() {
        "request/header" => data.get("header").and_then(|header| header.get("config")),
        _ => data.get("provenance"),
    };
    let named = |field: &str| {
        route
            .and_then(|route| route.get(field))
            .and_then(Json::as_str)
            .is_some_and(|text| !text.is_empty())
    };
    if named("provider") && named("model") {
        Ok(())
    } else {
        Err(Problem::Payload(fault.clone()))
    }
}

/// Reads one event with its envelope (R-SEED-1). The payload may be anything.
///
/// # Errors
/// [`SeedProblem`] by what is wrong.
pub fn read_event(record: Json) -> Result<Event, SeedProblem> {
    check_lossless(&record, "event")?;
    let Json::Object(mut fields) = record else {
        return Err(SeedProblem::Envelope(DecodeError::expected("an object", &record)));
    };
    let mut take = |name: &str| fields.shift_remove(name);
    let required = |name: &'static str, value: Option<Json>| {
        value.ok_or_else(|| SeedProblem::Envelope(DecodeError::missing(name)))
    };
    let (kind, seq, time) = (
        required("type", take("type"))?,
        required("seq", take("seq"))?,
        required("time", take("time"))?,
    );
    let data = required("data", take("data"))?;
    let (surface_op, sources) = (take("surfaceOp"), take("sourceEventSeqs"));
    if let Some(key) = fields.keys().next() {
        return Err(SeedProblem::Envelope(DecodeError::refused(format!(
            "has an unknown field `{}`",
            shortened(key)
        ))));
    }
    let kind = String::from_json(kind).map_err(|fault| SeedProblem::Envelope(fault.inside("type")))?;
    let seq = Seq::from_json(seq).map_err(|fault| SeedProblem::Envelope(fault.inside("seq")))?;
    let time_ms = u64::from_json(time).map_err(|fault| SeedProblem::Envelope(fault.inside("time")))?;
    let draft = Draft::read(&kind, data, surface_op, sources)?;
    Ok(Event {
        seq,
        time_ms,
        data: draft.data,
        placement: draft.placement,
    })
}
