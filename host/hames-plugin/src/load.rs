//! How does a file become a plugin? Bytes, inspection, compiled code, checked imports, a first call, ready.

mod compiled;

use std::sync::Arc;
use std::thread;

use hames_types::id::PluginId;
use hames_types::json::Json;
use hames_types::kinds::{DeclareError, KindRegistry, Sum};
use hames_types::signal::Signal;
use hames_types::tool::ToolDefinition;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use wasmtime::component::Linker;

use crate::bindings::exports::hames::plugin::tools as wit_tools;
use crate::bytes::ComponentBytes;
use crate::cache::Cache;
use crate::contribute::{self, Offers};
use crate::convert::tool::{Described, admit_definition};
use crate::convert::{Admit, Refused};
use crate::engine::{Engine, Fuel};
use crate::error::{CallError, Limit, LoadError, LoadProblem, Opaque};
use crate::exports::Exports;
use crate::folders;
use crate::grant::Grant;
use crate::invoke::Site;
use crate::ledger::{DECISION_KIND, Ledger};
use crate::limits::{Capacity, Limits, MAX_MEMORY, MAX_TOOLS};
use crate::link::{self, Need};
use crate::listeners::check as check_listeners;
use crate::manifest::{Manifest, shown};
use crate::observe::Breakers;
use crate::plugin::{Loaded, Plugin, bad_schema};
use crate::point::{Phase, Point};
use crate::precompiled::Precompiled;
use crate::state::{Call, State};
use crate::tool::admit_fault;
use crate::who::{Services, Who};

use self::compiled::Compiled;

/// A plugin as the operator configured it.
#[derive(Debug, Clone)]
pub struct PluginSpec {
    /// Its id; the manifest must have the same.
    pub id: PluginId,
    /// The component.
    pub component: ComponentBytes,
    /// The digest it must have, as hexadecimal SHA-256.
    pub digest: Option<String>,
    /// Its configuration: a JSON object.
    pub config: Json,
    /// What it is granted.
    pub grant: Grant,
    /// What it may use.
    pub limits: Limits,
    /// Whether it is one of those that ship with hames and declare bare tags.
    pub is_shipped: bool,
    /// Where its listeners stand among those of others.
    pub phase: Phase,
    /// The seams at which its failure counts as if it weren't there; elsewhere it fails closed.
    pub open: Vec<Point>,
    /// What the component compiles to, if that lies in the program. Otherwise, or if this machine or engine is
    /// another than it was compiled for, it is compiled or found in the cache.
    pub precompiled: Option<Precompiled>,
}

impl PluginSpec {
    /// A plugin with nothing granted and the default limits.
    #[must_use]
    pub fn new(id: PluginId, component: impl Into<ComponentBytes>) -> Self {
        Self {
            id,
            component: component.into(),
            digest: None,
            config: Json::Object(serde_json::Map::new()),
            grant: Grant::default(),
            limits: Limits::default(),
            is_shipped: false,
            phase: Phase::Normal,
            open: Vec::new(),
            precompiled: None,
        }
    }
}

/// What a component is and could ever reach, found without running it.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// Digest of the component.
    pub digest: String,
    /// What it says about itself.
    pub manifest: Manifest,
    /// The interfaces it imports: the most it could reach.
    pub imports: Vec<String>,
    /// What each of them needs, but for those that are imported for their types alone.
    pub needs: Vec<(String, Need)>,
    /// The interfaces it exports.
    pub exports: Vec<String>,
}

/// The home of all plugins of a process. A clone is the same home.
#[derive(Clone)]
pub struct Sandbox {
    engine: Engine,
    /// For plugins that decide or whose fuel is limited; made when the first of them is loaded.
    counting: Arc<Mutex<Option<Engine>>>,
    capacity: Capacity,
    /// One for each processor: more loads at once are no faster, and each takes a thread.
    loads: Arc<Semaphore>,
    cache: Option<Cache>,
    services: Services,
    ledger: Option<Ledger>,
}

impl Sandbox {
    /// An engine with its pool. Without a cache every load compiles.
    ///
    /// # Errors
    /// If the pool's address space or the ticking thread can't be had.
    pub fn new(services: Services, cache: Option<Cache>) -> Result<Self, Opaque> {
        Self::with_capacity(services, cache, Capacity::default())
    }

    /// As [`Sandbox::new`], with room for so many calls.
    ///
    /// # Errors
    /// As [`Sandbox::new`].
    pub fn with_capacity(
        services: Services,
        cache: Option<Cache>,
        capacity: Capacity,
    ) -> Result<Self, Opaque> {
        Ok(Self {
            engine: Engine::new(capacity, Fuel::Uncounted).map_err(Opaque::new)?,
            counting: Arc::default(),
            capacity,
            loads: Arc::new(Semaphore::new(
                thread::available_parallelism().map_or(2, usize::from),
            )),
            cache,
            services,
            ledger: None,
        })
    }

    /// The same engine, pool and cache, lending other services.
    #[must_use]
    pub fn lending(&self, services: Services) -> Self {
        Self {
            services,
            ..self.clone()
        }
    }

    /// The same, with the decisions of the plugins loaded from now on kept in a ledger. Whoever keeps the sessions
    /// takes them from there; nobody else empties it.
    #[must_use]
    pub fn recording(&self, ledger: Ledger) -> Self {
        Self {
            ledger: Some(ledger),
            ..self.clone()
        }
    }

    /// The same, keeping no decisions.
    pub(crate) fn unrecorded(self) -> Self {
        Self { ledger: None, ..self }
    }

    /// What is lent to plugins.
    pub(crate) const fn services(&self) -> &Services {
        &self.services
    }

    /// Looks at a component without running it, whatever else is configured for it.
    ///
    /// # Errors
    /// [`LoadError`] if it isn't a component or is beyond the bounds.
    pub async fn inspect(&self, spec: &PluginSpec) -> Result<Inspection, LoadError> {
        let name = |problem| LoadError {
            plugin: spec.id.clone(),
            problem: Box::new(problem),
        };
        let spec = PluginSpec {
            precompiled: spec.precompiled,
            ..PluginSpec::new(spec.id.clone(), spec.component.clone())
        };
        let compiled = self.compiled(&spec).await.map_err(name)?;
        let ty = compiled.component.component_type();
        let wasm = compiled.engine.wasm();
        Ok(Inspection {
            imports: ty.imports(wasm).map(|(name, _)| name.to_owned()).collect(),
            needs: link::needs(&compiled.engine, &compiled.component),
            exports: ty.exports(wasm).map(|(name, _)| name.to_owned()).collect(),
            digest: compiled.digest,
            manifest: compiled.manifest,
        })
    }

    /// The tools a component lists with this configuration. Its `list` runs with nothing in reach, so nothing needs to
    /// be granted for it.
    ///
    /// # Errors
    /// [`LoadError`] as if it were loaded, but for what only a grant or a configuration decides.
    pub async fn tools(&self, spec: PluginSpec) -> Result<Vec<ToolDefinition>, LoadError> {
        let id = spec.id.clone();
        let listed = async {
            let compiled = self.compiled(&spec).await?;
            let linker = link::stand_ins(&compiled.engine, &compiled.component)?;
            let grant = Grant::default();
            let loaded = self.bound(&linker, PluginSpec { grant, ..spec }, compiled)?;
            list(&loaded).await
        };
        match listed.await {
            Ok(tools) => Ok(tools.iter().map(|tool| tool.definition.clone()).collect()),
            Err(problem) => Err(LoadError {
                plugin: id,
                problem: Box::new(problem),
            }),
        }
    }

    /// Loads a plugin: inspects and compiles it off the async threads, links what it may have, asks for its tools,
    /// starts it, and declares its kinds.
    ///
    /// Plugins may be loaded side by side. A load that fails leaves nothing behind.
    ///
    /// # Errors
    /// [`LoadError`] naming what doesn't fit and what to do.
    pub async fn load(&self, spec: PluginSpec) -> Result<Plugin, LoadError> {
        let id = spec.id.clone();
        self.load_spec(spec, true).await.map_err(|problem| LoadError {
            plugin: id,
            problem: Box::new(problem),
        })
    }

    /// Loads a component in place of a plugin's present one. Calls under way finish on that.
    ///
    /// # Errors
    /// [`LoadError`]; the plugin is as it was then.
    pub async fn reload(&self, plugin: &Plugin, spec: PluginSpec) -> Result<(), LoadError> {
        let id = spec.id.clone();
        let newer = self.load_spec(spec, false).await.map_err(|problem| LoadError {
            plugin: id,
            problem: Box::new(problem),
        })?;
        plugin.swap(&newer)
    }

    async fn load_spec(&self, spec: PluginSpec, declares: bool) -> Result<Plugin, LoadProblem> {
        let compiled = self.compiled(&spec).await?;
        check_spec(&spec, &compiled.manifest)?;
        link::check(
            &compiled.engine,
            &compiled.component,
            &compiled.manifest,
            &spec.grant,
        )?;
        let (kinds, is_shipped) = (compiled.manifest.kinds.clone(), spec.is_shipped);
        let mut loaded = self.linked(spec, compiled)?;
        check_listeners(&loaded)?;
        check_exports(&loaded).await?;
        loaded.tools = list(&loaded).await?;
        loaded.offers = contribute::ask(&loaded).await?;
        start(&loaded).await?;
        if declares {
            let id = loaded.site.who.id.clone();
            declare(&mut self.services.kinds.write(), &id, kinds, is_shipped)?;
        }
        Ok(Plugin::new(loaded))
    }

    fn linked(&self, spec: PluginSpec, compiled: Compiled) -> Result<Loaded, LoadProblem> {
        let grant = spec.grant.clone().limited_to(&compiled.manifest.wanted());
        folders::check(&grant, self.cache.as_ref())?;
        let linker = link::linker(&compiled.engine, &grant, &spec.id)?;
        self.bound(&linker, PluginSpec { grant, ..spec }, compiled)
    }

    /// A component and whatever stands behind its imports.
    fn bound(
        &self,
        linker: &Linker<State>,
        spec: PluginSpec,
        compiled: Compiled,
    ) -> Result<Loaded, LoadProblem> {
        let pre = linker
            .instantiate_pre(&compiled.component)
            .map_err(|error| LoadProblem::Imports(Opaque::new(error)))?;
        let exports = Exports::find(&compiled.component, &pre)?;
        if exports.is_empty() {
            return Err(LoadProblem::NothingExported);
        }
        let mut limits = spec.limits;
        limits.memory = limits.memory.min(MAX_MEMORY);
        let who = Who {
            uses_wasi: link::uses_wasi(&compiled.engine, &compiled.component),
            config: spec.config.to_string(),
            services: self.services.clone(),
            id: spec.id,
            grant: spec.grant,
            limits,
        };
        Ok(Loaded {
            site: Site {
                engine: compiled.engine,
                pre,
                who: Arc::new(who),
            },
            manifest: compiled.manifest,
            digest: compiled.digest,
            exports: Arc::new(exports),
            tools: Vec::new(),
            offers: Offers::default(),
            phase: spec.phase,
            open: spec.open,
            ledger: self.ledger.clone(),
            breakers: Breakers::default(),
        })
    }
}

fn check_spec(spec: &PluginSpec, manifest: &Manifest) -> Result<(), LoadProblem> {
    if !manifest.id.is_empty() && manifest.id != spec.id.as_str() {
        return Err(LoadProblem::OtherId {
            found: manifest.id.clone(),
        });
    }
    let refused = |path: String, problem: String| Err(LoadProblem::Config { path, problem });
    if !spec.config.is_object() {
        return refused(String::new(), "must be a table".to_owned());
    }
    let Some(Json::Object(schema)) = &manifest.config else {
        return Ok(());
    };
    let checker = match crate::arguments::checker(schema) {
        Ok(checker) => checker,
        Err(problem) => return refused("the manifest's schema".to_owned(), problem),
    };
    match checker.validate(&spec.config) {
        Ok(()) => Ok(()),
        Err(fault) => refused(fault.instance_path().to_string(), fault.to_string()),
    }
}

/// Checks the types of what is exported, which only an instance shows.
async fn check_exports(loaded: &Loaded) -> Result<(), LoadProblem> {
    let exports = Arc::clone(&loaded.exports);
    let checked = loaded
        .site
        .call(
            loaded.site.who.limits.list,
            &Signal::never(),
            Call::inert,
            move |store, instance| Box::pin(async move { Ok(exports.check(store, instance)) }),
        )
        .await
        .map_err(|source| LoadProblem::Call {
            function: "instantiation",
            source,
        })?;
    checked.map_err(|(interface, error)| LoadProblem::Exports {
        interface,
        source: Opaque::new(error),
    })
}

/// Checks the types of `tools` and asks for the definitions, with nothing but the configuration in reach.
async fn list(loaded: &Loaded) -> Result<Vec<Arc<Described>>, LoadProblem> {
    let Some(indices) = loaded.exports.tools.clone() else {
        return Ok(Vec::new());
    };
    let who = &loaded.site.who;
    let config = who.config.clone();
    let answer = loaded
        .site
        .call(
            who.limits.list,
            &Signal::never(),
            Call::inert,
            move |store, instance| {
                Box::pin(async move {
                    let tools = indices.load(&mut *store, instance)?;
                    tools.call_list(store, &config).await
                })
            },
        )
        .await
        .map_err(|error| failed("hames:plugin/tools@0.1.0", "list", error))?;
    match answer {
        Ok(tools) => described(who, tools),
        Err(fault) => Err(LoadProblem::Refused {
            function: "list",
            fault: admit_fault(loaded, fault),
        }),
    }
}

fn described(who: &Who, tools: Vec<wit_tools::ToolDefinition>) -> Result<Vec<Arc<Described>>, LoadProblem> {
    if tools.len() > MAX_TOOLS {
        return Err(LoadProblem::Bounds {
            what: "tools",
            found: tools.len() as u64,
            limit: MAX_TOOLS as u64,
        });
    }
    let mut admit = Admit::new(who, who.limits.crossing, Limit::Output);
    let mut known: Vec<Arc<Described>> = Vec::with_capacity(tools.len());
    for tool in tools {
        let name = shown(&tool.name);
        let problem = |problem: String| LoadProblem::Tool {
            tool: name.clone(),
            problem,
        };
        let tool = admit_definition(&mut admit, tool)
            .map_err(|refused: Refused| problem(format!("is refused: {refused}")))?;
        let is_taken = known
            .iter()
            .any(|other| other.definition.schema.name == tool.definition.schema.name);
        if is_taken {
            return Err(problem("is listed twice".to_owned()));
        }
        crate::arguments::checker(&tool.definition.schema.parameters)
            .map_err(|fault| bad_schema(&tool, &fault))?;
        known.push(Arc::new(tool));
    }
    Ok(known)
}

/// Lets the plugin look at its configuration, with everything granted in reach.
async fn start(loaded: &Loaded) -> Result<(), LoadProblem> {
    let Some(indices) = loaded.exports.plugin.clone() else {
        return Ok(());
    };
    let who = &loaded.site.who;
    let config = who.config.clone();
    let signal = Signal::never();
    let answer = loaded
        .site
        .call(
            who.limits.start,
            &signal,
            |ends| Call::reaching(who, None, Signal::never(), ends),
            move |store, instance| {
                Box::pin(async move {
                    let plugin = indices.load(&mut *store, instance)?;
                    plugin.call_start(store, &config).await
                })
            },
        )
        .await
        .map_err(|error| failed("hames:plugin/plugin@0.1.0", "start", error))?;
    answer.map_err(|fault| LoadProblem::Refused {
        function: "start",
        fault: admit_fault(loaded, fault),
    })
}

/// A first call that breaks before it ran is an export of the wrong type.
fn failed(interface: &'static str, function: &'static str, error: CallError) -> LoadProblem {
    match error {
        CallError::Broken(source) => LoadProblem::Exports { interface, source },
        source @ (CallError::Trap { .. }
        | CallError::Limit(_)
        | CallError::Deadline { .. }
        | CallError::Dropped { .. }
        | CallError::Exit(_)
        | CallError::Busy
        | CallError::Answer { .. }) => LoadProblem::Call { function, source },
    }
}

fn declare(
    registry: &mut KindRegistry,
    id: &PluginId,
    kinds: Vec<hames_types::kinds::KindDeclaration>,
    is_shipped: bool,
) -> Result<(), LoadProblem> {
    // A second plugin of this id would otherwise take the first one's kinds away when it fails.
    let is_first = !kinds
        .iter()
        .any(|kind| registry.owner(kind.sum, &kind.tag) == Some(id));
    let declared = kinds.into_iter().try_for_each(|kind| {
        if kind.sum == Sum::SessionEvent && kind.tag == DECISION_KIND {
            // The host's own: what a plugin decided nobody writes but the host.
            return Err(DeclareError::Core {
                owner: id.clone(),
                sum: kind.sum,
                tag: kind.tag,
            });
        }
        if is_shipped {
            registry.declare_shipped(id, kind)
        } else {
            registry.declare(id, kind)
        }
    });
    if declared.is_err() && is_first {
        registry.withdraw(id);
    }
    Ok(declared?)
}
