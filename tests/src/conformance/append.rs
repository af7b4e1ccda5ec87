//! Does the log accept and refuse what the reference did? (part 8, `append`)

use super::case::Case;
use super::outcome::Outcome;

/// One append after a prelude.
///
/// # Errors
/// None: it waits.
pub fn run(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the session log"))
}
