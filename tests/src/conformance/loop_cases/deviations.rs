//! Which scenarios differ on purpose: recognised by what the script uses, and only if hames did what it decided to.

use std::collections::{BTreeMap, BTreeSet};

use hames_types::chunk::StreamChunk;
use hames_types::json::{FromJson, Json};

use super::super::case::Case;
use super::super::rules::{REFERENCE_DEFECT, Rule, TWIN_CALLS, TYPED_CHUNKS};
use super::world::list;

/// The rule a scenario falls under.
pub(super) fn of(case: &Case<'_>, shown: &Json) -> Option<&'static Rule> {
    let script = case.field("script");
    let marked = case
        .list("tags")
        .is_ok_and(|tags| tags.iter().any(|tag| tag == "reference-defect"));
    if marked && goes_on_after_repair(shown) {
        return Some(&REFERENCE_DEFECT);
    }
    if responses(script).any(calls_twins) && ended_with(shown, "MALFORMED_RESPONSE") {
        return Some(&TWIN_CALLS);
    }
    responses(script)
        .flatten()
        .any(is_untyped_chunk)
        .then_some(&TYPED_CHUNKS)
}

/// What the script's adapters are to emit, response by response.
fn responses(script: &Json) -> impl Iterator<Item = &[Json]> {
    let own = list(script, "responses").iter();
    let of_adapters = list(script, "adapters")
        .iter()
        .flat_map(|adapter| list(adapter, "responses"));
    own.chain(of_adapters).map(|response| {
        response
            .as_array()
            .map_or_else(|| list(response, "items"), Vec::as_slice)
    })
}

/// two blocks are calls of one id.
fn calls_twins(items: &[Json]) -> bool {
    let mut ids: BTreeMap<u64, &str> = BTreeMap::new();
    for item in items {
        let index = item.get("index").and_then(Json::as_u64);
        let block = item
            .get("block")
            .filter(|block| block.get("type") == Some(&"tool-call".into()));
        let id = block
            .or(Some(item))
            .and_then(|call| call.get("id"))
            .and_then(Json::as_str);
        if let (Some(index), Some(id)) = (index, id) {
            ids.insert(index, id);
        }
    }
    ids.values().collect::<BTreeSet<_>>().len() < ids.len()
}

/// A number outside JSON stands where a chunk has a typed field.
fn is_untyped_chunk(item: &Json) -> bool {
    item.get("type").is_some() && StreamChunk::from_json(item.clone()).is_err()
}

/// Whether a call of unknown outcome was closed and a later turn ran to its end, with nothing refused.
fn goes_on_after_repair(shown: &Json) -> bool {
    let unknown = list(shown, "events").iter().position(|event| {
        event.pointer("/data/error/code").and_then(Json::as_str) == Some("TOOL_OUTCOME_UNKNOWN")
    });
    let completed =
        |event: &Json| event.pointer("/data/reason/kind").and_then(Json::as_str) == Some("completed");
    let went_on = unknown.is_some_and(|at| list(shown, "events").iter().skip(at).any(completed));
    went_on && list(shown, "opErrors").is_empty()
}

/// Whether some turn ended with a model failure of that code.
fn ended_with(shown: &Json, code: &str) -> bool {
    list(shown, "events").iter().any(|event| {
        let failure = event.pointer("/data/reason/failure/code");
        failure.and_then(Json::as_str) == Some(code)
    })
}
