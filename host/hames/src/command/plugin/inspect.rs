//! What is this component? Told from the component alone, and beside it what the configuration makes of it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use hames_plugin::{Capability, Grant, Inspection, Need};
use hames_types::kinds::KindRegistry;
use hames_types::tool::ToolDefinition;
use parking_lot::RwLock;
use serde_json::{Value, json};

use super::Named;
use crate::command::Context;
use crate::compose::{Loader, Setup};
use crate::exit::Exit;
use crate::output::{Output, Tone, visible};

/// What was found out.
struct Found {
    seen: Inspection,
    bytes: usize,
    tools: anyhow::Result<Vec<ToolDefinition>>,
    /// The id under which it is configured, and what it is granted.
    configured: Option<(String, Grant)>,
}

/// Inspects.
pub(super) async fn run(typed: &str, context: &Context) -> anyhow::Result<Exit> {
    let setup = Setup::read(context)?;
    let named = Named::find(&setup, typed)?;
    let loader = Loader::new(&setup, None, Arc::new(RwLock::new(KindRegistry::new())))?;
    let spec = named.bare()?;
    let seen = loader.sandbox().inspect(&spec).await?;
    let found = Found {
        bytes: spec.component.len(),
        tools: loader.sandbox().tools(spec).await.map_err(Into::into),
        configured: configured(&setup, &named, &seen),
        seen,
    };
    if context.output.is_json() {
        context.output.json(&found.value()?)?;
    } else {
        found.tell(&context.output)?;
    }
    Ok(Exit::Done)
}

/// By its place in the configuration, or by the id in its manifest.
fn configured(setup: &Setup, named: &Named, seen: &Inspection) -> Option<(String, Grant)> {
    let by_id = || {
        let mut plugins = setup.config.plugins.iter();
        plugins.find(|config| !seen.manifest.id.is_empty() && config.id.as_str() == seen.manifest.id)
    };
    let config = named.config.as_ref().or_else(by_id)?;
    let mut grant = config.grant.clone();
    // Their values are in the environment, which inspecting doesn't ask.
    for name in &config.variables {
        grant.environment.push((name.clone(), String::new()));
    }
    Some((config.id.to_string(), grant))
}

impl Found {
    fn granted(&self) -> Vec<Capability> {
        let gives = |capability: &Capability| {
            self.configured
                .as_ref()
                .is_some_and(|(_, grant)| grant.gives(*capability))
        };
        Capability::ALL.into_iter().filter(gives).collect()
    }

    /// Granted, but not wanted by the manifest or without an import that could use it.
    fn unused(&self) -> Vec<Capability> {
        let wanted: BTreeSet<Capability> = self.seen.manifest.wanted().into_iter().collect();
        let importable: BTreeSet<Capability> = self
            .seen
            .needs
            .iter()
            .flat_map(|(_, need)| match need {
                Need::AnyOf(capabilities) => *capabilities,
                Need::Nothing | Need::Absent(_) => &[],
            })
            .copied()
            .collect();
        let has_import = |capability: &Capability| match capability {
            // Linked for everybody, and empty without the grant.
            Capability::Environment => self.imports("wasi:cli/environment"),
            // Says how much a listener's answer counts.
            Capability::Authority => !self.listens().is_empty(),
            // Says under which name the others may be used.
            Capability::Speak => true,
            Capability::Filesystem
            | Capability::Http
            | Capability::Clocks
            | Capability::Random
            | Capability::Kv
            | Capability::Session
            | Capability::Todos
            | Capability::Surface
            | Capability::Agent => importable.contains(capability),
        };
        self.granted()
            .into_iter()
            .filter(|capability| !wanted.contains(capability) || !has_import(capability))
            .collect()
    }

    fn imports(&self, interface: &str) -> bool {
        self.seen
            .imports
            .iter()
            .any(|name| name.split('@').next() == Some(interface))
    }

    /// The interfaces at which it is asked or told something: its seams and observers, and what it adds.
    fn listens(&self) -> Vec<&str> {
        let exports = self.seen.exports.iter();
        exports
            .filter_map(|name| name.strip_prefix("hames:plugin/")?.split('@').next())
            .filter(|name| !matches!(*name, "tools" | "plugin"))
            .collect()
    }

    fn value(&self) -> anyhow::Result<Value> {
        let manifest = &self.seen.manifest;
        let reach = self.seen.needs.iter().map(|(import, need)| match need {
            Need::Nothing => json!({"import": import, "needs": []}),
            Need::AnyOf(capabilities) => json!({"import": import, "needs": words(capabilities)}),
            Need::Absent(advice) => json!({"import": import, "needs": [], "missing": advice}),
        });
        let mut value = json!({
            "type": "inspection",
            "id": manifest.id,
            "version": manifest.version,
            "digest": format!("sha256:{}", self.seen.digest),
            "bytes": self.bytes,
            "listens": self.listens(),
            "kinds": manifest.kinds.iter().map(|kind| json!({"sum": kind.sum.label(), "tag": kind.tag})).collect::<Vec<_>>(),
            "config": manifest.config,
            "reach": reach.collect::<Vec<_>>(),
            "wants": manifest.wants.iter().map(|want| json!({"grant": want.grant.as_str(), "reason": want.reason})).collect::<Vec<_>>(),
            "granted": words(&self.granted()),
            "unused": words(&self.unused()),
            "configured": self.configured.as_ref().map(|(id, _)| id),
        });
        let (name, tools) = match &self.tools {
            Ok(tools) => ("tools", tools.iter().map(tool).collect::<Vec<_>>().into()),
            Err(error) => ("toolsError", format!("{error:#}").into()),
        };
        if let Value::Object(value) = &mut value {
            value.insert(name.to_owned(), tools);
        }
        Ok(value)
    }

    fn tell(&self, output: &Output) -> anyhow::Result<()> {
        let manifest = &self.seen.manifest;
        let name = if manifest.id.is_empty() {
            "(no manifest)"
        } else {
            manifest.id.as_str()
        };
        output.line(format_args!(
            "{} {}",
            output.paint(Tone::Strong, name),
            visible(&manifest.version)
        ))?;
        output.line(format_args!(
            "  {} bytes, sha256:{}",
            self.bytes, self.seen.digest
        ))?;
        heading(output, "tools")?;
        match &self.tools {
            Ok(tools) if tools.is_empty() => output.line("  none")?,
            Ok(tools) => {
                for tool in tools {
                    let schema = &tool.schema;
                    let text = first_sentence(&visible(&schema.description));
                    output.line(format_args!(
                        "  {}  {text}",
                        output.paint(Tone::Strong, &schema.name)
                    ))?;
                    output.line(output.paint(Tone::Dim, arguments(tool)))?;
                }
            }
            Err(error) => output
                .line(output.paint(Tone::Bad, visible(&format!("  they can't be listed: {error:#}"))))?,
        }
        heading(output, "listens to")?;
        let listens = self.listens();
        output.line(format_args!(
            "  {}",
            if listens.is_empty() {
                "nothing".to_owned()
            } else {
                listens.join(", ")
            }
        ))?;
        heading(output, "could reach at most")?;
        self.tell_reach(output)?;
        heading(output, "wants")?;
        for want in &manifest.wants {
            output.line(format_args!("  {}: {}", want.grant, visible(&want.reason)))?;
        }
        if manifest.wants.is_empty() {
            output.line("  nothing")?;
        }
        self.tell_grants(output)
    }

    fn tell_reach(&self, output: &Output) -> anyhow::Result<()> {
        let mut is_confined = true;
        for (import, need) in &self.seen.needs {
            match need {
                Need::Nothing => continue,
                Need::AnyOf(capabilities) => {
                    output.line(format_args!(
                        "  {import}, with the grant {}",
                        words(capabilities).join(" or ")
                    ))?;
                }
                Need::Absent(advice) => {
                    let text = format!("  {}, which this host doesn't have; {advice}", visible(import));
                    output.line(output.paint(Tone::Bad, text))?;
                }
            }
            is_confined = false;
        }
        if is_confined {
            output.line("  nothing: its configuration, its own calls and its own log")?;
        }
        Ok(())
    }

    fn tell_grants(&self, output: &Output) -> anyhow::Result<()> {
        let Some((id, _)) = &self.configured else {
            heading(output, "is granted")?;
            output.line("  nothing: it isn't configured here")?;
            return Ok(());
        };
        heading(output, &format!("is granted as `{id}`"))?;
        let granted = self.granted();
        for capability in &granted {
            output.line(format_args!("  {capability}"))?;
        }
        if granted.is_empty() {
            output.line("  nothing")?;
        }
        for capability in self.unused() {
            let text = format!(
                "  {capability} is granted and can't be used: the component doesn't want or import it"
            );
            output.line(output.paint(Tone::Warning, text))?;
        }
        Ok(())
    }
}

fn heading(output: &Output, text: &str) -> anyhow::Result<()> {
    output.line(output.paint(Tone::Dim, format_args!("{text}:")))?;
    Ok(())
}

fn words(capabilities: &[Capability]) -> Vec<&'static str> {
    capabilities
        .iter()
        .map(|capability| capability.as_str())
        .collect()
}

fn tool(tool: &ToolDefinition) -> Value {
    let mut value = json!({
        "name": tool.schema.name,
        "description": tool.schema.description,
        "parameters": *tool.schema.parameters,
    });
    if let (Some(timeout), Value::Object(value)) = (&tool.timeout_ms, &mut value) {
        value.insert("timeoutMs".to_owned(), Value::Number(timeout.clone()));
    }
    value
}

fn first_sentence(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let first = line.split_once(". ").map_or(line, |(first, _)| first);
    first.trim_end_matches('.').to_owned()
}

/// The names of a tool's arguments; those that needn't be there in brackets.
fn arguments(tool: &ToolDefinition) -> String {
    let schema = &tool.schema.parameters;
    let needed: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut text = String::from("   ");
    for name in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|all| all.keys())
    {
        let shown = visible(name);
        // Written to a string, which doesn't fail.
        let written = if needed.contains(&name.as_str()) {
            write!(text, " {shown}")
        } else {
            write!(text, " [{shown}]")
        };
        written.unwrap_or(());
    }
    text
}
