//! Does the log accept and refuse what the reference did? (part 8, `append`)

use anyhow::{Context, bail};
use hames_log::Log;
use hames_types::json::{Json, to_json};
use serde_json::json;

use super::case::Case;
use super::log_view::{draft, expected, view};
use super::outcome::Outcome;

/// What a case says of the log after the candidate, whether it was accepted or not.
const AFTER: &[&str] = &["surface", "replaceGeneration", "derivedCount", "derivedFails"];

/// A log with a case's prelude, all of which must be accepted.
///
/// # Errors
/// If an event of the prelude is refused.
pub fn prelude(case: &Case<'_>) -> anyhow::Result<Log> {
    let mut log = Log::new();
    for (at, event) in case.list("prelude")?.iter().enumerate() {
        let draft = draft(event)?.with_context(|| format!("event {at} of the prelude"))?;
        log.append(draft, 0)
            .with_context(|| format!("event {at} of the prelude"))?;
    }
    Ok(log)
}

/// One append after a prelude.
///
/// # Errors
/// If the prelude is refused or the case isn't of the format.
pub fn run(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let mut log = prelude(case)?;
    let before = to_json(log.events())?;
    let result = draft(case.field("candidate"))?.and_then(|draft| log.append(draft, 0));
    let (said, seq) = match &result {
        Ok(event) => ("accept", Json::from(event.seq.get())),
        Err(_) => ("error", Json::Null),
    };
    let unchanged = match &result {
        Ok(_) => Outcome::Passed,
        Err(_) => Outcome::compare(&before, &to_json(log.events())?).within(".events"),
    };
    let verdict = Outcome::compare(case.field("expect"), &json!(said)).within(".expect");
    let mut outcomes = vec![verdict, unchanged];
    outcomes.push(match case.text("expect")? {
        "accept" => Outcome::compare(case.field("seq"), &seq).within(".seq"),
        "error" => Outcome::Passed,
        other => bail!("`expect` is `{other}`, not `accept` or `error`"),
    });
    outcomes.push(Outcome::compare(&expected(&case.value, AFTER), &view(&mut log)?));
    Ok(Outcome::first_of(outcomes))
}
