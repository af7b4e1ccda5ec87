//! Is every source file of a size and shape that one person can read?

use std::fs;
use std::path::{Path, PathBuf};

use crate::{assert_none, root};

/// Most lines of a Rust file. Most files are near 120; past this a file has two subjects.
const MAX_LINES: usize = 600;

/// Most lines of `ARCHITECTURE.md`: what is longer isn't read.
const MAX_ARCHITECTURE_LINES: usize = 250;

/// Folders of sources.
const SOURCES: &[&str] = &["host", "sdk", "guest-plugins", "tests"];

/// Folders inside them that hold no sources of ours.
const FOREIGN: &[&str] = &["target", "corpus", "artifacts"];

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is readable") {
        let path = entry.expect("the entry is readable").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() && !name.starts_with('.') && !FOREIGN.contains(&name.as_str()) {
            files(&path, ending, found);
        } else if path.extension().is_some_and(|end| end == ending) {
            found.push(path);
        }
    }
}

/// The Rust files of the repository with their texts.
pub(crate) fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in SOURCES {
        files(&root().join(folder), "rs", &mut found);
    }
    assert!(found.len() > 40, "the walk found only {} files", found.len());
    found
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("the file is readable");
            let shown = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
            (shown, text)
        })
        .collect()
}

#[test]
fn a_file_has_one_subject() {
    let complaints: Vec<_> = sources()
        .iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(path, lines)| format!("{path} has {lines} lines; the ceiling is {MAX_LINES}, so split it"))
        .collect();
    assert_none(&complaints);
}

#[test]
fn a_file_begins_with_the_question_it_answers() {
    let complaints: Vec<_> = sources()
        .iter()
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(path, _)| format!("{path} must begin with `//! ` and a sentence"))
        .collect();
    assert_none(&complaints);
}

#[test]
fn a_module_is_named_by_its_file() {
    let complaints: Vec<_> = sources()
        .iter()
        .filter(|(path, _)| path.ends_with("/mod.rs"))
        .map(|(path, _)| format!("{path}: a module is `name.rs` beside `name/`, not `mod.rs`"))
        .collect();
    assert_none(&complaints);
}

#[test]
fn the_architecture_fits_in_one_reading() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("there is an architecture");
    let lines = text.lines().count();
    assert!(
        lines <= MAX_ARCHITECTURE_LINES,
        "ARCHITECTURE.md has {lines} lines"
    );
}

#[test]
fn a_wit_file_holds_the_interface_it_is_named_after() {
    let mut found = Vec::new();
    files(&root().join("wit"), "wit", &mut found);
    let complaints: Vec<_> = found
        .iter()
        .filter(|path| !path.components().any(|part| part.as_os_str() == "deps"))
        .filter_map(|path| {
            let text = fs::read_to_string(path).expect("the file is readable");
            wit_complaint(&path.file_stem().unwrap_or_default().to_string_lossy(), &text)
        })
        .collect();
    assert_none(&complaints);
}

/// What is wrong with a WIT file: worlds stand in `worlds.wit` alone, any other file has one interface of its name.
fn wit_complaint(stem: &str, text: &str) -> Option<String> {
    let declared = |keyword: &str| -> Vec<String> {
        text.lines()
            .filter_map(|line| {
                line.strip_prefix(keyword)?
                    .split([' ', '{'])
                    .find(|word| !word.is_empty())
            })
            .map(str::to_owned)
            .collect()
    };
    let (interfaces, worlds) = (declared("interface "), declared("world "));
    let fits = if stem == "worlds" {
        interfaces.is_empty() && !worlds.is_empty()
    } else {
        interfaces == [stem] && worlds.is_empty()
    };
    (!fits).then(|| format!("{stem}.wit declares the interfaces {interfaces:?} and the worlds {worlds:?}"))
}

#[test]
fn the_wit_check_tells_good_from_bad() {
    assert_eq!(wit_complaint("log", "interface log {\n}\n"), None);
    assert_eq!(wit_complaint("worlds", "world a {\n}\nworld b {\n}\n"), None);
    assert!(wit_complaint("log", "interface log {\n}\ninterface more {\n}\n").is_some());
    assert!(wit_complaint("log", "interface other {\n}\n").is_some());
    assert!(wit_complaint("log", "interface log {\n}\nworld w {\n}\n").is_some());
    assert!(wit_complaint("worlds", "interface log {\n}\n").is_some());
}
