//! Runs a folder of recorded cases: `conformance DIR [--mode native|tools|listeners] [--only TEXT]`.

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use hames_tests::conformance::{self, case::Mode};

const USAGE: &str = "usage: conformance DIR [--mode native|tools|listeners] [--only TEXT]";

struct Arguments {
    folder: PathBuf,
    mode: Mode,
    only: String,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = read(env::args().skip(1))?;
    let report = conformance::run(&arguments.folder, arguments.mode, &arguments.only)?;
    writeln!(io::stdout().lock(), "{report}")?;
    Ok(if report.failed().is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn read(mut words: impl Iterator<Item = String>) -> anyhow::Result<Arguments> {
    let (mut folder, mut mode, mut only) = (None, Mode::Native, String::new());
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .with_context(|| format!("`{word}` wants a value; {USAGE}"))
        };
        match word.as_str() {
            "--mode" => {
                let name = value()?;
                mode =
                    Mode::from_word(&name).with_context(|| format!("there is no mode `{name}`; {USAGE}"))?;
            }
            "--only" => only = value()?,
            flag if flag.starts_with('-') => bail!("there is no option `{flag}`; {USAGE}"),
            _ if folder.is_some() => bail!("one folder at a time, found also `{word}`; {USAGE}"),
            _ => folder = Some(PathBuf::from(word)),
        }
    }
    Ok(Arguments {
        folder: folder.context(USAGE)?,
        mode,
        only,
    })
}
