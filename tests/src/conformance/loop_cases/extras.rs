//! What is a scenario played with beside its script?

use std::sync::Arc;

use super::interrupt::Watch;
use super::sandbox;
use super::store::Kind;
use super::world::World;
use super::yielding::Yields;

/// What a scenario is played with beside its script.
#[derive(Default)]
pub(super) struct Extras {
    /// Watches the main agent's driver.
    pub(super) watch: Option<Arc<Watch>>,
    /// Lets others go first at every await.
    pub(super) yields: Option<Yields>,
    /// On which kind of store it runs.
    pub(super) kind: Option<Kind>,
    /// Its tools, if they are guests.
    pub(super) guests: Option<sandbox::Tools>,
    /// Its listeners, if they are.
    pub(super) listeners: Option<sandbox::listeners::Guests>,
    /// Who counts repeated calls beside them.
    pub(super) repeats: Option<sandbox::shipped::Repeats>,
}

impl Extras {
    /// Lets guests reach the agents of a world.
    pub(super) fn serve(&self, world: &Arc<World>) {
        if let Some(tools) = &self.guests {
            tools.serve(world);
        }
        if let Some(listeners) = &self.listeners {
            listeners.serve(world);
        }
        if let Some(repeats) = &self.repeats {
            repeats.serve(world);
        }
    }
}
