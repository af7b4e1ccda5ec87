//! Which store is it, and what can be asked of it beside the port?

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use hames_store::{Form, JsonlStore, MemoryStore, SqliteStore, Threading};
use hames_types::header::SessionHeader;
use hames_types::id::SessionId;
use hames_types::port::store::{Store, StoreError};

use crate::config::{Place, StoreConfig, StoreKind};

/// The configured store. A clone is the same store.
#[derive(Clone)]
pub enum Shelf {
    /// One database.
    Sqlite(SqliteStore, PathBuf),
    /// Readable files.
    Jsonl(JsonlStore, PathBuf),
    /// Nothing is kept.
    Memory(MemoryStore),
}

impl Shelf {
    /// Opens it.
    ///
    /// # Errors
    /// If it can't be.
    pub fn open(config: &StoreConfig, place: &Place) -> anyhow::Result<Self> {
        let at = |name: &str| config.path.clone().unwrap_or_else(|| place.data.join(name));
        Ok(match config.kind {
            StoreKind::Sqlite => {
                let file = at("sessions.db");
                if config.path.is_none() {
                    data_folder(&place.data)?;
                }
                Self::Sqlite(SqliteStore::open_file(&file, Threading::Own)?, file)
            }
            StoreKind::Jsonl => {
                let root = at("sessions");
                let store = JsonlStore::open_folder(&root, config.compression, Form::Packed, Threading::Own)?;
                Self::Jsonl(store, root)
            }
            StoreKind::Memory => Self::Memory(MemoryStore::in_memory()?),
        })
    }

    /// As the port.
    #[must_use]
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Sqlite(store, _) => Arc::new(store.clone()),
            Self::Jsonl(store, _) => Arc::new(store.clone()),
            Self::Memory(store) => Arc::new(store.clone()),
        }
    }

    /// Where it is; none if nothing is kept.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(_, path) | Self::Jsonl(_, path) => Some(path),
            Self::Memory(_) => None,
        }
    }

    /// A session as a readable log.
    ///
    /// # Errors
    /// As the store has it.
    pub async fn export(&self, id: &SessionId, form: Form) -> Result<Vec<u8>, StoreError> {
        match self {
            Self::Sqlite(store, _) => store.export(id, form).await,
            Self::Jsonl(store, _) => store.export(id, form).await,
            Self::Memory(store) => store.export(id, form).await,
        }
    }

    /// Stores a readable log as a new session.
    ///
    /// # Errors
    /// As the store has it.
    pub async fn import(&self, log: Vec<u8>) -> Result<SessionHeader, StoreError> {
        match self {
            Self::Sqlite(store, _) => store.import(log).await,
            Self::Jsonl(store, _) => store.import(log).await,
            Self::Memory(store) => store.import(log).await,
        }
    }
}

/// Makes the data folder, for its owner alone.
pub(super) fn data_folder(folder: &Path) -> anyhow::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .with_context(|| {
            format!(
                "the data folder {} can't be made; name another with `--data DIR`",
                folder.display()
            )
        })
}
