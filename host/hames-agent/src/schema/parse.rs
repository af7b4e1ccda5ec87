//! A spec written as JSON: a map from names to `{type, required?, description?, enum?, default?, items?, properties?}`.

use hames_types::json::{Json, JsonMap, NotLossless, check_lossless, describe};
use smol_str::SmolStr;

use super::{ArgSpec, Kind, Property};

/// Why something can't be a spec. The path names the place, from the top.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A field has the wrong shape.
    #[error("the argument spec can't be used: `{path}` must be {expected}, found {found}")]
    Shape {
        /// Where.
        path: String,
        /// What belongs there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// A keyword nobody would honour.
    #[error("the argument spec can't be used: `{path}` has `{keyword}`, which isn't supported; {hint}")]
    Unsupported {
        /// Where.
        path: String,
        /// What.
        keyword: String,
        /// What to do instead.
        hint: &'static str,
    },
    /// It isn't lossless JSON.
    #[error("the argument spec can't be used: {0}")]
    NotLossless(#[from] NotLossless),
}

impl SpecError {
    pub(super) fn shape(path: &str, expected: &'static str, found: Option<&Json>) -> Self {
        Self::Shape {
            path: if path.is_empty() {
                "arguments".to_owned()
            } else {
                path.to_owned()
            },
            expected,
            found: found.map_or_else(|| "nothing".to_owned(), describe),
        }
    }
}

impl ArgSpec {
    /// Reads a spec.
    ///
    /// # Errors
    /// [`SpecError`] naming the place.
    pub fn parse(value: &Json) -> Result<Self, SpecError> {
        check_lossless(value, "spec")?;
        properties(value, "")
    }
}

fn properties(value: &Json, path: &str) -> Result<ArgSpec, SpecError> {
    let fields = value
        .as_object()
        .ok_or_else(|| SpecError::shape(path, "a map of properties", Some(value)))?;
    let properties = fields
        .iter()
        .map(|(name, value)| Ok((SmolStr::from(name.as_str()), property(value, &below(path, name))?)))
        .collect::<Result<_, SpecError>>()?;
    Ok(ArgSpec { properties })
}

pub(super) fn below(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn property(value: &Json, path: &str) -> Result<Property, SpecError> {
    let fields = value
        .as_object()
        .ok_or_else(|| SpecError::shape(path, "a property", Some(value)))?;
    const KNOWN: &[&str] = &[
        "type",
        "required",
        "description",
        "enum",
        "default",
        "items",
        "properties",
    ];
    if let Some(keyword) = fields.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(SpecError::Unsupported {
            path: path.to_owned(),
            keyword: keyword.clone(),
            hint: "take it out, or register the tool with a JSON Schema of its own",
        });
    }
    let mut property = Property::new(kind(fields, path)?);
    property.required = match fields.get("required") {
        None => false,
        Some(Json::Bool(required)) => *required,
        other => return Err(SpecError::shape(&below(path, "required"), "a boolean", other)),
    };
    property.description = match fields.get("description") {
        None => None,
        Some(Json::String(text)) => Some(text.as_str().into()),
        other => return Err(SpecError::shape(&below(path, "description"), "a string", other)),
    };
    property.choices = match fields.get("enum") {
        None => None,
        Some(Json::Array(choices)) => Some(choices.clone()),
        other => return Err(SpecError::shape(&below(path, "enum"), "a list", other)),
    };
    property.default = fields.get("default").cloned();
    Ok(property)
}

fn kind(fields: &JsonMap, path: &str) -> Result<Kind, SpecError> {
    let word = fields.get("type");
    match word.and_then(Json::as_str) {
        Some("string") => Ok(Kind::String),
        Some("number") => Ok(Kind::Number),
        Some("integer") => Ok(Kind::Integer),
        Some("boolean") => Ok(Kind::Boolean),
        Some("object") => match fields.get("properties") {
            None => Ok(Kind::Object(None)),
            Some(inner) => Ok(Kind::Object(Some(properties(inner, path)?))),
        },
        Some("array") => match fields.get("items") {
            None => Ok(Kind::Array(None)),
            Some(items) => Ok(Kind::Array(Some(Box::new(property(
                items,
                &format!("{path}[]"),
            )?)))),
        },
        _ => Err(SpecError::shape(
            &below(path, "type"),
            "string, number, integer, boolean, object or array",
            word,
        )),
    }
}
