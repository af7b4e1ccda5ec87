//! Where do two JSON values first differ?
//!
//! Object key order is free, array order isn't. A number is its value, not its text. The recorded text `<wording>`
//! matches any non-empty text.

use hames_types::json::Json;
use serde_json::Number;

use super::outcome::Difference;

/// What the data writes where the text is free.
pub const WORDING: &str = "<wording>";

/// Longest piece of a value shown in a difference, in characters.
const SHOWN: usize = 200;

/// The first difference, in the order of the expected value.
#[must_use]
pub fn first(expected: &Json, got: &Json) -> Option<Difference> {
    walk("", expected, got)
}

fn walk(path: &str, expected: &Json, got: &Json) -> Option<Difference> {
    match (expected, got) {
        (Json::String(wanted), Json::String(text)) if wanted == WORDING => {
            (text.is_empty()).then(|| differ(path, "a non-empty text", "an empty one"))
        }
        (Json::Number(wanted), Json::Number(number)) if same_number(wanted, number) => None,
        (Json::Array(wanted), Json::Array(items)) => wanted
            .iter()
            .zip(items)
            .enumerate()
            .find_map(|(at, (wanted, item))| walk(&format!("{path}[{at}]"), wanted, item))
            .or_else(|| different_length(path, wanted, items)),
        (Json::Object(wanted), Json::Object(fields)) => wanted
            .iter()
            .find_map(|(key, value)| {
                let place = format!("{path}.{key}");
                match fields.get(key) {
                    Some(got) => walk(&place, value, got),
                    None => Some(differ(&place, &show(value), "nothing")),
                }
            })
            .or_else(|| {
                let (key, value) = fields.iter().find(|(key, _)| !wanted.contains_key(*key))?;
                Some(differ(&format!("{path}.{key}"), "nothing", &show(value)))
            }),
        _ => (expected != got).then(|| differ(path, &show(expected), &show(got))),
    }
}

fn different_length(path: &str, wanted: &[Json], items: &[Json]) -> Option<Difference> {
    let at = wanted.len().min(items.len());
    let side = |list: &[Json]| {
        list.get(at)
            .map_or_else(|| "the end of the list".to_owned(), show)
    };
    (wanted.len() != items.len()).then(|| differ(&format!("{path}[{at}]"), &side(wanted), &side(items)))
}

/// Whether two numbers are one value: integers exactly, anything else as 64-bit floats.
fn same_number(a: &Number, b: &Number) -> bool {
    if a.as_str() == b.as_str() {
        return true;
    }
    if a.as_str().starts_with('-') != b.as_str().starts_with('-') {
        return false;
    }
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a == b,
        _ => a
            .as_f64()
            .zip(b.as_f64())
            .is_some_and(|(a, b)| a.is_finite() && a == b),
    }
}

fn differ(path: &str, expected: &str, got: &str) -> Difference {
    Difference {
        path: path.to_owned(),
        expected: expected.to_owned(),
        got: got.to_owned(),
    }
}

fn show(value: &Json) -> String {
    let text = value.to_string();
    if text.chars().count() <= SHOWN {
        return text;
    }
    text.chars().take(SHOWN).chain("…".chars()).collect()
}
