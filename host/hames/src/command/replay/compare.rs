//! Where do two requests differ first?

use hames_types::id::{StepNo, TurnNo};
use hames_types::request::Request;
use serde_json::{Value, json};

/// The first difference of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The turn.
    pub turn: TurnNo,
    /// The step in it.
    pub step: StepNo,
    /// A JSON pointer into the request; `request` if there is none on one side.
    pub place: String,
    /// What the log leads to.
    pub recorded: Value,
    /// What the loop asked now.
    pub replayed: Value,
}

/// A request as it is compared: everything the model is sent.
pub(super) fn value(request: &Request) -> serde_json::Result<Value> {
    let messages: Vec<_> = request.messages.iter().collect();
    serde_json::to_value(json!({
        "config": request.config,
        "system": request.system,
        "tools": request.tools,
        "messages": messages,
    }))
}

/// The first place where two values differ, and what is there in each.
pub(super) fn first(recorded: &Value, replayed: &Value) -> Option<(String, Value, Value)> {
    let mut place = String::new();
    let (one, other) = descend(recorded, replayed, &mut place)?;
    Some((place, one, other))
}

fn descend(one: &Value, other: &Value, place: &mut String) -> Option<(Value, Value)> {
    match (one, other) {
        (Value::Object(left), Value::Object(right)) => {
            let keys = left
                .keys()
                .chain(right.keys().filter(|key| !left.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                let (left, right) = (left.get(key), right.get(key));
                within(place, &key.replace('~', "~0").replace('/', "~1"), left, right)
            })
        }
        (Value::Array(left), Value::Array(right)) => (0..left.len().max(right.len()))
            .find_map(|at| within(place, &at.to_string(), left.get(at), right.get(at))),
        (one, other) => (one != other).then(|| (one.clone(), other.clone())),
    }
}

fn within(
    place: &mut String,
    name: &str,
    one: Option<&Value>,
    other: Option<&Value>,
) -> Option<(Value, Value)> {
    let length = place.len();
    place.push('/');
    place.push_str(name);
    let found = match (one, other) {
        (Some(one), Some(other)) => descend(one, other, place),
        (one, other) => Some((
            one.cloned().unwrap_or_default(),
            other.cloned().unwrap_or_default(),
        )),
    };
    if found.is_none() {
        place.truncate(length);
    }
    found
}
