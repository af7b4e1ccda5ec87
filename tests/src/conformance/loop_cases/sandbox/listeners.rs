//! Scripted listeners as guests: one plugin per listener, the same interpreter with another configuration.

use std::sync::Arc;
use std::time::Duration;

use hames_agent::listeners::{Heard, Listeners};
use hames_log::{Place, Sessions};
use hames_plugin::{Grant, MemoryStore, Plugin, PluginSpec, Point, Sandbox, Services, SessionGrant};
use hames_sandbox_tests::handmade::with_section;
use hames_types::id::PluginId;
use hames_types::json::{Json, check_lossless};
use hames_types::kinds::{KindRegistry, Sum};
use hames_types::port::notice::{
    AgentCreated, AgentDisposed, AgentError, CancelRequested, Queued, SessionStart, StatusChanged,
    ToolResultReady,
};
use hames_types::port::registration::Registration;
use hames_types::port::seam::{
    CallRequest, Execute, PostExecute, PostStep, PreExecute, PreStep, PromptAssemble, PromptSubmit,
    RequestError, SessionPrefix, StepResult, TurnContinuation, TurnStop,
};
use hames_types::scope::ScopeKey;
use parking_lot::RwLock;
use serde_json::json;

use super::super::super::rules::{self, Rule};
use super::super::world::{World, list};
use super::{Gates, Late, declare, shared, speaking, verbs};

/// The interpreter, and the id of a listener that speaks under no name of its own.
const NAME: &str = "script-listeners";

/// Where a script listens, and the kind of listener a plugin has there. What isn't here has no interface.
const POINTS: &[(&str, &str)] = &[
    ("agent/prompt-submit", "PromptSubmit"),
    ("agent/session-prefix", "SessionPrefix"),
    ("agent/request", "CallRequest"),
    ("agent/step-result", "StepResult"),
    ("agent/request-error", "RequestError"),
    ("agent/turn-continuation", "TurnContinuation"),
    ("tools/pre-execute", "PreExecute"),
    ("tools/execute", "Execute"),
    ("tools/post-execute", "PostExecute"),
    ("agent/pre-step", "PreStep"),
    ("agent/post-step", "PostStep"),
    ("agent/turn-stop", "TurnStop"),
    ("agent/status", "StatusChanged"),
    ("agent/queued", "Queued"),
    ("agent/session-start", "SessionStart"),
    ("agent/cancel-requested", "CancelRequested"),
    ("agent/error", "AgentError"),
    ("agent/created", "AgentCreated"),
    ("tools/result", "ToolResultReady"),
    ("session/event", "SessionEvent"),
];

/// The listeners of one script, in its order; none where it listens to what has no interface.
pub(in super::super) struct Guests {
    built: Vec<Option<Plugin>>,
    callers: Arc<Late>,
}

fn word<'a>(value: &'a Json, key: &str) -> &'a str {
    value.get(key).and_then(Json::as_str).unwrap_or_default()
}

/// The kind of listener a script's is.
fn kind(listener: &Json) -> Option<&'static str> {
    let on = word(listener, "on");
    POINTS
        .iter()
        .find(|(point, _)| *point == on)
        .map(|(_, kind)| *kind)
}

impl Guests {
    /// Loads the listeners of a script.
    pub(in super::super) fn load(script: &Json) -> anyhow::Result<Self> {
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
        let mut built = Vec::new();
        for (number, listener) in list(script, "listeners").iter().enumerate() {
            let plugin = match kind(listener) {
                Some(_) => {
                    let id = PluginId::new(speaker(listener));
                    declare(&mut kinds.write(), &id, listener);
                    let config = json!({ "listener": listener, "number": number, "main": main(script) });
                    let loading = load(&sandbox, &shared.listeners, id, listener, config);
                    Some(shared.runtime.block_on(loading)?)
                }
                None => None,
            };
            built.push(plugin);
        }
        Ok(Self { built, callers })
    }

    /// Lets the listeners reach the agents of a world.
    pub(in super::super) fn serve(&self, world: &Arc<World>) {
        // A world has its listeners to itself, so there is no second.
        drop(self.callers.0.set(Arc::downgrade(world)));
    }

    /// Registers the listener that is the `number`th of the script, if it can be a component.
    pub(in super::super) fn register(
        &self,
        number: usize,
        listener: &Json,
        to: (&Listeners, &Sessions),
        at: (Option<ScopeKey>, Place),
    ) {
        let plugin = self.built.get(number).and_then(Option::as_ref);
        let found = plugin.into_iter().flat_map(Plugin::listeners);
        for registration in found.filter(|found| Some(found.place()) == kind(listener)) {
            add(registration, to, at);
        }
    }
}

fn add(registration: Registration, (to, sessions): (&Listeners, &Sessions), at: (Option<ScopeKey>, Place)) {
    match registration {
        Registration::PromptSubmit(it) => hear::<PromptSubmit>(to, at, it),
        Registration::SessionPrefix(it) => hear::<SessionPrefix>(to, at, it),
        Registration::PromptAssemble(it) => hear::<PromptAssemble>(to, at, it),
        Registration::PreStep(it) => hear::<PreStep>(to, at, it),
        Registration::CallRequest(it) => hear::<CallRequest>(to, at, it),
        Registration::StepResult(it) => hear::<StepResult>(to, at, it),
        Registration::PreExecute(it) => hear::<PreExecute>(to, at, it),
        Registration::Execute(it) => hear::<Execute>(to, at, it),
        Registration::PostExecute(it) => hear::<PostExecute>(to, at, it),
        Registration::PostStep(it) => hear::<PostStep>(to, at, it),
        Registration::RequestError(it) => hear::<RequestError>(to, at, it),
        Registration::TurnContinuation(it) => hear::<TurnContinuation>(to, at, it),
        Registration::TurnStop(it) => hear::<TurnStop>(to, at, it),
        Registration::SessionStart(it) => hear::<SessionStart>(to, at, it),
        Registration::StatusChanged(it) => hear::<StatusChanged>(to, at, it),
        Registration::Queued(it) => hear::<Queued>(to, at, it),
        Registration::CancelRequested(it) => hear::<CancelRequested>(to, at, it),
        Registration::AgentError(it) => hear::<AgentError>(to, at, it),
        Registration::ToolResultReady(it) => hear::<ToolResultReady>(to, at, it),
        Registration::AgentCreated(it) => hear::<AgentCreated>(to, at, it),
        Registration::AgentDisposed(it) => hear::<AgentDisposed>(to, at, it),
        Registration::SessionEvent(it) => drop(sessions.on_event().add(at.0, at.1, it)),
        // No script has one as a listener.
        Registration::Guard(_) => {}
    }
}

fn hear<H: Heard>(to: &Listeners, (scope, place): (Option<ScopeKey>, Place), listener: Arc<H::Listener>) {
    to.add::<H>(scope, place, listener);
}

async fn load(
    sandbox: &Sandbox,
    component: &[u8],
    id: PluginId,
    listener: &Json,
    config: Json,
) -> anyhow::Result<Plugin> {
    let wants = ["kv", "agent", "speak", "session", "surface", "authority"];
    let manifest = json!({
        "id": id.as_str(), "version": "0.1.0", "events": events(listener),
        "wants": wants.map(|grant| json!({ "grant": grant, "reason": "what a script may do" })),
    });
    let component = with_section(component, hames_plugin::SECTION, manifest.to_string().as_bytes());
    let mut spec = PluginSpec::new(id, component);
    spec.config = config;
    // On the script's clock, where hours are nothing.
    spec.limits.decide = Duration::from_secs(1_000_000);
    // How busy the machine is must not show.
    spec.limits.stretch = Duration::from_secs(1_000_000);
    spec.limits.observe = Duration::from_secs(1_000);
    spec.grant = Grant {
        kv: true,
        agent: verbs(),
        speak: speaking(),
        session: SessionGrant {
            read: true,
            append: true,
            surface: true,
            ..SessionGrant::default()
        },
        full: Point::ALL.to_vec(),
        ..Grant::default()
    };
    Ok(sandbox.load(spec).await?)
}

/// The kinds of events a listener is told of.
fn events(listener: &Json) -> Vec<&str> {
    match listener.pointer("/match/type").and_then(Json::as_str) {
        Some(kind) => vec![kind],
        None => Sum::SessionEvent.core_kinds().to_vec(),
    }
}

fn main(script: &Json) -> &str {
    script
        .pointer("/session/id")
        .and_then(Json::as_str)
        .unwrap_or("main")
}

/// Under which name a listener changes the history: what replaces a part of it is always from the plugin itself.
fn speaker(listener: &Json) -> &str {
    let named = ops(listener)
        .filter(|op| word(op, "op") == "append")
        .find_map(|op| op.pointer("/data/source/plugin").and_then(Json::as_str));
    named.unwrap_or(NAME)
}

/// Every op of a listener.
fn ops(listener: &Json) -> impl Iterator<Item = &Json> {
    let each = listener.get("each").into_iter();
    let behaviours = list(listener, "calls").iter().chain(each);
    behaviours.flat_map(|behaviour| list(behaviour, "do").iter().chain(list(behaviour, "afterDo")))
}

/// Whether the listeners of a script can be written down as a configuration.
pub(in super::super) fn can_load(script: &Json) -> bool {
    list(script, "listeners")
        .iter()
        .all(|listener| check_lossless(listener, "").is_ok())
}

/// The rule for what a script's listeners use and a component can't, if they do. `events` are those recorded.
pub(in super::super) fn foreign(script: &Json, events: &[Json]) -> Option<&'static Rule> {
    let listeners = list(script, "listeners");
    if listeners.iter().any(is_at_foreign_point) {
        return Some(&rules::LISTENER_POINTS);
    }
    listeners
        .iter()
        .flat_map(ops)
        .find_map(|op| match word(op, "op") {
            "dispose" | "createAgent" => Some(&rules::LISTENER_LIVES),
            "append" if !is_covered(op, events) => Some(&rules::LISTENER_APPENDS),
            "gate" => Some(&rules::LISTENER_GATES),
            _ => None,
        })
}

/// No interface is there, or none whose error keeps an agent from being published.
fn is_at_foreign_point(listener: &Json) -> bool {
    let vetoes = || {
        let each = listener.get("each").into_iter();
        let mut behaviours = list(listener, "calls").iter().chain(each);
        behaviours.any(|behaviour| behaviour.get("throw").is_some())
    };
    kind(listener).is_none() || (word(listener, "on") == "agent/created" && vetoes())
}

/// Whether an append is one that a granted verb makes: a message of the listener's own in place of others, or a
/// recorded result with other content.
fn is_covered(append: &Json, events: &[Json]) -> bool {
    let Some(start) = append.pointer("/surfaceOp/start") else {
        return false;
    };
    match word(append, "type") {
        "user/message" | "context/message" => append.pointer("/data/source/plugin").is_some(),
        "tool/result" => {
            let old = events.iter().find(|event| event.get("seq") == Some(start));
            old.is_some_and(|old| without_content(old.get("data")) == without_content(append.get("data")))
        }
        _ => false,
    }
}

fn without_content(data: Option<&Json>) -> Option<Json> {
    let mut fields = data?.as_object()?.clone();
    fields.remove("content");
    Some(Json::Object(fields))
}
