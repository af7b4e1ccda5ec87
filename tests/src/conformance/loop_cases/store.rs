//! The durable store a scenario runs on: what a restart finds again and a crash leaves.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use hames_agent::Services;
use hames_log::Place;
use hames_store::{Checkpoint, Compression, Form, JsonlStore, Persistence, SqliteStore, Threading, path};
use hames_types::id::SessionId;
use hames_types::json::{Json, JsonMap};
use hames_types::port::seam::{Execute, LlmStream, PostStep};
use hames_types::port::store::Store;
use serde_json::json;
use tempfile::TempDir;

use super::world::list;

/// Where the sessions of a scenario are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The embedded database.
    Sqlite,
    /// Readable logs.
    Lines,
    /// Readable logs in compressed frames.
    Frames,
}

impl Kind {
    /// The kinds a script can run on: raw stored text exists in readable logs only.
    pub(super) fn of(persistence: &Json) -> &'static [Self] {
        if list(persistence, "stored").is_empty() {
            &[Self::Sqlite, Self::Lines, Self::Frames]
        } else {
            &[Self::Lines]
        }
    }
}

/// The folder of a store, and what a script says of it.
pub(super) struct Shelf {
    kind: Kind,
    folder: TempDir,
    checkpoints: bool,
}

impl Shelf {
    /// An empty store, or one with what the script stores in advance.
    pub(super) fn new(kind: Kind, persistence: &Json) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir().context("making a folder")?;
        for stored in list(persistence, "stored") {
            write_log(folder.path(), stored)?;
        }
        let checkpoints = persistence.get("checkpointPolicy").and_then(Json::as_bool) == Some(true);
        Ok(Self {
            kind,
            folder,
            checkpoints,
        })
    }

    /// Opens the store for a context.
    pub(super) fn follow(&self, services: &Services) -> anyhow::Result<Arc<Persistence>> {
        let root = self.folder.path();
        let lines = |compression| JsonlStore::open_folder(root, compression, Form::Plain, Threading::Inline);
        let store: Arc<dyn Store> = match self.kind {
            Kind::Sqlite => Arc::new(SqliteStore::open_file(
                root.join("sessions.db"),
                Threading::Inline,
            )?),
            Kind::Lines => Arc::new(lines(Compression::Plain)?),
            Kind::Frames => Arc::new(lines(Compression::Zstd)?),
        };
        if self.checkpoints {
            let checkpoint = Checkpoint::new(services.sessions.clone());
            let listeners = &services.listeners;
            listeners.add::<LlmStream>(None, Place::First, Arc::clone(&checkpoint) as _);
            listeners.add::<Execute>(None, Place::First, Arc::clone(&checkpoint) as _);
            listeners.add::<PostStep>(None, Place::First, checkpoint);
        }
        Ok(Arc::new(Persistence::follow(&services.sessions, store)))
    }

    /// The store as a process that is killed now would leave it.
    pub(super) fn as_it_is(&self) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir().context("making a folder")?;
        copy(self.folder.path(), folder.path())?;
        Ok(Self {
            kind: self.kind,
            folder,
            checkpoints: self.checkpoints,
        })
    }
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&target)?;
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Writes a log the way the data says it stood on disk: header, events, and then whatever was torn.
fn write_log(root: &Path, stored: &Json) -> anyhow::Result<()> {
    let id = stored
        .get("id")
        .and_then(Json::as_str)
        .context("a stored session has no id")?;
    let mut header = JsonMap::new();
    for (key, value) in [
        ("type", json!("session")),
        ("version", json!(0)),
        ("id", json!(id)),
    ] {
        header.insert(key.to_owned(), value);
    }
    header.insert("createdAt".to_owned(), json!(0));
    header.insert("delegationDepth".to_owned(), json!(0));
    let mut text = format!("{}\n", Json::Object(header));
    for event in list(stored, "events") {
        // A text stands for a line that isn't JSON.
        let line = event.as_str().map_or_else(|| event.to_string(), str::to_owned);
        text.push_str(&line);
        text.push('\n');
    }
    text.push_str(stored.get("tornTail").and_then(Json::as_str).unwrap_or_default());
    let folder: PathBuf = path::folder(root, None);
    fs::create_dir_all(&folder)?;
    let file = format!("{}.jsonl", path::segment(&SessionId::new(id))?);
    fs::write(folder.join(file), text)?;
    Ok(())
}
