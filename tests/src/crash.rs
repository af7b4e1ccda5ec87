//! What is left of an agent that is killed? A real process runs turns with tools and is killed at any moment.
//!
//! ```text
//! rounds ──► spawn the victim ──► kill it ──► what was acknowledged is there ──► resume, run one more turn
//! ```
//! The victim notes in plain files what was acknowledged (by its store) and which tool bodies began; a kill takes
//! neither away.

pub mod check;
pub mod fault;
pub mod race;
pub mod victim;

use std::path::{Path, PathBuf};

use anyhow::bail;
use hames_store::{Compression, Form, JsonlStore, SqliteStore, Threading};
use hames_types::port::store::Store;
use std::sync::Arc;

/// The session all rounds write.
pub const SESSION: &str = "crash";

/// A durable kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One database.
    Sqlite,
    /// Logs in frames.
    Frames,
    /// Logs in plain lines.
    Lines,
}

impl Kind {
    /// The kind of that name.
    ///
    /// # Errors
    /// If there is none.
    pub fn from_word(word: &str) -> anyhow::Result<Self> {
        Ok(match word {
            "sqlite" => Self::Sqlite,
            "frames" => Self::Frames,
            "lines" => Self::Lines,
            _ => bail!("there is no store `{word}`; choose sqlite, frames or lines"),
        })
    }

    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Frames => "frames",
            Self::Lines => "lines",
        }
    }

    /// Opens the store in a folder.
    ///
    /// # Errors
    /// Whatever keeps it from opening.
    pub fn open(self, folder: &Path) -> anyhow::Result<Arc<dyn Store>> {
        let store = store(folder);
        let logs = store.join("logs");
        Ok(match self {
            Self::Sqlite => Arc::new(SqliteStore::open_file(store.join("sessions.db"), Threading::Own)?),
            Self::Frames => Arc::new(JsonlStore::open_folder(
                logs,
                Compression::Zstd,
                Form::Packed,
                Threading::Own,
            )?),
            Self::Lines => Arc::new(JsonlStore::open_folder(
                logs,
                Compression::Plain,
                Form::Plain,
                Threading::Own,
            )?),
        })
    }
}

/// Where the store lies; the notes lie beside it, on a disk that never fails.
#[must_use]
pub fn store(folder: &Path) -> PathBuf {
    folder.join("store")
}

/// Where the victim notes how many events were acknowledged, one number a line.
#[must_use]
pub fn acknowledged(folder: &Path) -> PathBuf {
    folder.join("acknowledged")
}

/// Where it notes the calls whose body began, one id a line.
#[must_use]
pub fn bodies(folder: &Path) -> PathBuf {
    folder.join("bodies")
}
