//! Does a log accept and refuse the seeds the reference did? (part 8, `seed`)

use hames_log::Log;
use hames_types::json::Json;
use serde_json::json;

use super::case::Case;
use super::log_view::{expected, view};
use super::outcome::Outcome;

/// What a case says of an accepted seed.
const AFTER: &[&str] = &["surface", "replaceGeneration", "derivedCount", "derivedFails"];

/// One construction from a seed.
///
/// # Errors
/// If the case isn't of the format.
pub fn run(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let expect = case.field("expect");
    // A seed that isn't even a list can't be said in our types; the reference refuses it.
    let Some(records) = case.field("seed").as_array() else {
        return Ok(Outcome::compare(expect, &json!("error")).within(".expect"));
    };
    let Ok(mut log) = Log::from_records(records.clone()) else {
        return Ok(Outcome::compare(expect, &json!("error")).within(".expect"));
    };
    Ok(Outcome::first_of([
        Outcome::compare(expect, &json!("accept")).within(".expect"),
        Outcome::compare(case.field("length"), &Json::from(log.len())).within(".length"),
        Outcome::compare(&expected(&case.value, AFTER), &view(&mut log)?),
    ]))
}
