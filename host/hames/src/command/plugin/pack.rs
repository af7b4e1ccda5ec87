//! How does a component get its manifest? From a `plugin.toml`, which says the same as the JSON in the component.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use hames_plugin::LoadProblem;
use serde_json::{Value, json};
use wit_component::ComponentEncoder;

use super::digest;
use crate::command::Context;
use crate::exit::{Ended, Exit};
use crate::output::visible;

/// What every module and component begins with, and what tells a core module from a component.
const CORE_MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// Packs.
pub(super) fn run(
    component: &Path,
    manifest: Option<&Path>,
    to: &Path,
    context: &Context,
) -> anyhow::Result<Exit> {
    let built = fs::read(component).with_context(|| format!("{} can't be read", component.display()))?;
    let refused = || format!("{} can't be packed", component.display());
    let component_bytes = if built.starts_with(CORE_MODULE) {
        ComponentEncoder::default()
            .validate(true)
            .module(&built)
            .and_then(|encoder| encoder.encode())
            .map_err(|error| Ended(Exit::Plugin).because(error))
            .context(
                "it is a core module that no component can be made of; build it against hames:plugin's WIT",
            )
            .with_context(refused)?
    } else {
        built
    };
    let is_refused = |problem: LoadProblem| Ended(Exit::Plugin).because(problem).context(refused());
    let own = hames_plugin::manifest(&component_bytes).map_err(is_refused)?;
    let (packed, id) = match manifest {
        // What its author's SDK wrote stands, unless another one is named, which is refused then.
        None if !own.id.is_empty() => (component_bytes, own.id.to_string()),
        named => {
            let (text, id) = read(named.unwrap_or(Path::new("plugin.toml")))?;
            (
                hames_plugin::pack(&component_bytes, text.as_bytes()).map_err(is_refused)?,
                id,
            )
        }
    };
    fs::write(to, &packed).with_context(|| format!("{} can't be written", to.display()))?;
    let (digest, output) = (digest(&packed), &context.output);
    if output.is_json() {
        output.json(&json!({
            "type": "packed",
            "file": to.display().to_string(),
            "id": id,
            "digest": digest,
            "bytes": packed.len(),
        }))?;
    } else {
        output.line(format_args!(
            "{}: plugin `{}`, {} bytes, {digest}",
            to.display(),
            visible(&id),
            packed.len()
        ))?;
    }
    Ok(Exit::Done)
}

/// A manifest as the JSON that goes into the component, and its id.
fn read(file: &Path) -> anyhow::Result<(String, String)> {
    let fault = || format!("{} is no manifest", file.display());
    let text = fs::read_to_string(file).with_context(|| {
        format!(
            "the manifest {} can't be read; name it with `--manifest`",
            file.display()
        )
    })?;
    let value: Value = if file.extension().is_some_and(|extension| extension == "json") {
        serde_json::from_str(&text)
            .map_err(|error| Ended(Exit::Plugin).because(error))
            .with_context(fault)?
    } else {
        let table: toml::Table = toml::from_str(&text)
            .map_err(|error| Ended(Exit::Plugin).because(error))
            .with_context(fault)?;
        serde_json::to_value(table)?
    };
    let id = value
        .get("id")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    Ok((value.to_string(), id))
}
