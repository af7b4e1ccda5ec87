//! Are the contract's cases, the vocabulary's arms and the table of kinds one list?

use hames_sandbox_tests::guests::root;
use hames_types::chunk::StreamChunk;
use hames_types::decision::{ContinuationDecision, PostToolDecision, PreToolDecision, PromptDecision};
use hames_types::kinds::Sum;
use wit_parser::{Resolve, TypeDefKind};

/// The cases of a variant of the contract, in order.
fn cases(resolve: &Resolve, variant: &str) -> Vec<String> {
    let found: Vec<_> = resolve
        .types
        .iter()
        .filter(|(_, ty)| ty.name.as_deref() == Some(variant))
        .filter_map(|(_, ty)| {
            let TypeDefKind::Variant(found) = &ty.kind else {
                return None;
            };
            Some(found.cases.iter().map(|case| case.name.clone()).collect())
        })
        .collect();
    assert_eq!(found.len(), 1, "one variant `{variant}`");
    found.into_iter().next().unwrap()
}

fn contract() -> Resolve {
    let mut resolve = Resolve::default();
    resolve.push_dir(root().join("wit")).unwrap();
    resolve
}

#[test]
fn every_open_sum_has_its_kinds_as_cases_and_other_behind_them() {
    let resolve = contract();
    for sum in Sum::ALL {
        let variant = match sum {
            Sum::ContentBlock => "content-block",
            Sum::MessageSource => "message-source",
            Sum::FinishReason => "finish-reason",
            Sum::TurnTrigger => "turn-trigger",
            Sum::TurnEndReason => "turn-end-reason",
            Sum::SessionEvent => "event-body",
        };
        let mut kinds: Vec<String> = sum
            .core_kinds()
            .iter()
            .map(|kind| kind.replace('/', "-"))
            .collect();
        kinds.push("other".to_owned());
        assert_eq!(cases(&resolve, variant), kinds, "{variant}");
    }
}

/// Decisions are closed on both sides, so they must be the same.
#[test]
fn what_can_be_decided_is_the_same_on_both_sides() {
    let resolve = contract();
    for (variant, kinds) in [
        ("prompt-decision", PromptDecision::KINDS),
        ("pre-tool-decision", PreToolDecision::KINDS),
        ("post-tool-decision", PostToolDecision::KINDS),
        ("continuation-decision", ContinuationDecision::KINDS),
    ] {
        assert_eq!(cases(&resolve, variant), kinds, "{variant}");
    }
}

#[test]
fn a_stream_has_the_same_pieces_on_both_sides() {
    assert_eq!(cases(&contract(), "stream-chunk"), StreamChunk::KINDS);
}

/// What isn't closed by its meaning can grow without breaking anybody.
#[test]
fn every_other_variant_ends_in_other_or_is_closed_on_purpose() {
    let closed = [
        "stream-chunk",
        "surface-op",
        "call-error",
        "kv-error",
        // What can be decided is closed, and what isn't `spent` failed with a fault that says how.
        "next-error",
        "prompt-decision",
        "pre-tool-decision",
        "post-tool-decision",
        "continuation-decision",
    ];
    for (_, ty) in &contract().types {
        if let (TypeDefKind::Variant(variant), Some(name)) = (&ty.kind, &ty.name) {
            let last = variant.cases.last().map(|case| case.name.as_str());
            assert!(
                last == Some("other") || closed.contains(&name.as_str()),
                "{name} ends in {last:?}"
            );
        }
    }
}
