//! Tests of the whole, in one binary: each module links the library once.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test says what is wrong by stopping, its helpers too"
)]

mod adapters;
mod conformance;
mod crash;
mod crowd;
mod decoders;
mod folds;
mod generate;
mod interrupts;
mod lifecycle;
mod limits;
mod loop_rules;
mod peers;
mod recorded;
mod refusals;
mod repair;
mod repeats;
mod requests;
mod round_trip;
mod schedules;
mod schemas;
