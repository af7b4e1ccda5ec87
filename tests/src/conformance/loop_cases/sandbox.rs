//! Scripted tools as guests: one plugin per tool, the same interpreter with another configuration.

pub(super) mod listeners;
pub(super) mod shipped;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use hames_agent::LiveCallers;
use hames_plugin::{AgentGrant, Cache, Grant, MemoryStore, PluginSpec, Sandbox, Services, Speak};
use hames_sandbox_tests::guests;
use hames_sandbox_tests::home::Home;
use hames_types::content::{Content, ContentBlock};
use hames_types::decision::HookContext;
use hames_types::event::{Event, EventBody};
use hames_types::fault::Fault;
use hames_types::header::SessionHeader;
use hames_types::id::{PluginId, Seq, SessionId};
use hames_types::json::{Json, check_lossless};
use hames_types::kinds::{KindDeclaration, KindRegistry, Sum};
use hames_types::message::{History, MessageSource};
use hames_types::open::OpenSum;
use hames_types::port::plugin::{
    AgentVerbs, Callers, KeepError, PluginStore, Quota, Replaced, SessionAccess,
};
use hames_types::port::tool::Tool;
use hames_types::request::RequestHeader;
use hames_types::turn::{CancelCause, TurnTrigger};
use parking_lot::RwLock;
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::world::{World, list};

/// The interpreter's id, which its manifest has as well.
const ID: &str = "script-tools";

/// The ops that the contract has words for.
const VERBS: &[&str] = &["send", "steer", "inject", "cancel", "open", "sleep"];

/// The tools of one script.
pub(super) struct Tools {
    /// By the text of their scripts.
    built: HashMap<String, Arc<dyn Tool>>,
    callers: Arc<Late>,
}

/// What all scripts of a process share.
struct Shared {
    runtime: Runtime,
    home: Home,
    component: Arc<[u8]>,
    listeners: Arc<[u8]>,
    _cache: TempDir,
}

fn shared() -> anyhow::Result<&'static Shared> {
    static SHARED: OnceLock<Result<Shared, String>> = OnceLock::new();
    SHARED
        .get_or_init(|| build().map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|problem| anyhow::anyhow!("{problem}"))
}

fn build() -> anyhow::Result<Shared> {
    let folder = tempfile::tempdir()?;
    Ok(Shared {
        // Loading is no part of a script's time, so it has a clock that runs.
        runtime: tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_time()
            .build()?,
        home: Home::with(Some(Cache::open(folder.path().join("compiled"))?), None)?,
        component: guests::plain(ID)?,
        listeners: guests::plain("script-listeners")?,
        _cache: folder,
    })
}

impl Tools {
    /// Loads every tool a script has or will register.
    pub(super) fn load(script: &Json) -> anyhow::Result<Self> {
        let shared = shared()?;
        let callers = Arc::<Late>::default();
        let kinds = Arc::<RwLock<KindRegistry>>::default();
        let services = Services {
            callers: Some(Arc::<Late>::clone(&callers)),
            store: Arc::new(Gates {
                kept: MemoryStore::default(),
                late: Arc::clone(&callers),
            }),
            kinds: Arc::clone(&kinds),
            ..shared.home.services()
        };
        let sandbox = shared.home.sandbox.lending(services);
        let mut built = HashMap::new();
        for tool in all(script) {
            declare(&mut kinds.write(), &PluginId::new(ID), tool);
            let loaded = shared.runtime.block_on(load(&sandbox, &shared.component, tool))?;
            built.insert(tool.to_string(), loaded);
        }
        Ok(Self { built, callers })
    }

    /// Lets the tools reach the agents of a world.
    pub(super) fn serve(&self, world: &Arc<World>) {
        // A world has its tools to itself, so there is no second.
        drop(self.callers.0.set(Arc::downgrade(world)));
    }

    /// The tool of a script.
    pub(super) fn find(&self, script: &Json) -> anyhow::Result<Arc<dyn Tool>> {
        self.built
            .get(&script.to_string())
            .cloned()
            .context("a tool of the script wasn't foreseen")
    }
}

async fn load(sandbox: &Sandbox, component: &Arc<[u8]>, tool: &Json) -> anyhow::Result<Arc<dyn Tool>> {
    let mut spec = PluginSpec::new(PluginId::new(ID), Arc::clone(component));
    spec.config = json!({ "tools": [tool] });
    // On the script's clock, where hours are nothing.
    spec.limits.call = Duration::from_secs(1_000_000);
    // Which of two calls that begin together counts first must not hang on how busy the machine is.
    spec.limits.stretch = Duration::from_secs(1_000_000);
    spec.grant = Grant {
        kv: true,
        agent: verbs(),
        speak: speaking(),
        ..Grant::default()
    };
    let plugin = sandbox.load(spec).await?;
    hames_sandbox_tests::home::first_tool(&plugin)
}

/// All verbs.
const fn verbs() -> AgentGrant {
    AgentGrant {
        send: true,
        steer: true,
        inject: true,
        cancel: true,
    }
}

/// Under any name.
fn speaking() -> Speak {
    Speak {
        as_user: true,
        as_any_plugin: true,
        ..Speak::default()
    }
}

/// Every tool of a script: those it begins with and those its ops register.
fn all(script: &Json) -> Vec<&Json> {
    let mut found: Vec<&Json> = list(script, "tools").iter().collect();
    registered(script, &mut found);
    found
}

fn registered<'a>(value: &'a Json, found: &mut Vec<&'a Json>) {
    match value {
        Json::Array(items) => items.iter().for_each(|item| registered(item, found)),
        Json::Object(fields) => {
            if let (Some("registerTool"), Some(tool)) =
                (fields.get("op").and_then(Json::as_str), fields.get("tool"))
            {
                found.push(tool);
            }
            fields.values().for_each(|item| registered(item, found));
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

/// Declares the kinds of blocks and sources that a script produces.
fn declare(registry: &mut KindRegistry, owner: &PluginId, value: &Json) {
    let mut one = |sum: Sum, core: &[&str], tag: Option<&Json>| {
        if let Some(tag) = tag.and_then(Json::as_str).filter(|tag| !core.contains(tag)) {
            let kind = KindDeclaration {
                sum,
                tag: tag.into(),
                schema: json!({}),
                out_of_band: false,
            };
            // Declared already, or no tag at all: then the case tells.
            drop(registry.declare_shipped(owner, kind));
        }
    };
    match value {
        Json::Array(items) => items.iter().for_each(|item| {
            one(Sum::ContentBlock, ContentBlock::KINDS, item.get("type"));
        }),
        Json::Object(fields) => {
            let kind = fields.get("source").and_then(|source| source.get("kind"));
            one(Sum::MessageSource, MessageSource::KINDS, kind);
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
    match value {
        Json::Array(items) => items.iter().for_each(|item| declare(registry, owner, item)),
        Json::Object(fields) => fields.values().for_each(|item| declare(registry, owner, item)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

/// Whether the tools of a script can be written down as a configuration.
pub(super) fn can_load(script: &Json) -> bool {
    all(script).iter().all(|tool| check_lossless(tool, "").is_ok())
}

/// Whether a script's tools use what the contract has no word for.
pub(super) fn exceeds_contract(script: &Json) -> bool {
    all(script).iter().any(|tool| {
        tool.get("scope").and_then(Json::as_str) == Some("agent") || steps(tool).any(has_foreign_op)
    })
}

fn steps(tool: &Json) -> impl Iterator<Item = &Json> {
    let calls = list(tool, "calls").iter().filter_map(Json::as_array).flatten();
    list(tool, "body").iter().chain(calls)
}

fn has_foreign_op(step: &Json) -> bool {
    list(step, "do").iter().any(|op| {
        let word = op.get("op").and_then(Json::as_str).unwrap_or_default();
        !VERBS.contains(&word) || op.get("agent").is_some() || op.get("session").is_some()
    })
}

/// Finds callers once there is a world.
#[derive(Default)]
pub(super) struct Late(OnceLock<Weak<World>>);

impl Late {
    fn world(&self) -> Option<Arc<World>> {
        self.0.get()?.upgrade()
    }
}

impl Callers for Late {
    fn session(&self, id: &SessionId) -> Option<Arc<dyn SessionAccess>> {
        let world = self.world()?;
        let live = LiveCallers::new(&world.agents()).session(id)?;
        Some(Arc::new(Written { world, live }))
    }

    fn agent(&self, id: &SessionId) -> Option<Arc<dyn AgentVerbs>> {
        let world = self.world()?;
        let live = LiveCallers::new(&world.agents()).agent(id)?;
        Some(Arc::new(Recorded { world, live }))
    }
}

/// An agent's verbs, whose failures are recorded as those of native ops are.
struct Recorded {
    world: Arc<World>,
    live: Arc<dyn AgentVerbs>,
}

impl Recorded {
    fn noted(&self, op: &str, done: Result<(), Fault>) -> Result<(), Fault> {
        done.inspect_err(|fault| {
            let entry = json!({ "op": op, "name": fault.name(), "message": fault.message() });
            self.world.record(|record| record.op_errors.push(entry));
        })
    }
}

impl AgentVerbs for Recorded {
    fn send(&self, content: Content, source: MessageSource, contexts: Vec<HookContext>) -> Result<(), Fault> {
        self.noted("send", self.live.send(content, source, contexts))
    }

    fn steer(
        &self,
        content: Content,
        source: MessageSource,
        contexts: Vec<HookContext>,
    ) -> Result<(), Fault> {
        self.noted("steer", self.live.steer(content, source, contexts))
    }

    fn inject(&self, context: HookContext) -> Result<(), Fault> {
        self.noted("inject", self.live.inject(context))
    }

    fn cancel(&self, cause: CancelCause) {
        self.live.cancel(cause);
    }
}

/// A session, whose refused replacements are recorded as native appends are.
struct Written {
    world: Arc<World>,
    live: Arc<dyn SessionAccess>,
}

#[async_trait]
impl SessionAccess for Written {
    fn header(&self) -> &SessionHeader {
        self.live.header()
    }

    fn length(&self) -> usize {
        self.live.length()
    }

    fn events(&self, first: Seq, limit: usize) -> Vec<Arc<Event>> {
        self.live.events(first, limit)
    }

    fn messages(&self) -> Result<History, Fault> {
        self.live.messages()
    }

    fn request_header(&self) -> Option<Arc<RequestHeader>> {
        self.live.request_header()
    }

    async fn append(&self, body: EventBody, out_of_band: Option<TurnTrigger>) -> Result<Seq, Fault> {
        self.live.append(body, out_of_band).await
    }

    async fn replace(&self, body: EventBody, replaced: Replaced) -> Result<Seq, Fault> {
        self.live.replace(body, replaced).await.inspect_err(|fault| {
            let entry = json!({ "op": "append", "name": "Error", "message": fault.message() });
            self.world.record(|record| record.op_errors.push(entry));
        })
    }
}

/// What tools keep; a key of the form `gates/x` is the script's gate `x`, open as soon as anybody opened it.
struct Gates {
    kept: MemoryStore,
    late: Arc<Late>,
}

impl Gates {
    fn gate(&self, key: &str) -> Option<(Arc<World>, String)> {
        let name = key.strip_prefix("gates/")?;
        Some((self.late.world()?, name.to_owned()))
    }
}

impl PluginStore for Gates {
    fn get(&self, owner: &PluginId, key: &str) -> Result<Option<Vec<u8>>, KeepError> {
        match self.gate(key) {
            Some((world, name)) => Ok(world.is_gate_open(&name).then(Vec::new)),
            None => self.kept.get(owner, key),
        }
    }

    fn set(&self, owner: &PluginId, key: &str, value: Vec<u8>, quota: Quota) -> Result<(), KeepError> {
        match self.gate(key) {
            Some((world, name)) => {
                world.open_gate(&name);
                Ok(())
            }
            None => self.kept.set(owner, key, value, quota),
        }
    }

    fn delete(&self, owner: &PluginId, key: &str) -> Result<(), KeepError> {
        self.kept.delete(owner, key)
    }

    fn increment(&self, owner: &PluginId, key: &str, by: i64, quota: Quota) -> Result<i64, KeepError> {
        self.kept.increment(owner, key, by, quota)
    }

    fn keys(
        &self,
        owner: &PluginId,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, KeepError> {
        self.kept.keys(owner, prefix, after, limit)
    }
}
