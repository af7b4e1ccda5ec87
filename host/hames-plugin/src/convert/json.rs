//! How does JSON cross? As text: parsed with bounds, checked to be lossless, and written back as it is.

use hames_types::json::{Extra, Fields, Json, JsonMap, check_lossless};
use serde::Serialize;

use super::{Admit, Refused};

/// A value as text. Everything of the vocabulary has one.
pub(crate) fn text<T: Serialize + ?Sized>(value: &T) -> wasmtime::Result<String> {
    Ok(serde_json::to_string(value)?)
}

/// Unknown fields as a JSON object, if there are any.
pub(crate) fn extra(extra: &Extra) -> wasmtime::Result<Option<String>> {
    if extra.is_empty() {
        return Ok(None);
    }
    let map: JsonMap = extra
        .iter()
        .map(|(key, value)| (key.to_owned(), value.clone()))
        .collect();
    text(&map).map(Some)
}

/// A guest's JSON.
pub(crate) fn parse(admit: &mut Admit<'_>, text: &str) -> Result<Json, Refused> {
    admit.charge(text.len())?;
    let value: Json =
        serde_json::from_str(text).map_err(|fault| Refused::at("", format!("is not JSON: {fault}")))?;
    check_lossless(&value, "").map_err(|fault| Refused::at("", fault.to_string()))?;
    Ok(value)
}

/// A guest's JSON object.
pub(crate) fn object(admit: &mut Admit<'_>, text: &str) -> Result<JsonMap, Refused> {
    match parse(admit, text)? {
        Json::Object(map) => Ok(map),
        other @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_)) => {
            Err(Refused::at(
                "",
                format!("must be an object, found {}", hames_types::json::describe(&other)),
            ))
        }
    }
}

/// A record of the vocabulary, out of its known fields and the guest's `extra`.
///
/// The fields stand in front; `extra` can't replace one.
pub(crate) fn record<T: Fields>(
    admit: &mut Admit<'_>,
    known: impl IntoIterator<Item = (&'static str, Option<Json>)>,
    extra: Option<&str>,
) -> Result<T, Refused> {
    let mut map: JsonMap = known
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect();
    if let Some(extra) = extra {
        for (key, value) in object(admit, extra).map_err(|fault| fault.inside("extra"))? {
            if map.contains_key(&key) {
                return Err(Refused::at(
                    "extra",
                    format!("has `{key}`, which is a field of its own"),
                ));
            }
            map.insert(key, value);
        }
    }
    T::from_fields(map).map_err(|fault| Refused::at("", fault.to_string()))
}
