//! Files: read, write, edit, list, find by name, find by content.
//!
//! What is in reach is the operator's to say (the grant `filesystem`) and the host's to see to: this plugin has no
//! way around it and doesn't check again. `place` says which file is meant, `hide` which the
//! operator keeps out of sight, `seen` which state of it was read,
//! `fault` what to do when it doesn't work; every tool has a file of its own.

mod change;
mod edit;
mod fault;
mod glob;
mod grep;
mod hide;
mod list;
mod place;
mod read;
mod seen;
mod text;
mod walk;
mod write;

use hames_sdk::prelude::*;

use edit::Edit;
use glob::Glob;
use grep::Grep;
use list::List;
use read::Read;
use write::Write;

/// The root has to be there, and the patterns have to be some, before the first call asks for them.
fn start(_config: Value) -> Result<(), Error> {
    hide::Hidden::read()?;
    place::check_root()
}

export_plugin!(Read, Write, Edit, List, Glob, Grep; manifest = "../manifest.json", start = start);
