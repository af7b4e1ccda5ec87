//! Does a session accept and refuse the headers the reference did? (part 8, `header`)

use hames_types::header::SessionHeader;
use hames_types::id::SessionId;
use hames_types::json::to_json;
use serde_json::json;

use super::case::Case;
use super::outcome::Outcome;

/// One header for one session; an accepted one is written again as it came.
///
/// # Errors
/// If the case isn't of the format.
pub fn run(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let (id, expect) = (SessionId::new(case.text("id")?), case.field("expect"));
    match SessionHeader::read_for(&id, case.field("header").clone()) {
        Ok(header) => Ok(Outcome::first_of([
            Outcome::compare(expect, &json!("accept")).within(".expect"),
            Outcome::compare(case.field("header"), &to_json(&header)?).within(".header"),
        ])),
        Err(_) => Ok(Outcome::compare(expect, &json!("error")).within(".expect")),
    }
}
