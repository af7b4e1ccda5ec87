//! `hames completions SHELL`: what a shell needs to complete this program's words.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;

use super::Context;
use crate::cli::Cli;
use crate::exit::Exit;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Prints the completions. There is no JSON form: the shell reads them.
///
/// # Errors
/// If they can't be printed.
pub fn run(args: &Args, _: &Context) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "hames", &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(Exit::Done)
}
