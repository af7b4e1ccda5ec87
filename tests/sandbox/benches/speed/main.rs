//! What does the sandbox cost? One call against the same work elsewhere, loads, throughput and memory, in one run.
//!
//! `cargo bench -p hames-sandbox-tests --bench speed [-- call|load|many|memory]`. Figures are in the README beside.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark that can't set itself up can only stop, says what it found, and awaits its tasks"
)]

mod call;
mod elsewhere;
mod load;
mod many;
mod memory;

use std::time::Duration;

fn main() {
    let asked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let wants = |part: &str| asked.is_empty() || asked.iter().any(|word| word == part);
    let one = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let several = || tokio::runtime::Runtime::new().unwrap();
    if wants("call") {
        one().block_on(call::run());
    }
    if wants("load") {
        several().block_on(load::run());
    }
    if wants("many") {
        several().block_on(many::run());
    }
    if wants("memory") {
        several().block_on(memory::run());
    }
}

/// The median. At least one.
fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
