//! Do a call's arguments fit the tool's parameters? Asked before the guest sees them.

use hames_types::fault::Fault;
use hames_types::json::{Json, JsonMap};
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{PatternOptions, ValidationError, Validator};

/// Memory a pattern of a schema may take when compiled, in bytes.
const MAX_PATTERN_BYTES: usize = 1024 * 1024;

/// Most violations told. The model repairs a few at a time, and a long list costs it more than it helps.
const MAX_VIOLATIONS: usize = 20;

/// Makes a checker of a tool's parameters.
///
/// # Errors
/// What is wrong with the schema.
pub(crate) fn checker(parameters: &JsonMap) -> Result<Validator, String> {
    jsonschema::options()
        .offline()
        .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN_BYTES))
        .build(&Json::Object(parameters.clone()))
        .map_err(|fault| fault.to_string())
}

/// Checks arguments (R-SCHEMA-2, R-SCHEMA-3).
///
/// # Errors
/// One fault with every violation in it, for the model to read.
pub(crate) fn check(validator: &Validator, arguments: &Json) -> Result<(), Fault> {
    if validator.is_valid(arguments) {
        return Ok(());
    }
    let violations: Vec<String> = validator
        .iter_errors(arguments)
        .take(MAX_VIOLATIONS)
        .map(|fault| violation(&fault))
        .collect();
    let message = format!("invalid arguments: {}", violations.join("; "));
    Err(Fault::host("ToolArgsError", "INVALID_ARGS", message))
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the kinds are the validator's; ours are worded here"
)]
fn violation(fault: &ValidationError<'_>) -> String {
    let place = place(fault.instance_path());
    let shown = if place.is_empty() { "arguments" } else { &place };
    match fault.kind() {
        ValidationErrorKind::Required { property } => {
            let property = property.as_str().unwrap_or_default();
            let joint = if place.is_empty() { "" } else { "." };
            format!("missing required property \"{place}{joint}{property}\"")
        }
        ValidationErrorKind::Type {
            kind: TypeKind::Single(kind),
        } => {
            let kind = kind.to_string();
            let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) {
                "an"
            } else {
                "a"
            };
            format!("\"{shown}\" must be {article} {kind}")
        }
        ValidationErrorKind::Enum { options } => format!("\"{shown}\" must be one of {options}"),
        _ => format!("\"{shown}\" {}", fault.masked_with("the value")),
    }
}

/// `rows[1].id`
fn place(path: &Location) -> String {
    let mut text = String::new();
    for segment in path {
        match segment {
            LocationSegment::Property(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(&name);
            }
            LocationSegment::Index(at) => {
                text.push_str(&format!("[{at}]"));
            }
        }
    }
    text
}
