//! Durability: sessions outlive the process.
//!
//! [`record`] says how an event is written, [`path`] and [`scan`] how a readable log lies on disk.

pub mod path;
pub mod record;
pub mod scan;
