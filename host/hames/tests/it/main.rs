//! The program as its users have it: started as a process, with a home of its own.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking"
)]

mod chat;
mod commands;
mod config;
mod kit;
mod model;
mod peers;
mod plugins;
mod readme;
mod replays;
mod resume;
mod run;
mod words;
