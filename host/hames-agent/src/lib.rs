//! The agent loop: what runs between a prompt and its last answer, and who may have a say in it.

pub mod listeners;
