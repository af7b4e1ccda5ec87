//! A spec out of a Rust type, by the schema that schemars derives for it.
//!
//! What a spec can say is less than what JSON Schema can: no unions, no recursion. A type that needs more is refused
//! when its tool is built, with the place in it.

use hames_types::json::{Json, JsonMap};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use smol_str::SmolStr;

use super::parse::below;
use super::{ArgSpec, Kind, Property, SpecError};

/// Bounds and patterns that only serde checks, handed on for the model to read.
const HINTS: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
];

impl ArgSpec {
    /// The spec of a struct with named fields. Optional fields are those that serde can do without.
    ///
    /// # Errors
    /// [`SpecError`] if the type needs what a spec can't say: a recursion, a union, a value of any kind.
    pub fn of<T: JsonSchema>() -> Result<Self, SpecError> {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let schema = settings.into_generator().into_root_schema_for::<T>();
        object(&schema.to_value(), "")
    }
}

fn object(schema: &Json, path: &str) -> Result<ArgSpec, SpecError> {
    let properties = schema
        .get("properties")
        .and_then(Json::as_object)
        .ok_or_else(|| SpecError::shape(path, "a struct with named fields", Some(schema)))?;
    let required = schema.get("required").and_then(Json::as_array);
    let properties = properties
        .iter()
        .map(|(name, schema)| {
            let mut property = property(schema, &below(path, name))?;
            property.required =
                required.is_some_and(|names| names.iter().any(|known| known.as_str() == Some(name)));
            Ok((SmolStr::from(name.as_str()), property))
        })
        .collect::<Result<_, SpecError>>()?;
    Ok(ArgSpec { properties })
}

fn property(schema: &Json, path: &str) -> Result<Property, SpecError> {
    let fields = schema
        .as_object()
        .ok_or_else(|| SpecError::shape(path, "a field of one kind", Some(schema)))?;
    let unsupported = |keyword: &str, hint| SpecError::Unsupported {
        path: path.to_owned(),
        keyword: keyword.to_owned(),
        hint,
    };
    if fields.contains_key("$ref") {
        return Err(unsupported(
            "$ref",
            "a type can't contain itself here; use a flat one",
        ));
    }
    if let Some(option) = without_null(fields) {
        let mut inner = property(option, path)?;
        inner.description = text(fields, "description").or(inner.description);
        return Ok(inner);
    }
    if let Some(choices) = documented_choices(fields) {
        let mut property = Property::new(Kind::String).one_of(choices);
        property.description = text(fields, "description");
        return Ok(property);
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        if fields.contains_key(keyword) {
            return Err(unsupported(keyword, "use a struct, or an enum without fields"));
        }
    }
    let mut property = Property::new(kind(fields, path)?);
    property.description = text(fields, "description");
    property.choices = fields.get("enum").and_then(Json::as_array).map(|choices| {
        let choices = choices.iter().filter(|choice| !choice.is_null());
        choices.cloned().collect()
    });
    property.choices = property
        .choices
        .or_else(|| Some(vec![fields.get("const")?.clone()]));
    property.default = fields
        .get("default")
        .filter(|default| !default.is_null())
        .cloned();
    property.hints = fields
        .iter()
        .filter(|(key, _)| HINTS.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Ok(property)
}

fn text(fields: &JsonMap, key: &str) -> Option<SmolStr> {
    fields.get(key).and_then(Json::as_str).map(SmolStr::from)
}

/// The one alternative beside null: how an optional struct or enum is written.
fn without_null(fields: &JsonMap) -> Option<&Json> {
    let alternatives = fields.get("anyOf")?.as_array()?;
    let is_null = |schema: &&Json| schema.get("type").and_then(Json::as_str) == Some("null");
    let mut others = alternatives.iter().filter(|schema| !is_null(schema));
    match (others.next(), others.next()) {
        (Some(one), None) => Some(one),
        _ => None,
    }
}

/// The words of an enum whose variants are documented, and of nothing else.
fn documented_choices(fields: &JsonMap) -> Option<Vec<Json>> {
    let mut choices = Vec::new();
    for schema in fields.get("oneOf")?.as_array()? {
        match (schema.get("const"), schema.get("enum").and_then(Json::as_array)) {
            (Some(word @ Json::String(_)), _) => choices.push(word.clone()),
            (_, Some(words)) if words.iter().all(Json::is_string) => choices.extend(words.iter().cloned()),
            _ => return None,
        }
    }
    Some(choices)
}

fn kind(fields: &JsonMap, path: &str) -> Result<Kind, SpecError> {
    let word = match fields.get("type") {
        Some(Json::String(word)) => Some(word.as_str()),
        // An optional scalar is written as a list of its type and null.
        Some(Json::Array(words)) => {
            let mut others = words
                .iter()
                .filter_map(Json::as_str)
                .filter(|word| *word != "null");
            others.next().filter(|_| others.next().is_none())
        }
        _ => None,
    };
    match word {
        Some("string") => Ok(Kind::String),
        Some("number") => Ok(Kind::Number),
        Some("integer") => Ok(Kind::Integer),
        Some("boolean") => Ok(Kind::Boolean),
        Some("object") if fields.contains_key("properties") => {
            let inner = object(&Json::Object(fields.clone()), path)?;
            Ok(Kind::Object(Some(inner)))
        }
        Some("object") => Ok(Kind::Object(None)),
        Some("array") => match fields.get("items").filter(|items| items.is_object()) {
            Some(items) => {
                let items = property(items, &format!("{path}[]"))?;
                Ok(Kind::Array(Some(Box::new(items))))
            }
            None => Ok(Kind::Array(None)),
        },
        _ => Err(SpecError::shape(
            &below(path, "type"),
            "one kind of value: text, number, boolean, struct or list",
            fields.get("type"),
        )),
    }
}
