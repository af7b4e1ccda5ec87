//! A real loop with a real adapter: one prompt, to its end.

use std::sync::Arc;

use async_trait::async_trait;
use hames_agent::listeners::Listeners;
use hames_agent::prompt::{PromptConfig, Prompts};
use hames_agent::retry::{Retry, RetryConfig};
use hames_agent::router::Router;
use hames_agent::tools::Tools;
use hames_agent::{Agent, AgentOptions, Agents, Limits, SendOptions, Services, StartOptions};
use hames_log::Sessions;
use hames_types::content::Content;
use hames_types::event::EventBody;
use hames_types::fault::Fault;
use hames_types::id::{ModelId, ProviderId};
use hames_types::json::{Extra, Json, to_json};
use hames_types::port::clock::FixedClock;
use hames_types::port::llm::Llm;
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::request::ToolSchema;
use hames_types::tool::{ToolCall, ToolDefinition, ToolOutput};
use serde_json::json;

/// A tool that always knows the weather.
struct Weather(ToolDefinition);

impl Weather {
    fn new() -> Self {
        let parameters =
            json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
        Self(ToolDefinition {
            schema: ToolSchema {
                name: "get_weather".into(),
                description: "Tells the weather of a city.".into(),
                parameters: Arc::new(parameters.as_object().unwrap().clone()),
                extra: Extra::NONE,
            },
            timeout_ms: None,
        })
    }
}

#[async_trait]
impl Tool for Weather {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn execute(&self, call: &ToolCall, _: &ToolRun) -> Result<ToolOutput, Fault> {
        Ok(ToolOutput::text(format!("sunny, asked with {}", call.arguments)))
    }
}

/// An agent whose model is `adapter`, trying again as `retry` says.
pub(super) async fn agent(
    adapter: impl Llm + 'static,
    model: &str,
    retry: RetryConfig,
    tools: bool,
) -> Arc<Agent> {
    let sessions = Sessions::new(Arc::new(FixedClock(0)));
    let listeners = Arc::new(Listeners::new());
    let policy = Retry::new(retry, sessions.clone(), Box::new(|| 0.5)).unwrap();
    let _installed = policy.install(&listeners);
    let router = Router::new();
    router
        .register(&[ProviderId::new("p")], Arc::new(adapter))
        .unwrap();
    let registry = Arc::new(Tools::new(Arc::clone(&listeners)));
    let prompts = Prompts::new(PromptConfig::default()).unwrap();
    prompts.tools(None, Arc::clone(&registry) as _).unwrap();
    if tools {
        registry.register(None, Arc::new(Weather::new())).unwrap();
    }
    let services = Services {
        sessions,
        listeners,
        tools: registry,
        prompts: Arc::new(prompts),
        router: Arc::new(router),
        limits: Limits {
            max_steps: 12,
            ..Limits::STANDARD
        },
    };
    let options = StartOptions {
        options: AgentOptions {
            provider: Some(ProviderId::new("p")),
            model: Some(ModelId::new(model)),
        },
        ..StartOptions::default()
    };
    Agents::new(services, None).start(options).await.unwrap()
}

/// What a turn came to.
#[derive(Debug)]
pub(super) struct Turn {
    /// All visible text.
    pub(super) text: String,
    /// All thinking.
    pub(super) reasoning: bool,
    /// Arguments of every call.
    pub(super) calls: Vec<String>,
    /// Delays of every retry.
    pub(super) retries: Vec<Json>,
    /// Why it ended.
    pub(super) end: Json,
}

pub(super) async fn turn(agent: &Agent, prompt: &str) -> Turn {
    agent.send(Content::text(prompt), SendOptions::default()).unwrap();
    agent.when_idle().await;
    let mut turn = Turn {
        text: String::new(),
        reasoning: false,
        calls: Vec::new(),
        retries: Vec::new(),
        end: Json::Null,
    };
    for event in agent.session().all_events() {
        let data = to_json(&event.data).unwrap();
        match event.body() {
            Some(EventBody::AssistantMessage(message)) => {
                turn.text.push_str(&message.content.joined_text());
                turn.reasoning |= data.to_string().contains("\"reasoning\"");
            }
            Some(EventBody::ToolCall(call)) => turn.calls.push(call.arguments.to_string()),
            Some(EventBody::TurnEnd(_)) => turn.end = data["reason"].clone(),
            Some(EventBody::Other(other)) if other.kind() == "llm/retry" => {
                turn.retries.push(data["delayMs"].clone());
            }
            Some(_) | None => {}
        }
    }
    turn
}
