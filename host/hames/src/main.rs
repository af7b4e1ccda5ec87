//! What does the process do? Reads its arguments and environment, runs one command, and ends with that command's code.

use std::process::ExitCode;

fn main() -> ExitCode {
    hames::start(std::env::args_os())
}
