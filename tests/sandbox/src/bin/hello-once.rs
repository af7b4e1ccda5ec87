//! The work of the guest `hello` as a process of its own: arguments in, greeting out. What a sandbox is compared with.

use std::io::{Read, Write};

use anyhow::Context as _;
use serde_json::{Value, json};

fn main() -> anyhow::Result<()> {
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text)?;
    let arguments: Value = serde_json::from_str(&text)?;
    let name = arguments
        .get("name")
        .and_then(Value::as_str)
        .context("there is no name")?;
    let greeting = json!(format!("Hello, {name}!"));
    Ok(write!(std::io::stdout().lock(), "{greeting}")?)
}
