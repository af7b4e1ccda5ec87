//! Are tool arguments and output schemas checked as in the reference? (part 12)

use anyhow::{Context, bail};
use hames_agent::schema::{ArgSpec, OutputSchema, OutputSchemaError};
use hames_types::fault::Fault;
use hames_types::json::Json;
use serde_json::json;

use super::case::Case;
use super::outcome::Outcome;

/// An entry of a named list of the file, or the value itself where a case carries it.
fn named<'a>(case: &'a Case<'_>, list: &str, key: &str) -> anyhow::Result<&'a Json> {
    let value = case.field(key);
    let Some(name) = value.as_str() else {
        return Ok(value);
    };
    let entry = case.document.get(list).and_then(|list| list.get(name));
    entry.with_context(|| format!("the file has no `{name}` in `{list}`"))
}

/// A typed parameter map becomes a schema.
///
/// # Errors
/// If the spec can't be read.
pub fn conversion(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let spec = ArgSpec::parse(named(case, "specs", "spec")?)?;
    let schema = Json::Object(spec.to_schema().as_ref().clone());
    Ok(Outcome::compare(case.field("schema"), &schema))
}

/// Arguments against a typed parameter map.
///
/// # Errors
/// If the spec can't be read.
pub fn validation(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let spec = ArgSpec::parse(named(case, "specs", "spec")?)?;
    let violations = spec.violations(case.field("value"));
    Ok(Outcome::compare(case.field("violations"), &json!(violations)))
}

/// Is an output schema supported?
///
/// # Errors
/// If the case isn't of the format.
pub fn subset(case: &Case<'_>) -> anyhow::Result<Outcome> {
    // Unlike in the other lists the schema always stands in the case, even if it is a text.
    let result = OutputSchema::new(case.field("schema").clone());
    let (expected, got) = match (case.text("expect")?, result) {
        ("accept", Ok(_)) => return Ok(Outcome::Passed),
        ("accept" | "error", result) => (expectation(case), verdict(result)),
        (other, _) => bail!("`expect` is `{other}`, not `accept` or `error`"),
    };
    Ok(Outcome::compare(&expected, &got))
}

fn expectation(case: &Case<'_>) -> Json {
    let field = |key| case.field(key).clone();
    json!({
        "expect": field("expect"),
        "errorName": field("errorName"),
        "errorCode": field("errorCode"),
        "violations": field("violations"),
    })
}

fn verdict(result: Result<OutputSchema, OutputSchemaError>) -> Json {
    match result {
        Ok(_) => json!({"expect": "accept"}),
        Err(error) => {
            let violations = error.violations.clone();
            let fault = Fault::from(error);
            json!({
                "expect": "error",
                "errorName": fault.name(),
                "errorCode": fault.code(),
                "violations": violations,
            })
        }
    }
}

/// A value against an output schema.
///
/// # Errors
/// If the schema isn't supported.
pub fn structured(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let schema = OutputSchema::new(named(case, "schemas", "schema")?.clone())?;
    let violations = schema.violations(case.field("value"));
    Ok(Outcome::compare(case.field("violations"), &json!(violations)))
}
