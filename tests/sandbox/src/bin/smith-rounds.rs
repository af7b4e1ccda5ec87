//! Loads and calls what seeds make: `smith-rounds [FIRST] [COUNT]`, everything at least twice. The first time the pool and
//! the threads take what they need; what the process holds more each time is kept for no reason.

use std::io::Write;

use anyhow::ensure;
use cap::Cap;
use hames_sandbox_tests::home::Home;
use hames_sandbox_tests::rounds::{Held, resident, settles};
use hames_sandbox_tests::smith::{Came, attempt};

#[global_allocator]
static ALLOCATOR: Cap<std::alloc::System> = Cap::new(std::alloc::System, usize::MAX);

/// Most times everything is done before memory must have stopped growing.
const TIMES: usize = 6;

/// By how many bytes the heap may still grow the last time.
const ALLOWED: usize = 16 << 10;

/// How many seeds made nothing, were refused, failed, were loaded; and how many broke the rules.
#[derive(Default)]
struct Counts {
    nothing: u64,
    refused: u64,
    failed: u64,
    loaded: u64,
    broke: u64,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let first = numbers.next().unwrap_or(Ok(0))?;
    let count = numbers.next().unwrap_or(Ok(10_000))?;
    let home = Home::new()?;
    let mut out = std::io::stdout().lock();
    settles(TIMES, ALLOWED, async || {
        let mut counts = Counts::default();
        for seed in first..first + count {
            match attempt(&home, seed).await {
                Ok(Came::Nothing) => counts.nothing += 1,
                Ok(Came::Refused) => counts.refused += 1,
                Ok(Came::Failed) => counts.failed += 1,
                Ok(Came::Loaded) => counts.loaded += 1,
                Err(error) => {
                    counts.broke += 1;
                    writeln!(out, "{error:#}")?;
                }
            }
        }
        let held = Held::now(ALLOCATOR.allocated())?;
        writeln!(
            out,
            "{count} seeds from {first}: {} loaded, {} ran and failed, {} refused, {} made nothing; the heap holds {} KiB, \
             {} mappings, {} files; resident {} KiB",
            counts.loaded,
            counts.failed,
            counts.refused,
            counts.nothing,
            held.heap >> 10,
            held.mappings,
            held.files,
            resident()? >> 10
        )?;
        ensure!(
            counts.broke == 0,
            "{} seeds took too long or made the compiler panic",
            counts.broke
        );
        Ok(held)
    })
    .await?;
    Ok(())
}
