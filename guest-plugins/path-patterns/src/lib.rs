//! Which of an operator's patterns covers a path? `fs` and `path-guard` mean the same by the same pattern.
//!
//! A pattern covers what it matches and everything below. One without `/` counts at every depth. Upper and lower case
//! are the same, since some file systems hold them for the same.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Most parts of a path that are looked at one by one. Below that only the whole path is: looking at each part of a
/// path costs the square of its length, which is the caller's to choose.
const MAX_PARTS: usize = 256;

/// A pattern that is none.
#[derive(Debug)]
pub struct Malformed {
    /// As the operator wrote it.
    pub pattern: String,
    /// What is wrong with it.
    pub problem: globset::Error,
}

/// Patterns, ready to match.
#[derive(Debug, Clone)]
pub struct Patterns(GlobSet);

impl Patterns {
    /// Patterns of paths that begin where the patterns do.
    ///
    /// # Errors
    /// The first pattern that is none.
    pub fn new(patterns: &[String]) -> Result<Self, Malformed> {
        Self::build(patterns, false)
    }

    /// The same patterns, of paths of which nobody knows where they begin: each may match from any folder on.
    ///
    /// # Errors
    /// The first pattern that is none.
    pub fn anywhere(patterns: &[String]) -> Result<Self, Malformed> {
        Self::build(patterns, true)
    }

    fn build(patterns: &[String], is_anywhere: bool) -> Result<Self, Malformed> {
        let mut set = GlobSetBuilder::new();
        let malformed = |pattern: &String, problem| Malformed {
            pattern: pattern.clone(),
            problem,
        };
        for pattern in patterns {
            let lower = pattern.to_lowercase();
            let trimmed = lower.trim_start_matches("./").trim_start_matches('/');
            let whole = if is_anywhere || !pattern.contains('/') {
                format!("**/{trimmed}")
            } else {
                trimmed.to_owned()
            };
            let glob = GlobBuilder::new(&whole).literal_separator(true).build();
            set.add(glob.map_err(|problem| malformed(pattern, problem))?);
        }
        let built = set.build();
        built.map(Self).map_err(|problem| Malformed {
            pattern: patterns.join(" "),
            problem,
        })
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of the first pattern that covers the path with these parts, or a folder it is in.
    #[must_use]
    pub fn covering<Part: AsRef<str>>(&self, parts: &[Part]) -> Option<usize> {
        let mut path = String::new();
        for (at, part) in parts.iter().enumerate() {
            path.push_str(&part.as_ref().to_lowercase());
            let is_looked_at = at < MAX_PARTS || at + 1 == parts.len();
            if is_looked_at && let Some(first) = self.0.matches(&path).first() {
                return Some(*first);
            }
            // As a folder, so that `secrets/**` covers `secrets` as well.
            path.push('/');
            if is_looked_at && let Some(first) = self.0.matches(&path).first() {
                return Some(*first);
            }
        }
        None
    }
}
