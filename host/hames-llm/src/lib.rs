//! Model adapters: a [`Request`](hames_types::request::Request) in, a stream of chunks out, one attempt per call.
//!
//! Every adapter keeps the contract of [`port::llm`](hames_types::port::llm): its stream follows the grammar, ends in
//! exactly one finish or one typed failure, and stops soon after its signal is raised or it is dropped. What comes
//! from a server is hostile: bounded, checked, never a panic.
//!
//! Read in this order: what failures there are ([`fail`]), bytes to events ([`sse`]), the wire ([`http`], [`key`],
//! `call`), one protocol ([`chat`]), then the others.

mod adapter;
mod blocks;
mod call;
pub mod chat;
pub mod classify;
mod config;
mod date;
pub mod fail;
pub mod gemini;
pub mod http;
mod items;
mod keepsake;
pub mod key;
pub mod limits;
pub mod messages;
mod names;
pub mod offline;
mod payload;
pub mod replay;
pub mod responses;
mod schema;
pub mod scripted;
pub mod sse;
mod status;
#[cfg(test)]
mod testing;
mod text;
mod wording;

pub use adapter::{Adapter, KnownModel};
pub use config::ConfigError;
