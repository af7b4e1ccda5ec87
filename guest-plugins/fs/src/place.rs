//! Which file does the model mean? Paths are relative to the configured root.
//!
//! The root is for orientation, not for safety: what is in reach is decided by the grant, in the host. A path that
//! names something above the root is refused here only because the answer can then say what to do.

use std::fs;
use std::path::{Component, Path, PathBuf};

use hames_sdk::config;
use hames_sdk::error::Error;
use serde::Deserialize;

use crate::fault::{self, coded};
use crate::hide::Hidden;

/// Longest path, in bytes; Linux takes no longer one.
const MAX_PATH: usize = 4_096;

/// How many names a wrong path is answered with.
const NEIGHBOURS: usize = 3;

#[derive(Deserialize)]
#[serde(default)]
struct Config {
    /// What else is in the configuration is for others to read.
    root: String,
}

impl Default for Config {
    fn default() -> Self {
        Self { root: ".".to_owned() }
    }
}

/// A file or a folder, under the name the model knows and under the one the system knows.
#[derive(Debug, Clone)]
pub struct Place {
    /// Relative to the root, without `.` and `..`; the root itself is `.`.
    pub shown: String,
    /// What to open.
    pub path: PathBuf,
}

/// The root.
///
/// # Errors
/// If the configuration has another shape.
pub fn root() -> Result<PathBuf, Error> {
    Ok(PathBuf::from(config::read::<Config>()?.root))
}

/// Fails if the root isn't a folder in reach.
///
/// # Errors
/// What to change in the configuration.
pub fn check_root() -> Result<(), Error> {
    let root = root()?;
    let problem = match fs::metadata(&root) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => "is not a folder".to_owned(),
        Err(error) => format!("is not in reach ({error})"),
    };
    Err(coded(
        "FILE_ROOT",
        format!(
            "the root `{}` {problem}; grant it to this plugin (`filesystem`), or set `root` to the name of a granted folder",
            root.display()
        ),
    ))
}

/// What a path means.
///
/// # Errors
/// If it can't be one, names something above the root, or is hidden.
pub fn find(path: &str) -> Result<Place, Error> {
    let root = root()?;
    let place = resolve(&root, path)?;
    Hidden::read()?.check(&root, &place)?;
    Ok(place)
}

fn resolve(root: &Path, path: &str) -> Result<Place, Error> {
    if path.len() > MAX_PATH || path.contains('\0') {
        return Err(coded(
            "FILE_PATH",
            format!("a path has at most {MAX_PATH} bytes and no NUL; give another one"),
        ));
    }
    let outside = || {
        coded(
            "FILE_OUTSIDE",
            format!(
                "`{path}` is outside of the root; paths are relative to it, `.` is the root itself (list it to see what is there)"
            ),
        )
    };
    let asked = Path::new(path);
    let relative = if asked.is_absolute() {
        // An absolute root is a name that a model may well repeat.
        asked.strip_prefix(root).map_err(|_| outside())?
    } else {
        asked
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in relative.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str().ok_or_else(outside)?),
            Component::ParentDir => {
                parts.pop().ok_or_else(outside)?;
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return Err(outside()),
        }
    }
    let shown = parts.join("/");
    Ok(Place {
        path: if shown.is_empty() {
            root.to_owned()
        } else {
            root.join(&shown)
        },
        shown: if shown.is_empty() { ".".to_owned() } else { shown },
    })
}

impl Place {
    /// What is there, links followed.
    ///
    /// # Errors
    /// If nothing is, or it isn't allowed.
    pub fn metadata(&self) -> Result<fs::Metadata, Error> {
        fs::metadata(&self.path).map_err(|error| fault::io(self, "looking at", &error))
    }

    /// A sentence with names like this one in the same folder, or what else helps.
    pub fn neighbours(&self) -> String {
        let wrong = self
            .path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let Some(Ok(entries)) = self.path.parent().map(fs::read_dir) else {
            return "; its folder isn't there either, list the one above".to_owned();
        };
        let hidden = Hidden::read().unwrap_or_default();
        let folder = self.shown.rsplit_once('/').map_or(".", |(folder, _)| folder);
        let names: Vec<String> = entries
            .take(2_000)
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| !hidden.covers(&join(folder, name)))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let near = similar::get_close_matches(wrong, &names, NEIGHBOURS, 0.6);
        if near.is_empty() {
            return "; list its folder or use glob to find it".to_owned();
        }
        let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        format!("; in its folder there is {}", near.join(", "))
    }
}

/// What is below a folder, under the name the model knows.
pub fn join(folder: &str, below: &str) -> String {
    match (folder, below) {
        (folder, "") => folder.to_owned(),
        (".", below) => below.to_owned(),
        (folder, below) => format!("{folder}/{below}"),
    }
}
