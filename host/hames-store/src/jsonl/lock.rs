//! Who may write a session? A small file beside the buckets holds its writer's epoch, and is locked while writing.
//!
//! ```text
//! <root>/_writers/epoch        the last epoch given out
//! <root>/_writers/<session>    the epoch of its writer
//! ```
//! The folder holds no log, so other readers of the root pass it by.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use hames_types::port::store::{StoreError, WriterEpoch};

use crate::error;

/// The folder's name.
pub(super) const FOLDER: &str = "_writers";

/// A number in a file that only one process at a time looks at. Let go when dropped.
pub(super) struct Locked {
    file: File,
    path: PathBuf,
}

impl Locked {
    /// Waits for a session's lock.
    pub(super) fn session(root: &Path, segment: &str) -> Result<Self, StoreError> {
        // No session is called like the count: `~` never stands in front of anything but four digits.
        Self::take(root.join(FOLDER).join(format!("{segment}.writer")))
    }

    /// Draws the next epoch. All sessions share one count, so no two writers ever have the same.
    pub(super) fn next_epoch(root: &Path) -> Result<WriterEpoch, StoreError> {
        let mut count = Self::take(root.join(FOLDER).join("epoch"))?;
        let next = WriterEpoch(count.epoch()?.0 + 1);
        count.set(next)?;
        Ok(next)
    }

    fn take(path: PathBuf) -> Result<Self, StoreError> {
        let failed = |source| error::io("locking", path.display(), source);
        if let Some(folder) = path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)
                .map_err(failed)?;
        }
        loop {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&path)
                .map_err(failed)?;
            file.lock().map_err(failed)?;
            if is_same(&file, &path).map_err(failed)? {
                return Ok(Self { file, path });
            }
            // Whoever held it removed it with its session; the next one is another file.
        }
    }

    /// The epoch written there; 0 if there is none.
    pub(super) fn epoch(&mut self) -> Result<WriterEpoch, StoreError> {
        let mut text = String::new();
        self.file
            .seek(SeekFrom::Start(0))
            .and_then(|_| (&mut self.file).take(32).read_to_string(&mut text))
            .map_err(|source| error::io("reading", self.path.display(), source))?;
        Ok(WriterEpoch(text.trim().parse().unwrap_or(0)))
    }

    /// Writes another epoch. It need not survive a loss of power: neither does the writer.
    pub(super) fn set(&mut self, epoch: WriterEpoch) -> Result<(), StoreError> {
        // Same width always, so a half-written number can't be a smaller valid one.
        let text = format!("{:020}\n", epoch.0);
        self.file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.write_all(text.as_bytes()))
            .map_err(|source| error::io("writing", self.path.display(), source))
    }

    /// Removes the file with its session.
    pub(super) fn remove(self) -> Result<(), StoreError> {
        std::fs::remove_file(&self.path).map_err(|source| error::io("deleting", self.path.display(), source))
    }
}

fn is_same(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino())),
        Err(gone) if gone.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(failed) => Err(failed),
    }
}
