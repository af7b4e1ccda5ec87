//! How are bytes made durable, and taken back when that fails (R-JSONL-7, R-JSONL-8)?

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use hames_types::port::store::StoreError;

use crate::error;

/// An append failed, and so did taking it back.
#[derive(Debug, thiserror::Error)]
#[error("{write}; cutting off what was half written failed as well: {rollback}")]
struct TwoFailures {
    #[source]
    write: io::Error,
    rollback: io::Error,
}

/// Puts a new file in place, whole or not at all. Fails if there is one already.
pub(super) fn publish(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let failed = |doing| move |source| error::io(doing, path.display(), source);
    make_folder(folder).map_err(failed("creating the folder of"))?;
    let temporary = temporary(path);
    // What an earlier death left behind is nobody's; the session's lock keeps others away.
    drop(std::fs::remove_file(&temporary));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| std::fs::hard_link(&temporary, path))
        .and_then(|()| sync_folder(folder));
    drop(std::fs::remove_file(&temporary));
    written.map_err(failed("writing"))
}

fn temporary(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    path.with_file_name(name)
}

/// Adds bytes at the end of a file of `size` bytes; on failure it has that size again.
pub(super) fn append(path: &Path, size: u64, bytes: &[u8]) -> Result<(), StoreError> {
    let failed = |source| error::io("writing", path.display(), source);
    let mut file = OpenOptions::new().append(true).open(path).map_err(failed)?;
    let Err(write) = file.write_all(bytes).and_then(|()| file.sync_data()) else {
        return Ok(());
    };
    Err(match file.set_len(size).and_then(|()| file.sync_all()) {
        Ok(()) => failed(write),
        Err(rollback) => {
            let kind = write.kind();
            failed(io::Error::new(kind, TwoFailures { write, rollback }))
        }
    })
}

/// Cuts a file off.
pub(super) fn truncate(path: &Path, size: u64) -> Result<(), StoreError> {
    OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|file| {
            file.set_len(size)?;
            file.sync_all()
        })
        .map_err(|source| error::io("cutting the torn end off", path.display(), source))
}

/// Removes a file durably.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    std::fs::remove_file(path)
        .and_then(|()| sync_folder(path.parent().unwrap_or(Path::new("."))))
        .map_err(|source| error::io("deleting", path.display(), source))
}

/// Makes a folder for its owner alone, durably, with those above it.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    for above in folder.ancestors().skip(1).take(2) {
        if !above.as_os_str().is_empty() {
            sync_folder(above)?;
        }
    }
    Ok(())
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
