//! Why doesn't it work, and what can the model do about it? Every message names the path and the next step.

use std::io;

use hames_sdk::error::Error;

use crate::place::Place;

/// An error of this plugin's own, with a code for machines.
pub fn coded(code: &str, message: String) -> Error {
    Error::coded("FileError", code, message)
}

/// A failure of the file system at a place.
pub fn io(place: &Place, doing: &str, error: &io::Error) -> Error {
    let shown = &place.shown;
    let kind = error.kind();
    if kind == io::ErrorKind::NotFound {
        return coded(
            "FILE_NOT_FOUND",
            format!("`{shown}` isn't there{}", place.neighbours()),
        );
    }
    if kind == io::ErrorKind::NotADirectory {
        return coded(
            "FILE_NOT_A_FOLDER",
            format!("`{shown}` goes through something that isn't a folder; list the folder above it"),
        );
    }
    if is_denied(error) {
        return coded(
            "FILE_DENIED",
            format!(
                "{doing} `{shown}` isn't allowed: it is read-only here or leads out of the granted folder; \
                 use another path, or tell the user that the plugin's `filesystem` grant is too narrow"
            ),
        );
    }
    coded("FILE_FAILED", format!("{doing} `{shown}` failed: {error}"))
}

/// Refused by the sandbox (`EPERM`, `EACCES`, `ENOTCAPABLE`, `EROFS`).
fn is_denied(error: &io::Error) -> bool {
    const ENOTCAPABLE: i32 = 76;
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    ) || error.raw_os_error() == Some(ENOTCAPABLE)
}
