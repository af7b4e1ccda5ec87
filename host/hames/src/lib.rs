//! The program: reads configuration, wires the crates, runs agents, prints.
//!
//! Read in this order: [`cli`] (what can be asked), [`command`] (one file per command), [`exit`] (how it ended),
//! [`output`] (what a person and a program see), [`config`] (what is configured, and from where).
//!
//! **A new command** is a file in `command/` with its `Args` and a `run`, a variant in [`cli::Command`], and an arm in
//! [`command::run()`]. Whatever it prints goes through [`Output`]: text for people, one JSON value per
//! line under `--json`, whose shape is documented beside the command.

pub mod builtin;
pub mod chat;
pub mod cli;
pub mod command;
pub mod compose;
pub mod config;
pub mod drive;
pub mod exit;
pub mod lock;
pub mod output;
pub mod outside;
pub mod view;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;
use crate::command::Context;
use crate::config::Environment;
use crate::exit::Exit;
use crate::output::Output;

/// Runs the program with these arguments, the process's name first, and says how it ended.
pub fn start(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let environment = Environment::read();
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(told) => {
            // Help and version are told here as well, as errors that aren't.
            let exit = if told.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            };
            return match told.print() {
                Ok(()) => exit.into(),
                Err(_closed) => Exit::ClosedPipe.into(),
            };
        }
    };
    let output = Output::new(&cli.common, &environment);
    output::trace(&cli.common, &output);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return output
                .failed(&anyhow::Error::new(error).context("the async runtime can't be started"))
                .into();
        }
    };
    let context = Context {
        common: cli.common,
        environment,
        output,
    };
    let ended = runtime.block_on(command::run(cli.command, &context));
    // Threads that wait in a system call (a terminal's line, say) are not worth waiting for.
    runtime.shutdown_background();
    match ended {
        Ok(exit) => exit.into(),
        Err(error) => context.output.failed(&error).into(),
    }
}
