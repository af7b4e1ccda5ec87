//! Loads and calls what seeds make: `smith-rounds [FIRST] [COUNT]`, everything twice. The first time memory grows to what
//! the largest of them needs; what it grows by the second time is kept for no reason.

use std::io::Write;

use anyhow::ensure;
use hames_sandbox_tests::home::Home;
use hames_sandbox_tests::rounds::resident;
use hames_sandbox_tests::smith::{Came, attempt};

/// How much memory may grow the second time, in bytes.
const ALLOWED: usize = 8 << 20;

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
    let mut after = Vec::new();
    for time in ["first", "second"] {
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
        let now = resident()?;
        after.push(now);
        writeln!(
            out,
            "{count} seeds from {first}, the {time} time: {} loaded, {} ran and failed, {} refused, {} made nothing; \
             resident {} KiB",
            counts.loaded,
            counts.failed,
            counts.refused,
            counts.nothing,
            now >> 10
        )?;
        ensure!(
            counts.broke == 0,
            "{} seeds took too long or made the compiler panic",
            counts.broke
        );
    }
    let grew = after
        .last()
        .unwrap_or(&0)
        .saturating_sub(*after.first().unwrap_or(&0));
    ensure!(
        grew < ALLOWED,
        "memory grows with what is made: {} KiB the second time",
        grew >> 10
    );
    Ok(())
}
