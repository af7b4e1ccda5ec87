//! Runs the attacks round after round: `attack-rounds [N]` compares resident memory after 50 and after N rounds.

use std::io::Write;

use anyhow::ensure;
use hames_sandbox_tests::home::Home;
use hames_sandbox_tests::rounds::Rounds;

/// How much memory may grow, in bytes.
const ALLOWED: usize = 8 << 20;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let rounds = std::env::args()
        .nth(1)
        .map_or(Ok(1_000), |text| text.parse::<usize>())?;
    let home = Home::new()?;
    let attacks = Rounds::load(&home).await?;
    let before = attacks.run(50).await?;
    let after = attacks.run(rounds.saturating_sub(50)).await?;
    let line = format!(
        "{} attacks a round; resident after 50 rounds {} KiB, after {rounds} rounds {} KiB",
        attacks.len(),
        before >> 10,
        after >> 10
    );
    writeln!(std::io::stdout().lock(), "{line}")?;
    ensure!(after < before + ALLOWED, "memory grows with the attacks");
    Ok(())
}
