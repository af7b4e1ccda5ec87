//! Kills agents and looks at what is left: `crash rounds sqlite|frames|lines COUNT SEED`.
//!
//! `crash run KIND FOLDER` is the victim: it runs turns until somebody kills it.

use std::env;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, bail};
use hames_tests::crash::{Kind, check, victim};

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["run", kind, folder] => victim::run(Kind::from_word(kind)?, Path::new(folder), usize::MAX),
        ["rounds", kind, count, seed] => {
            let victim = env::current_exe()?;
            let (count, seed) = (count.parse().context("COUNT")?, seed.parse().context("SEED")?);
            let seen = check::rounds(&victim, Kind::from_word(kind)?, count, seed)?;
            writeln!(io::stdout().lock(), "{kind}: {seen:?}")?;
            Ok(())
        }
        _ => bail!("usage: crash rounds sqlite|frames|lines COUNT SEED"),
    }
}
