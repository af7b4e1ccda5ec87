//! Is everything acknowledged still there after a kill, a failing disk, a rival? The short forms; `crash rounds KIND
//! 500 SEED` and `crash race KIND 30` are the long ones.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use hames_tests::crash::fault::{self, Fault};
use hames_tests::crash::{Kind, check, race};

const ROUNDS: usize = 20;

const VICTIM: &str = env!("CARGO_BIN_EXE_crash");

const KINDS: [Kind; 3] = [Kind::Sqlite, Kind::Frames, Kind::Lines];

fn kill(kind: Kind, seed: u64) -> Result<()> {
    let seen = check::rounds(Path::new(VICTIM), kind, ROUNDS, seed)?;
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

#[test]
fn two_writers_never_mix_and_the_loser_is_told() -> Result<()> {
    for kind in KINDS {
        let raced = race::race(Path::new(VICTIM), kind, Duration::from_millis(1500))?;
        assert!(raced.lost > 0 && raced.acknowledged > 0, "{kind:?}: {raced:?}");
    }
    Ok(())
}

/// Where system calls can't be made to fail, there is nothing to see: CI has strace.
#[test]
fn a_disk_that_fails_costs_nothing_that_was_acknowledged() -> Result<()> {
    if !fault::can_inject() {
        return Ok(());
    }
    for kind in KINDS {
        for (calls, error, when, stays) in [
            ("fsync,fdatasync", "EIO", 5, false),
            ("fsync,fdatasync", "EIO", 8, true),
            ("pwrite64,write", "EIO", 6, false),
            ("pwrite64,write", "ENOSPC", 15, true),
        ] {
            let fault = Fault {
                calls,
                error,
                when,
                stays,
            };
            fault::injected(Path::new(VICTIM), kind, fault)?;
        }
    }
    Ok(())
}

/// Where nobody may mount a small disk, there is nothing to see: CI runs as root.
#[test]
fn a_full_or_read_only_disk_is_named_and_what_was_stored_stays() -> Result<()> {
    for kind in KINDS {
        if let Some(seen) = fault::full_disk(Path::new(VICTIM), kind)? {
            assert!(seen.events > 0, "{kind:?}: nothing was ever stored");
        }
    }
    Ok(())
}
