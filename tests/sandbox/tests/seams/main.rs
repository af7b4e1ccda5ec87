//! Do components listen as native listeners do, and never more than they may?

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    clippy::disallowed_methods,
    reason = "helpers of tests fail by panicking and look for one case, and every task here is awaited by its test"
)]

mod authority;
mod contributions;
mod decisions;
mod listeners;
mod misbehaving;
mod observers;
mod own_content;
mod path_guard;
mod shipped;
mod stage;
