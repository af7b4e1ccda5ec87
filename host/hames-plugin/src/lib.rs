//! The sandbox: components offer tools and listen to the loop, the host loads, confines and calls them.
//!
//! A [`Sandbox`] loads a [`PluginSpec`] into a [`Plugin`], whose tools are tools like any other and whose listeners are
//! listeners like any other ([`Plugin::listeners`]), which only restrict unless they may more. A component reaches
//! what its imports, its manifest and the operator's [`Grant`] allow together; every call has its own instance, its
//! own limits and a deadline. What a guest can bring about is a failed call, never a failed host.
//!
//! Read in this order: `load` (bytes to plugin), `invoke` (one call), `tool` (the port), `seam` and `observe`
//! (listeners, one trait for each kind), `link` and `grant` (what is in reach), `host` (what the imports do, `next`
//! among them), `convert` (what crosses), `ledger` and `backtest` (what was decided, and would be), `http` (the way
//! out).

mod arguments;
mod backtest;
#[expect(clippy::all, clippy::restriction, reason = "generated from `wit/`")]
mod bindings;
mod bytes;
mod cache;
mod contribute;
mod convert;
mod engine;
mod error;
mod exports;
mod folders;
mod grant;
mod host;
mod http;
mod inspect;
mod invoke;
mod keep;
mod ledger;
mod limits;
mod link;
mod listeners;
mod load;
mod manifest;
mod meter;
mod observe;
mod opening;
mod pack;
mod plugin;
mod point;
mod precompiled;
mod seam;
mod state;
mod tool;
mod wasi;
mod who;

pub use backtest::{Backtest, Difference, backtest};
pub use bytes::ComponentBytes;
pub use cache::{Cache, CacheError};
pub use error::{CallError, Limit, LoadError, LoadProblem, Opaque};
pub use grant::{
    Access, AgentGrant, Capability, Clocks, Folder, Grant, HttpRule, Random, Scheme, Secret, SessionGrant,
    Speak,
};
pub use http::{Network, Resolve};
pub use keep::MemoryStore;
pub use ledger::{DECISION_KIND, Ledger};
pub use limits::{Capacity, Limits, MAX_MEMORY, MAX_NESTED};
pub use link::Need;
pub use listeners::{Listing, in_order, listings};
pub use load::{Inspection, PluginSpec, Sandbox};
pub use manifest::{Manifest, ManifestError, SECTION, Want};
pub use pack::{manifest, pack};
pub use plugin::Plugin;
pub use point::{OnFailure, Phase, Point, PointKind};
pub use precompiled::{Precompiled, precompile};
pub use who::{Diary, Level, Services, Traced};
