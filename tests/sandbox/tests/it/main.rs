//! Does the sandbox hold with real components, and against hostile ones?

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "helpers of tests fail by panicking, and every task here is awaited or aborted by its test"
)]

mod authority;
mod cached;
mod calls;
mod files;
mod guests;
mod hostile;
mod kept;
mod load;
mod network;
mod packed;
mod parity;
mod precompiled;
mod python;
mod sdk;
mod session;
