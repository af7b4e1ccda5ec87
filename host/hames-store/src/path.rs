//! Where does a session's file lie under a root of readable logs (R-JSONL-1, R-JSONL-2)?
//!
//! ```text
//! <root>/<bucket of the folder it works in>/<its id, escaped><suffix>
//! ```

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use hames_types::id::SessionId;
use sha2::{Digest, Sha256};

/// The bucket of sessions that work in no folder.
const NO_CWD: &str = "_no-cwd";

/// A session's id is empty: it has no file name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a session with an empty id has no file name; give it an id")]
pub struct EmptyId;

/// An id as one path segment: injective, and never a way out of its folder.
///
/// # Errors
/// [`EmptyId`].
pub fn segment(id: &SessionId) -> Result<String, EmptyId> {
    let mut name = String::with_capacity(id.as_str().len());
    match id.as_str() {
        "" => return Err(EmptyId),
        // The only two names of plain characters that mean another folder.
        "." | ".." => id.as_str().chars().for_each(|dot| escape(dot, &mut name)),
        text => text.chars().for_each(|char| match char {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '.' | '_' | '-' => name.push(char),
            _ => escape(char, &mut name),
        }),
    }
    Ok(name)
}

fn escape(char: char, name: &mut String) {
    for unit in char.encode_utf16(&mut [0; 2]) {
        // Writing to a string can't fail.
        let _infallible = write!(name, "~{unit:04X}");
    }
}

/// The folder of the sessions that work in `cwd`.
#[must_use]
pub fn folder(root: &Path, cwd: Option<&str>) -> PathBuf {
    let Some(cwd) = cwd else {
        return root.join(NO_CWD);
    };
    let mut bucket = String::from("cwd-");
    for byte in Sha256::digest(cwd.as_bytes()).iter().take(6) {
        let _infallible = write!(bucket, "{byte:02x}");
    }
    root.join(bucket)
}
