//! When are two arguments the same? When this text of them is: keys sorted at every depth, numbers by value.

use hames_sdk::serde_json::Value;

/// The text of a value.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    put(value, &mut text);
    text
}

fn put(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, value)) in fields.into_iter().enumerate() {
                comma(at, out);
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                put(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                comma(at, out);
                put(item, out);
            }
            out.push(']');
        }
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            Some(float) => out.push_str(&float.to_string()),
            None => out.push_str(&number.to_string()),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string())
        }
    }
}

fn comma(at: usize, out: &mut String) {
    if at > 0 {
        out.push(',');
    }
}
