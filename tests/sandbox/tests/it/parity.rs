//! Are the contract's cases, the vocabulary's arms and the table of kinds one list?

use hames_plugin::{Point, PointKind};
use hames_sandbox_tests::guests::root;
use hames_types::chunk::StreamChunk;
use hames_types::decision::{
    ContinuationDecision, PostToolDecision, PreToolDecision, PromptDecision, RequestErrorDecision,
};
use hames_types::kinds::Sum;
use wit_parser::{Resolve, TypeDefKind};

/// The cases of a variant or an enumeration of the contract, in order.
fn cases(resolve: &Resolve, variant: &str) -> Vec<String> {
    let found: Vec<_> = resolve
        .types
        .iter()
        .filter(|(_, ty)| ty.name.as_deref() == Some(variant))
        .filter_map(|(_, ty)| {
            let names = |names: &mut dyn Iterator<Item = &String>| Some(names.cloned().collect());
            if let TypeDefKind::Variant(found) = &ty.kind {
                names(&mut found.cases.iter().map(|case| &case.name))
            } else if let TypeDefKind::Enum(found) = &ty.kind {
                names(&mut found.cases.iter().map(|case| &case.name))
            } else {
                None
            }
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

#[test]
fn a_stream_has_the_same_pieces_on_both_sides() {
    assert_eq!(cases(&contract(), "stream-chunk"), StreamChunk::KINDS);
}

#[test]
fn every_decision_has_the_same_answers_on_both_sides() {
    let resolve = contract();
    for (variant, arms) in [
        ("prompt-decision", PromptDecision::KINDS),
        ("pre-tool-decision", PreToolDecision::KINDS),
        ("post-tool-decision", PostToolDecision::KINDS),
        ("continuation-decision", ContinuationDecision::KINDS),
        ("request-error-decision", RequestErrorDecision::KINDS),
    ] {
        assert_eq!(cases(&resolve, variant), arms, "{variant}");
    }
}

/// Every interface a plugin can listen with is a point of the host, and a method of the SDK.
#[test]
fn every_point_is_an_interface_and_the_other_way_round() {
    let resolve = contract();
    let mut interfaces: Vec<String> = resolve
        .interfaces
        .iter()
        .filter_map(|(_, interface)| interface.name.clone())
        .filter(|name| name.starts_with("on-") || name == "guard")
        .map(|name| format!("hames:plugin/{name}@0.1.0"))
        .collect();
    let mut points: Vec<&str> = Point::ALL.iter().map(|point| point.interface()).collect();
    interfaces.sort_unstable();
    points.sort_unstable();
    assert_eq!(interfaces, points);
    let methods = std::fs::read_to_string(root().join("sdk/hames-sdk/src/plugin.rs")).unwrap();
    for point in points {
        let name = point.split(['/', '@']).nth(1).unwrap().replace('-', "_");
        assert!(
            methods.contains(&format!("    fn {name}(")),
            "the SDK has no `{name}`"
        );
    }
}

/// A chain that goes on has a resource for its rest, named as its interface.
#[test]
fn every_waterfall_has_its_rest() {
    let resolve = contract();
    for point in Point::ALL {
        let name = point.interface().split(['/', '@']).nth(1).unwrap();
        let rest = format!("next-{}", name.trim_start_matches("on-"));
        let is_there = resolve
            .types
            .iter()
            .any(|(_, ty)| ty.name.as_ref() == Some(&rest) && matches!(ty.kind, TypeDefKind::Resource));
        let asks_on = matches!(point.kind(), PointKind::Ordered | PointKind::Unordered);
        assert_eq!(is_there, asks_on, "{rest}");
    }
}

/// What isn't closed by its meaning can grow without breaking anybody.
#[test]
fn every_other_variant_ends_in_other_or_is_closed_on_purpose() {
    let closed = [
        "stream-chunk",
        "surface-op",
        "call-error",
        "kv-error",
        // Decisions are closed, and so is how the rest of a chain fails.
        "prompt-decision",
        "pre-tool-decision",
        "post-tool-decision",
        "continuation-decision",
        "next-error",
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
