//! The session: an append-only truth and what follows from it.
//!
//! [`Log`] is the bare log with its folds (surface, history, request header). [`Session`] is a log that lives: it
//! keeps the order of turns, tells observers, and is published by [`Sessions`]. [`repair`], [`project`], [`header`],
//! [`surface`], [`assemble`] and [`grammar`] are pure.

mod access;
pub mod assemble;
mod draft;
pub mod error;
pub mod grammar;
pub mod header;
mod interest;
mod log;
pub mod meter;
pub mod project;
mod recorded;
pub mod repair;
pub mod seed;
mod session;
mod sessions;
mod slot;
pub mod surface;
pub mod trace;

pub use access::LiveAccess;
pub use draft::Draft;
pub use interest::Interest;
pub use log::{Log, first_header_reason};
pub use recorded::RecordedSession;
pub use session::Session;
pub use sessions::{Flush, SessionMeta, Sessions, WeakSessions};
pub use slot::{ListenerId, Place, Slot, observe_contained};
