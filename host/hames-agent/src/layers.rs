//! Registered things in layers: one global layer, and one for each scope that has any (R-SCOPE-6).

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use hames_log::Slot;
use hames_types::fault::Fault;
use hames_types::scope::ScopeKey;
use parking_lot::RwLock;
use smol_str::SmolStr;

use crate::scope::Scope;

/// Names one registration. Taking it back twice is the same as once, and never hits a later one of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryId(u64);

/// Is told that a registry changed.
pub trait OnChange: Send + Sync {
    /// Told once per change, after it took effect and with no lock held.
    ///
    /// # Errors
    /// A fault refuses a registration: it is taken back before the registrant hears of the fault (R-SCOPE-7).
    fn changed(&self) -> Result<(), Fault>;
}

/// A table in layers. Names are unique in a layer; a scope's entry shadows the global one of its name.
pub(crate) struct Layers<T: ?Sized> {
    what: &'static str,
    state: RwLock<State<T>>,
}

struct State<T: ?Sized> {
    next: u64,
    global: Layer<T>,
    // A scope's layer exists only while something is in it.
    scoped: HashMap<ScopeKey, Layer<T>>,
}

struct Layer<T: ?Sized> {
    entries: BTreeMap<u64, Entry<T>>,
    names: HashMap<SmolStr, u64>,
}

struct Entry<T: ?Sized> {
    name: Option<SmolStr>,
    value: Arc<T>,
}

impl<T: ?Sized> Default for Layer<T> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            names: HashMap::new(),
        }
    }
}

impl<T: ?Sized> Layer<T> {
    fn named(&self, name: &str) -> Option<&Arc<T>> {
        let id = self.names.get(name)?;
        self.entries.get(id).map(|entry| &entry.value)
    }

    fn remove(&mut self, id: u64) -> bool {
        let Some(entry) = self.entries.remove(&id) else {
            return false;
        };
        if let Some(name) = entry.name {
            self.names.remove(&name);
        }
        true
    }
}

impl<T: ?Sized> State<T> {
    fn layer(&self, scope: Option<ScopeKey>) -> Option<&Layer<T>> {
        match scope {
            None => Some(&self.global),
            Some(key) => self.scoped.get(&key),
        }
    }
}

impl<T: ?Sized> Layers<T> {
    /// An empty table of `what` (`tool`): the word in its errors.
    pub(crate) fn new(what: &'static str) -> Self {
        Self {
            what,
            state: RwLock::new(State {
                next: 0,
                global: Layer::default(),
                scoped: HashMap::new(),
            }),
        }
    }

    /// Adds an entry to the global layer or to a scope's.
    ///
    /// # Errors
    /// If the layer has that name already, or the scope has ended.
    pub(crate) fn insert(
        &self,
        scope: Option<&Scope>,
        name: Option<SmolStr>,
        value: Arc<T>,
    ) -> Result<EntryId, Fault> {
        match scope {
            None => self.insert_in(None, name, value),
            Some(scope) => scope.while_live(|key| self.insert_in(Some(key), name, value))?,
        }
    }

    fn insert_in(
        &self,
        scope: Option<ScopeKey>,
        name: Option<SmolStr>,
        value: Arc<T>,
    ) -> Result<EntryId, Fault> {
        let mut state = self.state.write();
        if let Some(name) = &name
            && state
                .layer(scope)
                .is_some_and(|layer| layer.names.contains_key(name))
        {
            return Err(self.duplicate(scope, name));
        }
        let id = state.next;
        state.next += 1;
        let layer = match scope {
            None => &mut state.global,
            Some(key) => state.scoped.entry(key).or_default(),
        };
        if let Some(name) = &name {
            layer.names.insert(name.clone(), id);
        }
        layer.entries.insert(id, Entry { name, value });
        Ok(EntryId(id))
    }

    fn duplicate(&self, scope: Option<ScopeKey>, name: &str) -> Fault {
        let what = self.what;
        let message = match scope {
            None => format!(
                "a {what} `{name}` is registered for all agents already; register it in an agent's scope to replace it there"
            ),
            Some(_) => format!("a {what} `{name}` is registered in this agent's scope already"),
        };
        Fault::host("RegistryError", "DUPLICATE", message)
    }

    /// Takes an entry back. Says whether it was there.
    pub(crate) fn remove(&self, id: EntryId) -> bool {
        let mut state = self.state.write();
        if state.global.remove(id.0) {
            return true;
        }
        let found = state
            .scoped
            .iter_mut()
            .find_map(|(key, layer)| layer.remove(id.0).then_some((*key, layer.entries.is_empty())));
        if let Some((key, true)) = found {
            state.scoped.remove(&key);
        }
        found.is_some()
    }

    /// Drops a scope's layer. Says whether there was one.
    pub(crate) fn end_scope(&self, scope: ScopeKey) -> bool {
        self.state.write().scoped.remove(&scope).is_some()
    }

    /// The scope's entry of a name, else the global one if `admits` says so.
    pub(crate) fn find(
        &self,
        scope: Option<ScopeKey>,
        name: &str,
        admits: impl FnOnce() -> bool,
    ) -> Option<Arc<T>> {
        let state = self.state.read();
        let scoped = scope
            .and_then(|key| state.scoped.get(&key))
            .and_then(|layer| layer.named(name));
        if let Some(value) = scoped {
            return Some(Arc::clone(value));
        }
        let global = Arc::clone(state.global.named(name)?);
        drop(state);
        admits().then_some(global)
    }

    /// The entries of one layer in the order of registration, as they are now.
    pub(crate) fn snapshot(&self, scope: Option<ScopeKey>) -> Vec<(Option<SmolStr>, Arc<T>)> {
        let state = self.state.read();
        state
            .layer(scope)
            .into_iter()
            .flat_map(|layer| layer.entries.values())
            .map(|entry| (entry.name.clone(), Arc::clone(&entry.value)))
            .collect()
    }

    /// Whether every entry of a layer satisfies `test`.
    pub(crate) fn all(&self, scope: Option<ScopeKey>, test: impl Fn(&T) -> bool) -> bool {
        self.state
            .read()
            .layer(scope)
            .is_none_or(|layer| layer.entries.values().all(|entry| test(&entry.value)))
    }

    /// Walks one layer live (R-SCOPE-8): what is added on the way is visited, until the walk has found the end once.
    pub(crate) fn walk(&self, scope: Option<ScopeKey>) -> impl Iterator<Item = (Option<SmolStr>, Arc<T>)> {
        let mut after: Bound<u64> = Bound::Unbounded;
        std::iter::from_fn(move || {
            let state = self.state.read();
            let (id, entry) = state
                .layer(scope)?
                .entries
                .range((after, Bound::Unbounded))
                .next()?;
            after = Bound::Excluded(*id);
            Some((entry.name.clone(), Arc::clone(&entry.value)))
        })
        .fuse()
    }
}

/// Who is told that a registry changed.
#[derive(Default)]
pub(crate) struct Changes(pub(crate) Slot<dyn OnChange>);

impl Changes {
    /// Tells everyone of a registration; the first fault takes it back with `undo` (R-SCOPE-7).
    pub(crate) fn announce(&self, undo: impl FnOnce()) -> Result<(), Fault> {
        let told = self
            .0
            .everyone()
            .iter()
            .try_for_each(|listener| listener.changed());
        if told.is_err() {
            undo();
        }
        told
    }

    /// Tells everyone of a removal, which nobody can refuse.
    pub(crate) fn announce_removal(&self) {
        for listener in self.0.everyone() {
            if let Err(fault) = listener.changed() {
                tracing::warn!(error = %fault.chain(), "a listener for changes failed");
            }
        }
    }
}
