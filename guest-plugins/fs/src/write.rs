//! The tool `write`: a whole file at once.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};

use hames_sdk::bindings::imports::hames::plugin::content::ContentBlock;
use hames_sdk::prelude::*;
use hames_sdk::tool::ToolView;

use crate::place::{self, Place};
use crate::seen::{self, State};
use crate::{change, fault, text};

/// Writes a text file: makes it, with the folders above it, or replaces all of it. A file that is there must have
/// been read in this session and be unchanged since; to change a part of it, edit it.
#[arguments]
pub struct Write {
    /// The file, relative to the root.
    path: String,
    /// The whole text.
    content: String,
}

impl Tool for Write {
    fn run(self, call: &Call) -> Answer {
        let place = place::find(&self.path)?;
        match make(&place, &self.content) {
            Ok(()) => {
                seen::note(call, &place, &State::of(self.content.as_bytes()));
                change::answer(&place, &format!("made `{}`", place.shown), "", &self.content)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.replace(call, &place),
            Err(error) => Err(fault::io(&place, "writing", &error)),
        }
    }

    fn view(&self) -> Option<ToolView> {
        Some(change::planned(&self.path, None, &self.content))
    }

    fn view_result(&self, _content: &[ContentBlock], meta: Option<&Value>) -> Option<ToolView> {
        change::made(meta)
    }
}

impl Write {
    fn replace(&self, call: &Call, place: &Place) -> Answer {
        let before = text::load(place)?;
        seen::check(call, place, &State::of(before.as_bytes()))?;
        replace(call, place, &self.content)?;
        change::answer(
            place,
            &format!("replaced `{}`", place.shown),
            &before,
            &self.content,
        )
    }
}

/// Makes a file that isn't there yet.
fn make(place: &Place, content: &str) -> io::Result<()> {
    if let Some(folder) = place.path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&place.path)?;
    file.write_all(content.as_bytes())
}

/// Replaces the content of a file that is there, in place: a new file put there by renaming would have lost the old
/// one's mode, owner and other names, which a guest can't set.
///
/// # Errors
/// What the file system says.
pub fn replace(call: &Call, place: &Place, content: &str) -> Result<(), Error> {
    let write = || {
        let mut file = OpenOptions::new().write(true).truncate(true).open(&place.path)?;
        file.write_all(content.as_bytes())
    };
    write().map_err(|error: io::Error| fault::io(place, "writing", &error))?;
    seen::note(call, place, &State::of(content.as_bytes()));
    Ok(())
}
