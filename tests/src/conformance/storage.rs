//! Are records repaired, packed, scanned and folded as in the reference? (part 10)

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use hames_log::Log;
use hames_log::header::{fold_header, same_header};
use hames_log::repair::closers;
use hames_log::seed::read_event;
use hames_store::{path, record, scan};
use hames_types::event::Event;
use hames_types::id::SessionId;
use hames_types::json::{FromJson, Json, to_json};
use hames_types::request::RequestHeader;
use serde_json::json;

use super::case::Case;
use super::outcome::Outcome;

/// Events into packed rows and back.
///
/// # Errors
/// If an event of the case can't be read.
pub fn packing(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let events = read_events(case)?;
    let records = record::pack(&events);
    let mut back = Vec::new();
    for record in &records {
        record::read(&serde_json::to_string(record)?, &mut back)?;
    }
    let (before, after) = (serde_json::to_string(&events)?, serde_json::to_string(&back)?);
    Ok(Outcome::first_of([
        Outcome::compare(case.field("records"), &to_json(&records)?).within(".records"),
        Outcome::compare(case.field("events"), &to_json(&back)?).within(".events of the records"),
        Outcome::compare(&json!(before), &json!(after)).within(".events of the records, as bytes"),
    ]))
}

/// One packed row.
///
/// # Errors
/// If the case isn't of the format.
pub fn decoding(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let record = case.field("record");
    let (verdict, events) = match record::unpack(record) {
        Ok(Some(events)) => ("ok", to_json(&events)?),
        // Whatever is no row passes through.
        Ok(None) => ("ok", json!([record])),
        Err(_) => ("error", Json::Null),
    };
    Ok(Outcome::first_of([
        Outcome::compare(case.field("expect"), &json!(verdict)).within(".expect"),
        Outcome::compare(case.field("events"), &events).within(".events"),
    ]))
}

/// The raw text of a log file.
///
/// # Errors
/// If the case isn't of the format.
pub fn scanning(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let expect = case.field("expect");
    let Ok(scanned) = scan::log(case.text("text")?.as_bytes()) else {
        return Ok(Outcome::compare(expect, &json!("error")).within(".expect"));
    };
    Ok(Outcome::first_of([
        Outcome::compare(expect, &json!("ok")).within(".expect"),
        Outcome::compare(case.field("meta"), &Json::Object(scanned.meta)).within(".meta"),
        Outcome::compare(case.field("events"), &to_json(&scanned.events)?).within(".events"),
        Outcome::compare(case.field("committedBytes"), &json!(scanned.committed_bytes))
            .within(".committedBytes"),
    ]))
}

/// An id as a file name.
///
/// # Errors
/// If the id has none.
pub fn segments(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let encoded = path::segment(&SessionId::new(case.text("raw")?))?;
    Ok(Outcome::compare(case.field("encoded"), &json!(encoded)))
}

/// A folder's bucket.
///
/// # Errors
/// If the case isn't of the format.
pub fn dirs(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let folder = path::folder(Path::new("/base"), case.field("cwd").as_str());
    Ok(Outcome::compare(case.field("dir"), &json!(folder)))
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
