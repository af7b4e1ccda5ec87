//! Is this file text that can be changed as a whole?

use std::fs;

use hames_sdk::error::Error;

use crate::fault::{self, coded};
use crate::place::Place;

/// Largest file that is held in memory, in bytes: reading beyond it goes line by line, changing it is refused.
pub const MAX_WHOLE: u64 = 8 << 20;

/// How much of a file is looked at to tell text from anything else, in bytes.
pub const SNIFFED: usize = 8_192;

/// A file's text.
///
/// # Errors
/// If it isn't a text file of a size that can be held.
pub fn load(place: &Place) -> Result<String, Error> {
    let shown = &place.shown;
    let found = place.metadata()?;
    if found.is_dir() {
        return Err(is_folder(place));
    }
    if found.len() > MAX_WHOLE {
        return Err(coded(
            "FILE_TOO_LARGE",
            format!(
                "`{shown}` has {} bytes, files of at most {MAX_WHOLE} can be changed; use another tool for it",
                found.len()
            ),
        ));
    }
    let bytes = fs::read(&place.path).map_err(|error| fault::io(place, "reading", &error))?;
    if is_binary(&bytes) {
        return Err(binary(place));
    }
    String::from_utf8(bytes).map_err(|error| not_utf8(place, error.utf8_error().valid_up_to()))
}

/// Whether it looks like anything but text: no text has a NUL.
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(SNIFFED).any(|byte| *byte == 0)
}

/// What to say of a folder.
pub fn is_folder(place: &Place) -> Error {
    coded(
        "FILE_IS_A_FOLDER",
        format!("`{}` is a folder; list it, or name a file in it", place.shown),
    )
}

/// What to say of a file that isn't text.
pub fn binary(place: &Place) -> Error {
    coded(
        "FILE_BINARY",
        format!(
            "`{}` is binary and can't be read as text; use a tool made for its format",
            place.shown
        ),
    )
}

/// What to say of text in another encoding.
pub fn not_utf8(place: &Place, at: usize) -> Error {
    coded(
        "FILE_NOT_UTF8",
        format!(
            "`{}` isn't UTF-8 (byte {at} doesn't fit); convert it first, for instance with iconv",
            place.shown
        ),
    )
}
