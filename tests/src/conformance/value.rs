//! What does a recorded value stand for? Decodes the markers for what JSON text can't say.

use std::iter::successors;

use hames_types::json::{Json, JsonMap, MAX_JSON_DEPTH};

/// Deepest nesting built for `{"$deep": n}`.
///
/// Everything past [`MAX_JSON_DEPTH`] is refused for the same reason, so nothing is learnt from building more, and
/// dropping a value recurses as deep as it is.
const DEEPEST_BUILT: usize = MAX_JSON_DEPTH * 8;

/// Decodes every marker in a value.
///
/// * `{"$num": "-0"}` is the number with that text; `NaN` and the infinities have none, so they become a number text
///   that no float holds, which a lossless log must refuse as it refuses them.
/// * `{"$entries": [[k, v]…]}` is an object with exactly these keys.
/// * `{"$deep": n}` is 1 wrapped in `n` arrays.
#[must_use]
pub fn decode(value: &Json) -> Json {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => value.clone(),
        Json::Array(items) => Json::Array(items.iter().map(decode).collect()),
        Json::Object(fields) => marker(fields).unwrap_or_else(|| {
            Json::Object(
                fields
                    .iter()
                    .map(|(key, value)| (key.clone(), decode(value)))
                    .collect(),
            )
        }),
    }
}

fn marker(fields: &JsonMap) -> Option<Json> {
    let mut entries = fields.iter();
    let (Some((key, value)), None) = (entries.next(), entries.next()) else {
        return None;
    };
    match key.as_str() {
        "$num" => number(value.as_str()?),
        "$entries" => object(value.as_array()?),
        "$deep" => deep(value.as_u64()?),
        _ => None,
    }
}

fn number(text: &str) -> Option<Json> {
    let text = match text {
        "NaN" | "Infinity" => "1e999",
        "-Infinity" => "-1e999",
        other => other,
    };
    serde_json::from_str(text).ok().map(Json::Number)
}

fn object(entries: &[Json]) -> Option<Json> {
    entries
        .iter()
        .map(|entry| match entry.as_array()?.as_slice() {
            [Json::String(key), value] => Some((key.clone(), decode(value))),
            _ => None,
        })
        .collect::<Option<JsonMap>>()
        .map(Json::Object)
}

fn deep(levels: u64) -> Option<Json> {
    let levels = usize::try_from(levels).ok()?.min(DEEPEST_BUILT);
    successors(Some(Json::from(1)), |inner| {
        Some(Json::Array(vec![inner.clone()]))
    })
    .nth(levels)
}
