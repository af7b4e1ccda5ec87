//! Do the plugins load, with the configuration and the grants they have?

use std::sync::Arc;

use hames_plugin::{LoadError, PluginSpec};
use hames_types::kinds::KindRegistry;
use parking_lot::RwLock;
use serde_json::json;

use super::Named;
use crate::command::Context;
use crate::compose::{Loader, Setup};
use crate::exit::Exit;
use crate::output::{Tone, visible};

/// Loads each by itself. One that fails doesn't keep the others from being tried.
pub(super) async fn run(plugins: &[String], context: &Context) -> anyhow::Result<Exit> {
    let setup = Setup::read(context)?;
    let named = if plugins.is_empty() {
        setup.config.plugins.iter().map(Named::configured).collect()
    } else {
        let found = plugins.iter().map(|typed| Named::find(&setup, typed));
        found.collect::<anyhow::Result<Vec<_>>>()?
    };
    let output = &context.output;
    if named.is_empty() && !output.is_json() {
        output.note("no plugin is configured");
    }
    let loader = Loader::new(&setup, None, Arc::new(RwLock::new(KindRegistry::new())))?;
    let mut exit = Exit::Done;
    for plugin in &named {
        match load(&loader, plugin, context).await {
            Ok(tools) if output.is_json() => {
                output.json(&json!({"type": "check", "plugin": plugin.name, "ok": true, "tools": tools}))?;
            }
            Ok(tools) => {
                let good = output.paint(Tone::Good, "loads");
                output.line(format_args!(
                    "{}: {good}, {} tools",
                    visible(&plugin.name),
                    tools.len()
                ))?;
            }
            Err(error) => {
                exit = Exit::Plugin;
                fail(&plugin.name, &error, context)?;
            }
        }
    }
    Ok(exit)
}

async fn load(loader: &Loader, plugin: &Named, context: &Context) -> anyhow::Result<Vec<String>> {
    let spec: PluginSpec = match &plugin.config {
        Some(config) => loader.spec(config, &context.environment)?,
        None => plugin.bare()?,
    };
    let loaded = loader.sandbox().load(spec).await?;
    let tools = loaded.tools()?;
    Ok(tools
        .iter()
        .map(|tool| tool.definition().schema.name.to_string())
        .collect())
}

fn fail(name: &str, error: &anyhow::Error, context: &Context) -> anyhow::Result<()> {
    let output = &context.output;
    // An error that quotes its cause needn't be followed by it.
    let mut told: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if !told.last().is_some_and(|before| before.contains(&cause)) {
            told.push(cause);
        }
    }
    let (message, causes) = told
        .split_first()
        .map_or(("", [].as_slice()), |(first, rest)| (first.as_str(), rest));
    if output.is_json() {
        let code = error
            .chain()
            .find_map(|cause| cause.downcast_ref::<LoadError>())
            .map(|error| error.problem.code());
        output.json(&json!({
            "type": "check",
            "plugin": name,
            "ok": false,
            "error": {"code": code, "message": message, "causes": causes},
        }))?;
        return Ok(());
    }
    let bad = output.paint(Tone::Bad, "doesn't load");
    output.line(format_args!("{}: {bad}: {}", visible(name), visible(message)))?;
    for cause in causes {
        output.line(format_args!("  because: {}", visible(cause)))?;
    }
    Ok(())
}
