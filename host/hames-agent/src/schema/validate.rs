//! Do arguments fit their spec, and if not, how is the model told? (R-SCHEMA-2, R-SCHEMA-3)

use hames_types::fault::Fault;
use hames_types::json::Json;

use super::{ArgSpec, Kind, Property};

/// Most violations told to the model in one error; how many more there are is said.
///
/// A list of a million wrong items is one mistake. What the model needs is the kind of it, not a message that fills
/// its context.
pub const MAX_VIOLATIONS_SAID: usize = 50;

impl ArgSpec {
    /// What is wrong with `arguments`, in the order of the declaration; empty if nothing is.
    ///
    /// Extra keys are allowed, defaults aren't put in, `null` isn't the same as absent.
    #[must_use]
    pub fn violations(&self, arguments: &Json) -> Vec<String> {
        let mut found = Vec::new();
        self.check(arguments, "", &mut found);
        found
    }

    /// Whether there is nothing wrong with `arguments`.
    #[must_use]
    pub fn fits(&self, arguments: &Json) -> bool {
        self.violations(arguments).is_empty()
    }

    fn check(&self, value: &Json, path: &str, found: &mut Vec<String>) {
        let Some(fields) = value.as_object() else {
            let place = if path.is_empty() { "arguments" } else { path };
            found.push(format!("\"{place}\" must be an object"));
            return;
        };
        for (name, property) in &self.properties {
            let path = || match path {
                "" => name.to_string(),
                outer => format!("{outer}.{name}"),
            };
            match fields.get(name.as_str()) {
                Some(value) => property.check(value, &path, found),
                None if property.required => {
                    found.push(format!("missing required property \"{}\"", path()));
                }
                None => {}
            }
        }
    }
}

impl Property {
    // The path is made only where something is wrong or further down.
    fn check(&self, value: &Json, path: &dyn Fn() -> String, found: &mut Vec<String>) {
        if !self.kind.is_kind_of(value) {
            found.push(format!("\"{}\" must be {}", path(), self.kind.described()));
            return;
        }
        if let Some(choices) = &self.choices
            && !choices.iter().any(|choice| is_same_scalar(choice, value))
        {
            let choices = Json::from(choices.clone());
            found.push(format!("\"{}\" must be one of {choices}", path()));
            return;
        }
        match (&self.kind, value) {
            (Kind::Object(Some(spec)), value) => spec.check(value, &path(), found),
            (Kind::Array(Some(items)), Json::Array(values)) => {
                for (at, value) in values.iter().enumerate() {
                    items.check(value, &|| format!("{}[{at}]", path()), found);
                }
            }
            _ => {}
        }
    }
}

impl Kind {
    fn is_kind_of(&self, value: &Json) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Number => value.is_number(),
            Self::Integer => is_integer(value),
            Self::Boolean => value.is_boolean(),
            Self::Object(_) => value.is_object(),
            Self::Array(_) => value.is_array(),
        }
    }
}

/// A number without a fraction, however it is written: `1`, `1.0` and `1e300` are.
pub(super) fn is_integer(value: &Json) -> bool {
    value.is_i64()
        || value.is_u64()
        || value
            .as_f64()
            .is_some_and(|number| number.is_finite() && number.fract() == 0.0)
}

/// Whether two scalars are one and the same. Numbers are compared by value: `1` is `1.0`.
pub(super) fn is_same_scalar(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64().is_some_and(|a| b.as_f64() == Some(a)),
        _ => a == b,
    }
}

/// The error a model sees for arguments that don't fit.
#[must_use]
pub fn invalid_arguments(violations: &[String]) -> Fault {
    let mut said: Vec<&str> = violations
        .iter()
        .take(MAX_VIOLATIONS_SAID)
        .map(String::as_str)
        .collect();
    let more = violations.len().saturating_sub(MAX_VIOLATIONS_SAID);
    let tail = format!("and {more} more");
    if more > 0 {
        said.push(&tail);
    }
    Fault::host(
        "ToolArgsError",
        "INVALID_ARGS",
        format!("invalid arguments: {}", said.join("; ")),
    )
}
