//! Does a plugin reach the session that calls it, and only with what it was granted?

use std::sync::Arc;

use futures_util::stream;
use hames_agent::listeners::Listeners;
use hames_agent::prompt::{PromptConfig, Prompts};
use hames_agent::router::Router;
use hames_agent::tools::Tools;
use hames_agent::{Agent, AgentOptions, Agents, LiveCallers, SendOptions, StartOptions};
use hames_log::{Draft, LiveAccess, Log, SessionMeta, Sessions};
use hames_plugin::{Grant, PluginSpec, SessionGrant};
use hames_sandbox_tests::guests;
use hames_sandbox_tests::home::{Home, NOW_MS, call, call_of, first_tool, quiet};
use hames_types::chunk::{FinishReason, StreamChunk};
use hames_types::content::{Content, ContentBlock};
use hames_types::event::{Event, EventBody, EventData, TurnStart};
use hames_types::id::{CallId, ModelId, PluginId, ProviderId, SessionId, TurnNo};
use hames_types::json::{Extra, Json};
use hames_types::message::{Message, MessageSource, Role};
use hames_types::port::clock::FixedClock;
use hames_types::port::llm::{ChunkStream, Llm};
use hames_types::port::plugin::{AgentVerbs, Callers, SessionAccess};
use hames_types::request::Request;
use hames_types::signal::Signal;
use hames_types::turn::TurnTrigger;
use serde_json::json;

struct OneSession(Sessions);

impl Callers for OneSession {
    fn session(&self, id: &SessionId) -> Option<Arc<dyn SessionAccess>> {
        let session = self.0.get(id)?;
        Some(Arc::new(LiveAccess::new(self.0.clone(), session)))
    }

    fn agent(&self, _id: &SessionId) -> Option<Arc<dyn AgentVerbs>> {
        None
    }
}

#[tokio::test]
async fn todo_writes_the_list_into_the_calling_session() {
    let sessions = Sessions::new(Arc::new(FixedClock(NOW_MS)));
    let session = sessions
        .create(Some(SessionId::new("main")), SessionMeta::default(), Log::new())
        .unwrap();
    let start = TurnStart {
        turn: TurnNo::FIRST,
        trigger: TurnTrigger::message(MessageSource::USER),
        extra: Extra::NONE,
    };
    session
        .append(Draft::log_only(EventBody::TurnStart(start)))
        .unwrap();
    let home = Home::with(None, Some(Arc::new(OneSession(sessions.clone())))).unwrap();
    let mut spec = PluginSpec::new(PluginId::new("todo"), guests::plain("todo").unwrap());
    spec.grant = Grant {
        session: SessionGrant {
            todos: true,
            ..SessionGrant::default()
        },
        ..Grant::default()
    };
    let tool = first_tool(&home.sandbox.load(spec).await.unwrap()).unwrap();
    let list = json!({ "todos": [
        { "content": "read", "status": "completed" },
        { "content": "write", "status": "in_progress" },
    ] });
    let output = tool
        .execute(&call_of(&tool, "main", list.clone()), &quiet())
        .await
        .unwrap();
    assert_eq!(output.content.joined_text(), "1 of 2 todos done");
    let event = session.all_events().pop().unwrap();
    assert_eq!(event.kind(), "todo/write");
    assert_eq!(serde_json::to_value(&event.data).unwrap(), list);
    // Nobody's call has no session, and somebody else's isn't found.
    for lost in [call(&tool, list.clone()), call_of(&tool, "other", list.clone())] {
        let fault = tool.execute(&lost, &quiet()).await.unwrap_err();
        assert!(fault.message().contains("session"), "{}", fault.message());
    }
    assert_eq!(session.len(), 2);
    assert_eq!(tool.present_call(&list).unwrap().kind(), "generic");
}

/// Answers one prompt with one call of `scribe` for each of the given arguments, a step each, then with a word.
struct Script(Vec<Json>);

impl Llm for Script {
    fn stream(&self, request: Request, _: Signal) -> ChunkStream {
        let asked = |message: &Arc<Message>| message.role == Role::Assistant;
        let step = request.messages.iter().filter(|message| asked(message)).count();
        let block = match self.0.get(step) {
            Some(arguments) => {
                ContentBlock::tool_call(CallId::new(format!("c{step}")), "scribe", arguments.to_string())
            }
            None => ContentBlock::text("done"),
        };
        Box::pin(stream::iter(vec![
            Ok(StreamChunk::block_end(0, block)),
            Ok(StreamChunk::finish(FinishReason::STOP, None)),
        ]))
    }
}

/// An agent whose one tool is `scribe`, granted this, and whose model calls it so.
struct World {
    _home: Home,
    agents: Arc<Agents>,
    agent: Arc<Agent>,
}

impl World {
    async fn with(granted: SessionGrant, calls: Vec<Json>) -> Self {
        let listeners = Arc::new(Listeners::new());
        let tools = Arc::new(Tools::new(Arc::clone(&listeners)));
        let prompts = Prompts::new(PromptConfig::default()).unwrap();
        prompts.tools(None, Arc::clone(&tools) as _).unwrap();
        let router = Router::new();
        router
            .register(&[ProviderId::new("script")], Arc::new(Script(calls)))
            .unwrap();
        let services = hames_agent::Services {
            sessions: Sessions::new(Arc::new(FixedClock(NOW_MS))),
            listeners,
            tools: Arc::clone(&tools),
            prompts: Arc::new(prompts),
            router: Arc::new(router),
            limits: hames_agent::Limits {
                check_requests: true,
                ..hames_agent::Limits::STANDARD
            },
        };
        let agents = Agents::new(services, None);
        let home = Home::with(None, Some(Arc::new(LiveCallers::new(&agents)))).unwrap();
        let mut spec = PluginSpec::new(PluginId::new("scribe"), guests::plain("scribe").unwrap());
        spec.grant.session = granted;
        spec.limits.appended_events = 5;
        let plugin = home.sandbox.load(spec).await.unwrap();
        tools.register(None, first_tool(&plugin).unwrap()).unwrap();
        let options = AgentOptions {
            provider: Some(ProviderId::new("script")),
            model: Some(ModelId::new("m")),
        };
        let options = StartOptions {
            options,
            ..StartOptions::default()
        };
        let agent = agents.start(options).await.unwrap();
        Self {
            _home: home,
            agents,
            agent,
        }
    }

    /// Runs one turn; what each call came to, as the model sees it.
    async fn turn(&self) -> Vec<String> {
        self.agent
            .send(Content::text("write"), SendOptions::default())
            .unwrap();
        self.agent.when_idle().await;
        self.results()
    }

    fn results(&self) -> Vec<String> {
        self.events()
            .iter()
            .filter_map(|event| match &event.data {
                EventData::Typed(EventBody::ToolResult(result)) => {
                    Some(result.content.joined_text().to_string())
                }
                EventData::Typed(_) | EventData::Kept(_) => None,
            })
            .collect()
    }

    fn events(&self) -> Vec<Arc<Event>> {
        let session = self.agents.services().sessions.get(self.agent.id()).unwrap();
        session.all_events()
    }
}

const ALL: SessionGrant = SessionGrant {
    read: true,
    append: true,
    todos: true,
    surface: true,
};

#[tokio::test]
async fn a_plugin_reads_the_session_whose_turn_it_runs_in() {
    let calls = vec![
        json!({ "what": "describe" }),
        json!({ "what": "read", "first": 0, "last": 2 }),
        json!({ "what": "read", "first": 0, "last": 1000, "text": "user/message" }),
        json!({ "what": "newest", "text": "tool/call" }),
        json!({ "what": "newest", "text": "nobody:kind" }),
        json!({ "what": "messages", "last": 100 }),
        json!({ "what": "messages", "last": 1 }),
        json!({ "what": "header" }),
    ];
    let world = World::with(ALL, calls).await;
    let results = world.turn().await;
    let events = world.events();
    let at = |kind: &str| -> Vec<u64> {
        let found = events.iter().filter(|event| event.kind() == kind);
        found.map(|event| event.seq.get()).collect()
    };
    let calls = at("tool/call");
    assert_eq!(results[0], format!("{} {}", world.agent.id(), calls[0] + 1));
    assert_eq!(results[1], "0,1 next Some(2)");
    assert_eq!(results[2], format!("{} next None", at("user/message")[0]));
    assert_eq!(results[3], format!("Some({})", calls[3]));
    assert_eq!(results[4], "None");
    // The prompt, and for each of the five steps before this one an answer and a result; this step's answer.
    assert_eq!(results[5], "12");
    assert_eq!(results[6], "1");
    assert_eq!(results[7], "true");
}

#[tokio::test]
async fn a_plugin_appends_its_own_kinds_and_no_others() {
    let calls = vec![
        json!({ "what": "note", "text": "first" }),
        json!({ "what": "append", "text": "other:note" }),
        json!({ "what": "append", "text": "user/message" }),
        json!({ "what": "append", "text": "todo/write" }),
        json!({ "what": "flood", "last": 100 }),
        json!({ "what": "todos" }),
    ];
    let world = World::with(ALL, calls).await;
    let results = world.turn().await;
    let events = world.events();
    let note = events.iter().find(|event| event.kind() == "scribe:note").unwrap();
    assert_eq!(results[0], note.seq.get().to_string());
    assert_eq!(
        serde_json::to_value(&note.data).unwrap(),
        json!({ "text": "first" })
    );
    for (at, word) in [(1, "other:note"), (2, "core"), (3, "core")] {
        assert!(results[at].starts_with("Error: "), "{}", results[at]);
        assert!(results[at].contains(word), "{}", results[at]);
    }
    assert_eq!(results[4], "5 of 100");
    assert!(!results[5].starts_with("Error"), "{}", results[5]);
    let notes = events
        .iter()
        .filter(|event| event.kind() == "scribe:note")
        .count();
    assert_eq!(notes, 6);
    assert!(events.iter().any(|event| event.kind() == "todo/write"));
}

#[tokio::test]
async fn a_plugin_replaces_what_the_model_sees() {
    let calls = vec![
        json!({ "what": "describe" }),
        json!({ "what": "shorten", "text": "the short of it" }),
    ];
    let world = World::with(ALL, calls).await;
    let results = world.turn().await;
    let events = world.events();
    let replaced = events
        .iter()
        .find(|event| event.seq.get().to_string() == results[1])
        .unwrap();
    assert_eq!(replaced.kind(), "user/message");
    let session = world.agents.services().sessions.get(world.agent.id()).unwrap();
    let texts: Vec<String> = session
        .derive()
        .unwrap()
        .iter()
        .map(|message| serde_json::to_string(&**message).unwrap())
        .collect();
    assert!(texts[0].contains("the short of it"), "{}", texts[0]);
    assert!(!texts.iter().any(|text| text.contains("\"write\"")), "{texts:?}");
    // A result of a call: only its content is another.
    let result = events.iter().find(|event| event.kind() == "tool/result").unwrap();
    let calls = vec![
        json!({ "what": "describe" }),
        json!({ "what": "replace_result", "first": result.seq.get(), "text": "…" }),
    ];
    let world = World::with(ALL, calls).await;
    let results = world.turn().await;
    assert!(!results[1].starts_with("Error"), "{results:?}");
    assert_eq!(results.iter().filter(|text| *text == "…").count(), 1);
}

#[tokio::test]
async fn a_replacement_that_does_not_fit_is_refused() {
    let calls = vec![
        json!({ "what": "replace", "first": 0, "last": 0, "text": "x" }),
        json!({ "what": "replace", "first": 9000, "last": 9001, "text": "x" }),
        json!({ "what": "replace_result", "first": 0, "text": "x" }),
        json!({ "what": "replace_result", "first": 9000, "text": "x" }),
    ];
    let world = World::with(ALL, calls).await;
    let before = world.turn().await;
    for refused in &before {
        assert!(refused.starts_with("Error: "), "{refused}");
    }
}

#[tokio::test]
async fn what_is_not_granted_of_a_session_is_refused() {
    let calls = vec![
        json!({ "what": "describe" }),
        json!({ "what": "read", "last": 1 }),
        json!({ "what": "newest", "text": "tool/call" }),
        json!({ "what": "messages", "last": 1 }),
        json!({ "what": "header" }),
        json!({ "what": "note", "text": "x" }),
        json!({ "what": "replace", "text": "x" }),
        json!({ "what": "replace_result", "text": "x" }),
    ];
    let granted = SessionGrant {
        todos: true,
        ..SessionGrant::default()
    };
    let world = World::with(granted, calls).await;
    for refused in world.turn().await {
        assert!(refused.ends_with("is not granted"), "{refused}");
    }
    let kinds: Vec<String> = world
        .events()
        .iter()
        .map(|event| event.kind().to_owned())
        .collect();
    assert!(!kinds.iter().any(|kind| kind == "scribe:note"), "{kinds:?}");
}
