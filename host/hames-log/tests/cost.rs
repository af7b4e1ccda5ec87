//! Does what an append costs grow with the log? The short form; `cargo bench -p hames-log --bench append_cost` is the
//! long one.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a measurement that can't be made stops; ratios needn't be exact"
)]

#[path = "cost/measured.rs"]
mod measured;

use std::path::Path;

use measured::Size;

const SIZE: Size = Size {
    events: 40_000,
    sample: 200,
};

/// Most that a late append may cost, as a multiple of an early one, in instructions.
const MAX_GROWTH: f64 = 1.5;

/// The same for a derivation: a history is a tree, and each level of it holds 64 times as much as the one below.
const MAX_DERIVE_GROWTH: f64 = 3.0;

/// The same by the clock: time on a shared machine wavers, a walk over the log would cost forty times as much.
const MAX_GROWTH_IN_TIME: f64 = 10.0;

#[test]
fn the_workload_runs_by_itself() {
    let cost = measured::workload(SIZE);
    let (append, derive) = cost.growth();
    println!("in nanoseconds: {cost:?}; growth {append:.2} and {derive:.2}");
    if !measured::can_count() {
        assert!(
            append < MAX_GROWTH_IN_TIME && derive < MAX_GROWTH_IN_TIME,
            "{cost:?}"
        );
    }
}

#[test]
fn an_append_and_a_derivation_cost_the_same_late_in_a_log() {
    if !measured::can_count() {
        // The test above judges by the clock then.
        println!("valgrind isn't installed: instructions can't be counted");
        return;
    }
    let itself = std::env::current_exe().expect("a running program has a path");
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cost");
    let cost = measured::count(
        SIZE,
        &itself,
        &["the_workload_runs_by_itself", "--exact"],
        &scratch,
    );
    let (append, derive) = cost.growth();
    println!("in instructions: {cost:?}; growth {append:.2} and {derive:.2}");
    assert!(append < MAX_GROWTH, "{cost:?}");
    assert!(derive < MAX_DERIVE_GROWTH, "{cost:?}");
}
