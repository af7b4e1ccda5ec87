//! How do the crates become one running host? The one place that knows all of them.
//!
//! Order matters: listeners are asked in the order of registration, the first outermost. What makes things durable
//! comes first, so that nothing with an effect runs before what led to it is stored; then come plugins in the order
//! of the configuration; the host's own policies stand innermost.

mod model;
mod plugins;
mod store;

use std::sync::Arc;

use anyhow::Context as _;
use hames_agent::approval::{self, ApprovalService};
use hames_agent::listeners::Listeners;
use hames_agent::prompt::Prompts;
use hames_agent::repeat::RepeatGuard;
use hames_agent::retry::{Installed, Retry};
use hames_agent::router::Router;
use hames_agent::tools::{ToolTimeouts, Tools};
use hames_agent::{AgentOptions, Agents, Services};
use hames_log::{Place as At, Sessions};
use hames_plugin::Plugin;
use hames_store::{Checkpoint, Persistence};
use hames_types::id::{ModelId, PluginId, ProviderId};
use hames_types::kinds::KindRegistry;
use hames_types::port::seam::{Execute, LlmStream, PostStep};
use parking_lot::RwLock;

use crate::command::Context;
use crate::config::{Config, Place, Sources, load};
use crate::outside::{SystemClock, draw};

pub use model::adapter;
pub use plugins::{Loaded, Loader};
pub use store::Shelf;

/// Everything the configuration says, and where.
pub struct Setup {
    /// The layers.
    pub sources: Sources,
    /// The configuration.
    pub config: Config,
    /// The working folder and the data.
    pub place: Place,
}

impl Setup {
    /// Reads and checks the configuration.
    ///
    /// # Errors
    /// If it can't be used.
    pub fn read(context: &Context) -> anyhow::Result<Self> {
        let place = Place::find(&context.common, &context.environment)?;
        let sources = load(&context.common, &context.environment, &place)?;
        let config = Config::build(&sources.settings)?;
        Ok(Self {
            sources,
            config,
            place,
        })
    }
}

/// A running host. [`Host::close`] is its orderly end.
pub struct Host {
    /// The agents.
    pub agents: Arc<Agents>,
    /// Who has a say.
    pub listeners: Arc<Listeners>,
    /// The live sessions.
    pub sessions: Sessions,
    /// Where sessions are kept.
    pub shelf: Shelf,
    /// The plugins that were loaded.
    pub plugins: Vec<Plugin>,
    /// The answers to questions.
    pub approval: Arc<ApprovalService>,
    /// How many tokens the model can take: as configured, or what is known of it.
    pub window_tokens: Option<u64>,
    persistence: Arc<Persistence>,
    retry: Installed,
}

impl Host {
    /// Puts everything together and loads the plugins.
    ///
    /// # Errors
    /// If the store can't be opened, the model can't be reached as configured, or a required plugin can't be loaded.
    pub async fn start(setup: &Setup, context: &Context) -> anyhow::Result<Self> {
        let config = &setup.config;
        // Reading the system's certificates takes a while; everything else goes on beside it.
        let (model, environment) = (config.model.clone(), context.environment.clone());
        let reached = tokio::task::spawn_blocking(move || adapter(&model, &environment));
        let shelf = Shelf::open(&config.store, &setup.place)?;
        let sessions = Sessions::new(Arc::new(SystemClock));
        let persistence = Arc::new(Persistence::follow(&sessions, shelf.store()));
        let listeners = Arc::new(Listeners::new());
        let checkpoint = Checkpoint::new(sessions.clone());
        listeners.add::<LlmStream>(None, At::First, Arc::clone(&checkpoint) as _);
        listeners.add::<Execute>(None, At::First, Arc::clone(&checkpoint) as _);
        listeners.add::<PostStep>(None, At::First, checkpoint as _);

        let tools = Arc::new(Tools::new(Arc::clone(&listeners)));
        let prompts = Prompts::new(config.prompt.clone())?;
        prompts.tools(None, Arc::clone(&tools) as _)?;
        let approval = ApprovalService::install(config.approval, &sessions, &listeners, &prompts)?;
        tools.set_approver(Some(Arc::clone(&approval) as _));
        let router = Arc::new(Router::new());
        let services = Services {
            sessions: sessions.clone(),
            listeners: Arc::clone(&listeners),
            tools: Arc::clone(&tools),
            prompts: Arc::new(prompts),
            router: Arc::clone(&router),
            limits: config.limits.clone(),
        };
        let agents = Agents::new(services, Some(Arc::clone(&persistence) as _));

        let provider = ProviderId::new(config.model.provider.as_str());
        let loader = Loader::new(setup, Some(&agents), kinds()?)?;
        let loaded = loader.load_all(setup, context).await?;
        let llm = reached.await??;
        let window_tokens = match config.model.context_window {
            Some(tokens) => Some(tokens),
            None => {
                let model = ModelId::new(config.model.model.as_str());
                llm.context_window_tokens(&provider, &model).await?
            }
        };
        router.register(&[provider], llm)?;
        loaded.offer(agents.services())?;
        listeners.add_held(Arc::new(loader.ledger().clone()));

        listeners.add::<Execute>(None, At::Last, Arc::new(ToolTimeouts));
        if let Some(repeat) = &config.repeat {
            RepeatGuard::new(repeat.clone())?.install(&listeners);
        }
        let retry = Retry::new(config.retry.clone(), sessions.clone(), Box::new(draw))?.install(&listeners);
        Ok(Self {
            agents,
            listeners,
            sessions,
            shelf,
            plugins: loaded.plugins(),
            approval,
            window_tokens,
            persistence,
            retry,
        })
    }

    /// The tools.
    #[must_use]
    pub fn tools(&self) -> &Arc<Tools> {
        &self.agents.services().tools
    }

    /// Ends every agent in order, then writes what is left.
    ///
    /// # Errors
    /// What couldn't be stored.
    pub async fn close(self) -> anyhow::Result<()> {
        self.retry.remove(&self.listeners);
        self.agents.close().await;
        match self.persistence.close().await {
            Ok(()) => Ok(()),
            Err(failures) => {
                let several = failures.len();
                let first = failures
                    .into_iter()
                    .next()
                    .context("a session couldn't be stored")?;
                Err(anyhow::Error::new(first).context(match several {
                    1 => "the session's end couldn't be stored".to_owned(),
                    several => format!("the ends of {several} sessions couldn't be stored"),
                }))
            }
        }
    }
}

/// Which model an agent asks.
#[must_use]
pub fn options(config: &Config) -> AgentOptions {
    AgentOptions {
        provider: Some(ProviderId::new(config.model.provider.as_str())),
        model: Some(ModelId::new(config.model.model.as_str())),
    }
}

/// The kinds that the host's own parts write.
pub(crate) fn kinds() -> anyhow::Result<Arc<RwLock<KindRegistry>>> {
    let mut kinds = KindRegistry::new();
    for kind in approval::kinds() {
        kinds.declare_shipped(&PluginId::new(approval::APPROVAL_SOURCE), kind)?;
    }
    Ok(Arc::new(RwLock::new(kinds)))
}
