//! Has every numbered rule a test, or a recorded case, or a word why there is none? The table is `tests/rules.json`.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::files::sources;
use crate::{assert_none, root};

fn table() -> Value {
    let text = fs::read_to_string(root().join("tests/rules.json")).expect("the table is readable");
    serde_json::from_str(&text).expect("the table is JSON")
}

fn texts<'a>(entry: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    entry[key]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// The names of all test functions of the repository.
fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (_, text) in sources() {
        let mut is_test = false;
        for line in text.lines().map(str::trim_start) {
            if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                is_test = true;
            } else if let Some((_, rest)) = line.split_once("fn ").filter(|_| is_test) {
                names.extend(rest.split_once('(').map(|(name, _)| name.to_owned()));
                is_test = false;
            }
        }
    }
    names
}

/// The numbers of the recorded cases of the loop.
fn cases() -> BTreeSet<u64> {
    let folder = fs::read_dir(root().join("tests/conformance/cases")).expect("the folder is readable");
    folder
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            name.split_once('-')?.0.parse().ok()
        })
        .collect()
}

#[test]
fn every_rule_of_a_family_has_its_line() {
    let table = table();
    let families = table["families"].as_object().expect("families are a map");
    let rules = table["rules"].as_object().expect("rules are a map");
    let expected: BTreeSet<String> = families
        .iter()
        .flat_map(|(family, count)| {
            let count = count.as_u64().expect("a family has a count");
            (1..=count).map(move |number| format!("{family}-{number}"))
        })
        .collect();
    let found: BTreeSet<String> = rules.keys().cloned().collect();
    let complaints: Vec<_> = expected
        .symmetric_difference(&found)
        .map(|rule| format!("{rule} is in one of `families` and `rules` only"))
        .collect();
    assert_none(&complaints);
}

#[test]
fn what_a_rule_s_line_names_is_there() {
    let (tests, cases) = (tests(), cases());
    let mut complaints = Vec::new();
    for (rule, entry) in table()["rules"].as_object().expect("rules are a map") {
        let mut named = entry["absent"].as_str().map_or(0, |_| 1);
        for test in texts(entry, "tests") {
            named += 1;
            if !tests.contains(test) {
                complaints.push(format!("{rule} names the test `{test}`, which isn't there"));
            }
        }
        for case in entry["cases"].as_array().into_iter().flatten() {
            named += 1;
            if !case.as_u64().is_some_and(|number| cases.contains(&number)) {
                complaints.push(format!("{rule} names the case {case}, which isn't there"));
            }
        }
        if named == 0 {
            complaints.push(format!("{rule} names nothing that shows it"));
        }
    }
    assert_none(&complaints);
}

#[test]
fn a_test_that_bears_a_rule_s_name_stands_in_its_line() {
    let table = table();
    let named: BTreeSet<&str> = table["rules"]
        .as_object()
        .into_iter()
        .flat_map(|rules| rules.values().flat_map(|entry| texts(entry, "tests")))
        .collect();
    let families: Vec<String> = table["families"]
        .as_object()
        .into_iter()
        .flat_map(|families| families.keys())
        .map(|family| format!("{}_", family.to_lowercase().replace('-', "_")))
        .collect();
    let complaints: Vec<_> = tests()
        .iter()
        .filter(|test| {
            let numbered = |family: &String| {
                let rest = test.strip_prefix(family.as_str());
                rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
            };
            families.iter().any(numbered) && !named.contains(test.as_str())
        })
        .map(|test| format!("the test `{test}` bears a rule's name and stands in no line of the table"))
        .collect();
    assert_none(&complaints);
}
