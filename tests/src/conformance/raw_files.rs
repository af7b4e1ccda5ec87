//! Are the files the reference left on disk read, and written again byte for byte? (part 11)

use super::case::Case;
use super::outcome::Outcome;

/// The rows of a SQLite database.
///
/// # Errors
/// None: it waits.
pub fn rows(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the durable store"))
}

/// One log in JSON lines.
///
/// # Errors
/// None: it waits.
pub fn lines(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the durable store"))
}
