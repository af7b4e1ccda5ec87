//! Specs by hand and from types, their checks, and the output subset. The recorded cases hold the wording of most.

use std::collections::HashMap;

use async_trait::async_trait;
use hames_types::fault::Fault;
use hames_types::id::CallId;
use hames_types::json::{Extra, Json};
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::signal::Signal;
use hames_types::tool::{ExecutionMode, GenericView, ToolCall, ToolOutput, ToolView};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{
    ArgSpec, Kind, MAX_VIOLATIONS_SAID, OutputSchema, Property, SpecError, TypedBody, TypedTool,
    invalid_arguments,
};

/// How to open.
#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    /// Only read.
    Read,
    /// Read and write.
    ReadWrite,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
enum Plain {
    One,
    Two,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Row {
    id: u32,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Args {
    /// The file.
    path: String,
    /// How to open it.
    mode: Option<Mode>,
    plain: Option<Plain>,
    #[serde(default)]
    limit: u8,
    factor: Option<f64>,
    rows: Option<Vec<Row>>,
    extra: Option<HashMap<String, u32>>,
    inner: Option<Row>,
}

#[test]
fn r_schema_1_a_spec_from_a_type_says_what_one_by_hand_would() {
    let spec = ArgSpec::of::<Args>().unwrap();
    let schema = Json::Object(spec.to_schema().as_ref().clone());
    let expected = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file."},
            "mode": {"type": "string", "description": "How to open it.", "enum": ["read", "read-write"]},
            "plain": {"type": "string", "enum": ["One", "Two"]},
            "limit": {"type": "integer", "default": 0, "minimum": 0, "maximum": 255},
            "factor": {"type": "number"},
            "rows": {"type": "array", "items": {
                "type": "object",
                "properties": {"id": {"type": "integer", "minimum": 0}},
                "required": ["id"],
            }},
            "extra": {"type": "object"},
            "inner": {
                "type": "object",
                "properties": {"id": {"type": "integer", "minimum": 0}},
                "required": ["id"],
            },
        },
        "required": ["path"],
    });
    assert_eq!(schema, expected);
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Recursive {
    child: Option<Box<Recursive>>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
enum Union {
    A(String),
    B { n: u32 },
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct HasUnion {
    which: Union,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct HasAny {
    any: Json,
}

#[test]
fn r_schema_1_a_type_that_needs_more_than_a_spec_is_refused_with_the_place() {
    let refusals = [
        (ArgSpec::of::<Recursive>(), "child"),
        (ArgSpec::of::<HasUnion>(), "which"),
        (ArgSpec::of::<HasAny>(), "any"),
        (ArgSpec::of::<String>(), "arguments"),
    ];
    for (refusal, place) in refusals {
        let error = refusal.unwrap_err().to_string();
        assert!(error.contains(&format!("`{place}")), "{error}");
    }
}

#[test]
fn r_schema_1_a_spec_by_hand_replaces_a_property_where_it_stands() {
    let spec = ArgSpec::new()
        .with("a", Property::new(Kind::Number))
        .with("b", Property::new(Kind::Boolean))
        .with("a", Property::new(Kind::String).required().described("first"));
    assert_eq!(
        Json::Object(spec.to_schema().as_ref().clone()),
        json!({
            "type": "object",
            "properties": {"a": {"type": "string", "description": "first"}, "b": {"type": "boolean"}},
            "required": ["a"],
        })
    );
}

#[test]
fn a_spec_as_json_is_read_strictly() {
    for bad in [
        json!([]),
        json!({"a": 1}),
        json!({"a": {}}),
        json!({"a": {"type": "date"}}),
        json!({"a": {"type": "string", "pattern": "x"}}),
        json!({"a": {"type": "string", "required": "yes"}}),
        json!({"a": {"type": "string", "enum": "x"}}),
        json!({"a": {"type": "array", "items": {"type": 1}}}),
        json!({"a": {"type": "object", "properties": []}}),
    ] {
        ArgSpec::parse(&bad).unwrap_err();
    }
    let nested = ArgSpec::parse(&json!({"a": {"type": "array", "items": {"type": "object",
        "properties": {"b": {"type": "nope"}}}}}));
    let error = nested.unwrap_err();
    assert!(
        matches!(&error, SpecError::Shape { path, .. } if path == "a[].b.type"),
        "{error}"
    );
}

#[test]
fn r_schema_2_numbers_are_compared_by_value_and_integers_however_they_are_written() {
    let spec = ArgSpec::new()
        .with(
            "level",
            Property::new(Kind::Number).one_of(vec![json!(1), json!(2.5)]),
        )
        .with("count", Property::new(Kind::Integer));
    let parse = |text: &str| serde_json::from_str::<Json>(text).unwrap();
    for fits in [
        "{\"level\": 1.0}",
        "{\"level\": 2.50}",
        "{\"count\": 1e3}",
        "{\"count\": 3.0}",
    ] {
        assert_eq!(spec.violations(&parse(fits)), Vec::<String>::new(), "{fits}");
    }
    assert_eq!(
        spec.violations(&parse("{\"level\": 3, \"count\": 1.5}")),
        ["\"level\" must be one of [1,2.5]", "\"count\" must be an integer"]
    );
}

#[test]
fn r_schema_3_violations_are_joined_and_a_flood_of_them_is_cut() {
    let fault = invalid_arguments(&["a".to_owned(), "b".to_owned()]);
    assert_eq!(fault.message(), "invalid arguments: a; b");
    assert_eq!(
        (fault.name(), fault.trusted_code()),
        ("ToolArgsError", Some("INVALID_ARGS"))
    );

    let flood = vec!["x".to_owned(); 1_000_000];
    let fault = invalid_arguments(&flood);
    assert!(
        fault.message().ends_with("; and 999950 more"),
        "{}",
        fault.message()
    );
    assert_eq!(fault.message().matches("; x").count(), MAX_VIOLATIONS_SAID - 1);
}

struct Echo;

#[async_trait]
impl TypedBody for Echo {
    type Args = Args;

    fn mode(&self, _: &Args) -> ExecutionMode {
        ExecutionMode::Parallel
    }

    async fn execute(&self, args: Args, _: &ToolCall, _: &ToolRun) -> Result<ToolOutput, Fault> {
        Ok(ToolOutput::text(format!(
            "{} {:?} {}",
            args.path, args.mode, args.limit
        )))
    }

    fn present_call(&self, args: &Args) -> Option<ToolView> {
        Some(ToolView::Generic(GenericView {
            title: args.path.as_str().into(),
            body: None,
            extra: Extra::NONE,
        }))
    }
}

async fn run(arguments: Json) -> Result<String, Fault> {
    let tool = TypedTool::new("echo", "says it again", Echo).unwrap();
    let call = ToolCall {
        call_id: CallId::new("c1"),
        name: "echo".into(),
        arguments: std::sync::Arc::new(arguments),
        agent: None,
        at: None,
        parent: None,
    };
    let output = tool.execute(&call, &ToolRun::new(Signal::never())).await?;
    Ok(output.content.joined_text())
}

#[tokio::test]
async fn r_schema_3_a_typed_body_sees_only_what_fits_its_type() {
    let fits = json!({"path": "p", "mode": "read-write", "unknown": 1});
    assert_eq!(run(fits).await.unwrap(), "p Some(ReadWrite) 0");

    let fault = run(json!({"path": 1, "mode": "w"})).await.unwrap_err();
    assert_eq!(
        fault.message(),
        "invalid arguments: \"path\" must be a string; \"mode\" must be one of [\"read\",\"read-write\"]"
    );
    // The spec has no ranges; the type has.
    let fault = run(json!({"path": "p", "limit": 300})).await.unwrap_err();
    assert_eq!(fault.trusted_code(), Some("INVALID_ARGS"));
}

#[tokio::test]
async fn r_reg_8_and_r_schema_5_invalid_arguments_run_alone_and_have_no_card() {
    let tool = TypedTool::new("echo", "", Echo).unwrap();
    for (arguments, fits) in [
        (json!({"path": "p"}), true),
        (json!({}), false),
        (json!("text"), false),
        (json!({"path": "p", "limit": 300}), false),
    ] {
        let mode = tool.classify(&arguments).await.unwrap();
        assert_eq!(mode == ExecutionMode::Parallel, fits, "{arguments}");
        assert_eq!(tool.present_call(&arguments).is_some(), fits, "{arguments}");
    }
}

#[test]
fn r_schema_6_an_output_schema_too_deep_to_walk_is_refused() {
    let mut schema = json!({"type": "object"});
    for _ in 0..200 {
        schema = json!({"type": "object", "properties": {"a": schema}});
    }
    assert_eq!(OutputSchema::new(schema).unwrap_err().violations.len(), 1);
}

#[test]
fn r_schema_6_own_properties_only_and_every_violation_is_listed() {
    let schema = json!({"type": "object", "pattern": "x", "required": ["toString", "b"], "items": {}});
    let error = OutputSchema::new(schema).unwrap_err();
    assert_eq!(error.violations.len(), 4, "{error}");
    let fault = Fault::from(error);
    assert_eq!(
        (fault.name(), fault.code()),
        ("OutputSchemaError", Some("UNSUPPORTED_SCHEMA"))
    );
}
