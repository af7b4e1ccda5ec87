//! For plugin authors: a tool is a struct (its arguments) and a function (its work).
//!
//! ```ignore
//! use hames_sdk::prelude::*;
//!
//! /// Greets somebody.
//! #[arguments]
//! struct Hello {
//!     /// Whom to greet.
//!     name: String,
//! }
//!
//! impl Tool for Hello {
//!     fn run(self, _call: &Call) -> Answer {
//!         Ok(format!("Hello, {}!", self.name).into())
//!     }
//! }
//!
//! export_plugin!(Hello);
//! ```
//!
//! The rest: [`tool`] (what else a tool can say), [`session`] and [`agent`] (who calls), [`kv`] (what lasts), [`log`]
//! (diagnostics), [`export`] (the manifest). The contract itself is in [`bindings`].

#![expect(
    clippy::result_large_err,
    clippy::large_enum_variant,
    reason = "an error ends the call, so it is made once, and its shape is the contract's"
)]

#[expect(
    missing_docs,
    clippy::all,
    clippy::restriction,
    reason = "generated from `wit/`"
)]
pub mod bindings;

pub mod error;
pub mod export;
pub mod kv;
pub mod log;
pub mod output;
pub mod session;
pub mod tool;

#[doc(hidden)]
pub use schemars;
#[doc(hidden)]
pub use serde;
#[doc(hidden)]
pub use serde_json;

pub use hames_sdk_macros::arguments;

pub use bindings::imports::hames::plugin::{agent, wait};

/// What a plugin with tools usually needs.
pub mod prelude {
    pub use crate::error::Error;
    pub use crate::export_plugin;
    pub use crate::output::{Answer, Output};
    pub use crate::tool::{Call, Tool};
    pub use hames_sdk_macros::arguments;
    pub use serde_json::{Value, json};
}
