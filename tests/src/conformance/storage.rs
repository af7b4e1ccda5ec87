//! Are records repaired, packed, scanned and folded as in the reference? (part 10)

use std::sync::Arc;

use anyhow::Context;
use hames_log::Log;
use hames_log::header::{fold_header, same_header};
use hames_log::repair::closers;
use hames_log::seed::read_event;
use hames_types::event::Event;
use hames_types::json::{FromJson, Json, to_json};
use hames_types::request::RequestHeader;

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

/// The closing events of an interrupted log. Closed with them, the log is whole and owed nothing more.
///
/// # Errors
/// If an event of the case can't be read.
pub fn repair(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let mut events = read_events(case)?;
    let owed = closers(&events);
    let outcome = Outcome::compare(case.field("closers"), &to_json(&owed)?).within(".closers");
    events.extend(owed);
    let again = Outcome::compare(&Json::Array(Vec::new()), &to_json(&closers(&events))?);
    Ok(Outcome::first_of([
        outcome,
        again.within(".closers of the closed log"),
    ]))
}

/// Are two request headers one?
///
/// # Errors
/// If one of them isn't a header.
pub fn header_equality(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let read = |key: &'static str| RequestHeader::from_json(case.field(key).clone()).context(key);
    let (a, b) = (read("a")?, read("b")?);
    Ok(Outcome::first_of([
        Outcome::compare(case.field("equal"), &Json::Bool(same_header(&a, &b))).within(".equal"),
        Outcome::compare(case.field("equal"), &Json::Bool(same_header(&b, &a))).within(".equal, swapped"),
        Outcome::compare(case.field("canonicalA"), &to_json(&a.canonical())?).within(".canonicalA"),
    ]))
}

/// The request header a log ends with, from scratch and as it grew.
///
/// # Errors
/// If an event of the case can't be read or a log refuses it.
pub fn header_fold(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let events = read_events(case)?;
    let folded = fold_header(&events).map_err(|(_, fault)| fault)?;
    let log = Log::from_events(events)?;
    let grown = log.header().map_err(|(_, fault)| fault.clone())?;
    Ok(Outcome::first_of([
        Outcome::compare(case.field("header"), &to_json(&folded)?).within(".header"),
        Outcome::compare(case.field("header"), &to_json(&grown)?).within(".header, grown"),
    ]))
}

fn read_events(case: &Case<'_>) -> anyhow::Result<Vec<Arc<Event>>> {
    let read = |(at, record): (usize, &Json)| {
        read_event(record.clone())
            .map(Arc::new)
            .with_context(|| format!("event {at} of the case"))
    };
    case.list("events")?.iter().enumerate().map(read).collect()
}
