//! The tool `list`: what is in a folder.

use std::fmt::Write as _;
use std::fs::{self, DirEntry};

use hames_sdk::prelude::*;
use hames_sdk::tool::{ExecutionClass, GenericView, ToolView};

use crate::fault::{self, coded};
use crate::hide::Hidden;
use crate::place;

/// Most entries of one answer.
const MAX_ENTRIES: usize = 500;

/// Most entries that are sorted; a folder with more is listed as it comes.
const MAX_READ: usize = 50_000;

/// Lists a folder: folders end in `/`, links in `@`, files have their size in bytes.
#[arguments]
pub struct List {
    /// The folder, relative to the root; the root itself if absent.
    #[serde(default)]
    path: Option<String>,
    /// Names up to and including this one are left out: the way to the rest of a long list.
    #[serde(default)]
    after: Option<String>,
}

impl Tool for List {
    const EXECUTION: ExecutionClass = ExecutionClass::Parallel;

    fn run(self, _call: &Call) -> Answer {
        let place = place::find(self.path.as_deref().unwrap_or("."))?;
        if !place.metadata()?.is_dir() {
            return Err(coded(
                "FILE_NOT_A_FOLDER",
                format!(
                    "`{}` is a file; read it, or list the folder it is in",
                    place.shown
                ),
            ));
        }
        let entries = fs::read_dir(&place.path).map_err(|error| fault::io(&place, "listing", &error))?;
        let hidden = Hidden::read()?;
        let mut found: Vec<(String, DirEntry)> = entries
            .take(MAX_READ)
            .filter_map(|entry| {
                let entry = entry.ok()?;
                Some((entry.file_name().into_string().ok()?, entry))
            })
            .collect();
        found.retain(|(name, _)| !hidden.covers(&place::join(&place.shown, name)));
        found.sort_by(|one, other| one.0.cmp(&other.0));
        if let Some(after) = &self.after {
            found.retain(|(name, _)| name > after);
        }
        let mut text = String::new();
        for (name, entry) in found.iter().take(MAX_ENTRIES) {
            // Writing to a text can't fail.
            let _ = writeln!(text, "{}", line(name, entry));
        }
        let left = found.len().saturating_sub(MAX_ENTRIES);
        if let Some((last, _)) = found.get(MAX_ENTRIES - 1).filter(|_| left > 0) {
            let _ = write!(text, "({left} more; for them: after = {last:?})");
        } else if found.is_empty() {
            text.push_str("(nothing here)");
        }
        Ok(text.into())
    }

    fn view(&self) -> Option<ToolView> {
        Some(ToolView::Generic(GenericView {
            title: format!("list {}", self.path.as_deref().unwrap_or(".")),
            body: None,
        }))
    }
}

fn line(name: &str, entry: &DirEntry) -> String {
    match entry.metadata() {
        Ok(found) if found.is_dir() => format!("{name}/"),
        Ok(found) if found.is_symlink() => format!("{name}@"),
        Ok(found) => format!("{name}  {}", found.len()),
        Err(_) => format!("{name}  ?"),
    }
}
