//! A shipped listener beside a script: the component, or the native listener it must be equal to.

use std::sync::Arc;

use hames_agent::Services as Host;
use hames_agent::repeat::{RepeatConfig, RepeatGuard};
use hames_plugin::{Grant, Plugin, PluginSpec, Point, Services, SessionGrant};
use hames_sandbox_tests::guests;
use hames_types::id::PluginId;
use serde_json::json;

use super::super::world::World;
use super::{Late, shared};

/// Who counts repeated calls beside a script.
pub(in super::super) enum Repeats {
    /// The native guard, a new one in every context.
    Native(RepeatConfig),
    /// The component.
    Guest {
        /// It.
        plugin: Plugin,
        /// Where it finds the sessions.
        callers: Arc<Late>,
    },
}

impl Repeats {
    /// Loads the component with that configuration.
    pub(in super::super) fn guest(config: &RepeatConfig) -> anyhow::Result<Self> {
        let shared = shared()?;
        let callers = Arc::<Late>::default();
        let services = Services {
            callers: Some(Arc::<Late>::clone(&callers)),
            ..shared.home.services()
        };
        let mut spec = PluginSpec::new(PluginId::new("repeat-guard"), guests::plain("repeat-guard")?);
        spec.config = json!({
            "thresholds": config.thresholds, "previewChars": config.preview_chars,
            "include": config.include, "exclude": config.exclude,
        });
        spec.grant = Grant {
            session: SessionGrant {
                read: true,
                ..SessionGrant::default()
            },
            full: vec![Point::PostExecute],
            ..Grant::default()
        };
        let sandbox = shared.home.sandbox.lending(services);
        let plugin = shared.runtime.block_on(sandbox.load(spec))?;
        Ok(Self::Guest { plugin, callers })
    }

    /// Lets the component reach the sessions of a world.
    pub(in super::super) fn serve(&self, world: &Arc<World>) {
        match self {
            Self::Native(_) => {}
            // A world has it to itself, so there is no second.
            Self::Guest { callers, .. } => drop(callers.0.set(Arc::downgrade(world))),
        }
    }

    /// Listens in a context.
    pub(in super::super) fn register(&self, host: &Host) -> anyhow::Result<()> {
        match self {
            Self::Native(config) => {
                RepeatGuard::new(config.clone())?.install(&host.listeners);
            }
            Self::Guest { plugin, .. } => {
                for listener in plugin.listeners() {
                    host.register(None, listener)?;
                }
            }
        }
        Ok(())
    }
}
