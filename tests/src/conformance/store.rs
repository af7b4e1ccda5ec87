//! Do sessions come, go and fork as in the reference? (part 8, `store`)

use super::case::Case;
use super::outcome::Outcome;

/// A list of operations on an empty store of live sessions.
///
/// # Errors
/// None: it waits.
pub fn run(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("live sessions"))
}
