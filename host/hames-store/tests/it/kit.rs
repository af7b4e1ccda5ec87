//! What the store tests share: stores in temporary folders and sessions to put into them.

use std::sync::Arc;

use anyhow::Result;
use hames_store::{Backend, Compression, Database, Folder, Form, Home, Memory, Threading, record};
use hames_types::event::Event;
use hames_types::header::SessionHeader;
use hames_types::id::{Seq, SessionId};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A backend that a test can open again: what a new process would see.
pub(crate) trait Kind {
    type Backend: Backend;

    /// Opens what lies in `folder`.
    fn open(folder: &TempDir) -> Result<Self::Backend>;
}

/// SQLite.
pub(crate) struct Sqlite;

impl Kind for Sqlite {
    type Backend = Database;

    fn open(folder: &TempDir) -> Result<Database> {
        Ok(Database::open(folder.path().join("sessions.db"))?)
    }
}

/// Readable logs in frames, chunks packed.
pub(crate) struct Frames;

impl Kind for Frames {
    type Backend = Folder;

    fn open(folder: &TempDir) -> Result<Folder> {
        Ok(Folder::open(folder.path(), Compression::Zstd, Form::Packed)?)
    }
}

/// Readable logs as plain text, one event per line.
pub(crate) struct Lines;

impl Kind for Lines {
    type Backend = Folder;

    fn open(folder: &TempDir) -> Result<Folder> {
        Ok(Folder::open(folder.path(), Compression::Plain, Form::Plain)?)
    }
}

/// Memory that lasts as long as its folder object: kept by the test through [`Backend::twin`].
pub(crate) struct InMemory;

impl Kind for InMemory {
    type Backend = Memory;

    fn open(_folder: &TempDir) -> Result<Memory> {
        Ok(Memory::default())
    }
}

pub(crate) fn id(text: &str) -> SessionId {
    SessionId::new(text)
}

/// A header with its depth written out: readable logs always have it, and absent means 0.
pub(crate) fn header(text: &str) -> SessionHeader {
    let mut header = SessionHeader::new(id(text), 1_700_000_000_000);
    header.fields.delegation_depth = Some(0);
    header
}

/// Events from their records.
pub(crate) fn events(records: &[Value]) -> Vec<Arc<Event>> {
    let mut events = Vec::new();
    for record in records {
        record::read(&record.to_string(), &mut events).expect("a record of this test");
    }
    events
}

/// Numbers and times records from `first` on.
pub(crate) fn numbered(first: u64, records: Vec<(&str, Value, Option<Value>)>) -> Vec<Arc<Event>> {
    let records: Vec<Value> = records
        .into_iter()
        .zip(first..)
        .map(|((kind, data, placement), seq)| {
            let mut record =
                json!({"type": kind, "seq": seq, "time": 1_700_000_000_000_u64 + seq, "data": data});
            for (key, value) in placement.iter().flat_map(|value| value.as_object().unwrap()) {
                record[key] = value.clone();
            }
            record
        })
        .collect();
    events(&records)
}

/// A whole turn with `chunks` deltas, a prompt, an answer, from `first` on.
pub(crate) fn turn(first: u64, number: u64, chunks: usize) -> Vec<Arc<Event>> {
    let mut records = open_turn(number, chunks);
    let sources: Vec<u64> = (first + 3..first + 3 + chunks as u64).collect();
    records.push((
        "assistant/message",
        json!({"turn": number, "step": 1, "content": [{"type": "text", "text": "the answer"}],
               "provenance": {"provider": "p", "model": "m"}}),
        Some(json!({"surfaceOp": "append", "sourceEventSeqs": sources})),
    ));
    records.push(("step/end", json!({"turn": number, "step": 1}), None));
    records.push((
        "turn/end",
        json!({"turn": number, "reason": {"kind": "completed"}}),
        None,
    ));
    numbered(first, records)
}

/// A turn that was interrupted while the model spoke.
pub(crate) fn interrupted(first: u64, number: u64, chunks: usize) -> Vec<Arc<Event>> {
    numbered(first, open_turn(number, chunks))
}

fn open_turn(number: u64, chunks: usize) -> Vec<(&'static str, Value, Option<Value>)> {
    let mut records = vec![
        (
            "turn/start",
            json!({"turn": number, "trigger": {"kind": "message", "source": {"kind": "user"}}}),
            None,
        ),
        (
            "user/message",
            json!({"content": [{"type": "text", "text": format!("question {number}")}], "source": {"kind": "user"}}),
            Some(json!({"surfaceOp": "append"})),
        ),
        ("step/start", json!({"turn": number, "step": 1}), None),
    ];
    for chunk in 0..chunks {
        records.push((
            "assistant/chunk",
            json!({"turn": number, "step": 1, "chunk": {"type": "text-delta", "index": 0, "text": format!("w{chunk} ")}}),
            None,
        ));
    }
    records
}

/// What two lists of events say, as text: the strictest comparison there is.
pub(crate) fn text(events: &[Arc<Event>]) -> String {
    events
        .iter()
        .map(|event| serde_json::to_string(event).expect("events encode") + "\n")
        .collect()
}

/// A store that works on the caller's thread.
pub(crate) fn inline<K: Kind>(folder: &TempDir) -> Result<Home<K::Backend>> {
    Ok(Home::new(K::open(folder)?, Threading::Inline)?)
}

pub(crate) const START: Seq = Seq::FIRST;
