//! A refused append says which event, which rule and which value, and changes nothing.

use std::path::Path;

use hames_log::Draft;
use hames_log::error::{AppendError, Problem};
use hames_tests::conformance::append::prelude;
use hames_tests::conformance::case::{Case, Mode};
use hames_tests::conformance::log_view::draft;
use hames_tests::conformance::{load, value};
use hames_types::json::{Json, to_json};

use crate::recorded::folder;

/// Rule ids by what the recorded candidates break.
const RULES: &[&str] = &[
    "R-JSON-1", "R-LOG-2", "R-SURF-1", "R-SURF-2", "R-SURF-4", "R-SURF-6", "R-SURF-7", "R-SURF-8",
];

/// Where in a candidate the offender lies, as the error names it.
fn offender(error: &AppendError) -> String {
    match &error.problem {
        Problem::NotLossless(fault) => fault.path.clone(),
        Problem::Legacy(what) => (*what).to_owned(),
        Problem::Surface(fault) => {
            let text = fault.to_string();
            // Every message about the surface quotes the field it is about.
            assert!(
                text.contains("`surfaceOp")
                    || text.contains("`sourceEventSeqs")
                    || text.contains("`content`"),
                "{text}"
            );
            text
        }
        Problem::Reentrant { .. } | Problem::Payload(_) | Problem::EmptyRoute { .. } | Problem::Trace(_) => {
            panic!("a bare log doesn't ask this: {error}")
        }
    }
}

#[test]
fn every_refused_append_names_kind_rule_and_offender_and_changes_nothing() {
    let files = load::files(&folder()).unwrap();
    let file = files
        .iter()
        .find(|file| file.label == "append-cases.json")
        .unwrap();
    let mut refused = 0;
    for found in file.cases().unwrap() {
        let is_refused = found.value["kind"] == "append" && found.value["expect"] == "error";
        if !is_refused || found.is_js_only() {
            continue;
        }
        let case = case_of(&found.label, found.value, &file.document, &file.path);
        check(&case);
        refused += 1;
    }
    assert!(refused > 50, "only {refused} refused appends were found");
}

fn case_of<'a>(label: &str, raw: &Json, document: &'a Json, path: &'a Path) -> Case<'a> {
    Case {
        label: label.to_owned(),
        value: value::decode(raw),
        document,
        path,
        mode: Mode::Native,
    }
}

fn check(case: &Case<'_>) {
    let mut log = prelude(case).unwrap();
    let before = (
        to_json(log.events()).unwrap(),
        log.surface().clone(),
        to_json(log.derive().unwrap()).unwrap(),
    );
    let candidate = case.field("candidate");
    let error = draft(candidate)
        .unwrap()
        .and_then(|draft: Draft| log.append(draft, 0))
        .expect_err(&case.label);

    let text = error.to_string();
    let kind = candidate["type"].as_str().unwrap();
    assert_eq!(error.kind, kind, "{}", case.label);
    assert!(
        text.contains(&format!("`{kind}`")),
        "{}: no kind in: {text}",
        case.label
    );
    assert!(
        RULES.contains(&error.rule()),
        "{}: {} in: {text}",
        case.label,
        error.rule()
    );
    assert!(text.contains(error.rule()), "{}: no rule in: {text}", case.label);
    assert!(
        text.contains(&offender(&error)),
        "{}: no offender in: {text}",
        case.label
    );

    let after = (
        to_json(log.events()).unwrap(),
        log.surface().clone(),
        to_json(log.derive().unwrap()).unwrap(),
    );
    assert_eq!(
        after, before,
        "{}: a refused append changed something",
        case.label
    );
}
