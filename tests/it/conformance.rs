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
