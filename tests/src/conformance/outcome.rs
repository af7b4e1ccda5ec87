//! How did one case end?

use std::fmt;

use hames_types::json::Json;

use super::diff;
use super::rules::Rule;

/// How a case ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// As recorded.
    Passed,
    /// Not as recorded; this is the first difference.
    Failed(Difference),
    /// It needs a part that isn't built yet; the text names the part.
    Waiting(&'static str),
    /// It differs from the recording on purpose.
    Deviating(&'static Rule),
}

impl Outcome {
    /// Passed if `got` is what was recorded, else failed with the first difference.
    #[must_use]
    pub fn compare(expected: &Json, got: &Json) -> Self {
        diff::first(expected, got).map_or(Self::Passed, Self::Failed)
    }

    /// The outcome of a case that compares several things: the first that isn't passed.
    #[must_use]
    pub fn first_of(outcomes: impl IntoIterator<Item = Self>) -> Self {
        outcomes
            .into_iter()
            .find(|outcome| *outcome != Self::Passed)
            .unwrap_or(Self::Passed)
    }

    /// The same, with the place of a difference seen from further out.
    #[must_use]
    pub fn within(self, place: &str) -> Self {
        match self {
            Self::Failed(difference) => Self::Failed(Difference {
                path: format!("{place}{}", difference.path),
                ..difference
            }),
            Self::Passed | Self::Waiting(_) | Self::Deviating(_) => self,
        }
    }
}

/// The first place where what happened isn't what was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where, as a JSON path (`.events[3].data.turn`); empty for the whole.
    pub path: String,
    /// What was recorded there.
    pub expected: String,
    /// What came instead.
    pub got: String,
}

impl Difference {
    /// A case that broke before there was anything to compare.
    #[must_use]
    pub fn problem(problem: &anyhow::Error) -> Self {
        Self {
            path: String::new(),
            expected: "a result".to_owned(),
            got: format!("{problem:#}"),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "$" } else { &self.path };
        write!(out, "at {path}: expected {}, got {}", self.expected, self.got)
    }
}
