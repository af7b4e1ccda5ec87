//! What can be asked of the program? Its commands and the flags that all of them have.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::command::{chat, completions, config, plugin, replay, resume, run, sessions, tool};

/// Runs language-model agents whose tools are plugins in a sandbox.
#[derive(Debug, Parser)]
#[command(name = "hames", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    /// The flags all commands have.
    #[command(flatten)]
    pub common: Common,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The flags all commands have.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options of all commands")]
pub struct Common {
    /// Read this configuration instead of looking for the project's `hames.toml`
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set one key of the configuration, above all files; may be given several times
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Keep sessions, compiled plugins and history in this folder
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Work in this folder
    #[arg(short = 'C', long = "cd", global = true, value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Print JSON, one value per line
    #[arg(long, global = true)]
    pub json: bool,
    /// When to colour what is printed
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Colour,
    /// Say more: whole results, warnings and all that is known of plugins' failures, then diagnostics (-vv, -vvv)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// When to colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one prompt to its end
    Run(run::Args),
    /// Talk, on a terminal
    Chat(chat::Args),
    /// Go on with a session: closes what was interrupted, and runs one more prompt if one is given
    Resume(resume::Args),
    /// Show or check the configuration
    Config(config::Args),
    /// Say whether everything a run needs is there
    Doctor,
    /// List, show, search, copy, move and remove stored sessions
    Sessions(sessions::Args),
    /// Run a stored session again against its own recording and compare the requests
    Replay(replay::Args),
    /// List, inspect, check and pack plugins
    Plugin(plugin::Args),
    /// Call a plugin's tool without a model
    Tool(tool::Args),
    /// Print a shell's completions
    Completions(completions::Args),
}
