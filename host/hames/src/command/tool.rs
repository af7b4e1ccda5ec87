//! `hames tool call PLUGIN TOOL JSON`: one call of one tool, without a model and without a session.
//!
//! Its result under `--json`, one line: `{"type": "result", "plugin", "tool", "content": [block], "meta"?}`, or
//! `{"type": "result", "plugin", "tool", "error": {"code"?, "message"}}` and exit code 4.

use std::io::Read as _;
use std::sync::Arc;

use anyhow::Context as _;
use hames_plugin::PluginSpec;
use hames_types::id::CallId;
use hames_types::json::Json;
use hames_types::kinds::KindRegistry;
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::signal::{SignalReason, Trigger};
use hames_types::tool::{ToolCall, ToolOutput};
use hames_types::turn::InterruptReason;
use parking_lot::RwLock;
use serde_json::json;

use super::Context;
use super::plugin::Named;
use crate::compose::{Loader, Setup};
use crate::exit::{Ended, Exit};
use crate::output::{Tone, visible};

/// Arguments of `tool`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Call a tool once and print its result
    Call {
        /// A configured plugin's id, `builtin:NAME`, or a file; without a configuration nothing is granted to it
        plugin: String,
        /// The tool's name
        tool: String,
        /// Its arguments, a JSON object; `-` reads them from standard input
        #[arg(default_value = "{}")]
        arguments: String,
    },
}

/// Calls it.
///
/// # Errors
/// If the plugin can't be loaded or hasn't the tool.
pub async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let What::Call {
        plugin,
        tool,
        arguments,
    } = args.what;
    let setup = Setup::read(context)?;
    let named = Named::find(&setup, &plugin)?;
    let arguments = read(&arguments)?;
    let loader = Loader::new(&setup, None, Arc::new(RwLock::new(KindRegistry::new())))?;
    let spec: PluginSpec = match &named.config {
        Some(config) => loader.spec(config, &context.environment)?,
        None => named.bare()?,
    };
    let loaded = loader.sandbox().load(spec).await?;
    let tools = loaded.tools()?;
    let names: Vec<String> = tools
        .iter()
        .map(|one| format!("`{}`", one.definition().schema.name))
        .collect();
    let found = tools
        .into_iter()
        .find(|one| one.definition().schema.name == tool.as_str());
    let found = found.ok_or(Ended(Exit::Plugin)).with_context(|| {
        format!(
            "the plugin `{plugin}` has no tool `{tool}`; it has {}",
            names.join(", ")
        )
    })?;
    let result = call(&*found, arguments).await;
    let output = &context.output;
    match result {
        Ok(ToolOutput { content, meta }) if output.is_json() => {
            let mut value = json!({"type": "result", "plugin": plugin, "tool": tool, "content": content});
            if let (Some(meta), Json::Object(value)) = (meta, &mut value) {
                value.insert("meta".to_owned(), meta);
            }
            output.json(&value)?;
            Ok(Exit::Done)
        }
        Ok(result) => {
            output.line(visible(&result.content.joined_text()))?;
            Ok(Exit::Done)
        }
        Err(fault) if output.is_json() => {
            let error = json!({"code": fault.trusted_code(), "message": fault.message()});
            output.json(&json!({"type": "result", "plugin": plugin, "tool": tool, "error": error}))?;
            Ok(Exit::Plugin)
        }
        Err(fault) => {
            let label = output.paint_note(Tone::Bad, "error:");
            let code = fault
                .trusted_code()
                .map(|code| format!(" ({code})"))
                .unwrap_or_default();
            output.note(format_args!("{label} {}{code}", visible(&fault.chain())));
            Ok(Exit::Plugin)
        }
    }
}

fn read(typed: &str) -> anyhow::Result<Json> {
    let mut text = typed.to_owned();
    if typed == "-" {
        text.clear();
        std::io::stdin()
            .lock()
            .read_to_string(&mut text)
            .context("standard input can't be read")?;
    }
    serde_json::from_str(&text)
        .map_err(|error| Ended(Exit::Usage).because(error))
        .context("the arguments are no JSON; they are one object, such as '{\"name\": \"Ada\"}'")
}

/// Runs the call; the keyboard can end it.
async fn call(tool: &dyn Tool, arguments: Json) -> Result<ToolOutput, hames_types::fault::Fault> {
    let trigger = Trigger::new();
    let call = ToolCall {
        call_id: CallId::new("call"),
        name: tool.definition().schema.name.clone(),
        arguments: Arc::new(arguments),
        agent: None,
        at: None,
        parent: None,
    };
    let run = ToolRun::new(trigger.signal());
    let running = tool.execute(&call, &run);
    tokio::pin!(running);
    tokio::select! {
        result = &mut running => return result,
        _ = tokio::signal::ctrl_c() => trigger.raise(SignalReason::Interrupt(InterruptReason::User)),
    };
    running.await
}
