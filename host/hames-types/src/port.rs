//! The outside as traits: everything the loop needs from elsewhere, in one list.
//!
//! Each trait is a specification. Native code and sandboxed components stand behind the same ones.

pub mod clock;
pub mod contribution;
pub mod listener;
pub mod llm;
pub mod notice;
pub mod plugin;
pub mod registration;
pub mod seam;
pub mod store;
pub mod tool;
