//! Does the meter count what the reference's counted? (part 15)

use std::sync::Arc;

use hames_log::meter::{Baseline, Measurement, Meter, MeterError, message_tokens};
use hames_types::event::{Event, EventData, Placement, SurfaceOp};
use hames_types::id::Seq;
use hames_types::json::{FromJson, Json};
use hames_types::message::Message;
use hames_types::request::RequestHeader;

use super::super::case::Case;
use super::super::outcome::Outcome;

/// A token meter over a log.
///
/// # Errors
/// If the case holds something that is no event.
pub fn meter(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let events = case
        .list("events")?
        .iter()
        .enumerate()
        .map(event)
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut following = Meter::new();
    let mut outcomes = Vec::new();
    for (length, expected) in case.list("prefixes")?.iter().enumerate() {
        let prefix = events.get(..length).unwrap_or_default();
        // A meter that follows, the same asked again, and one that starts anew must agree.
        let mut again = following.clone();
        for meter in [&mut following, &mut again, &mut Meter::new()] {
            let measured = meter.follow(prefix).and_then(|()| meter.measure(None));
            outcomes
                .push(Outcome::compare(expected, &shown(&measured)?).within(&format!(".prefixes[{length}]")));
        }
    }
    for (at, over) in case.list("overrides")?.iter().enumerate() {
        let header = RequestHeader::from_json(over.get("header").cloned().unwrap_or_default())?;
        let measured = following.measure(Some(&header));
        let expected = over.get("result").unwrap_or(&Json::Null);
        outcomes.push(Outcome::compare(expected, &shown(&measured)?).within(&format!(".overrides[{at}]")));
    }
    Ok(Outcome::first_of(outcomes))
}

/// The price of one message.
///
/// # Errors
/// If the case holds no message.
pub fn message(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let message = Message::from_json(case.field("message").clone())?;
    Ok(Outcome::compare(case.field("tokens"), &Json::from(message_tokens(&message))).within(".tokens"))
}

fn shown(measured: &Result<Measurement, MeterError>) -> anyhow::Result<Json> {
    let measured = match measured {
        Ok(measured) => measured,
        Err(error) => return Ok(serde_json::json!({ "error": error.to_string() })),
    };
    let tokens = measured.baseline.tokens();
    let baseline = match &measured.baseline {
        Baseline::None => serde_json::json!({ "kind": "none", "tokens": tokens }),
        Baseline::Estimated { .. } => serde_json::json!({ "kind": "estimated", "tokens": tokens }),
        Baseline::Usage { usage, .. } => {
            serde_json::json!({ "kind": "usage", "tokens": tokens, "usage": serde_json::to_value(usage)? })
        }
    };
    let nodes = measured.nodes.iter();
    Ok(serde_json::json!({
        "logRevision": measured.log_revision,
        "baseline": baseline,
        "surfaceDeltaTokens": measured.surface_delta_tokens,
        "totalTokens": measured.total_tokens,
        "surfaceTokens": measured.surface_tokens,
        "nodes": nodes
            .map(|node| serde_json::json!({ "seq": node.seq, "tokens": node.tokens }))
            .collect::<Vec<_>>(),
    }))
}

/// An event put into a log as it is, whether an append would take it or not.
fn event((at, value): (usize, &Json)) -> anyhow::Result<Arc<Event>> {
    let field = |key: &str| value.get(key).cloned().unwrap_or_default();
    let kind = field("type");
    Ok(Arc::new(Event {
        seq: Seq::at(at),
        time_ms: value.get("time").and_then(Json::as_u64).unwrap_or_default(),
        data: EventData::read(kind.as_str().unwrap_or_default(), field("data")),
        placement: placement(value)?.map(Box::new),
    }))
}

fn placement(value: &Json) -> anyhow::Result<Option<Placement>> {
    let Some(op) = value.get("surfaceOp") else {
        return Ok(None);
    };
    let number = |key: &str| op.get(key).and_then(Json::as_u64).map(Seq::new);
    let op = match (number("start"), number("end")) {
        (Some(start), Some(end)) => SurfaceOp::Replace { start, end },
        _ => SurfaceOp::Append,
    };
    let sources = value
        .get("sourceEventSeqs")
        .cloned()
        .map(Vec::<u64>::from_json)
        .transpose()?;
    Ok(Some(Placement {
        op,
        sources: sources.map(|sources| sources.into_iter().map(Seq::new).collect()),
    }))
}
