//! Durability: sessions outlive the process.
//!
//! | store | for |
//! |---|---|
//! | [`SqliteStore`] | everything; the default |
//! | [`JsonlStore`] | logs that people and other programs read |
//! | [`MemoryStore`] | tests and dry runs |
//!
//! What plugins keep between calls lies beside them in a [`PluginDatabase`].
//!
//! [`Persistence`] makes live sessions durable in one of them, [`Checkpoint`] says when within a turn. All stores are a [`Home`] around a [`Backend`]: blocking verbs, put on threads of their own or done inline. [`record`] says
//! how an event is written, [`path`] and [`scan`] how a readable log lies on disk, [`query`] what else can be asked.

mod backend;
mod checkpoint;
mod error;
mod home;
mod jsonl;
mod lane;
mod memory;
pub mod path;
mod persistence;
pub mod query;
pub mod record;
pub mod scan;
mod sqlite;
mod transfer;

pub use backend::{Backend, Batch};
pub use checkpoint::Checkpoint;
pub use home::Home;
pub use jsonl::{Compression, Folder, JsonlStore};
pub use lane::Threading;
pub use memory::{Memory, MemoryStore};
pub use persistence::{PersistError, Persistence};
pub use sqlite::{Database, Hit, MAX_HITS, PluginDatabase, SqliteStore};
pub use transfer::Form;
