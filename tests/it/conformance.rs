//! The recorded data in the repository, run by the same runner that anybody can point at other data.

use std::path::Path;

use hames_tests::conformance::{self, case::Mode};

#[test]
fn no_recorded_case_fails() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance");
    let report = conformance::run(&folder, Mode::Native, "").unwrap();
    println!("{report}");
    assert_eq!(report.failed(), [], "{report}");
    assert!(report.passed() + report.waiting().values().sum::<usize>() > 900);
}

/// Every scripted tool is a component in the sandbox; what deviates does so by a rule.
#[test]
fn no_recorded_case_fails_with_its_tools_in_the_sandbox() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/cases");
    let report = conformance::run(&folder, Mode::Tools, "").unwrap();
    println!("{report}");
    assert_eq!(report.failed(), [], "{report}");
    assert!(report.passed() > 200);
}

/// Every scripted listener is a component in the sandbox; what deviates does so by a rule.
#[test]
fn no_recorded_case_fails_with_its_listeners_in_the_sandbox() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/cases");
    let report = conformance::run(&folder, Mode::Listeners, "").unwrap();
    println!("{report}");
    assert_eq!(report.failed(), [], "{report}");
    assert!(report.waiting().is_empty(), "{report}");
    assert!(report.passed() > 200);
}
