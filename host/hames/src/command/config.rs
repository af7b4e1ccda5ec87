//! `hames config show|check|trust|lock`: what is set, by whom, and whether it can hold.
//!
//! | command | each line of `--json` |
//! |---|---|
//! | `show` | `{"type": "setting", "key", "value", "origin": {"layer", "file"?, "line"?}}` |
//! | `check` | `{"type": "config", "ok": true, "user": file or null, "project": file or null, "demo": whether the built-in demonstration counts}` |
//! | `trust` | `{"type": "trusted", "file"}` |
//! | `lock` | `{"type": "locked", "plugin", "file", "digest", "changed"}` |

use serde_json::{Value, json};

use super::Context;
use crate::compose::{Loader, Setup, kinds};
use crate::config::{Config, Origin, Place, load, trust};
use crate::exit::{Ended, Exit};
use crate::lock::{Entry, Lock};
use crate::output::Tone;

/// Arguments of `config`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Print every value and where it came from
    Show {
        /// Only keys that begin with this
        #[arg(default_value = "")]
        prefix: String,
        /// Leave out what nobody set
        #[arg(long)]
        set_only: bool,
    },
    /// Say whether the configuration can be used
    Check,
    /// Let the project's file reach beyond the project, as it is now
    Trust,
    /// Record the plugins as they are now
    Lock {
        /// The plugins; all if none is named
        #[arg(value_name = "ID")]
        plugins: Vec<String>,
    },
}

/// Shows, checks or trusts.
///
/// # Errors
/// If the configuration can't be used.
pub async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    match args.what {
        What::Show { prefix, set_only } => show(&prefix, set_only, context),
        What::Check => check(context),
        What::Trust => trust_project(context),
        What::Lock { plugins } => lock(&plugins, context).await,
    }
}

fn show(prefix: &str, set_only: bool, context: &Context) -> anyhow::Result<Exit> {
    let place = Place::find(&context.common, &context.environment)?;
    let sources = load(&context.common, &context.environment, &place)?;
    let output = &context.output;
    let settings = sources
        .settings
        .iter()
        .filter(|(key, setting)| key.starts_with(prefix) && !(set_only && setting.origin == Origin::Default));
    for (key, setting) in settings {
        if output.is_json() {
            let value = setting.value.to_json();
            output.json(
                &json!({"type": "setting", "key": key, "value": value, "origin": origin(&setting.origin)}),
            )?;
        } else {
            let from = format!("# {}", setting.origin);
            output.line(format_args!(
                "{key} = {}  {}",
                setting.value,
                output.paint(Tone::Dim, from)
            ))?;
        }
    }
    Ok(Exit::Done)
}

fn origin(origin: &Origin) -> Value {
    match origin {
        Origin::Default => json!({"layer": "default"}),
        Origin::Demo => json!({"layer": "demo"}),
        Origin::File { file, line } => {
            json!({"layer": "file", "file": file.display().to_string(), "line": line})
        }
        Origin::Flag => json!({"layer": "flag"}),
    }
}

fn check(context: &Context) -> anyhow::Result<Exit> {
    let place = Place::find(&context.common, &context.environment)?;
    let sources = load(&context.common, &context.environment, &place)?;
    let config = Config::build(&sources.settings)?;
    let output = &context.output;
    let name = |file: Option<std::path::PathBuf>| file.map(|file| file.display().to_string());
    let (user, project) = (name(sources.user), name(sources.project));
    if output.is_json() {
        output.json(
            &json!({"type": "config", "ok": true, "user": user, "project": project, "demo": sources.is_demo}),
        )?;
        return Ok(Exit::Done);
    }
    let none = || "none".to_owned();
    output.line(format_args!("user's file: {}", user.unwrap_or_else(none)))?;
    output.line(format_args!("project's file: {}", project.unwrap_or_else(none)))?;
    if sources.is_demo {
        output.line("neither is there: the built-in demonstration counts")?;
    }
    output.line(format_args!(
        "model: {} {}",
        config.model.provider.as_str(),
        config.model.model
    ))?;
    for plugin in &config.plugins {
        output.line(format_args!("plugin: {} ({:?})", plugin.id, plugin.source))?;
    }
    output.line(output.paint(Tone::Good, "the configuration can be used"))?;
    Ok(Exit::Done)
}

fn trust_project(context: &Context) -> anyhow::Result<Exit> {
    let place = Place::find(&context.common, &context.environment)?;
    let Some(file) = crate::config::settings::project_file(&place.folder) else {
        let problem = format!("there is no hames.toml in {} or above it", place.folder.display());
        return Err(anyhow::Error::new(Ended(Exit::Config)).context(problem));
    };
    trust::trust(&place.data, &file)?;
    let output = &context.output;
    if output.is_json() {
        output.json(&json!({"type": "trusted", "file": file.display().to_string()}))?;
    } else {
        output.line(format_args!("trusted as it is now: {}", file.display()))?;
    }
    Ok(Exit::Done)
}

async fn lock(named: &[String], context: &Context) -> anyhow::Result<Exit> {
    let setup = Setup::read(context)?;
    let is_named = |id: &str| named.is_empty() || named.iter().any(|known| known == id);
    if let Some(unknown) = named.iter().find(|id| {
        setup
            .config
            .plugins
            .iter()
            .all(|plugin| plugin.id.as_str() != *id)
    }) {
        let problem = format!("no plugin `{unknown}` is configured");
        return Err(anyhow::Error::new(Ended(Exit::Config)).context(problem));
    }
    let loader = Loader::new(&setup, None, kinds()?)?;
    let output = &context.output;
    for config in setup
        .config
        .plugins
        .iter()
        .filter(|config| is_named(config.id.as_str()))
    {
        let Some(file) = &config.lock else { continue };
        let spec = loader.spec(config, &context.environment)?;
        let found = loader.inspect(&spec).await?;
        let entry = Entry::new(&found.digest, &found.manifest);
        let digest = entry.digest.clone();
        let mut lock = Lock::read(file)?;
        let changed = lock.put(config.id.as_str(), entry);
        if changed {
            lock.write(file)?;
        }
        if output.is_json() {
            let file = file.display().to_string();
            output.json(&json!({"type": "locked", "plugin": config.id, "file": file, "digest": digest, "changed": changed}))?;
        } else {
            let what = if changed { "recorded" } else { "as recorded" };
            output.line(format_args!("{} {what}: {digest}", config.id))?;
        }
    }
    Ok(Exit::Done)
}
