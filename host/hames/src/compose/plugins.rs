//! How do the configured plugins become tools? Read, checked against the lock, loaded side by side, offered.

mod prefixed;

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context as _;
use futures_util::future::join_all;
use hames_agent::{Agents, LiveCallers};
use hames_plugin::{
    Cache, Capacity, ComponentBytes, Inspection, Ledger, LoadError, MemoryStore, Network, Plugin, PluginSpec,
    Sandbox, Secret, Services, Traced, in_order,
};
use hames_store::PluginDatabase;
use hames_types::kinds::KindRegistry;
use hames_types::port::plugin::{Callers, PluginStore};
use hames_types::port::tool::Tool;
use parking_lot::RwLock;
use sha2::{Digest, Sha256};
use smol_str::SmolStr;

use self::prefixed::Prefixed;
use super::Setup;
use crate::builtin::{self, Builtin};
use crate::command::Context;
use crate::config::{Environment, Origin, Place, PluginConfig, Problems, Source, StoreKind};
use crate::lock::{Changed, Entry, Lock, LockError};
use crate::output::Tone;
use crate::outside::SystemClock;

/// Calls of plugins at once, in each of the two engines: those that count and those that don't. A process of this
/// program runs one agent, and making room for a call takes a system call at every start.
const CAPACITY: Capacity = Capacity {
    calls: 128,
    waiting: 128,
};

/// Loads plugins into one sandbox.
pub struct Loader {
    sandbox: Sandbox,
    ledger: Ledger,
    place: Place,
}

/// A plugin that was loaded, and how it is configured.
struct One {
    config: PluginConfig,
    plugin: Plugin,
}

/// The plugins that were loaded, in the order of the configuration.
pub struct Loaded(Vec<One>);

impl Loader {
    /// A sandbox with its cache in the data folder. Without `agents`, plugins reach no session. What plugins keep lies
    /// in the data folder too, unless sessions aren't kept either.
    ///
    /// # Errors
    /// If the sandbox or its cache can't be had.
    pub fn new(
        setup: &Setup,
        agents: Option<&Arc<Agents>>,
        kinds: Arc<RwLock<KindRegistry>>,
    ) -> anyhow::Result<Self> {
        let place = &setup.place;
        super::store::data_folder(&place.data)?;
        let store: Arc<dyn PluginStore> = match setup.config.store.kind {
            StoreKind::Memory => Arc::new(MemoryStore::default()),
            StoreKind::Sqlite | StoreKind::Jsonl => {
                Arc::new(PluginDatabase::open(place.data.join("plugins.db"))?)
            }
        };
        let ledger = Ledger::new();
        let cache = Cache::open(place.data.join("compiled"))?;
        let services = Services {
            clock: Arc::new(SystemClock),
            callers: agents.map(|agents| Arc::new(LiveCallers::new(agents)) as Arc<dyn Callers>),
            store,
            kinds,
            diary: Arc::new(Traced),
            network: Network::system()?,
        };
        Ok(Self {
            sandbox: Sandbox::with_capacity(services, Some(cache), CAPACITY)
                .context("the sandbox can't be started")?
                .recording(ledger.clone()),
            ledger,
            place: place.clone(),
        })
    }

    /// What the plugins decided and isn't logged yet.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The sandbox.
    #[must_use]
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// A plugin's component.
    ///
    /// # Errors
    /// If there is none.
    pub fn component(config: &PluginConfig) -> Result<ComponentBytes, Problems> {
        let fault = |what: String| {
            Problems::one(
                config.origin.clone(),
                format!("plugin.{}.source", config.id),
                what,
            )
        };
        match &config.source {
            Source::Builtin(name) => builtin::find(name)
                .map(|shipped| ComponentBytes::Embedded(shipped.component))
                .ok_or_else(|| {
                    let known = builtin::ALL
                        .iter()
                        .map(|shipped| format!("`builtin:{}`", shipped.name))
                        .collect::<Vec<_>>();
                    fault(format!(
                        "names `builtin:{name}`, which doesn't ship with hames; there are {}",
                        known.join(", ")
                    ))
                }),
            Source::File(file) => std::fs::read(file)
                .map(Into::into)
                .map_err(|error| fault(format!("names {}, which can't be read: {error}", file.display()))),
        }
    }

    /// A plugin as the sandbox takes it.
    ///
    /// # Errors
    /// If its component can't be read or a variable it is to be handed isn't set.
    pub fn spec(&self, config: &PluginConfig, environment: &Environment) -> Result<PluginSpec, Problems> {
        let variable = |key: &str, name: &str| {
            environment.variable(name).ok_or_else(|| {
                let key = format!("plugin.{}.grant.{key}", config.id);
                Problems::one(
                    config.origin.clone(),
                    key,
                    format!("names the variable `{name}`, which isn't set"),
                )
            })
        };
        let mut grant = config.grant.clone();
        for folder in &mut grant.filesystem {
            folder.path = self.place.folder.join(&folder.path);
        }
        for name in &config.variables {
            grant
                .environment
                .push((name.clone(), variable("environment_from", name)?));
        }
        for secret in &config.secrets {
            let value = variable("secrets.env", &secret.variable)?;
            grant.secrets.push(Secret {
                header: secret.header.as_str().into(),
                value: format!("{}{value}", secret.prefix),
                hosts: secret.hosts.iter().map(Into::into).collect(),
            });
        }
        Ok(PluginSpec {
            id: config.id.clone(),
            component: Self::component(config)?,
            digest: config.digest.clone(),
            config: config.config.clone(),
            grant,
            limits: config.limits.clone(),
            is_shipped: matches!(config.source, Source::Builtin(_)),
            phase: config.phase,
            open: config.fail_open.clone(),
            precompiled: match &config.source {
                Source::Builtin(name) => builtin::find(name).map(Builtin::precompiled),
                Source::File(_) => None,
            },
        })
    }

    /// Looks at a component without running it.
    ///
    /// # Errors
    /// As the sandbox has it.
    pub async fn inspect(&self, spec: &PluginSpec) -> Result<Inspection, LoadError> {
        self.sandbox.inspect(spec).await
    }

    /// Loads all configured plugins side by side. What isn't required and fails is said and left out.
    ///
    /// # Errors
    /// The first required plugin that can't be loaded, in the order of the configuration.
    pub async fn load_all(&self, setup: &Setup, context: &Context) -> anyhow::Result<Loaded> {
        let configs = &setup.config.plugins;
        let loads = configs
            .iter()
            .map(|config| self.load(config, &context.environment));
        let mut loaded = Vec::new();
        for (config, result) in configs.iter().zip(join_all(loads).await) {
            match result {
                Ok(plugin) => loaded.push(One {
                    config: config.clone(),
                    plugin,
                }),
                Err(error) if config.is_required => {
                    return Err(error.context(format!(
                        "plugin `{}` can't be loaded ({}); mend it, or set `plugin.{}.required = false` to go on \
                         without it",
                        config.id, config.origin, config.id
                    )));
                }
                Err(error) => context.output.note(format_args!(
                    "{} plugin `{}` is left out: {error:#}",
                    context.output.paint_note(Tone::Warning, "warning:"),
                    config.id
                )),
            }
        }
        record(&loaded)?;
        Ok(Loaded(loaded))
    }

    /// Loads one plugin, if it is the one the lock file knows.
    ///
    /// # Errors
    /// If it can't be loaded, or isn't that one.
    pub async fn load(&self, config: &PluginConfig, environment: &Environment) -> anyhow::Result<Plugin> {
        let spec = self.spec(config, environment)?;
        self.check_lock(config, &spec).await?;
        Ok(self.sandbox.load(spec).await?)
    }

    async fn check_lock(&self, config: &PluginConfig, spec: &PluginSpec) -> anyhow::Result<()> {
        let Some(file) = &config.lock else { return Ok(()) };
        let lock = Lock::read(file)?;
        let Some(was) = lock.get(config.id.as_str()) else {
            return Ok(());
        };
        let digest = hex(&Sha256::digest(&spec.component[..]));
        if was.digest == format!("sha256:{digest}") {
            return Ok(());
        }
        let inspection = self.inspect(spec).await?;
        Err(LockError::Changed(Box::new(Changed {
            plugin: config.id.to_string(),
            lock: file.clone(),
            was: was.clone(),
            is: Entry::new(&digest, &inspection.manifest),
        }))
        .into())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Records what was loaded for the first time.
fn record(loaded: &[One]) -> Result<(), LockError> {
    let mut locks: HashMap<&std::path::Path, (Lock, bool)> = HashMap::new();
    for One { config, plugin } in loaded {
        let Some(file) = &config.lock else { continue };
        if !locks.contains_key(file.as_path()) {
            locks.insert(file, (Lock::read(file)?, false));
        }
        if let Some((lock, changed)) = locks.get_mut(file.as_path()) {
            *changed |= lock.put(
                config.id.as_str(),
                Entry::new(&plugin.digest(), &plugin.manifest()),
            );
        }
    }
    for (file, (lock, changed)) in locks {
        if changed && let Err(error) = lock.write(file) {
            // A read-only folder must not keep anybody from running; the next start records again.
            tracing::warn!(%error, "the lock file can't be written");
        }
    }
    Ok(())
}

impl Loaded {
    /// The plugins themselves.
    #[must_use]
    pub fn plugins(&self) -> Vec<Plugin> {
        self.0.iter().map(|one| one.plugin.clone()).collect()
    }

    /// Their tools, under the names a model sees.
    ///
    /// # Errors
    /// If two of them have one name.
    pub fn tools(&self) -> anyhow::Result<Vec<Arc<dyn Tool>>> {
        let mut owners: HashMap<SmolStr, &PluginConfig> = HashMap::new();
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for One { config, plugin } in &self.0 {
            for tool in plugin.tools()? {
                let tool = Prefixed::around(tool, &config.prefix);
                let name = tool.definition().schema.name.clone();
                if let Some(other) = owners.insert(name.clone(), config) {
                    return Err(same_name(&name, other, config).into());
                }
                tools.push(tool);
            }
        }
        Ok(tools)
    }

    /// Offers their tools to every agent, and lets their listeners have their say.
    ///
    /// # Errors
    /// As [`Loaded::tools`].
    pub fn offer(&self, services: &hames_agent::Services) -> anyhow::Result<()> {
        for tool in self.tools()? {
            services.tools.register(None, tool)?;
        }
        for plugin in in_order(&self.plugins()) {
            if let Some(part) = plugin.prompt() {
                services.prompts.part(None, &part)?;
            }
            for listener in plugin.listeners() {
                services.register(None, listener)?;
            }
        }
        Ok(())
    }
}

fn same_name(name: &str, first: &PluginConfig, second: &PluginConfig) -> Problems {
    let at = if first.origin == Origin::Default {
        String::new()
    } else {
        format!(" ({})", first.origin)
    };
    Problems::one(
        second.origin.clone(),
        format!("plugin.{}.prefix", second.id),
        format!(
            "is needed: plugins `{}`{at} and `{}` both have a tool `{name}`; with `prefix = \"{}_\"` the second one's \
             tools are called `{}_…`",
            first.id, second.id, second.id, second.id
        ),
    )
}
