//! Does a session accept and refuse the seeds the reference did? (part 8, `seed`)

use super::case::Case;
use super::outcome::Outcome;

/// One construction from a seed.
///
/// # Errors
/// None: it waits.
pub fn run(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the session log"))
}
