//! What does a typed parameter map look like as JSON Schema? (R-SCHEMA-1)

use hames_sdk::serde_json::{Map, Value, json};

/// The schema of an object with these properties.
pub fn convert(spec: &Map<String, Value>) -> Value {
    let mut schema = json!({ "type": "object" });
    put_properties(&mut schema, spec);
    schema
}

fn put_properties(schema: &mut Value, spec: &Map<String, Value>) {
    let properties: Map<String, Value> = spec
        .iter()
        .map(|(name, property)| (name.clone(), convert_property(property)))
        .collect();
    let required: Vec<&String> = spec
        .iter()
        .filter(|(_, property)| property["required"] == true)
        .map(|(name, _)| name)
        .collect();
    schema["properties"] = Value::Object(properties);
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
}

fn convert_property(property: &Value) -> Value {
    let mut schema = json!({});
    for key in ["type", "description", "enum", "default"] {
        if let Some(value) = property.get(key) {
            schema[key] = value.clone();
        }
    }
    if let Some(items) = property.get("items") {
        schema["items"] = convert_property(items);
    }
    if let Some(properties) = property["properties"].as_object() {
        put_properties(&mut schema, properties);
    }
    schema
}
