//! What is a loaded plugin, and what can be asked of it?

use std::fmt;
use std::sync::Arc;

use hames_types::id::PluginId;
use hames_types::port::tool::Tool;
use parking_lot::RwLock;

use crate::bindings::exports::hames::plugin::tools as wit_tools;
use crate::contribute::Offers;
use crate::convert::tool::Described;
use crate::error::{CallError, LoadError, LoadProblem};
use crate::exports::Exports;
use crate::invoke::Site;
use crate::ledger::Ledger;
use crate::manifest::Manifest;
use crate::observe::Breakers;
use crate::point::{Phase, Point};
use crate::tool::ComponentTool;

/// A loaded plugin. A clone is the same plugin.
#[derive(Clone)]
pub struct Plugin(Arc<RwLock<Arc<Loaded>>>);

/// One component, ready to be called.
pub(crate) struct Loaded {
    pub(crate) site: Site,
    pub(crate) manifest: Manifest,
    pub(crate) digest: String,
    pub(crate) exports: Arc<Exports>,
    pub(crate) tools: Vec<Arc<Described>>,
    /// What it adds to the prompt, and its commands.
    pub(crate) offers: Offers,
    /// Where its listeners stand among those of others.
    pub(crate) phase: Phase,
    /// The seams at which its failure counts as if it weren't there.
    pub(crate) open: Vec<Point>,
    /// Where its decisions are kept.
    pub(crate) ledger: Option<Ledger>,
    /// Which of its observers have spun.
    pub(crate) breakers: Breakers,
}

impl Loaded {
    pub(crate) fn tools(&self) -> Result<Arc<wit_tools::GuestIndices>, CallError> {
        self.exports.tools.clone().ok_or_else(|| CallError::Answer {
            place: "exports".to_owned(),
            problem: "no longer hold `tools`".to_owned(),
        })
    }
}

impl fmt::Debug for Plugin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loaded = self.current();
        out.debug_struct("Plugin")
            .field("id", &loaded.site.who.id)
            .field("digest", &loaded.digest)
            .finish_non_exhaustive()
    }
}

impl Plugin {
    pub(crate) fn new(loaded: Loaded) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(loaded))))
    }

    /// The component that calls go to now. Those under way keep theirs.
    pub(crate) fn current(&self) -> Arc<Loaded> {
        Arc::clone(&self.0.read())
    }

    /// Looks at the component that calls go to now.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Arc<Loaded>) -> T) -> T {
        look(&self.0.read())
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> PluginId {
        self.current().site.who.id.clone()
    }

    /// Digest of its component: SHA-256 in hexadecimal.
    #[must_use]
    pub fn digest(&self) -> String {
        self.current().digest.clone()
    }

    /// What it says about itself.
    #[must_use]
    pub fn manifest(&self) -> Manifest {
        self.current().manifest.clone()
    }

    /// Its tools, in the order it listed them.
    ///
    /// # Errors
    /// If a tool's parameters are no schema; loading has seen to that.
    pub fn tools(&self) -> Result<Vec<Arc<dyn Tool>>, LoadError> {
        let loaded = self.current();
        loaded
            .tools
            .iter()
            .map(|described| {
                let tool = ComponentTool::new(self.clone(), Arc::clone(described));
                let tool = tool.map_err(|problem| LoadError {
                    plugin: loaded.site.who.id.clone(),
                    problem: Box::new(bad_schema(described, &problem)),
                })?;
                Ok(Arc::new(tool) as Arc<dyn Tool>)
            })
            .collect()
    }

    /// Lets calls go to a newer component from now on; those under way finish on the old one.
    ///
    /// # Errors
    /// [`LoadProblem::Changed`] if its id, tools, kinds, listeners or offers differ: what is registered elsewhere stands as it is.
    pub fn swap(&self, newer: &Self) -> Result<(), LoadError> {
        let (old, new) = (self.current(), newer.current());
        let same_kinds = format!("{:?}", old.manifest.kinds) == format!("{:?}", new.manifest.kinds);
        let changed = if old.site.who.id != new.site.who.id {
            Some("id")
        } else if old.tools != new.tools {
            Some("tools")
        } else if !same_kinds {
            Some("kinds")
        } else if old.exports.points() != new.exports.points() {
            Some("listeners")
        } else if old.manifest.events != new.manifest.events {
            Some("observed events")
        } else if old.offers != new.offers {
            Some("sections, variables or commands")
        } else {
            None
        };
        if let Some(what) = changed {
            return Err(LoadError {
                plugin: new.site.who.id.clone(),
                problem: Box::new(LoadProblem::Changed { what }),
            });
        }
        *self.0.write() = new;
        Ok(())
    }
}

pub(crate) fn bad_schema(described: &Described, problem: &str) -> LoadProblem {
    LoadProblem::Tool {
        tool: described.definition.schema.name.to_string(),
        problem: format!("has parameters that are no usable JSON Schema: {problem}"),
    }
}
