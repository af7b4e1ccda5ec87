//! Does the top level hold what it should and nothing else?

use std::collections::BTreeSet;
use std::fs;

use crate::root;

/// The folders of the top level.
const FOLDERS: &[&str] = &["guest-plugins", "host", "sdk", "tests", "wit"];

/// The files of the top level, all of them such as tools and people look for there.
const FILES: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "clippy.toml",
    "rustfmt.toml",
];

#[test]
fn the_top_level_is_as_settled() {
    let (mut folders, mut files) = (BTreeSet::new(), BTreeSet::new());
    for entry in fs::read_dir(root()).expect("the root is readable") {
        let entry = entry.expect("the entry is readable");
        let name = entry.file_name().to_string_lossy().into_owned();
        // Dot-entries belong to tools; `target` is what a build leaves behind.
        if name.starts_with('.') || name == "target" {
            continue;
        }
        let list = if entry.path().is_dir() {
            &mut folders
        } else {
            &mut files
        };
        list.insert(name);
    }
    let set = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(folders, set(FOLDERS), "a further folder at the top level");
    assert_eq!(
        files,
        set(FILES),
        "a further file at the top level, or one that is missing"
    );
}
