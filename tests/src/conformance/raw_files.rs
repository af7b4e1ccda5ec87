//! Are the files the reference left on disk read, and written again byte for byte? (part 11)

use std::collections::BTreeMap;

use anyhow::Context;
use hames_store::{Backend, Compression, Database, Folder, Form, Memory};
use hames_types::id::SessionId;
use hames_types::json::{Json, JsonMap, to_json};
use serde_json::json;
use tempfile::TempDir;

use super::case::Case;
use super::outcome::Outcome;

/// The rows of a SQLite database: every session of it is stored here and read back as it was.
///
/// # Errors
/// If the rows aren't those of a database of sessions, or a store fails.
pub fn rows(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let mut logs = BTreeMap::new();
    for row in case.list("sessions")? {
        let mut header = JsonMap::new();
        header.insert("type".into(), json!("session"));
        header.insert("version".into(), row["version"].clone());
        header.insert("id".into(), row["id"].clone());
        for (column, field) in [
            ("created_at", "createdAt"),
            ("cwd", "cwd"),
            ("parent_session", "parentSession"),
            ("seed_length", "seedLength"),
        ] {
            if !row[column].is_null() {
                header.insert(field.into(), row[column].clone());
            }
        }
        let depth = row["delegation_depth"].as_u64().unwrap_or(0);
        header.insert("delegationDepth".into(), json!(depth));
        let id = row["id"].as_str().context("a session without an id")?;
        logs.insert(id, vec![Json::Object(header)]);
    }
    for row in case.list("events")? {
        let id = row["session_id"].as_str().context("an event without a session")?;
        let record = record(row)?;
        logs.get_mut(id).context("an event of no session")?.push(record);
    }
    let mut outcomes = Vec::new();
    for records in logs.values() {
        let log: String = records.iter().map(|record| format!("{record}\n")).collect();
        outcomes.extend(stored_everywhere(&log)?);
    }
    Ok(Outcome::first_of(outcomes))
}

/// The record of an event's row.
fn record(row: &Json) -> anyhow::Result<Json> {
    let text = |column: &str| row[column].as_str();
    let mut record = JsonMap::new();
    record.insert("type".into(), row["type"].clone());
    record.insert("seq".into(), row["seq"].clone());
    record.insert("time".into(), row["time"].clone());
    for (column, field) in [
        ("data", "data"),
        ("source_event_seqs", "sourceEventSeqs"),
        ("surface_op", "surfaceOp"),
    ] {
        if let Some(text) = text(column) {
            record.insert(field.into(), serde_json::from_str(text)?);
        }
    }
    Ok(Json::Object(record))
}

/// One log in JSON lines: every kind of store takes it and gives it back, and a root of such files reads it where it
/// lies.
///
/// # Errors
/// If a store fails.
pub fn lines(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let log = std::fs::read_to_string(case.path)?;
    let mut outcomes = stored_everywhere(&log)?;
    outcomes.push(read_in_place(case, &log)?);
    Ok(Outcome::first_of(outcomes))
}

/// A log goes into every kind of store and comes out again: the events as values, and the bytes.
fn stored_everywhere(log: &str) -> anyhow::Result<Vec<Outcome>> {
    let folder = TempDir::new()?;
    let at = |name: &str| folder.path().join(name);
    Ok(vec![
        stored(&mut Memory::default(), log)?.within(" in memory"),
        stored(&mut Database::open(at("sessions.db"))?, log)?.within(" in SQLite"),
        stored(
            &mut Folder::open(&at("plain"), Compression::Plain, Form::Plain)?,
            log,
        )?
        .within(" in plain lines"),
        stored(
            &mut Folder::open(&at("frames"), Compression::Zstd, Form::Packed)?,
            log,
        )?
        .within(" in frames"),
    ])
}

fn stored<B: Backend>(store: &mut B, log: &str) -> anyhow::Result<Outcome> {
    let header = store.import(log.as_bytes())?;
    let form = form(log);
    let exported = String::from_utf8(store.export(&header.id, form)?)?;
    let events = to_json(&store.load(&header.id)?.events)?;
    Ok(Outcome::first_of([
        Outcome::compare(&json!(log), &json!(exported)).within(", as bytes"),
        Outcome::compare(&Json::Array(events_of(log)?), &events).within(", as events"),
    ]))
}

/// Rows stay rows and lines stay lines.
fn form(log: &str) -> Form {
    if log.contains("-chunks\",\"seq0\"") {
        Form::Packed
    } else {
        Form::Plain
    }
}

/// The events of a log, rows unpacked, as values.
fn events_of(log: &str) -> anyhow::Result<Vec<Json>> {
    let mut events = Vec::new();
    for line in log.lines().skip(1) {
        let record: Json = serde_json::from_str(line)?;
        match hames_store::record::unpack(&record)? {
            Some(row) => events.extend(row.iter().map(to_json).collect::<Result<Vec<_>, _>>()?),
            None => events.push(record),
        }
    }
    Ok(events)
}

/// The file, put where its header says that it belongs, is found there.
fn read_in_place(case: &Case<'_>, log: &str) -> anyhow::Result<Outcome> {
    let root = TempDir::new()?;
    let header: Json = serde_json::from_str(log.lines().next().unwrap_or_default())?;
    let id = SessionId::new(
        header
            .get("id")
            .and_then(Json::as_str)
            .context("a log without an id")?,
    );
    let folder = hames_store::path::folder(root.path(), header.get("cwd").and_then(Json::as_str));
    let file = folder.join(format!("{}.jsonl", hames_store::path::segment(&id)?));
    std::fs::create_dir_all(&folder)?;
    std::fs::copy(case.path, &file)?;
    let mut store = Folder::open(root.path(), Compression::Plain, Form::Plain)?;
    let stored = store.load(&id)?;
    let names =
        [case.path, &file].map(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()));
    let listed: Vec<String> = store
        .list()?
        .into_iter()
        .map(|header| header.id.to_string())
        .collect();
    Ok(Outcome::first_of([
        Outcome::compare(&json!(names[0]), &json!(names[1])).within(", the file's name"),
        Outcome::compare(&json!([id.as_str()]), &json!(listed)).within(", listed"),
        Outcome::compare(&Json::Array(events_of(log)?), &to_json(&stored.events)?).within(", read in place"),
    ]))
}
