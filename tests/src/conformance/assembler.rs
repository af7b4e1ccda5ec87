//! Are chunks assembled into the message that the reference made of them? (part 9)

use super::case::Case;
use super::outcome::Outcome;

/// One stream.
///
/// # Errors
/// None: it waits.
pub fn run(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the block assembler"))
}
