//! Which plugins are there? Those that are configured, each loaded by itself, and those that ship and aren't.

use hames_types::kinds::KindRegistry;
use serde_json::{Value, json};

use super::Named;
use crate::builtin;
use crate::command::Context;
use crate::compose::{Loader, Setup};
use crate::config::{PluginConfig, Source};
use crate::exit::Exit;
use crate::output::{Output, Tone, visible};

/// Lists.
pub(super) async fn run(context: &Context) -> anyhow::Result<Exit> {
    let setup = Setup::read(context)?;
    let loader = Loader::new(
        &setup,
        None,
        std::sync::Arc::new(parking_lot::RwLock::new(KindRegistry::new())),
    )?;
    for config in &setup.config.plugins {
        let loaded = look(&loader, config).await;
        tell(config, &loaded, &context.output)?;
    }
    let is_used = |name: &str| {
        let mut configured = setup.config.plugins.iter();
        configured.any(|config| matches!(&config.source, Source::Builtin(used) if used == name))
    };
    for shipped in builtin::ALL.iter().filter(|shipped| !is_used(shipped.name)) {
        let source = format!("builtin:{}", shipped.name);
        if context.output.is_json() {
            let digest = super::digest(shipped.component);
            context.output.json(&json!({
                "type": "plugin", "source": source, "configured": false, "digest": digest, "tools": [],
            }))?;
        } else {
            let rest = context
                .output
                .paint(Tone::Dim, "ships with hames, not configured");
            context.output.line(format_args!("{source}  {rest}"))?;
        }
    }
    Ok(Exit::Done)
}

/// What a configured plugin turns out to be.
struct Look {
    version: String,
    digest: String,
    tools: Vec<String>,
}

async fn look(loader: &Loader, config: &PluginConfig) -> anyhow::Result<Look> {
    let spec = Named::configured(config).bare()?;
    let seen = loader.sandbox().inspect(&spec).await?;
    let tools = loader.sandbox().tools(spec).await?;
    Ok(Look {
        version: seen.manifest.version.to_string(),
        digest: format!("sha256:{}", seen.digest),
        tools: tools
            .iter()
            .map(|tool| format!("{}{}", config.prefix, tool.schema.name))
            .collect(),
    })
}

fn tell(config: &PluginConfig, look: &anyhow::Result<Look>, output: &Output) -> anyhow::Result<()> {
    let source = match &config.source {
        Source::Builtin(name) => format!("builtin:{name}"),
        Source::File(file) => file.display().to_string(),
    };
    if output.is_json() {
        let mut value = json!({"type": "plugin", "id": config.id, "source": source, "configured": true});
        let rest = match look {
            Ok(look) => json!({"version": look.version, "digest": look.digest, "tools": look.tools}),
            Err(error) => json!({"tools": [], "error": format!("{error:#}")}),
        };
        if let (Value::Object(value), Value::Object(rest)) = (&mut value, rest) {
            value.extend(rest);
        }
        output.json(&value)?;
        return Ok(());
    }
    let id = output.paint(Tone::Strong, config.id.as_str());
    match look {
        Ok(look) => {
            let tools = if look.tools.is_empty() {
                "no tools".to_owned()
            } else {
                look.tools.join(", ")
            };
            let version = output.paint(Tone::Dim, visible(&look.version));
            output.line(format_args!("{id} {version}  {source}  {}", visible(&tools)))?;
        }
        Err(error) => {
            let problem = output.paint(Tone::Bad, visible(&format!("{error:#}")));
            output.line(format_args!("{id}  {source}  {problem}"))?;
        }
    }
    Ok(())
}
