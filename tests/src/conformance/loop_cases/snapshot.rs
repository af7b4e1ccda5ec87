//! What a scenario left behind, in the words of the data, and its comparison.

use std::sync::Arc;

use hames_log::Session;
use hames_types::json::{Json, JsonMap, to_json};
use serde_json::json;

use super::super::case::Case;
use super::super::diff;
use super::super::outcome::{Difference, Outcome};
use super::world::World;

/// Everything the data records of a scenario.
pub(super) fn take(world: &World) -> anyhow::Result<Json> {
    let (mut main, mut others) = (None, JsonMap::new());
    let sessions = world.record(|record| record.sessions.clone());
    for (id, session) in &sessions {
        let view = view(session)?;
        if id.as_str() == world.main {
            main = Some(view);
        } else {
            others.insert(id.to_string(), view);
        }
    }
    let nothing = || json!({ "events": [], "derived": [], "header": null, "surface": { "nodes": [], "replaceGeneration": 0 } });
    let mut shown = main.unwrap_or_else(nothing);
    let (requests, live, errors, unused) = world.record(|record| {
        let unused: usize = record.responses.iter().map(std::collections::VecDeque::len).sum();
        (
            record.requests.clone(),
            record.live.clone(),
            record.op_errors.clone(),
            unused,
        )
    });
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("requests".to_owned(), json!(requests));
        fields.insert("live".to_owned(), json!(live));
        fields.insert("opErrors".to_owned(), json!(errors));
        fields.insert("otherSessions".to_owned(), Json::Object(others));
        fields.insert("unusedResponses".to_owned(), json!(unused));
    }
    Ok(shown)
}

/// Every session that was live, by its id.
pub(super) fn sessions_of(world: &World) -> Vec<(String, Arc<Session>)> {
    let sessions = world.record(|record| record.sessions.clone());
    sessions
        .into_iter()
        .map(|(id, session)| (id.to_string(), session))
        .collect()
}

fn view(session: &Arc<Session>) -> anyhow::Result<Json> {
    let derived = match session.derive() {
        Ok(history) => to_json(&history)?,
        Err(error) => json!({ "fails": error.to_string() }),
    };
    let surface = session.read(|log| {
        json!({
            "nodes": log.surface().nodes().iter().map(|seq| seq.get()).collect::<Vec<_>>(),
            "replaceGeneration": log.surface().replace_generation(),
        })
    });
    Ok(json!({
        "events": to_json(&session.all_events())?,
        "derived": derived,
        "header": to_json(session.header())?,
        "surface": surface,
    }))
}

/// Compares part by part, so that the first difference is found where it is easiest to understand.
pub(super) fn compare(case: &Case<'_>, shown: &Json) -> Outcome {
    let got = |key: &str| shown.get(key).unwrap_or(&Json::Null);
    for key in ["events", "requests", "derived", "surface", "unusedResponses"] {
        let found = diff::first(case.field(key), got(key));
        if let Some(difference) = found {
            return Outcome::Failed(within(key, difference));
        }
    }
    let header = (
        without_zero_depth(case.field("header")),
        without_zero_depth(got("header")),
    );
    if let Some(difference) = diff::first(&header.0, &header.1) {
        return Outcome::Failed(within("header", difference));
    }
    let others = case
        .optional("otherSessions")
        .cloned()
        .unwrap_or_else(|| json!({}));
    if let Some(difference) = diff::first(&sessions(&others), &sessions(got("otherSessions"))) {
        return Outcome::Failed(within("otherSessions", difference));
    }
    let (wanted, errors) = op_errors(case.field("opErrors"), got("opErrors"));
    if let Some(difference) = diff::first(&wanted, &errors) {
        return Outcome::Failed(within("opErrors", difference));
    }
    let live = (
        without_teardown(case, case.field("live")),
        without_teardown(case, got("live")),
    );
    match diff::first(&live.0, &live.1) {
        Some(difference) => Outcome::Failed(within("live", difference)),
        None => Outcome::Passed,
    }
}

/// What the teardown of a restart or a crash itself tells is no part of the comparison (part 14 of the format).
fn without_teardown(case: &Case<'_>, live: &Json) -> Json {
    let actions = case.field("script").get("actions").and_then(Json::as_array);
    let torn_down = actions
        .into_iter()
        .flatten()
        .any(|action| matches!(action.get("op").and_then(Json::as_str), Some("restart" | "crash")));
    let is_teardown = |entry: &&Json| {
        let text = |key: &str| entry.get(key).and_then(Json::as_str).unwrap_or_default();
        matches!(text("kind"), "agent-disposed" | "session-disposed") || text("status") == "disposed"
    };
    let entries = live.as_array().into_iter().flatten();
    entries
        .filter(|entry| !(torn_down && is_teardown(entry)))
        .cloned()
        .collect()
}

fn within(key: &str, difference: Difference) -> Difference {
    Difference {
        path: format!(".{key}{}", difference.path),
        ..difference
    }
}

/// A depth of zero and none at all are the same (part 14 of the format).
fn without_zero_depth(header: &Json) -> Json {
    let mut header = header.clone();
    if let Some(fields) = header.as_object_mut()
        && fields.get("delegationDepth").and_then(Json::as_u64) == Some(0)
    {
        fields.shift_remove("delegationDepth");
    }
    header
}

/// The four views of every further session.
fn sessions(others: &Json) -> Json {
    let mut kept = JsonMap::new();
    for (id, view) in others.as_object().into_iter().flatten() {
        let mut fields = JsonMap::new();
        for key in ["events", "derived", "surface"] {
            fields.insert(key.to_owned(), view.get(key).cloned().unwrap_or(Json::Null));
        }
        let header = view.get("header").map_or(Json::Null, without_zero_depth);
        fields.insert("header".to_owned(), header);
        kept.insert(id.clone(), Json::Object(fields));
    }
    Json::Object(kept)
}

/// Op and, where the data has one, code.
fn op_errors(wanted: &Json, got: &Json) -> (Json, Json) {
    let empty = Vec::new();
    let (wanted, got) = (
        wanted.as_array().unwrap_or(&empty),
        got.as_array().unwrap_or(&empty),
    );
    let pick = |error: &Json, code: bool| match error.get("code") {
        Some(value) if code => json!({ "op": error.get("op"), "code": value }),
        _ => json!({ "op": error.get("op") }),
    };
    let coded = |at: usize| wanted.get(at).is_some_and(|error| error.get("code").is_some());
    let shown = got
        .iter()
        .enumerate()
        .map(|(at, error)| pick(error, coded(at)))
        .collect();
    (wanted.iter().map(|error| pick(error, true)).collect(), shown)
}
