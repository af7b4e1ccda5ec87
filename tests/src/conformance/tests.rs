//! Does the runner see differences, and does it see nothing where there is none?

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::case::Mode;
use super::{diff, run, value};

fn difference(expected: &serde_json::Value, got: &serde_json::Value) -> String {
    diff::first(expected, got).map_or_else(|| "none".to_owned(), |difference| difference.to_string())
}

#[test]
fn the_first_difference_is_named_by_its_path() {
    let expected = json!({"a": [1, {"b": "x"}], "c": true});
    assert_eq!(difference(&expected, &expected), "none");
    assert_eq!(
        difference(&expected, &json!({"a": [1, {"b": "y"}], "c": false})),
        r#"at .a[1].b: expected "x", got "y""#
    );
    assert_eq!(
        difference(&expected, &json!({"a": [1, {"b": "x"}]})),
        "at .c: expected true, got nothing"
    );
    assert_eq!(
        difference(&expected, &json!({"a": [1, {"b": "x"}], "c": true, "d": null})),
        "at .d: expected nothing, got null"
    );
    assert_eq!(
        difference(&json!([1]), &json!([1, 2])),
        "at [1]: expected the end of the list, got 2"
    );
    assert_eq!(
        difference(&json!([1, 2]), &json!([1])),
        "at [1]: expected 2, got the end of the list"
    );
}

#[test]
fn free_wording_matches_any_text_but_the_empty_one_and_no_other_value() {
    let expected = json!({"error": "<wording>"});
    assert_eq!(difference(&expected, &json!({"error": "ours"})), "none");
    assert_eq!(
        difference(&expected, &json!({"error": ""})),
        "at .error: expected a non-empty text, got an empty one"
    );
    assert_eq!(
        difference(&expected, &json!({"error": 1})),
        r#"at .error: expected "<wording>", got 1"#
    );
}

#[test]
fn numbers_are_compared_by_value() {
    let number = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    for (a, b, same) in [
        ("1.50", "1.5", true),
        ("1e300", "1e+300", true),
        ("2", "2.0", true),
        ("9007199254740993", "9007199254740992", false),
        ("-0", "0", false),
        ("1", "2", false),
    ] {
        assert_eq!(difference(&number(a), &number(b)) == "none", same, "{a} and {b}");
    }
}

#[test]
fn markers_stand_for_what_json_text_cannot_say() {
    assert_eq!(value::decode(&json!({"$num": "-0"})).to_string(), "-0");
    assert_eq!(value::decode(&json!([{"$num": "NaN"}])).to_string(), "[1e+999]");
    assert_eq!(value::decode(&json!({"$deep": 3})), json!([[[1]]]));
    assert_eq!(
        value::decode(&json!({"$entries": [["", 1], ["__proto__", {"$num": "-0"}]]})).to_string(),
        r#"{"":1,"__proto__":-0}"#
    );
    // Not a marker: it has another key.
    let plain = json!({"$num": "NaN", "b": 1});
    assert_eq!(value::decode(&plain), plain);
}

fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("hames-conformance-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for (file, text) in files {
        fs::write(folder.join(file), text).unwrap();
    }
    folder
}

#[test]
fn a_file_of_unknown_shape_is_a_failure_and_not_silence() {
    let folder = folder(
        "unknown",
        &[
            ("a.json", r#"{"other": 1}"#),
            ("b.json", r#"{"cases": [{"x": 1}]}"#),
        ],
    );
    let report = run(&folder, Mode::Native, "").unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let text = report.to_string();
    assert!(
        text.contains("FAILED a.json: at $: expected a result, got the file has the shape of no known kind")
    );
    assert!(
        text.contains(
            "FAILED b.json: at $: expected a result, got `cases[0]` has the shape of no known kind"
        )
    );
    assert!(text.ends_with("0 passed, 2 failed, 0 waiting, 0 deviating"));
}

#[test]
fn an_empty_folder_is_an_error() {
    let folder = folder("empty", &[("README.md", "nothing")]);
    let problem = run(&folder, Mode::Native, "").unwrap_err();
    fs::remove_dir_all(&folder).unwrap();
    assert!(problem.to_string().contains("holds no data"), "{problem}");
}

#[test]
fn cases_only_javascript_can_express_are_left_out_and_counted() {
    let folder = folder(
        "js",
        &[("a.json", r#"{"cases": [{"kind": "append", "jsOnly": true}]}"#)],
    );
    let report = run(&folder, Mode::Native, "").unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(report.skipped(), 1);
    assert!(
        report
            .to_string()
            .ends_with("0 passed, 0 failed, 0 waiting, 0 deviating")
    );
}

#[test]
fn a_deviation_is_told_by_what_a_case_uses() {
    let outside = r#"{"cases": [{"kind": "store", "name": "any", "ops": [
        {"op": "create", "id": "a"},
        {"op": "append", "id": "a", "event": {"type": "plugin/x", "data": {}}}],
        "expect": "accept", "results": [
        {"id": "a", "header": {"version": 0, "id": "a", "createdAt": 0}}, {"seq": 0}]}]}"#;
    let folder = folder("deviating", &[("a.json", outside)]);
    let report = run(&folder, Mode::Native, "").unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let rules: Vec<_> = report
        .deviating()
        .map(|(id, labels)| (id, labels.len()))
        .collect();
    assert_eq!(rules, [("D-11", 1)], "{report}");
}

#[test]
fn a_doctored_expectation_fails_with_its_place() {
    let doctored = r#"{"cases": [{"kind": "append", "case": "X1", "prelude": [],
        "candidate": {"type": "plugin/x", "data": {}}, "expect": "accept", "seq": 7,
        "surface": [], "replaceGeneration": 0, "derivedCount": 0}]}"#;
    let folder = folder("doctored", &[("a.json", doctored)]);
    let report = run(&folder, Mode::Native, "").unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert!(
        report
            .to_string()
            .starts_with("FAILED a.json X1: at .seq: expected 7, got 0\n"),
        "{report}"
    );
}
