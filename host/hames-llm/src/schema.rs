//! Which schemas do providers take for a tool's parameters? The same, as far as each of them understands it.

use hames_types::json::{Json, JsonMap};

#[cfg(test)]
mod tests;

/// The same schema, saying that it is an object's.
pub(crate) fn as_object(parameters: &JsonMap) -> JsonMap {
    if parameters.contains_key("type") {
        return parameters.clone();
    }
    let mut object = JsonMap::new();
    object.insert("type".to_owned(), Json::from("object"));
    object.insert("properties".to_owned(), Json::Object(JsonMap::new()));
    object.extend(parameters.clone());
    object
}

/// Keywords that Gemini's dialect of OpenAPI schemas knows and that need no change.
const GEMINI_KEYWORDS: &[&str] = &[
    "title",
    "description",
    "nullable",
    "format",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "required",
    "default",
];

/// How deep a schema is followed: references may lead in circles.
const MAX_DEPTH: usize = 16;

/// A schema as Gemini takes it: references replaced by what they name, one type a schema, unknown keywords gone.
pub(crate) fn for_gemini(parameters: &JsonMap) -> Json {
    let mut schema = gemini(&Json::Object(as_object(parameters)), parameters, 0);
    // The provider refuses an object type that names no properties, and takes a tool without parameters.
    let is_empty = schema
        .get("properties")
        .and_then(Json::as_object)
        .is_none_or(JsonMap::is_empty);
    if is_empty { Json::Null } else { schema.take() }
}

fn gemini(schema: &Json, root: &JsonMap, depth: usize) -> Json {
    let mut out = JsonMap::new();
    let Some(fields) = schema.as_object().filter(|_| depth < MAX_DEPTH) else {
        return Json::Object(out);
    };
    if let Some(target) = fields
        .get("$ref")
        .and_then(Json::as_str)
        .and_then(|name| resolve(name, root))
    {
        return gemini(target, root, depth + 1);
    }
    for (key, value) in fields {
        let converted = match key.as_str() {
            "type" => {
                put_type(value, &mut out);
                continue;
            }
            "properties" => value.as_object().map(|properties| {
                let converted = properties
                    .iter()
                    .map(|(name, schema)| (name.clone(), gemini(schema, root, depth + 1)));
                Json::Object(converted.collect())
            }),
            "items" => Some(gemini(value, root, depth + 1)),
            "anyOf" | "oneOf" => {
                let choices = value.as_array().into_iter().flatten();
                out.insert(
                    "anyOf".to_owned(),
                    choices.map(|choice| gemini(choice, root, depth + 1)).collect(),
                );
                continue;
            }
            // Its values are texts and nothing else.
            "enum" => texts(value.as_array()),
            "const" => {
                if let Some(text) = value.as_str() {
                    out.insert("enum".to_owned(), Json::from(vec![text]));
                }
                continue;
            }
            known if GEMINI_KEYWORDS.contains(&known) => Some(value.clone()),
            _ => None,
        };
        if let Some(converted) = converted {
            out.insert(key.clone(), converted);
        }
    }
    Json::Object(out)
}

fn resolve<'a>(name: &str, root: &'a JsonMap) -> Option<&'a Json> {
    let (first, rest) = name.strip_prefix("#/")?.split_once('/')?;
    root.get(first)?.pointer(&format!("/{rest}"))
}

fn texts(values: Option<&Vec<Json>>) -> Option<Json> {
    let values = values?;
    values
        .iter()
        .all(Json::is_string)
        .then(|| Json::from(values.clone()))
}

/// One type; `null` beside it becomes a word of its own.
fn put_type(value: &Json, out: &mut JsonMap) {
    let names: Vec<&Json> = match value {
        Json::Array(names) => names.iter().collect(),
        one @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_)) => vec![one],
    };
    if names.iter().any(|name| **name == "null") {
        out.insert("nullable".to_owned(), Json::Bool(true));
    }
    if let Some(name) = names.into_iter().find(|name| **name != "null") {
        out.insert("type".to_owned(), name.clone());
    }
}
