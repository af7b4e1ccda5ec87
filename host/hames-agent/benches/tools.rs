//! What does one call of a tool that does nothing cost, from its arguments to its outcome?

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that can't set itself up can only stop"
)]

use std::hint::black_box;
use std::sync::Arc;

use async_trait::async_trait;
use criterion::{Criterion, criterion_group, criterion_main};
use hames_agent::listeners::Listeners;
use hames_agent::prompt::{PromptConfig, PromptContext, Prompts, render};
use hames_agent::repeat::{RepeatConfig, RepeatGuard};
use hames_agent::scope::Scope;
use hames_agent::tools::{Caller, ToolTimeouts, Tools, materialise};
use hames_log::Place;
use hames_types::fault::Fault;
use hames_types::id::{CallId, SessionId};
use hames_types::json::{Extra, JsonMap};
use hames_types::port::seam::Execute;
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::request::ToolSchema;
use hames_types::signal::Trigger;
use hames_types::tool::{ToolCall, ToolDefinition, ToolOutput};
use serde_json::json;

struct Nothing(ToolDefinition);

impl Nothing {
    fn called(name: String) -> Arc<Self> {
        let parameters: JsonMap = json!({"type": "object", "properties": {"path": {"type": "string"}}})
            .as_object()
            .cloned()
            .unwrap_or_default();
        Arc::new(Self(ToolDefinition {
            schema: ToolSchema {
                name: name.into(),
                description: "does nothing at all, and says so at some length".into(),
                parameters: Arc::new(parameters),
                extra: Extra::NONE,
            },
            timeout_ms: None,
        }))
    }
}

#[async_trait]
impl Tool for Nothing {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn execute(&self, _: &ToolCall, _: &ToolRun) -> Result<ToolOutput, Fault> {
        Ok(ToolOutput::text("ok"))
    }
}

/// Twenty tools, as an agent of this kind has.
fn tools(listeners: &Arc<Listeners>) -> Arc<Tools> {
    let tools = Arc::new(Tools::new(Arc::clone(listeners)));
    for number in 0..20 {
        tools
            .register(None, Nothing::called(format!("tool-{number}")))
            .unwrap();
    }
    tools
}

async fn call(tools: &Tools, scope: &Scope, trigger: &Trigger) {
    let call = ToolCall {
        call_id: CallId::new("call_0123456789"),
        name: "tool-7".into(),
        arguments: Arc::new(materialise("{\"path\":\"src/main.rs\",\"lines\":[1,20]}")),
        agent: Some(SessionId::new("main")),
        at: None,
        parent: None,
    };
    let caller = Caller {
        scope: Some(scope.key()),
        signal: trigger.signal(),
    };
    black_box(tools.call(call, caller).await);
}

fn benches(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let (scope, trigger) = (Scope::new(), Trigger::new());

    let bare = tools(&Arc::new(Listeners::new()));
    criterion.bench_function("a no-op call, nobody listens", |bencher| {
        bencher.iter(|| runtime.block_on(call(&bare, &scope, &trigger)));
    });

    let listeners = Arc::new(Listeners::new());
    listeners.add::<Execute>(None, Place::Last, Arc::new(ToolTimeouts));
    RepeatGuard::new(RepeatConfig::default())
        .unwrap()
        .install(&listeners);
    let guarded = tools(&listeners);
    criterion.bench_function("a no-op call, timeouts and repeat guard", |bencher| {
        bencher.iter(|| runtime.block_on(call(&guarded, &scope, &trigger)));
    });

    let listeners = Listeners::new();
    let prompts = Prompts::new(PromptConfig::default()).unwrap();
    prompts.tools(None, bare).unwrap();
    criterion.bench_function("assemble and render a prompt with 20 tools", |bencher| {
        let signal = trigger.signal();
        let context = PromptContext {
            agent: None,
            scope: Some(scope.key()),
            provider: None,
            model: None,
            cwd: Some("/work"),
            signal: &signal,
        };
        bencher.iter(|| {
            let assembly = runtime.block_on(prompts.assemble(&listeners, context)).unwrap();
            black_box(render(&assembly).unwrap());
        });
    });
}

criterion_group!(group, benches);
criterion_main!(group);
