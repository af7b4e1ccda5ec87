//! Does the wire adapter say and hear what the reference's did? (part 15)

use super::case::Case;
use super::outcome::Outcome;

/// A request on the wire.
///
/// # Errors
/// None: it waits.
pub fn encode(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the wire adapter"))
}

/// A response off the wire.
///
/// # Errors
/// None: it waits.
pub fn decode(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the wire adapter"))
}

/// A retry policy under a loop.
///
/// # Errors
/// None: it waits.
pub fn retry(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the wire adapter"))
}

/// A retry policy's configuration.
///
/// # Errors
/// None: it waits.
pub fn retry_config(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the wire adapter"))
}

/// A token meter over a log.
///
/// # Errors
/// None: it waits.
pub fn meter(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the wire adapter"))
}

/// The price of one message.
///
/// # Errors
/// None: it waits.
pub fn meter_messages(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the wire adapter"))
}
