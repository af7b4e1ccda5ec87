//! Which tools there are, who sees which, and how one call of one goes (R-REG, R-TOOL).

mod outcome;
mod pipeline;
mod restrict;
pub(crate) mod schedule;
#[cfg(test)]
mod tests;
mod timeout;

use std::sync::Arc;

use hames_log::{ListenerId, Place};
use hames_types::fault::Fault;
use hames_types::json::Json;
use hames_types::port::tool::{Guard, Tool};
use hames_types::request::ToolSchema;
use hames_types::scope::ScopeKey;
use hames_types::tool::{ExecutionMode, ToolDefinition};
use parking_lot::RwLock;
use smol_str::SmolStr;

use crate::approval::Approver;
use crate::layers::{Changes, EntryId, Layers, OnChange};
use crate::listeners::Listeners;
use crate::prompt::{PromptContext, ToolProvider};
use crate::scope::Scope;

pub use outcome::{aborted, aborted_before_dispatch, failed};
pub use pipeline::{Begun, Caller, ReadyCall, SettledCall, materialise};
pub use restrict::Restriction;
pub use timeout::{MAX_TIMER_MS, ToolTimeouts};

/// Names one registration in [`Tools`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolEntry(Table, EntryId);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    Tools,
    Restrictions,
    Guards,
}

/// The registry of tools of all agents, and the pipeline every call goes through.
///
/// One resolver serves schemas, lookup, execution and classification: a tool that isn't seen doesn't exist (R-REG-4).
/// Views are live; nothing here is fixed when an agent starts.
pub struct Tools {
    tools: Layers<dyn Tool>,
    restrictions: Layers<Restriction>,
    guards: Layers<dyn Guard>,
    changes: Changes,
    listeners: Arc<Listeners>,
    approver: RwLock<Option<Arc<dyn Approver>>>,
}

impl Tools {
    /// No tools yet, and nobody to ask for approval.
    #[must_use]
    pub fn new(listeners: Arc<Listeners>) -> Self {
        Self {
            tools: Layers::new("tool"),
            restrictions: Layers::new("tool restriction"),
            guards: Layers::new("guard"),
            changes: Changes::default(),
            listeners,
            approver: RwLock::new(None),
        }
    }

    /// Sets who answers when a call needs a person's word; `None`: such calls are denied.
    pub fn set_approver(&self, approver: Option<Arc<dyn Approver>>) {
        *self.approver.write() = approver;
    }

    /// Registers a tool, for all agents or for one; there it shadows the global one of its name (R-REG-1).
    ///
    /// # Errors
    /// If the timeout isn't above zero and finite, the layer has the name, the scope has ended or a change listener
    /// refuses; nothing is registered then.
    pub fn register(&self, scope: Option<&Scope>, tool: Arc<dyn Tool>) -> Result<ToolEntry, Fault> {
        let definition = tool.definition();
        check_timeout(definition)?;
        let name = definition.schema.name.clone();
        let id = self.tools.insert(scope, Some(name), tool)?;
        self.announce(ToolEntry(Table::Tools, id))
    }

    /// Narrows which global tools one agent sees, until the entry is taken back. Restrictions add up (R-REG-3).
    ///
    /// # Errors
    /// If it restricts nothing, names what is no global tool now, the scope has ended or a change listener refuses.
    pub fn restrict(&self, scope: &Scope, restriction: Restriction) -> Result<ToolEntry, Fault> {
        restriction.check(&self.global_names())?;
        let id = self
            .restrictions
            .insert(Some(scope), None, Arc::new(restriction))?;
        self.announce(ToolEntry(Table::Restrictions, id))
    }

    /// Adds a guard, for all agents or for one. Global guards are asked first, then an agent's own (R-REG-6).
    ///
    /// # Errors
    /// If the scope has ended.
    pub fn guard(&self, scope: Option<&Scope>, guard: Arc<dyn Guard>) -> Result<ToolEntry, Fault> {
        let id = self.guards.insert(scope, None, guard)?;
        Ok(ToolEntry(Table::Guards, id))
    }

    fn announce(&self, entry: ToolEntry) -> Result<ToolEntry, Fault> {
        self.changes.announce(|| {
            self.take(entry);
        })?;
        Ok(entry)
    }

    fn take(&self, ToolEntry(table, id): ToolEntry) -> bool {
        match table {
            Table::Tools => self.tools.remove(id),
            Table::Restrictions => self.restrictions.remove(id),
            Table::Guards => self.guards.remove(id),
        }
    }

    /// Takes a registration back. Nothing happens if it is gone already.
    pub fn unregister(&self, entry: ToolEntry) {
        if self.take(entry) && entry.0 != Table::Guards {
            self.changes.announce_removal();
        }
    }

    /// Takes back everything of a scope.
    pub fn end_scope(&self, scope: ScopeKey) {
        let tools = self.tools.end_scope(scope);
        let restrictions = self.restrictions.end_scope(scope);
        self.guards.end_scope(scope);
        if tools || restrictions {
            self.changes.announce_removal();
        }
    }

    /// Adds a listener for changes.
    pub fn on_change(&self, listener: Arc<dyn OnChange>) -> ListenerId {
        self.changes.0.add(None, Place::Last, listener)
    }

    /// Takes a listener for changes back.
    pub fn remove_on_change(&self, id: ListenerId) {
        self.changes.0.remove(id);
    }

    /// The tool that a scope sees under a name.
    #[must_use]
    pub fn find(&self, scope: Option<ScopeKey>, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.find(scope, name, || self.admits(scope, name))
    }

    fn admits(&self, scope: Option<ScopeKey>, name: &str) -> bool {
        scope.is_none()
            || self
                .restrictions
                .all(scope, |restriction| restriction.admits(name))
    }

    /// The tools a scope sees: admitted global ones in the order of registration, its own in place of those of their
    /// names, then the rest of its own (R-REG-4).
    #[must_use]
    pub fn view(&self, scope: Option<ScopeKey>) -> Vec<Arc<dyn Tool>> {
        let own = match scope {
            Some(_) => self.tools.snapshot(scope),
            None => Vec::new(),
        };
        let mut view: Vec<(Option<SmolStr>, Arc<dyn Tool>)> = self
            .tools
            .snapshot(None)
            .into_iter()
            .filter(|(name, _)| name.as_ref().is_some_and(|name| self.admits(scope, name)))
            .collect();
        for (name, tool) in own {
            match view.iter_mut().find(|(known, _)| *known == name) {
                Some(shadowed) => shadowed.1 = tool,
                None => view.push((name, tool)),
            }
        }
        view.into_iter().map(|(_, tool)| tool).collect()
    }

    /// What the model sees of a scope's tools: names, descriptions, parameters and nothing else (R-REG-5).
    #[must_use]
    pub fn schemas(&self, scope: Option<ScopeKey>) -> Vec<ToolSchema> {
        self.view(scope)
            .iter()
            .map(|tool| tool.definition().schema.clone())
            .collect()
    }

    /// The names a scope could see were nothing restricted.
    #[must_use]
    pub fn names(&self, scope: Option<ScopeKey>) -> Vec<SmolStr> {
        let mut names = self.global_names();
        if scope.is_some() {
            let own = self
                .tools
                .snapshot(scope)
                .into_iter()
                .filter_map(|(name, _)| name);
            names.extend(own);
        }
        names
    }

    fn global_names(&self) -> Vec<SmolStr> {
        let global = self.tools.snapshot(None).into_iter();
        global.filter_map(|(name, _)| name).collect()
    }

    /// Whether a call may run beside others: only if the visible tool says so for these arguments (R-REG-8).
    pub async fn classify(&self, scope: Option<ScopeKey>, name: &str, arguments: &Json) -> ExecutionMode {
        let Some(tool) = self.find(scope, name) else {
            return ExecutionMode::Exclusive;
        };
        match tool.classify(arguments).await {
            Ok(mode) => mode,
            Err(fault) => {
                tracing::debug!(tool = name, error = %fault.chain(), "a tool could not classify a call; it runs alone");
                ExecutionMode::Exclusive
            }
        }
    }
}

impl ToolProvider for Tools {
    fn tools(&self, context: &PromptContext<'_>) -> Result<Vec<ToolSchema>, Fault> {
        Ok(self.schemas(context.scope))
    }

    fn known_names(&self, context: &PromptContext<'_>) -> Vec<SmolStr> {
        self.names(context.scope)
    }
}

fn check_timeout(definition: &ToolDefinition) -> Result<(), Fault> {
    let Some(timeout) = &definition.timeout_ms else {
        return Ok(());
    };
    if timeout.as_f64().is_some_and(|ms| ms.is_finite() && ms > 0.0) {
        return Ok(());
    }
    let name = &definition.schema.name;
    Err(Fault::host(
        "RegistryError",
        "INVALID_TIMEOUT",
        format!("tool `{name}` declares a timeout of {timeout} ms; it must be above zero and finite"),
    ))
}
