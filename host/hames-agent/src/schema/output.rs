//! The schemas a structured output may have, and whether a value fits one (R-SCHEMA-6).
//!
//! A small subset of JSON Schema in which every keyword is honoured: one type per schema, no unions, no patterns.

use hames_types::json::{Json, JsonMap, check_lossless};

use super::validate::{is_integer, is_same_scalar};

/// The keywords there are.
const KEYWORDS: &[&str] = &[
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "description",
    "title",
    "default",
    "examples",
];

const TYPES: &[&str] = &[
    "string", "number", "integer", "boolean", "null", "object", "array",
];

/// Everything that is wrong with a schema. Its code is `UNSUPPORTED_SCHEMA`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the output schema isn't supported: {}", .violations.join("; "))]
pub struct OutputSchemaError {
    /// One text each, with its place.
    pub violations: Vec<String>,
}

impl OutputSchemaError {
    /// Its stable code.
    pub const CODE: &'static str = "UNSUPPORTED_SCHEMA";
}

impl From<OutputSchemaError> for hames_types::fault::Fault {
    fn from(error: OutputSchemaError) -> Self {
        Self::host("OutputSchemaError", OutputSchemaError::CODE, error.to_string())
    }
}

/// A schema whose every word is understood.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema(Json);

impl OutputSchema {
    /// Takes a schema whose root is an object.
    ///
    /// # Errors
    /// [`OutputSchemaError`] with everything that isn't supported.
    pub fn new(schema: Json) -> Result<Self, OutputSchemaError> {
        let mut violations = Vec::new();
        // Also bounds the depth of the walks below.
        match check_lossless(&schema, "schema") {
            Err(problem) => violations.push(problem.to_string()),
            Ok(()) => {
                if check_schema(&schema, "schema", &mut violations) != Some("object") && violations.is_empty()
                {
                    violations.push("`schema` must have the type object".to_owned());
                }
            }
        }
        if violations.is_empty() {
            Ok(Self(schema))
        } else {
            Err(OutputSchemaError { violations })
        }
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &Json {
        &self.0
    }

    /// What is wrong with a value; empty if nothing is. A value nested deeper than JSON may be anywhere is refused.
    #[must_use]
    pub fn violations(&self, value: &Json) -> Vec<String> {
        let mut found = Vec::new();
        match check_lossless(value, "value") {
            Err(problem) => found.push(problem.to_string()),
            Ok(()) => check_value(&self.0, value, "value", &mut found),
        }
        found
    }
}

/// Checks a schema and tells its type, if it has one that is known.
fn check_schema<'a>(schema: &'a Json, path: &str, found: &mut Vec<String>) -> Option<&'a str> {
    let Some(fields) = schema.as_object() else {
        found.push(format!("`{path}` must be a schema"));
        return None;
    };
    for key in fields.keys().filter(|key| !KEYWORDS.contains(&key.as_str())) {
        found.push(format!("`{path}` has the keyword `{key}`, which isn't supported"));
    }
    for key in ["description", "title"] {
        if fields.get(key).is_some_and(|text| !text.is_string()) {
            found.push(format!("`{path}.{key}` must be a string"));
        }
    }
    let word = fields.get("type").and_then(Json::as_str);
    let Some(word) = word.filter(|word| TYPES.contains(word)) else {
        found.push(format!("`{path}.type` must be one of {}", TYPES.join(", ")));
        return None;
    };
    check_keywords(fields, word, path, found);
    Some(word)
}

fn check_keywords(fields: &JsonMap, word: &str, path: &str, found: &mut Vec<String>) {
    let belongs = |key: &str| match key {
        "properties" | "required" | "additionalProperties" => word == "object",
        "items" => word == "array",
        "enum" | "const" => !matches!(word, "object" | "array"),
        _ => true,
    };
    for (key, value) in fields {
        if !belongs(key) {
            found.push(format!(
                "`{path}` has `{key}`, which doesn't belong to the type {word}"
            ));
            continue;
        }
        let at = format!("{path}.{key}");
        match key.as_str() {
            "properties" => check_properties(value, &at, found),
            "required" => check_required(value, fields.get("properties"), &at, found),
            "additionalProperties" if !value.is_boolean() => {
                found.push(format!("`{at}` must be true or false"));
            }
            "items" => {
                check_schema(value, &at, found);
            }
            "enum" if !is_scalar_list(value) => {
                found.push(format!("`{at}` must be a list of at least one scalar"));
            }
            "const" if !is_scalar(value) => found.push(format!("`{at}` must be a scalar")),
            _ => {}
        }
    }
}

fn is_scalar(value: &Json) -> bool {
    !value.is_object() && !value.is_array()
}

fn is_scalar_list(value: &Json) -> bool {
    value
        .as_array()
        .is_some_and(|values| !values.is_empty() && values.iter().all(is_scalar))
}

fn check_properties(value: &Json, path: &str, found: &mut Vec<String>) {
    let Some(properties) = value.as_object() else {
        found.push(format!("`{path}` must be a map of schemas"));
        return;
    };
    for (name, schema) in properties {
        check_schema(schema, &format!("{path}.{name}"), found);
    }
}

fn check_required(value: &Json, properties: Option<&Json>, path: &str, found: &mut Vec<String>) {
    let names: Option<Vec<&str>> = value
        .as_array()
        .and_then(|names| names.iter().map(Json::as_str).collect());
    let Some(names) = names else {
        found.push(format!("`{path}` must be a list of names"));
        return;
    };
    let declared = properties.and_then(Json::as_object);
    for name in names {
        if !declared.is_some_and(|properties| properties.contains_key(name)) {
            found.push(format!(
                "`{path}` names `{name}`, which isn't among the properties"
            ));
        }
    }
}

fn check_value(schema: &Json, value: &Json, path: &str, found: &mut Vec<String>) {
    let word = schema.get("type").and_then(Json::as_str).unwrap_or_default();
    let fits = match word {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => is_integer(value),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        _ => false,
    };
    if !fits {
        found.push(format!("`{path}` must be of the type {word}"));
        return;
    }
    let choices = schema.get("enum").and_then(Json::as_array);
    if choices.is_some_and(|choices| !choices.iter().any(|choice| is_same_scalar(choice, value))) {
        found.push(format!("`{path}` must be one of the values of its enum"));
    }
    if schema
        .get("const")
        .is_some_and(|only| !is_same_scalar(only, value))
    {
        found.push(format!("`{path}` must be the value of its const"));
    }
    if let Json::Object(fields) = value {
        check_fields(schema, fields, path, found);
    }
    if let (Json::Array(values), Some(items)) = (value, schema.get("items")) {
        for (at, value) in values.iter().enumerate() {
            check_value(items, value, &format!("{path}[{at}]"), found);
        }
    }
}

fn check_fields(schema: &Json, fields: &JsonMap, path: &str, found: &mut Vec<String>) {
    let properties = schema.get("properties").and_then(Json::as_object);
    let required = schema.get("required").and_then(Json::as_array);
    for name in required.into_iter().flatten().filter_map(Json::as_str) {
        if !fields.contains_key(name) {
            found.push(format!("`{path}.{name}` is missing"));
        }
    }
    let is_closed = schema.get("additionalProperties") == Some(&Json::Bool(false));
    for (name, value) in fields {
        match properties.and_then(|properties| properties.get(name)) {
            Some(schema) => check_value(schema, value, &format!("{path}.{name}"), found),
            None if is_closed => found.push(format!("`{path}.{name}` isn't allowed")),
            None => {}
        }
    }
}
