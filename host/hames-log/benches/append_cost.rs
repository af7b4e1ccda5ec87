//! What does an append cost at the millionth event? The long form of `tests/cost.rs`; needs valgrind.
//!
//! `cargo bench -p hames-log --bench append_cost`

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measurement that can't be made stops; its result is for people"
)]

#[path = "../tests/cost/measured.rs"]
mod measured;

use std::env;
use std::path::Path;

use measured::Size;

const SIZE: Size = Size {
    events: 1_000_000,
    sample: 1_000,
};

/// The argument with which this program runs the workload instead of measuring it.
const WORKLOAD: &str = "workload";

fn main() {
    if env::args().any(|argument| argument == WORKLOAD) {
        measured::workload(SIZE);
        return;
    }
    let by_clock = measured::workload(SIZE);
    println!("in nanoseconds: {by_clock:?}");
    if !measured::can_count() {
        println!("valgrind isn't installed: instructions can't be counted");
        return;
    }
    let itself = env::current_exe().expect("a running program has a path");
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("append-cost");
    let cost = measured::count(SIZE, &itself, &[WORKLOAD], &scratch);
    let (append, derive) = cost.growth();
    println!("in instructions: {cost:?}; growth {append:.2} and {derive:.2}");
    assert!(
        append < 1.5,
        "an append costs {append:.2} times as much late in the log"
    );
}
