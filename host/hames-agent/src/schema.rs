//! What a tool's arguments look like: written by hand, or derived from a Rust type (R-SCHEMA).
//!
//! One [`ArgSpec`] serves three: the schema the model sees, the check of what it sends, and the words in which it is
//! told what was wrong, so that it can do better.

mod derive;
mod output;
mod parse;
#[cfg(test)]
mod tests;
mod tool;
mod validate;

use std::sync::Arc;

use hames_types::json::{Json, JsonMap};
use smol_str::SmolStr;

pub use output::{OutputSchema, OutputSchemaError};
pub use parse::SpecError;
pub use tool::{SpecTool, TypedBody, TypedTool};
pub use validate::{MAX_VIOLATIONS_SAID, invalid_arguments};

/// The properties of an object, in the order in which they are declared.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ArgSpec {
    properties: Vec<(SmolStr, Property)>,
}

/// One property.
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    kind: Kind,
    required: bool,
    description: Option<SmolStr>,
    // Shared with the wording of violations, compared by identity of scalars.
    choices: Option<Vec<Json>>,
    default: Option<Json>,
    hints: JsonMap,
}

/// What a property holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Text.
    String,
    /// Any number.
    Number,
    /// A number without a fraction.
    Integer,
    /// True or false.
    Boolean,
    /// An object; without a spec anything may be in it.
    Object(Option<ArgSpec>),
    /// A list; without a spec of its items anything may be in it.
    Array(Option<Box<Property>>),
}

impl Kind {
    const fn word(&self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Object(_) => "object",
            Self::Array(_) => "array",
        }
    }

    /// As it stands in "must be …".
    const fn described(&self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Number => "a number",
            Self::Integer => "an integer",
            Self::Boolean => "a boolean",
            Self::Object(_) => "an object",
            Self::Array(_) => "an array",
        }
    }
}

impl Property {
    /// An optional property.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            required: false,
            description: None,
            choices: None,
            default: None,
            hints: JsonMap::new(),
        }
    }

    /// Must be there.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// What the model is told of it.
    #[must_use]
    pub fn described(mut self, description: impl Into<SmolStr>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Must be one of these scalars.
    #[must_use]
    pub fn one_of(mut self, choices: Vec<Json>) -> Self {
        self.choices = Some(choices);
        self
    }

    /// What the model is told happens without it. Nothing puts it in: the tool does as it says (R-SCHEMA-2).
    #[must_use]
    pub fn default_of(mut self, default: Json) -> Self {
        self.default = Some(default);
        self
    }

    /// The JSON Schema the model sees.
    fn to_schema(&self) -> JsonMap {
        let mut schema = JsonMap::new();
        schema.insert("type".to_owned(), Json::from(self.kind.word()));
        if let Some(description) = &self.description {
            schema.insert("description".to_owned(), Json::from(description.as_str()));
        }
        if let Some(choices) = &self.choices {
            schema.insert("enum".to_owned(), Json::from(choices.clone()));
        }
        if let Some(default) = &self.default {
            schema.insert("default".to_owned(), default.clone());
        }
        schema.extend(self.hints.clone());
        match &self.kind {
            Kind::Object(Some(spec)) => spec.put_into(&mut schema),
            Kind::Array(Some(items)) => {
                schema.insert("items".to_owned(), Json::Object(items.to_schema()));
            }
            Kind::String
            | Kind::Number
            | Kind::Integer
            | Kind::Boolean
            | Kind::Object(None)
            | Kind::Array(None) => {}
        }
        schema
    }
}

impl ArgSpec {
    /// No properties.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more property, behind those that are there; one of the same name is replaced where it stands.
    #[must_use]
    pub fn with(mut self, name: impl Into<SmolStr>, property: Property) -> Self {
        let name = name.into();
        match self.properties.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = property,
            None => self.properties.push((name, property)),
        }
        self
    }

    /// The JSON Schema the model sees (R-SCHEMA-1): `required` only where something is.
    #[must_use]
    pub fn to_schema(&self) -> Arc<JsonMap> {
        let mut schema = JsonMap::new();
        schema.insert("type".to_owned(), Json::from("object"));
        self.put_into(&mut schema);
        Arc::new(schema)
    }

    fn put_into(&self, schema: &mut JsonMap) {
        let properties = self
            .properties
            .iter()
            .map(|(name, property)| (name.to_string(), Json::Object(property.to_schema())))
            .collect();
        schema.insert("properties".to_owned(), Json::Object(properties));
        let required: Vec<Json> = self
            .properties
            .iter()
            .filter(|(_, property)| property.required)
            .map(|(name, _)| Json::from(name.as_str()))
            .collect();
        if !required.is_empty() {
            schema.insert("required".to_owned(), Json::from(required));
        }
    }
}
