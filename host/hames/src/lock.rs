//! Is a plugin's file still the one it was? `hames.lock` beside the configuration that names it says what it was.
//!
//! A plugin that isn't in it is recorded when it was loaded for the first time. One whose digest differs stops the
//! start, and what changed is shown. Plugins that ship with hames change with hames and aren't recorded.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hames_plugin::Manifest;
use serde::{Deserialize, Serialize};

/// What stands at the file's beginning.
const HEAD: &str = "# Written by hames: the plugins that were loaded, as they were. Keep it with hames.toml.\n\
                    # A plugin that differs is refused until `hames config lock` records it anew.\n\n";

/// A lock file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The plugins, by id.
    #[serde(default)]
    plugin: BTreeMap<String, Entry>,
}

/// What a plugin was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// `sha256:` and the component's digest.
    pub digest: String,
    /// What it called its version.
    #[serde(default)]
    pub version: String,
    /// What it wanted to reach.
    #[serde(default)]
    pub wants: Vec<String>,
}

impl Entry {
    /// Of a component.
    #[must_use]
    pub fn new(digest: &str, manifest: &Manifest) -> Self {
        let mut wants: Vec<String> = manifest.wanted().iter().map(ToString::to_string).collect();
        wants.sort();
        wants.dedup();
        Self {
            digest: format!("sha256:{digest}"),
            version: manifest.version.to_string(),
            wants,
        }
    }
}

/// What is wrong with a lock file.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// It can't be read or written.
    #[error("the lock file {} can't be used", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It isn't what hames wrote.
    #[error("the lock file {} can't be understood; restore it, or remove it and run `hames config lock`", file.display())]
    Shape {
        /// Which.
        file: PathBuf,
        /// Why.
        source: toml::de::Error,
    },
    /// A plugin isn't what it was.
    #[error("{0}")]
    Changed(Box<Changed>),
}

/// A plugin that isn't what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Its id.
    pub plugin: String,
    /// The lock file.
    pub lock: PathBuf,
    /// What it was.
    pub was: Entry,
    /// What it is.
    pub is: Entry,
}

impl fmt::Display for Changed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            plugin,
            lock,
            was,
            is,
        } = self;
        write!(
            out,
            "plugin `{plugin}` isn't the one recorded in {}",
            lock.display()
        )?;
        write!(out, "\n  digest: {} -> {}", was.digest, is.digest)?;
        if was.version != is.version {
            write!(out, "\n  version: {} -> {}", was.version, is.version)?;
        }
        let list = |wants: &[String], others: &[String]| {
            let only: Vec<&str> = wants
                .iter()
                .filter(|want| !others.contains(want))
                .map(String::as_str)
                .collect();
            only.join(", ")
        };
        let (new, gone) = (list(&is.wants, &was.wants), list(&was.wants, &is.wants));
        if !new.is_empty() {
            write!(out, "\n  now also wants: {new}")?;
        }
        if !gone.is_empty() {
            write!(out, "\n  no longer wants: {gone}")?;
        }
        write!(out, "\n  if that is meant, run `hames config lock {plugin}`")
    }
}

impl Lock {
    /// The lock file that belongs to a configuration file.
    #[must_use]
    pub fn beside(config: &Path) -> PathBuf {
        config.with_file_name("hames.lock")
    }

    /// Reads a lock file; one that isn't there is empty.
    ///
    /// # Errors
    /// [`LockError`].
    pub fn read(file: &Path) -> Result<Self, LockError> {
        match fs::read_to_string(file) {
            Ok(text) => toml::from_str(&text).map_err(|source| LockError::Shape {
                file: file.to_owned(),
                source,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(LockError::File {
                file: file.to_owned(),
                source,
            }),
        }
    }

    /// What a plugin was.
    #[must_use]
    pub fn get(&self, plugin: &str) -> Option<&Entry> {
        self.plugin.get(plugin)
    }

    /// Records what a plugin is. Says whether anything changed.
    pub fn put(&mut self, plugin: &str, entry: Entry) -> bool {
        self.plugin.get(plugin) != Some(&entry) && {
            self.plugin.insert(plugin.to_owned(), entry);
            true
        }
    }

    /// Writes the file whole or not at all.
    ///
    /// # Errors
    /// [`LockError::File`].
    pub fn write(&self, file: &Path) -> Result<(), LockError> {
        let fault = |source| LockError::File {
            file: file.to_owned(),
            source,
        };
        let mut text = HEAD.to_owned();
        for (id, entry) in &self.plugin {
            let wants: Vec<String> = entry.wants.iter().map(|want| quoted(want)).collect();
            // Written to a string, which doesn't fail.
            write!(
                text,
                "[plugin.{id}]\ndigest = {}\nversion = {}\nwants = [{}]\n\n",
                quoted(&entry.digest),
                quoted(&entry.version),
                wants.join(", ")
            )
            .unwrap_or(());
        }
        let draft = file.with_extension(format!("lock.{}", std::process::id()));
        fs::write(&draft, text.trim_end().to_owned() + "\n")
            .and_then(|()| fs::rename(&draft, file))
            .inspect_err(|_| drop(fs::remove_file(&draft)))
            .map_err(fault)
    }
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
