//! What is configured, and where does each value come from?
//!
//! Layers, each over the one before: defaults, the user's file, the project's file (or the one named by `--config`),
//! `--set`. Who has no file gets the built-in demonstration in place of both.
//!
//! Read in this order: [`keys`] (what there is), [`value`] (how a value is written), [`settings`] (the layers),
//! `build` (settings to types), [`trust`] (what a stranger's project file may not do by itself).

mod build;
mod environment;
pub mod keys;
mod load;
mod near;
mod problem;
pub mod settings;
#[cfg(test)]
mod tests;
pub mod trust;
pub mod value;

pub use build::{Config, KeyFrom, ModelConfig, PluginConfig, Provider, Source, StoreConfig, StoreKind};
pub use environment::Environment;
pub use load::{Place, Sources, load};
pub use problem::{Origin, Problem, Problems};
pub use settings::{Setting, Settings};
