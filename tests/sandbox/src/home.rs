//! Where do plugins live in a test? A real sandbox, with an inspectable diary and a resolver that asks nobody.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use hames_plugin::{
    Cache, Capacity, Diary, Level, MemoryStore, Network, Plugin, PluginSpec, Resolve, Sandbox, Services,
};
use hames_types::id::{CallId, PluginId, SessionId};
use hames_types::json::Json;
use hames_types::kinds::KindRegistry;
use hames_types::port::clock::FixedClock;
use hames_types::port::plugin::Callers;
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::signal::Signal;
use hames_types::tool::ToolCall;
use parking_lot::{Mutex, RwLock};

/// The time of every test.
pub const NOW_MS: u64 = 1_700_000_000_000;

/// Diagnostics, kept.
#[derive(Debug, Default)]
pub struct Kept {
    /// Plugin, level and text, in order.
    pub lines: Mutex<Vec<(String, Level, String)>>,
    /// Progress lines.
    pub progress: Mutex<Vec<String>>,
}

impl Diary for Kept {
    fn line(&self, plugin: &PluginId, level: Level, text: &str) {
        self.lines
            .lock()
            .push((plugin.to_string(), level, text.to_owned()));
    }

    fn progress(&self, _plugin: &PluginId, _call: &str, text: &str) {
        self.progress.lock().push(text.to_owned());
    }
}

/// Names and what they resolve to: the n-th question takes the n-th answer, the last repeats.
#[derive(Debug, Default)]
pub struct Names {
    known: RwLock<HashMap<String, Vec<Vec<SocketAddr>>>>,
    asked: AtomicUsize,
}

impl Names {
    /// Says what a name resolves to.
    pub fn set(&self, name: &str, answers: Vec<Vec<SocketAddr>>) {
        self.known.write().insert(name.to_owned(), answers);
    }
}

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, host: &str, _port: u16) -> io::Result<Vec<SocketAddr>> {
        let at = self.asked.fetch_add(1, Ordering::Relaxed);
        let known = self.known.read();
        known
            .get(host)
            .and_then(|answers| answers.get(at).or(answers.last()))
            .cloned()
            .ok_or_else(|| io::Error::other("no such name"))
    }
}

/// A sandbox and what stands around it.
pub struct Home {
    /// The sandbox.
    pub sandbox: Sandbox,
    services: Services,
    /// What plugins said.
    pub diary: Arc<Kept>,
    /// What names resolve to.
    pub names: Arc<Names>,
    /// The declared kinds.
    pub kinds: Arc<RwLock<KindRegistry>>,
    /// What plugins keep.
    pub store: Arc<MemoryStore>,
}

impl Home {
    /// Without a cache and without callers.
    ///
    /// # Errors
    /// If the pool can't be had.
    pub fn new() -> anyhow::Result<Self> {
        Self::with(None, None)
    }

    /// With what is given.
    ///
    /// # Errors
    /// If the pool can't be had.
    pub fn with(cache: Option<Cache>, callers: Option<Arc<dyn Callers>>) -> anyhow::Result<Self> {
        Self::build(cache, callers, Capacity::default())
    }

    /// With room for so many calls.
    ///
    /// # Errors
    /// If the pool can't be had.
    pub fn with_capacity(capacity: Capacity) -> anyhow::Result<Self> {
        Self::build(None, None, capacity)
    }

    fn build(
        cache: Option<Cache>,
        callers: Option<Arc<dyn Callers>>,
        capacity: Capacity,
    ) -> anyhow::Result<Self> {
        let (diary, names) = (Arc::<Kept>::default(), Arc::<Names>::default());
        let (kinds, store) = (
            Arc::<RwLock<KindRegistry>>::default(),
            Arc::<MemoryStore>::default(),
        );
        let resolver = Arc::clone(&names);
        let services = Services {
            clock: Arc::new(FixedClock(NOW_MS)),
            callers,
            store: Arc::<MemoryStore>::clone(&store),
            kinds: Arc::clone(&kinds),
            diary: Arc::<Kept>::clone(&diary),
            network: Network::with_resolver(resolver)?,
        };
        Ok(Self {
            sandbox: Sandbox::with_capacity(services.clone(), cache, capacity)?,
            services,
            diary,
            names,
            kinds,
            store,
        })
    }

    /// What the sandbox lends, to lend something else beside it.
    #[must_use]
    pub fn services(&self) -> Services {
        self.services.clone()
    }

    /// Loads a plugin with nothing granted.
    ///
    /// # Errors
    /// If it isn't loaded.
    pub async fn load(&self, id: &str, component: Arc<[u8]>) -> anyhow::Result<Plugin> {
        Ok(self
            .sandbox
            .load(PluginSpec::new(PluginId::new(id), component))
            .await?)
    }
}

/// A plugin's first tool.
///
/// # Errors
/// If it has none.
pub fn first_tool(plugin: &Plugin) -> anyhow::Result<Arc<dyn Tool>> {
    let mut tools = plugin.tools()?;
    anyhow::ensure!(!tools.is_empty(), "`{}` has no tool", plugin.id());
    Ok(tools.swap_remove(0))
}

/// A call of a tool, from nobody.
#[must_use]
pub fn call(tool: &Arc<dyn Tool>, arguments: Json) -> ToolCall {
    ToolCall {
        call_id: CallId::new("c1"),
        name: tool.definition().schema.name.clone(),
        arguments: Arc::new(arguments),
        agent: None,
        at: None,
        parent: None,
    }
}

/// A call of a tool, from an agent.
#[must_use]
pub fn call_of(tool: &Arc<dyn Tool>, agent: &str, arguments: Json) -> ToolCall {
    ToolCall {
        agent: Some(SessionId::new(agent)),
        ..call(tool, arguments)
    }
}

/// A run that nobody interrupts.
#[must_use]
pub fn quiet() -> ToolRun {
    ToolRun::new(Signal::never())
}
