//! What does each command do? One file per command.
//!
//! | command | file |
//! |---|---|
//! | `run` | [`run`](mod@run) |
//! | `chat` | [`chat`] |
//! | `resume` | [`resume`] |
//! | `config` | [`config`] |
//! | `doctor` | [`doctor`] |
//! | `completions` | [`completions`] |
//! | `sessions` | [`sessions`] |
//! | `replay` | [`replay`] |
//! | `plugin` | [`plugin`] |
//! | `tool` | [`tool`] |

pub mod chat;
pub mod completions;
pub mod config;
pub mod doctor;
pub mod plugin;
pub mod replay;
pub mod resume;
pub mod run;
pub mod sessions;
pub mod tool;

use crate::cli::{Command, Common};
use crate::config::Environment;
use crate::exit::Exit;
use crate::output::Output;

/// What every command is given.
pub struct Context {
    /// The flags all commands have.
    pub common: Common,
    /// The process's environment, read once.
    pub environment: Environment,
    /// Where to print.
    pub output: Output,
}

/// Runs a command.
///
/// # Errors
/// What keeps it from its task; [`Exit::of`] has the code.
pub async fn run(command: Command, context: &Context) -> anyhow::Result<Exit> {
    match command {
        Command::Run(args) => run::run(args, context).await,
        Command::Chat(args) => chat::run(args, context).await,
        Command::Resume(args) => resume::run(args, context).await,
        Command::Config(args) => config::run(args, context).await,
        Command::Doctor => doctor::run(context).await,
        Command::Completions(args) => completions::run(&args, context),
        Command::Sessions(args) => sessions::run(args, context).await,
        Command::Replay(args) => replay::run(args, context).await,
        Command::Plugin(args) => plugin::run(args, context).await,
        Command::Tool(args) => tool::run(args, context).await,
    }
}
