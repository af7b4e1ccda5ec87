//! Does a session accept and refuse the headers the reference did? (part 8, `header`)

use super::case::Case;
use super::outcome::Outcome;

/// One construction with a header.
///
/// # Errors
/// None: it waits.
pub fn run(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the session log"))
}
