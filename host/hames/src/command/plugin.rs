//! `hames plugin …`: what a component is and may do, before and after it is configured.
//!
//! A plugin is named by its id in the configuration, by `builtin:NAME`, or by a file.
//!
//! | command | each line of `--json` |
//! |---|---|
//! | `list` | `{"type": "plugin", "id"?, "source", "configured", "version"?, "digest"?, "tools": [name], "error"?}` |
//! | `inspect` | `{"type": "inspection", "id", "version", "digest", "bytes", "tools": [{"name", "description", "parameters", "timeoutMs"?}], "toolsError"?, "listens": [interface], "kinds": [{"sum", "tag"}], "config"?, "reach": [{"import", "needs": [capability], "missing"?}], "wants": [{"grant", "reason"}], "granted": [capability], "unused": [capability], "configured": id or null}` |
//! | `check` | `{"type": "check", "plugin", "ok", "tools"?, "error"?: {"code", "message", "causes"}}` |
//! | `order` | `{"type": "listener", "point", "plugin", "phase", "authority": "full" or "restrict" or "none", "onFailure": "closed" or "open" or null}` |
//! | `backtest` | `{"type": "difference", "session", "seq", "point", "call"?, "then", "now"}` for each, then `{"type": "backtest", "sessions", "asked", "differences"}` |
//! | `pack` | `{"type": "packed", "file", "id", "digest", "bytes"}` |

mod backtest;
mod check;
mod inspect;
mod list;
mod order;
mod pack;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use hames_plugin::PluginSpec;
use hames_types::id::PluginId;
use sha2::{Digest, Sha256};

use super::Context;
use crate::builtin;
use crate::compose::Setup;
use crate::config::{PluginConfig, Source};
use crate::exit::{Ended, Exit};

/// Arguments of `plugin`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Print the configured plugins and those that ship with hames
    List,
    /// Tell what a component offers, listens to, wants and could reach, without granting it anything
    Inspect {
        /// A file, `builtin:NAME`, or a configured plugin's id
        plugin: String,
    },
    /// Load plugins as they are configured and say whether that works
    Check {
        /// Configured plugins' ids, `builtin:NAME`s or files; all that are configured if absent
        plugins: Vec<String>,
    },
    /// Print who is asked at which point, in order: the first is outermost
    Order,
    /// Ask a policy again what was asked in recorded sessions, and show what it would decide otherwise
    Backtest {
        /// A file, `builtin:NAME`, or a configured plugin's id; it gets the configuration and the grants of its id
        plugin: String,
        /// The sessions: their ids, beginnings of them, or `last`
        #[arg(required = true)]
        sessions: Vec<String>,
    },
    /// Put a manifest into a component of any language
    Pack {
        /// The component, or a core module that names its imports and exports by WIT
        component: PathBuf,
        /// The manifest; `plugin.toml` if absent, unless the component has one already
        #[arg(long, value_name = "FILE")]
        manifest: Option<PathBuf>,
        /// Where to write the plugin
        #[arg(long, short, value_name = "FILE")]
        output: PathBuf,
    },
}

/// Does it.
///
/// # Errors
/// If the configuration or a plugin can't be used.
pub async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    match args.what {
        What::List => list::run(context).await,
        What::Inspect { plugin } => inspect::run(&plugin, context).await,
        What::Check { plugins } => check::run(&plugins, context).await,
        What::Order => order::run(context).await,
        What::Backtest { plugin, sessions } => backtest::run(&plugin, &sessions, context).await,
        What::Pack {
            component,
            manifest,
            output,
        } => pack::run(&component, manifest.as_deref(), &output, context),
    }
}

/// A plugin as it was named on the command line.
pub(super) struct Named {
    /// What it is called in what is printed.
    pub(super) name: String,
    /// Its configuration, if it has one.
    pub(super) config: Option<PluginConfig>,
    /// Where it is, if it has no configuration.
    source: Source,
}

impl Named {
    /// What `typed` names: a configured id, `builtin:NAME`, or a file, which may be one that is configured.
    ///
    /// # Errors
    /// If it names nothing.
    pub(super) fn find(setup: &Setup, typed: &str) -> anyhow::Result<Self> {
        let configured = &setup.config.plugins;
        if let Some(config) = configured.iter().find(|config| config.id.as_str() == typed) {
            return Ok(Self::configured(config));
        }
        let source = match typed.strip_prefix("builtin:") {
            Some(name) => Source::Builtin(name.to_owned()),
            None => Source::File(setup.place.folder.join(typed)),
        };
        let is_there = match &source {
            Source::Builtin(name) => builtin::find(name).is_some(),
            Source::File(file) => file.is_file(),
        };
        if !is_there {
            let ids: Vec<String> = configured
                .iter()
                .map(|config| format!("`{}`", config.id))
                .collect();
            let shipped: Vec<String> = builtin::ALL
                .iter()
                .map(|one| format!("`builtin:{}`", one.name))
                .collect();
            return Err(anyhow::Error::new(Ended(Exit::Plugin)).context(format!(
                "`{typed}` is no file, no configured plugin ({}) and none that ships with hames ({})",
                ids.join(", "),
                shipped.join(", ")
            )));
        }
        let same = |config: &&PluginConfig| match (&config.source, &source) {
            (Source::File(one), Source::File(other)) => {
                one == other
                    || one
                        .canonicalize()
                        .ok()
                        .zip(other.canonicalize().ok())
                        .is_some_and(|(one, other)| one == other)
            }
            (Source::Builtin(one), Source::Builtin(other)) => one == other,
            (Source::File(_), Source::Builtin(_)) | (Source::Builtin(_), Source::File(_)) => false,
        };
        Ok(Self {
            name: typed.to_owned(),
            config: configured.iter().find(same).cloned(),
            source,
        })
    }

    pub(super) fn configured(config: &PluginConfig) -> Self {
        Self {
            name: config.id.to_string(),
            source: config.source.clone(),
            config: Some(config.clone()),
        }
    }

    /// As the sandbox takes it, with nothing granted and its configuration alone.
    ///
    /// # Errors
    /// If it can't be read.
    pub(super) fn bare(&self) -> anyhow::Result<PluginSpec> {
        let id = self.config.as_ref().map(|config| config.id.clone());
        let mut spec = match &self.source {
            Source::Builtin(name) => {
                let shipped = builtin::find(name)
                    .with_context(|| format!("`builtin:{name}` doesn't ship with hames"))?;
                shipped.spec(id.unwrap_or_else(|| PluginId::new(shipped.name)))
            }
            Source::File(file) => {
                let bytes = std::fs::read(file)
                    .map_err(|error| Ended(Exit::Plugin).because(error))
                    .with_context(|| format!("{} can't be read", file.display()))?;
                // Without a configuration it is who it says it is.
                let own = || match hames_plugin::manifest(&bytes) {
                    Ok(manifest) if !manifest.id.is_empty() => PluginId::new(manifest.id),
                    Ok(_) | Err(_) => PluginId::new("plugin"),
                };
                let id = id.unwrap_or_else(own);
                PluginSpec::new(id, Arc::<[u8]>::from(bytes))
            }
        };
        if let Some(config) = &self.config {
            spec.config = config.config.clone();
            spec.limits = config.limits.clone();
        }
        Ok(spec)
    }
}

/// `sha256:` and the digest of these bytes.
pub(super) fn digest(bytes: &[u8]) -> String {
    let digits: String = Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{digits}")
}
