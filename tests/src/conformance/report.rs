//! What is said after a run: a line per failure, counts per reason, one closing line.

use std::collections::BTreeMap;
use std::fmt;

use super::outcome::{Difference, Outcome};

/// The sum of a run.
#[derive(Debug, Default)]
pub struct Report {
    passed: usize,
    failed: Vec<(String, Difference)>,
    waiting: BTreeMap<&'static str, usize>,
    deviating: BTreeMap<&'static str, (&'static str, Vec<String>)>,
    skipped: usize,
}

impl Report {
    /// Counts one case.
    pub fn add(&mut self, label: &str, outcome: Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(difference) => self.failed.push((label.to_owned(), difference)),
            Outcome::Waiting(part) => *self.waiting.entry(part).or_default() += 1,
            Outcome::Deviating(rule) => {
                let (_, labels) = self.deviating.entry(rule.id).or_insert((rule.what, Vec::new()));
                labels.push(label.to_owned());
            }
        }
    }

    /// Counts one case that only JavaScript can express.
    pub fn skip(&mut self) {
        self.skipped += 1;
    }

    /// How many cases ended as recorded.
    #[must_use]
    pub fn passed(&self) -> usize {
        self.passed
    }

    /// The cases that didn't, each with its first difference.
    #[must_use]
    pub fn failed(&self) -> &[(String, Difference)] {
        &self.failed
    }

    /// How many cases wait, by the part they wait for.
    #[must_use]
    pub fn waiting(&self) -> &BTreeMap<&'static str, usize> {
        &self.waiting
    }

    /// The labels of the cases that differ on purpose, by rule.
    pub fn deviating(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        self.deviating
            .iter()
            .map(|(id, (_, labels))| (*id, labels.as_slice()))
    }

    /// How many cases only JavaScript can express.
    #[must_use]
    pub fn skipped(&self) -> usize {
        self.skipped
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (label, difference) in &self.failed {
            writeln!(out, "FAILED {label}: {difference}")?;
        }
        for (part, count) in &self.waiting {
            writeln!(out, "waiting for {part}: {count}")?;
        }
        for (id, (what, labels)) in &self.deviating {
            writeln!(out, "deviating by {id}: {} ({what})", labels.len())?;
        }
        if self.skipped > 0 {
            writeln!(out, "left out, marked jsOnly: {}", self.skipped)?;
        }
        let waiting: usize = self.waiting.values().sum();
        let deviating: usize = self.deviating.values().map(|(_, labels)| labels.len()).sum();
        write!(
            out,
            "{} passed, {} failed, {waiting} waiting, {deviating} deviating",
            self.passed,
            self.failed.len(),
        )
    }
}
