//! How much disk do sessions take? `cargo bench -p hames-store --bench sizes`.
//!
//! Beside each kind of store stands what the same session takes in the plain way: a row or a line per event, one
//! transaction or frame per turn.

#![expect(clippy::expect_used, reason = "a benchmark that can't run stops")]
#![expect(clippy::print_stdout, reason = "figures are printed")]

use std::path::Path;
use std::sync::Arc;

use hames_store::{Backend, Batch, Compression, Database, Folder, Form};
use hames_types::event::Event;
use hames_types::header::SessionHeader;
use hames_types::id::{Seq, SessionId};
use tempfile::TempDir;

#[path = "made/sessions.rs"]
mod sessions;

fn header() -> SessionHeader {
    SessionHeader::new(SessionId::new("s"), 1_700_000_000_000)
}

/// Where a live turn is made durable: before a request leaves, before a body runs, after a step, at the end.
fn checkpoints(events: &[Arc<Event>]) -> Vec<usize> {
    let ends = events.iter().enumerate().filter(|(_, event)| {
        matches!(
            event.kind(),
            "step/start" | "tool/call" | "tool/result" | "turn/end"
        )
    });
    ends.map(|(at, _)| at + 1).collect()
}

fn live<B: Backend>(store: &mut B, events: &[Arc<Event>], ends: &[usize]) {
    let header = header();
    let epoch = store.create(&header).expect("the id is free");
    let mut at = 0;
    for end in ends {
        let events = events.get(at..*end).expect("checkpoints lie inside");
        let batch = Batch::check(&header, epoch, Seq::at(at), events).expect("in order");
        store.append(&batch.expect("not empty")).expect("stored");
        at = *end;
    }
}

fn imported<B: Backend>(store: &mut B, log: &[u8]) {
    store.import(log).expect("imported");
}

fn bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                bytes(&path)
            } else {
                path.metadata().expect("a file").len()
            }
        })
        .sum()
}

/// What an open store takes once it is closed.
fn size<B>(open: impl Fn(&Path) -> B, fill: impl Fn(&mut B)) -> u64 {
    let folder = TempDir::new().expect("a folder");
    let mut store = open(folder.path());
    fill(&mut store);
    drop(store);
    bytes(folder.path())
}

/// A row per event in plain text.
fn plain_rows(folder: &Path, events: &[Arc<Event>]) {
    let mut connection = rusqlite::Connection::open(folder.join("plain.db")).expect("a database");
    connection
        .execute_batch(
            "CREATE TABLE events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL,
               time INTEGER NOT NULL, data TEXT NOT NULL, source_event_seqs TEXT, surface_op TEXT,
               PRIMARY KEY (session_id, seq)) STRICT",
        )
        .expect("a table");
    let transaction = connection.transaction().expect("a transaction");
    for event in events {
        let placement = event.placement.as_deref();
        transaction
            .prepare_cached("INSERT INTO events VALUES ('s', ?1, ?2, ?3, ?4, ?5, ?6)")
            .expect("a statement")
            .execute(rusqlite::params![
                event.seq.get().cast_signed(),
                event.kind(),
                event.time_ms.cast_signed(),
                serde_json::to_string(&event.data).expect("JSON"),
                placement
                    .and_then(|it| it.sources.as_ref())
                    .map(|it| serde_json::to_string(it).expect("JSON")),
                placement.map(|it| serde_json::to_string(&it.op).expect("JSON")),
            ])
            .expect("a row");
    }
    transaction.commit().expect("committed");
}

fn report(name: &str, events: &[Arc<Event>]) {
    let ends = checkpoints(events);
    let turns: Vec<usize> = events
        .iter()
        .enumerate()
        .filter(|(_, event)| event.kind() == "turn/end")
        .map(|(at, _)| at + 1)
        .collect();
    let sqlite = |folder: &Path| Database::open(folder.join("sessions.db")).expect("a database");
    let jsonl =
        |compression, form| move |folder: &Path| Folder::open(folder, compression, form).expect("a folder");
    let log = {
        let folder = TempDir::new().expect("a folder");
        let mut store = sqlite(folder.path());
        live(&mut store, events, &[events.len()]);
        store.export(&SessionId::new("s"), Form::Plain).expect("exported")
    };
    let plain = TempDir::new().expect("a folder");
    plain_rows(plain.path(), events);
    println!(
        "{name}: {} events, {} turns, {} checkpoints",
        events.len(),
        turns.len(),
        ends.len()
    );
    let frames = jsonl(Compression::Zstd, Form::Packed);
    let rows = [
        (
            "SQLite, live with checkpoints",
            size(sqlite, |store| live(store, events, &ends)),
        ),
        ("SQLite, imported", size(sqlite, |store| imported(store, &log))),
        ("SQLite, a plain row per event", bytes(plain.path())),
        (
            "frames, live with checkpoints",
            size(frames, |store| live(store, events, &ends)),
        ),
        ("frames, imported", size(frames, |store| imported(store, &log))),
        (
            "frames, a plain line per event, a frame per turn",
            size(jsonl(Compression::Zstd, Form::Plain), |store| {
                live(store, events, &turns);
            }),
        ),
        (
            "lines",
            size(jsonl(Compression::Plain, Form::Plain), |store| {
                live(store, events, &turns);
            }),
        ),
    ];
    for (what, bytes) in rows {
        println!("  {what}: {bytes} bytes");
    }
}

fn main() {
    report("equal deltas", &sessions::chunky(2_000));
    report("varied text and tools", &sessions::realistic(250));
}
