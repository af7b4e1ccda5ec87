//! What does the operator keep out of sight? Files that are in the granted folder and not for the model.
//!
//! A rule about calls can judge only what a call names; a search names the folder above. So the tools themselves leave
//! out what is hidden: a walk passes it by, and whoever names it is refused, by a link as well.

use std::collections::VecDeque;
use std::fs;
use std::path::{Component, Path};

use hames_sdk::config;
use hames_sdk::error::Error;
use path_patterns::{Malformed, Patterns};
use serde::Deserialize;

use crate::fault::coded;
use crate::place::Place;

/// Most links one path goes through, as on Linux.
const MAX_LINKS: usize = 40;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Config {
    hide: Vec<String>,
}

/// The patterns of what is hidden.
#[derive(Debug, Clone, Default)]
pub struct Hidden(Option<Patterns>);

impl Hidden {
    /// What the configuration hides.
    ///
    /// # Errors
    /// If a pattern is none.
    pub fn read() -> Result<Self, Error> {
        let Config { hide } = config::read()?;
        if hide.is_empty() {
            return Ok(Self(None));
        }
        Patterns::new(&hide).map(Some).map(Self).map_err(malformed)
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether this path, relative to the root and without `.` and `..`, is hidden.
    pub fn covers(&self, shown: &str) -> bool {
        let parts: Vec<&str> = shown.split('/').collect();
        self.0
            .as_ref()
            .is_some_and(|patterns| patterns.covering(&parts).is_some())
    }

    /// Fails if the place is hidden, or leads to what is.
    ///
    /// # Errors
    /// That it is out of sight.
    pub fn check(&self, root: &Path, place: &Place) -> Result<(), Error> {
        if self.is_empty() || !(self.covers(&place.shown) || self.covers(&target(root, &place.shown))) {
            return Ok(());
        }
        Err(coded(
            "FILE_HIDDEN",
            format!(
                "`{}` is kept out of sight by this plugin's configuration (`hide`); work without it, or ask the user for what is in it",
                place.shown
            ),
        ))
    }
}

fn malformed(wrong: Malformed) -> Error {
    coded(
        "FILE_PATTERN",
        format!(
            "`hide` has `{}`, which is no pattern: {}",
            wrong.pattern,
            wrong.problem.kind()
        ),
    )
}

/// Where a path leads with all links followed, as far as it is there. An absolute link leads out of the grant, which
/// the host refuses.
fn target(root: &Path, shown: &str) -> String {
    let mut left: VecDeque<String> = shown.split('/').map(str::to_owned).collect();
    let mut done: Vec<String> = Vec::new();
    let mut links = 0;
    while let Some(part) = left.pop_front() {
        if part == ".." {
            done.pop();
            continue;
        }
        done.push(part);
        let Ok(to) = fs::read_link(root.join(done.join("/"))) else {
            continue;
        };
        links += 1;
        if links > MAX_LINKS {
            break;
        }
        done.pop();
        for part in to.components().rev() {
            match part {
                Component::Normal(name) => left.push_front(name.to_string_lossy().into_owned()),
                Component::ParentDir => left.push_front("..".to_owned()),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
    }
    done.join("/")
}
