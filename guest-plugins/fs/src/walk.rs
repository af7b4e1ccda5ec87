//! Which files are below a folder? In order of their names, without what version control ignores unless asked for.

use hames_sdk::error::Error;
use hames_sdk::tool::Call;
use ignore::{DirEntry, WalkBuilder};

use crate::hide::Hidden;
use crate::place::{self, Place};

/// Most entries one walk looks at: a call has to end before its deadline.
const MAX_ENTRIES: usize = 100_000;

/// How often a walk asks whether it should end, in entries.
const ASKING: usize = 256;

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Everything was looked at.
    Whole,
    /// The visitor had enough.
    Enough,
    /// There is more than is looked at.
    TooMany,
}

impl Ended {
    /// What to tell of a walk that was cut off.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Whole | Self::Enough => "",
            Self::TooMany => {
                "(only the first 100000 entries were looked at; name a folder further down in `path`)\n"
            }
        }
    }
}

/// Hands every file below `place` to `visit`, with its path relative to the root, until that says it has enough.
/// Links aren't followed, and what is hidden isn't there.
///
/// # Errors
/// If the call is asked to stop, or `visit` fails.
pub fn files(
    call: &Call,
    place: &Place,
    with_ignored: bool,
    mut visit: impl FnMut(&DirEntry, &str) -> Result<bool, Error>,
) -> Result<Ended, Error> {
    let (hidden, top) = (Hidden::read()?, place.clone());
    let walk = WalkBuilder::new(&place.path)
        .standard_filters(!with_ignored)
        .hidden(false)
        // What is above is out of reach, and what is ignored shouldn't depend on whether it is a repository.
        .parents(false)
        .require_git(false)
        .git_global(false)
        .filter_entry(move |entry| entry.file_name() != ".git" && !is_hidden(&hidden, &top, entry))
        .sort_by_file_name(std::cmp::Ord::cmp)
        .build();
    for (count, entry) in walk.enumerate() {
        if count >= MAX_ENTRIES {
            return Ok(Ended::TooMany);
        }
        if count % ASKING == 0 && call.is_aborted() {
            return Err(Error::Aborted);
        }
        // A folder that can't be looked into is as if it weren't there.
        let Ok(entry) = entry else { continue };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let Some(below) = entry
            .path()
            .strip_prefix(&place.path)
            .ok()
            .and_then(|path| path.to_str())
        else {
            continue;
        };
        let shown = place::join(&place.shown, below);
        if !visit(&entry, &shown)? {
            return Ok(Ended::Enough);
        }
    }
    Ok(Ended::Whole)
}

fn is_hidden(hidden: &Hidden, top: &Place, entry: &DirEntry) -> bool {
    // The top itself was looked at when it was found.
    if hidden.is_empty() || entry.depth() == 0 {
        return false;
    }
    let below = entry.path().strip_prefix(&top.path).ok();
    below.is_none_or(|below| hidden.covers(&place::join(&top.shown, &below.to_string_lossy())))
}
