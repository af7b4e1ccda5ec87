//! The session: an append-only truth and what follows from it.

mod slot;

pub use slot::{ListenerId, Place, Slot};
