//! Kills agents, breaks their disks, lets writers race, and looks at what is left.
//!
//! ```text
//! crash rounds sqlite|frames|lines COUNT SEED     kills, with the moments drawn from SEED
//! crash race   sqlite|frames|lines SECONDS        two processes on one session
//! ```
//! `run`, `turns` and `write` are the processes this happens to.

use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use hames_tests::crash::{Kind, check, race, victim};

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let program = env::current_exe()?;
    match words.as_slice() {
        ["run", kind, folder] => victim::run(Kind::from_word(kind)?, Path::new(folder), usize::MAX),
        ["turns", kind, folder, count] => victim::run(
            Kind::from_word(kind)?,
            Path::new(folder),
            count.parse().context("COUNT")?,
        ),
        ["write", kind, folder, name, millis] => {
            let time = Duration::from_millis(millis.parse().context("MILLISECONDS")?);
            race::write(Kind::from_word(kind)?, Path::new(folder), name, time)
        }
        ["rounds", kind, count, seed] => {
            let (count, seed) = (count.parse().context("COUNT")?, seed.parse().context("SEED")?);
            let seen = check::rounds(&program, Kind::from_word(kind)?, count, seed)?;
            Ok(writeln!(io::stdout().lock(), "{kind}: {seen:?}")?)
        }
        ["race", kind, seconds] => {
            let time = Duration::from_secs(seconds.parse().context("SECONDS")?);
            let raced = race::race(&program, Kind::from_word(kind)?, time)?;
            Ok(writeln!(io::stdout().lock(), "{kind}: {raced:?}")?)
        }
        _ => bail!(
            "usage: crash rounds sqlite|frames|lines COUNT SEED, or crash race sqlite|frames|lines SECONDS"
        ),
    }
}
