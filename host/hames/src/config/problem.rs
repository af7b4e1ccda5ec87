//! What is wrong with the configuration, where, and what to do?

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The configuration that is built in, for whoever has none.
    Demo,
    /// A file.
    File {
        /// Which.
        file: Arc<Path>,
        /// The line, counted from 1.
        line: usize,
    },
    /// `--set`.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => out.write_str("default"),
            Self::Demo => out.write_str("built-in demo"),
            Self::File { file, line } => write!(out, "{}:{line}", file.display()),
            Self::Flag => out.write_str("--set"),
        }
    }
}

/// One thing that can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands.
    pub origin: Origin,
    /// Under which key.
    pub key: String,
    /// What is wrong and what to do.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, key, what } = self;
        if key.is_empty() {
            write!(out, "{origin}: {what}")
        } else {
            write!(out, "{origin}: `{key}` {what}")
        }
    }
}

/// Everything that can't be used, in the order of the files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// One problem.
    #[must_use]
    pub fn one(origin: Origin, key: impl Into<String>, what: impl Into<String>) -> Self {
        Self(vec![Problem {
            origin,
            key: key.into(),
            what: what.into(),
        }])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => one.fmt(out),
            several => {
                write!(out, "the configuration has {} problems", several.len())?;
                several.iter().try_for_each(|one| write!(out, "\n  {one}"))
            }
        }
    }
}
