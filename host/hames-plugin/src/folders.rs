//! Can these folders be granted? They are there, and nobody gets to write where compiled plugins are kept.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::cache::Cache;
use crate::error::LoadProblem;
use crate::grant::{Access, Capability, Grant};

/// Checks the folders of a grant.
///
/// # Errors
/// [`LoadProblem::Grant`] naming the folder: one that isn't there would fail every call, and from the cache a plugin
/// that can write to it would run outside of the sandbox.
pub(crate) fn check(grant: &Grant, cache: Option<&Cache>) -> Result<(), LoadProblem> {
    for folder in &grant.filesystem {
        let problem = match fs::metadata(&folder.path) {
            Ok(found) if !found.is_dir() => "is not a folder".to_owned(),
            Ok(_) => match (folder.access, cache) {
                (Access::ReadWrite, Some(cache)) => match overlap(&folder.path, cache.folder()) {
                    Ok(false) => continue,
                    Ok(true) => format!(
                        "whoever writes to the compiled plugins in {} runs as you; grant it read-only, or a folder \
                         beside it",
                        cache.folder().display()
                    ),
                    Err(error) => error.to_string(),
                },
                (Access::ReadWrite, None) | (Access::ReadOnly, _) => continue,
            },
            Err(error) => error.to_string(),
        };
        return Err(LoadProblem::Grant {
            capability: Capability::Filesystem,
            problem: format!("{}: {problem}", folder.path.display()),
        });
    }
    Ok(())
}

/// Whether one of two folders is the other or lies in it, by whatever names.
fn overlap(one: &Path, other: &Path) -> io::Result<bool> {
    Ok(lies_in(one, other)? || lies_in(other, one)?)
}

fn lies_in(inner: &Path, outer: &Path) -> io::Result<bool> {
    let outer = identity(outer)?;
    for folder in fs::canonicalize(inner)?.ancestors() {
        if identity(folder)? == outer {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What a folder is, whatever it is called.
fn identity(folder: &Path) -> io::Result<(u64, u64)> {
    let found = fs::metadata(folder)?;
    Ok((found.dev(), found.ino()))
}
