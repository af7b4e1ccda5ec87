//! How do failures of the outside become the port's errors, with a word on what to do?

use std::fmt::Display;
use std::io;
use std::sync::Arc;

use hames_types::port::store::StoreError;

const FULL: &str = "free space there and flush again, nothing that was stored is lost";
const READ_ONLY: &str = "check the owner and the permissions of the file and its folder";
const BUSY: &str = "another process holds it, try again";
const BROKEN: &str = "check the disk, what was stored before is as it was";

/// An operating-system failure on `place` while `doing` something.
pub(crate) fn io(doing: &'static str, place: impl Display, source: io::Error) -> StoreError {
    use io::ErrorKind as Kind;
    let kind = source.kind();
    let hint = if matches!(kind, Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge) {
        FULL
    } else if matches!(kind, Kind::PermissionDenied | Kind::ReadOnlyFilesystem) {
        READ_ONLY
    } else if matches!(kind, Kind::ResourceBusy | Kind::WouldBlock | Kind::TimedOut) {
        BUSY
    } else if matches!(kind, Kind::NotFound | Kind::NotADirectory) {
        "check that the folder exists"
    } else {
        BROKEN
    };
    StoreError::Io {
        doing,
        place: place.to_string(),
        hint,
        source: Arc::new(source),
    }
}

/// Something stored is damaged.
pub(crate) fn damaged<E>(place: impl Display, problem: impl Into<String>, source: E) -> StoreError
where
    E: std::error::Error + Send + Sync + 'static,
{
    StoreError::Damaged {
        place: place.to_string(),
        problem: problem.into(),
        source: Some(Arc::new(source)),
    }
}

/// A failure of SQLite on `place` while `doing` something.
pub(crate) fn sqlite(doing: &'static str, place: impl Display, source: rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode as Code;
    let place = place.to_string();
    let hint = match source.sqlite_error_code() {
        Some(Code::DatabaseCorrupt) => {
            return StoreError::Damaged {
                place,
                problem:
                    "SQLite finds its pages broken; export the sessions that still load and restore the \
                          others from a backup"
                        .to_owned(),
                source: Some(Arc::new(source)),
            };
        }
        Some(Code::NotADatabase) => {
            return StoreError::Unsupported {
                place,
                problem: "it is not a SQLite database; name another file".to_owned(),
                source: Some(Arc::new(source)),
            };
        }
        Some(Code::DiskFull) => FULL,
        Some(
            Code::ReadOnly
            | Code::CannotOpen
            | Code::PermissionDenied
            | Code::AuthorizationForStatementDenied,
        ) => READ_ONLY,
        Some(Code::DatabaseBusy | Code::DatabaseLocked | Code::FileLockingProtocolFailed) => BUSY,
        Some(_) | None => BROKEN,
    };
    StoreError::Io {
        doing,
        place,
        hint,
        source: Arc::new(source),
    }
}
