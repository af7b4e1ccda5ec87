//! Are tool arguments and output schemas checked as in the reference? (part 12)

use super::case::Case;
use super::outcome::Outcome;

/// A typed parameter map becomes a schema.
///
/// # Errors
/// None: it waits.
pub fn conversion(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the tool registry"))
}

/// Arguments against a typed parameter map.
///
/// # Errors
/// None: it waits.
pub fn validation(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the tool registry"))
}

/// Is an output schema supported?
///
/// # Errors
/// None: it waits.
pub fn subset(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the tool registry"))
}

/// A value against an output schema.
///
/// # Errors
/// None: it waits.
pub fn structured(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the tool registry"))
}
