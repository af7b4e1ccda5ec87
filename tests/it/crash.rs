//! Is everything acknowledged still there after a kill? The short form; `crash rounds KIND 500 SEED` is the long one.

use std::path::Path;

use anyhow::Result;
use hames_tests::crash::{Kind, check};

const ROUNDS: usize = 20;

fn kill(kind: Kind, seed: u64) -> Result<()> {
    let seen = check::rounds(Path::new(env!("CARGO_BIN_EXE_crash")), kind, ROUNDS, seed)?;
    assert_eq!(seen.rounds, ROUNDS);
    Ok(())
}

#[test]
fn r_per_6_a_killed_agent_on_sqlite_loses_nothing_acknowledged_and_goes_on() -> Result<()> {
    kill(Kind::Sqlite, 11)
}

#[test]
fn r_per_6_a_killed_agent_on_frames_loses_nothing_acknowledged_and_goes_on() -> Result<()> {
    kill(Kind::Frames, 12)
}

#[test]
fn r_per_6_a_killed_agent_on_plain_lines_loses_nothing_acknowledged_and_goes_on() -> Result<()> {
    kill(Kind::Lines, 13)
}
