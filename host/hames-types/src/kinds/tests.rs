//! Does the registry refuse what isn't a plugin's to declare, and what no schema should cost?

use serde_json::json;

use super::{DeclareError, KindDeclaration, KindError, KindRegistry, MAX_SCHEMA_BYTES, Sum};
use crate::id::PluginId;
use crate::json::{Json, JsonMap};

fn owner(name: &str) -> PluginId {
    PluginId::new(name)
}

fn kind(tag: &str, schema: Json) -> KindDeclaration {
    KindDeclaration {
        sum: Sum::SessionEvent,
        tag: tag.into(),
        schema,
        out_of_band: false,
    }
}

fn refusal(registry: &mut KindRegistry, name: &str, kind: KindDeclaration) -> String {
    registry
        .declare(&owner(name), kind)
        .expect_err("the declaration must be refused")
        .to_string()
}

/// A registry in which `p` has declared `p:x` with a schema.
fn with_schema(schema: Json) -> KindRegistry {
    let mut registry = KindRegistry::new();
    registry
        .declare(&owner("p"), kind("p:x", schema))
        .expect("the declaration is sound");
    registry
}

fn check(registry: &KindRegistry, payload: &Json) -> Result<(), KindError> {
    registry.check(&owner("p"), Sum::SessionEvent, "p:x", payload)
}

#[test]
fn a_declared_payload_is_checked_and_the_fault_has_its_place() {
    let schema = json!({"type": "object", "properties": {"list": {"items": {"type": "integer"}}}, "required": ["list"]});
    let registry = with_schema(schema);
    assert_eq!(check(&registry, &json!({"list": [1, 2]})), Ok(()));
    let fault = check(&registry, &json!({"list": [1, "two"]}))
        .unwrap_err()
        .to_string();
    assert!(
        fault.starts_with("bad session event `p:x` at `/list/1`: "),
        "{fault}"
    );
    let fault = check(&registry, &json!({})).unwrap_err().to_string();
    assert!(fault.contains("list"), "{fault}");
}

#[test]
fn a_fault_never_repeats_the_payload() {
    let registry = with_schema(json!({"properties": {"key": {"type": "integer"}}}));
    let fault = check(&registry, &json!({"key": "a secret of the user's"}))
        .unwrap_err()
        .to_string();
    assert!(!fault.contains("secret"), "{fault}");
}

#[test]
fn a_tag_declared_twice_names_both_owners() {
    let mut registry = KindRegistry::new();
    registry
        .declare_shipped(&owner("retry"), kind("llm/retry", json!({})))
        .unwrap();
    let fault = registry
        .declare_shipped(&owner("other"), kind("llm/retry", json!({})))
        .unwrap_err();
    assert!(matches!(fault, DeclareError::Taken { .. }));
    let text = fault.to_string();
    assert!(
        text.contains("`other`") && text.contains("`retry`") && text.contains("`llm/retry`"),
        "{text}"
    );
    assert_eq!(
        registry.owner(Sum::SessionEvent, "llm/retry"),
        Some(&owner("retry"))
    );
    // The same tag of another sum is another kind.
    let block = KindDeclaration {
        sum: Sum::ContentBlock,
        ..kind("llm/retry", json!({}))
    };
    registry.declare_shipped(&owner("other"), block).unwrap();
}

#[test]
fn a_plugin_declares_tags_of_its_own_alone() {
    let mut registry = KindRegistry::new();
    for tag in [
        "x",
        "q:x",
        "p",
        "p:",
        "p:X",
        "p:1x",
        "p:x y",
        "p:é",
        "p:x:y",
        "P:x",
        " p:x",
        &format!("p:{}", "x".repeat(65)),
    ] {
        let text = refusal(&mut registry, "p", kind(tag, json!({})));
        assert!(text.contains("have the form `p:word`"), "{tag}: {text}");
    }
    for tag in ["p:x", "p:x/y_z-9", &format!("p:{}", "x".repeat(64))] {
        registry.declare(&owner("p"), kind(tag, json!({}))).unwrap();
    }
}

#[test]
fn a_kind_of_the_core_can_not_be_declared_by_anybody() {
    let mut registry = KindRegistry::new();
    for sum in Sum::ALL {
        for tag in sum.core_kinds() {
            let declaration = KindDeclaration {
                sum,
                ..kind(tag, json!({}))
            };
            let text = refusal(&mut registry, "p", declaration.clone());
            assert!(text.contains("is a kind of the core"), "{sum} {tag}: {text}");
            let shipped = registry.declare_shipped(&owner("p"), declaration).unwrap_err();
            assert!(
                matches!(shipped, DeclareError::Core { .. }),
                "{sum} {tag}: {shipped}"
            );
        }
    }
}

#[test]
fn only_the_owner_produces_a_kind_and_only_a_declared_one() {
    let registry = with_schema(json!({}));
    let ask =
        |producer: &str, tag: &str| registry.check(&owner(producer), Sum::SessionEvent, tag, &json!({}));
    let text = ask("q", "p:x").unwrap_err().to_string();
    assert!(text.contains("belongs to `p`, not to `q`"), "{text}");
    let text = ask("p", "p:y").unwrap_err().to_string();
    assert!(text.contains("nobody declared the session event `p:y`"), "{text}");
}

#[test]
fn a_lossy_payload_is_refused_whatever_its_schema_says() {
    let registry = with_schema(json!(true));
    let lossy: Json = serde_json::from_str(r#"{"a": [1, -0]}"#).unwrap();
    let text = check(&registry, &lossy).unwrap_err().to_string();
    assert!(text.contains("payload.a[1]"), "{text}");
}

#[test]
fn a_schema_is_bounded_in_size() {
    let mut registry = KindRegistry::new();
    let text = refusal(
        &mut registry,
        "p",
        kind("p:x", json!({"description": "x".repeat(MAX_SCHEMA_BYTES)})),
    );
    assert!(text.contains("the limit is 65536"), "{text}");
    assert!(
        registry.owner(Sum::SessionEvent, "p:x").is_none(),
        "a refused declaration leaves nothing"
    );
}

#[test]
fn a_schema_reaches_nothing_outside_itself() {
    for reference in [
        "https://example.com/schema.json",
        "http://127.0.0.1:9/x",
        "file:///etc/passwd",
        "other.json",
    ] {
        let text = refusal(
            &mut KindRegistry::new(),
            "p",
            kind("p:x", json!({"$ref": reference})),
        );
        assert!(
            text.contains("a schema that can't be used"),
            "{reference}: {text}"
        );
    }
}

#[test]
fn what_is_no_schema_is_refused() {
    for schema in [
        json!(1),
        json!({"type": "no-such-type"}),
        json!({"pattern": "("}),
        json!({"$ref": "#/$defs/none"}),
    ] {
        let text = refusal(&mut KindRegistry::new(), "p", kind("p:x", schema.clone()));
        assert!(text.contains("a schema that can't be used"), "{schema}: {text}");
    }
}

#[test]
fn a_pattern_is_bounded_in_size_and_time() {
    let text = refusal(
        &mut KindRegistry::new(),
        "p",
        kind("p:x", json!({"pattern": "a{1000}{1000}{1000}"})),
    );
    assert!(text.contains("a schema that can't be used"), "{text}");
    // Backtracking would take longer than the universe has.
    let registry = with_schema(json!({"pattern": "^(a+)+$"}));
    let hostile = Json::from(format!("{}!", "a".repeat(100_000)));
    assert!(check(&registry, &hostile).is_err());
}

#[test]
fn patterns_are_bounded_in_number() {
    let patterns: Vec<Json> = (0..40)
        .map(|number| json!({"pattern": format!("{number}")}))
        .collect();
    let text = refusal(
        &mut KindRegistry::new(),
        "p",
        kind("p:x", json!({"allOf": patterns})),
    );
    assert!(text.contains("more than 32 patterns"), "{text}");
}

#[test]
fn a_schema_that_refers_to_itself_is_refused() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}}),
        // Twice as many checks for every level of the payload.
        json!({"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}),
    ] {
        let text = refusal(&mut KindRegistry::new(), "p", kind("p:x", schema.clone()));
        assert!(text.contains("it refers to itself"), "{schema}: {text}");
    }
    for schema in [
        json!({"$dynamicRef": "#a", "$dynamicAnchor": "a"}),
        json!({"properties": {"a": {"$id": "https://a.example/", "$ref": "#/x"}}}),
        json!({"$ref": "#anchor", "$defs": {"a": {"$anchor": "anchor"}}}),
    ] {
        let text = refusal(&mut KindRegistry::new(), "p", kind("p:x", schema.clone()));
        assert!(text.contains("a schema that can't be used"), "{schema}: {text}");
    }
}

/// Definitions that refer so many times to the next one each.
fn chain(levels: usize, times: usize) -> Json {
    let mut definitions = JsonMap::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        definitions.insert(format!("l{level}"), json!({"allOf": vec![next; times]}));
    }
    definitions.insert(format!("l{levels}"), json!({"type": "object"}));
    json!({"$ref": "#/$defs/l0", "$defs": definitions})
}

#[test]
fn a_schema_that_multiplies_its_work_is_refused() {
    let text = refusal(&mut KindRegistry::new(), "p", kind("p:x", chain(60, 2)));
    assert!(
        text.contains("unfold to more than 20000") || text.contains("nests deeper"),
        "{text}"
    );
    let text = refusal(&mut KindRegistry::new(), "p", kind("p:x", chain(20, 3)));
    assert!(text.contains("unfold to more than 20000"), "{text}");
    let text = refusal(&mut KindRegistry::new(), "p", kind("p:x", chain(600, 1)));
    assert!(text.contains("nests deeper than 128"), "{text}");
    // What is used in several places is fine.
    let registry = with_schema(chain(3, 3));
    assert_eq!(check(&registry, &json!({})), Ok(()));
    assert!(check(&registry, &json!([])).is_err());
}
