//! Does the loop do what the reference's did? (parts 1 to 7)

use super::case::Case;
use super::outcome::Outcome;

/// One scripted scenario, from start to idle.
///
/// # Errors
/// None: it waits.
pub fn run(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the agent loop"))
}
