//! The agent loop: what runs between a prompt and its last answer, and who may have a say in it.

pub mod approval;
mod layers;
pub mod listeners;
pub mod prompt;
pub mod scope;
pub mod tools;

pub use layers::{EntryId, OnChange};
