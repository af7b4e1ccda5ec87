//! What does the data ask of a bare log after every append and seed?

use anyhow::Context;
use hames_log::error::AppendError;
use hames_log::{Draft, Log};
use hames_types::json::{Json, to_json};
use serde_json::json;

/// An event of the data as a draft: kind, payload and whichever of the two metadata fields are there.
///
/// # Errors
/// The outer one if the data names no kind, the inner one if the draft is refused.
pub fn draft(event: &Json) -> anyhow::Result<Result<Draft, AppendError>> {
    let kind = event
        .get("type")
        .and_then(Json::as_str)
        .context("an event of the case has no `type`")?;
    let data = event.get("data").cloned().unwrap_or(Json::Null);
    let field = |name: &str| event.get(name).cloned();
    Ok(Draft::read(
        kind,
        data,
        field("surfaceOp"),
        field("sourceEventSeqs"),
    ))
}

/// Surface, replacements and history of a log, in the words of the data.
///
/// # Errors
/// If the surface doesn't encode.
pub fn view(log: &mut Log) -> anyhow::Result<Json> {
    let mut view = json!({
        "surface": to_json(log.surface().nodes())?,
        "replaceGeneration": log.surface().replace_generation(),
    });
    let (key, value) = match log.derive() {
        Ok(history) => ("derivedCount", Json::from(history.len())),
        Err(_) => ("derivedFails", Json::Bool(true)),
    };
    if let Some(fields) = view.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
    Ok(view)
}

/// The fields of a case that speak of a log, as far as the case has them.
#[must_use]
pub fn expected(case: &Json, keys: &[&str]) -> Json {
    keys.iter()
        .filter_map(|key| case.get(*key).map(|value| ((*key).to_owned(), value.clone())))
        .collect()
}
