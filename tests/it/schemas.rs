//! Do our two small validators agree with a full one about what they both understand?

use hames_agent::prompt::render;
use hames_agent::schema::{ArgSpec, OutputSchema};
use hames_types::json::{FromJson, Json};
use hames_types::prompt::PromptAssembly;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::json;

/// Few names, so that values meet their specs.
fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "__proto__"]).prop_map(str::to_owned)
}

/// Few scalars, for the same reason; some are one number in two spellings.
fn scalar() -> impl Strategy<Value = Json> {
    let texts = vec!["null", "true", "1", "1.0", "1.5", "1e300", "\"1\"", "\"a\""];
    prop::sample::select(texts).prop_map(|text| serde_json::from_str(text).unwrap())
}

fn value() -> impl Strategy<Value = Json> {
    scalar().prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Json::from),
            btree_map(name(), inner, 0..4).prop_map(|fields| Json::Object(fields.into_iter().collect())),
        ]
    })
}

/// A value whose root is an object, as arguments are.
fn arguments() -> impl Strategy<Value = Json> {
    btree_map(name(), value(), 1..4).prop_map(|fields| Json::Object(fields.into_iter().collect()))
}

fn with(mut property: Json, key: &str, value: Option<Json>) -> Json {
    if let (Some(fields), Some(value)) = (property.as_object_mut(), value) {
        fields.insert(key.to_owned(), value);
    }
    property
}

/// A property of a spec, without what belongs to its object.
fn property() -> impl Strategy<Value = Json> {
    let word = prop::sample::select(vec!["string", "number", "integer", "boolean"]);
    let leaf = (word, option::weighted(0.6, vec(scalar(), 1..3)))
        .prop_map(|(word, choices)| with(json!({"type": word}), "enum", choices.map(Json::from)));
    let leaf = prop_oneof![
        leaf,
        Just(json!({"type": "object"})),
        Just(json!({"type": "array"}))
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|items| json!({"type": "array", "items": items})),
            spec_of(inner).prop_map(|properties| json!({"type": "object", "properties": properties})),
        ]
    })
}

fn spec_of(property: impl Strategy<Value = Json>) -> impl Strategy<Value = Json> {
    let property = (property, any::<bool>())
        .prop_map(|(property, required)| with(property, "required", Some(Json::from(required))));
    btree_map(name(), property, 1..3).prop_map(|fields| Json::Object(fields.into_iter().collect()))
}

/// A schema of the subset for outputs.
fn output_schema() -> impl Strategy<Value = Json> {
    let word = prop::sample::select(vec!["string", "number", "integer", "boolean", "null"]);
    let leaf = (
        word,
        option::weighted(0.6, vec(scalar(), 1..3)),
        option::weighted(0.2, scalar()),
    )
        .prop_map(|(word, choices, only)| {
            let schema = with(json!({"type": word}), "enum", choices.map(Json::from));
            with(schema, "const", only)
        });
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|items| json!({"type": "array", "items": items})),
            object_schema(inner),
        ]
    })
}

fn object_schema(property: impl Strategy<Value = Json>) -> impl Strategy<Value = Json> {
    let property = (property, any::<bool>());
    (btree_map(name(), property, 1..3), option::of(any::<bool>())).prop_map(|(properties, open)| {
        let required: Vec<&String> = properties
            .iter()
            .filter_map(|(name, (_, required))| required.then_some(name))
            .collect();
        let required = json!(required);
        let properties: serde_json::Map<_, _> = properties
            .iter()
            .map(|(name, (schema, _))| (name.clone(), schema.clone()))
            .collect();
        let schema = json!({"type": "object", "properties": properties, "required": required});
        with(schema, "additionalProperties", open.map(Json::from))
    })
}

fn full(schema: &Json) -> jsonschema::Validator {
    jsonschema::options().offline().build(schema).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn r_schema_2_what_a_spec_accepts_is_what_the_schema_shown_to_the_model_accepts(
        spec in spec_of(property()), arguments in arguments(),
    ) {
        let spec = ArgSpec::parse(&spec).unwrap();
        let schema = Json::Object(spec.to_schema().as_ref().clone());
        let violations = spec.violations(&arguments);
        prop_assert_eq!(violations.is_empty(), full(&schema).is_valid(&arguments), "{:?}", violations);
    }

    #[test]
    fn r_schema_6_what_an_output_schema_accepts_is_what_a_full_validator_accepts(
        schema in object_schema(output_schema()), value in arguments(),
    ) {
        let ours = OutputSchema::new(schema.clone()).unwrap();
        let violations = ours.violations(&value);
        prop_assert_eq!(violations.is_empty(), full(&schema).is_valid(&value), "{:?}", violations);
    }

    #[test]
    fn no_value_at_all_makes_a_spec_or_an_output_schema_panic(schema in value(), value in value()) {
        if let Ok(spec) = ArgSpec::parse(&schema) {
            prop_assert_eq!(spec.fits(&value), spec.violations(&value).is_empty());
        }
        if let Ok(schema) = OutputSchema::new(schema) {
            prop_assert_eq!(schema.violations(&value), schema.violations(&value.clone()));
        }
    }

    #[test]
    fn r_sys_8_rendering_loses_nothing_and_panics_on_nothing(text in "[a{} \n}}{{é]{0,24}", value in "[{}a]{0,6}") {
        let assembly = PromptAssembly::from_json(json!({
            "sections": [{"name": "s", "text": text}],
            "variables": [{"name": "a", "value": value}],
            "tools": [],
        })).unwrap();
        // Whatever is rendered is the text with every group replaced, once and from the left.
        if let Ok(rendered) = render(&assembly) {
            let mut expected = String::new();
            let mut rest = text.as_str();
            while let Some(at) = rest.find("{{a}}") {
                expected.push_str(&rest[..at]);
                expected.push_str(&value);
                rest = &rest[at + 5..];
            }
            expected.push_str(rest);
            prop_assert_eq!(rendered.unwrap_or_default().to_string(), expected);
        }
    }
}
