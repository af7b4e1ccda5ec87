//! Who is called? All that is the same for every call of one loaded plugin.

use std::sync::Arc;

use hames_types::id::PluginId;
use hames_types::kinds::KindRegistry;
use hames_types::port::clock::Clock;
use hames_types::port::plugin::{Callers, PluginStore};
use parking_lot::RwLock;

use crate::grant::Grant;
use crate::http::Network;
use crate::limits::Limits;

/// What the host lends to plugins. Shared by all of them.
#[derive(Clone)]
pub struct Services {
    /// The time that granted clocks show.
    pub clock: Arc<dyn Clock>,
    /// Finds the session and the agent behind a call. Without it no plugin reaches any.
    pub callers: Option<Arc<dyn Callers>>,
    /// What plugins keep.
    pub store: Arc<dyn PluginStore>,
    /// The kinds plugins declared. Loading a plugin adds to them.
    pub kinds: Arc<RwLock<KindRegistry>>,
    /// Where diagnostics and progress go.
    pub diary: Arc<dyn Diary>,
    /// The way out for granted requests.
    pub network: Network,
}

/// How important a line of diagnostics is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Every detail.
    Trace,
    /// For whoever debugs.
    Debug,
    /// Worth knowing.
    Info,
    /// Not as it should be.
    Warn,
    /// Failed.
    Error,
}

/// Where plugins' diagnostics go: bounded lines, already cut to size. Called from inside guest calls.
pub trait Diary: Send + Sync {
    /// One line of diagnostics. It is a stranger's text: nobody may parse it, and control characters stay in it.
    fn line(&self, plugin: &PluginId, level: Level, text: &str);

    /// How far a call is.
    fn progress(&self, plugin: &PluginId, call: &str, text: &str) {
        let _ = (plugin, call, text);
    }
}

/// Diagnostics as `tracing` events with the target `plugin`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Traced;

impl Diary for Traced {
    fn line(&self, plugin: &PluginId, level: Level, text: &str) {
        // Debug formatting escapes what could forge a line.
        match level {
            Level::Trace => tracing::trace!(target: "plugin", %plugin, ?text),
            Level::Debug => tracing::debug!(target: "plugin", %plugin, ?text),
            Level::Info => tracing::info!(target: "plugin", %plugin, ?text),
            Level::Warn => tracing::warn!(target: "plugin", %plugin, ?text),
            Level::Error => tracing::error!(target: "plugin", %plugin, ?text),
        }
    }

    fn progress(&self, plugin: &PluginId, call: &str, text: &str) {
        tracing::debug!(target: "plugin", %plugin, call, progress = ?text);
    }
}

/// One loaded plugin as its calls see it.
pub(crate) struct Who {
    pub(crate) id: PluginId,
    /// The operator's configuration, as JSON text.
    pub(crate) config: String,
    /// What is granted and wanted.
    pub(crate) grant: Grant,
    pub(crate) limits: Limits,
    pub(crate) services: Services,
    /// Whether any WASI interface is imported; without, a call needs no WASI state.
    pub(crate) uses_wasi: bool,
}
