//! Do the crates do what the recorded reference did? Reads a folder of recorded cases and runs every one.
//!
//! ```text
//! folder ──► load: files by shape ──► cases ──► section's runner ──► Outcome ──► Report
//! ```
//!
//! A file is recognised by its shape, never by its name, and so is a case that deviates on purpose: by what it uses
//! ([`rules`]). To run one more kind of case, write its runner in the file of its section and name it in
//! [`section::SECTIONS`].

pub mod adapter;
pub mod append;
pub mod assembler;
pub mod case;
pub mod diff;
pub mod header;
pub mod load;
pub mod log_view;
pub mod loop_cases;
pub mod outcome;
pub mod raw_files;
pub mod report;
pub mod rules;
pub mod schema;
pub mod section;
pub mod seed;
pub mod storage;
pub mod store;
pub mod value;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use case::{Case, Mode};
use outcome::{Difference, Outcome};
use report::Report;

/// Runs every case of a folder whose label contains `only` (all of them for the empty text).
///
/// # Errors
/// If the folder or a file in it can't be read. A case that can't be run is a failed case, not an error.
pub fn run(folder: &Path, mode: Mode, only: &str) -> anyhow::Result<Report> {
    let mut report = Report::default();
    for file in load::files(folder)? {
        let found = match file.cases() {
            Ok(found) => found,
            Err(problem) => {
                report.add(&file.label, Outcome::Failed(Difference::problem(&problem)));
                continue;
            }
        };
        for entry in found {
            if !entry.label.contains(only) {
                continue;
            }
            if entry.is_js_only() {
                report.skip();
                continue;
            }
            let case = Case::new(&file, entry.label, entry.value, mode);
            report.add(&case.label, run_one(entry.section.run, &case));
        }
    }
    Ok(report)
}

/// One case, whatever it does: an error and a panic are failures of that case alone.
fn run_one(runner: section::Runner, case: &Case<'_>) -> Outcome {
    match catch_unwind(AssertUnwindSafe(|| runner(case))) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(problem)) => Outcome::Failed(Difference::problem(&problem)),
        Err(_) => Outcome::Failed(Difference {
            path: String::new(),
            expected: "a result".to_owned(),
            got: "a panic (its message is on the error output)".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests;
