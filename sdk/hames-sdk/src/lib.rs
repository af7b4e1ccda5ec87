//! For plugin authors. A tool is a struct (its arguments) and a function (its work):
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
//! A listener is a type with a method for each question it wants to be asked; a component listens to what is written
//! and to nothing else:
//!
//! ```ignore
//! use hames_sdk::prelude::*;
//!
//! struct NoForce;
//!
//! #[plugin]
//! impl Plugin for NoForce {
//!     fn on_pre_execute(ask: PreExecuteAsk, next: Next<PreExecute>) -> Decision<PreExecute> {
//!         if ask.call.arguments.contains("--force") {
//!             return Ok(PreToolDecision::Deny("nothing is forced here".to_owned()));
//!         }
//!         next.run()
//!     }
//! }
//! ```
//!
//! The rest: [`tool`] (what else a tool can say), [`plugin`](trait@Plugin) and [`seam`] (what else can be listened to),
//! [`session`] and [`agent`] (who calls), [`content`] (blocks, kinds of one's own), [`kv`] (what lasts), [`wait`],
//! [`log`] (diagnostics), [`export`] (the manifest). The contract itself is in [`bindings`].

#![expect(
    clippy::result_large_err,
    reason = "an error ends the call, so it is made once, and its shape is the contract's"
)]

#[expect(
    missing_docs,
    clippy::all,
    clippy::restriction,
    reason = "generated from `wit/`"
)]
pub mod bindings;

pub mod agent;
pub mod config;
pub mod content;
pub mod error;
pub mod export;
#[doc(hidden)]
pub mod exported;
pub mod kv;
pub mod log;
pub mod output;
pub mod plugin;
pub mod room;
pub mod seam;
pub mod session;
pub mod tool;

#[doc(hidden)]
pub use schemars;
#[doc(hidden)]
pub use serde;
#[doc(hidden)]
pub use serde_json;

pub use hames_sdk_macros::{arguments, plugin};
pub use plugin::Plugin;

pub use bindings::imports::hames::plugin::wait;

/// What a plugin usually needs.
pub mod prelude {
    pub use crate::error::Error;
    pub use crate::export_plugin;
    pub use crate::output::{Answer, Output};
    pub use crate::plugin::*;
    pub use crate::seam::*;
    pub use crate::tool::{Call, Tool, ToolCall, ToolOutcome};
    pub use hames_sdk_macros::{arguments, plugin};
    pub use serde_json::{Value, json};
}
