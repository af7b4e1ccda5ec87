//! Are records repaired, packed, scanned and folded as in the reference? (part 10)

use super::case::Case;
use super::outcome::Outcome;

/// Events into packed rows and back.
///
/// # Errors
/// None: it waits.
pub fn packing(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the durable store"))
}

/// One packed row.
///
/// # Errors
/// None: it waits.
pub fn decoding(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the durable store"))
}

/// The raw text of a log file.
///
/// # Errors
/// None: it waits.
pub fn scanning(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the durable store"))
}

/// An id as a file name.
///
/// # Errors
/// None: it waits.
pub fn segments(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the durable store"))
}

/// A folder's bucket.
///
/// # Errors
/// None: it waits.
pub fn dirs(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the durable store"))
}

/// The closing events of an interrupted log.
///
/// # Errors
/// None: it waits.
pub fn repair(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the durable store"))
}

/// Are two request headers one?
///
/// # Errors
/// None: it waits.
pub fn header_equality(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the durable store"))
}

/// The request header a log ends with.
///
/// # Errors
/// None: it waits.
pub fn header_fold(_: &Case<'_>) -> anyhow::Result<Outcome> {
    Ok(Outcome::Waiting("the durable store"))
}
