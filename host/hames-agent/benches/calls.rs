//! What does one call of a tool that does nothing cost inside the loop, log included?
//!
//! *Batch*: one answer with 1,000 calls, from that answer's event to the last result. *Steps*: 1,000 answers with one
//! call each in one turn, the whole turn. Both are told per 1,000 calls.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that can't set itself up can only stop"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::stream;
use hames_agent::listeners::Listeners;
use hames_agent::prompt::{PromptConfig, Prompts};
use hames_agent::router::Router;
use hames_agent::tools::Tools;
use hames_agent::{AgentOptions, Agents, Limits, SendOptions, Services, StartOptions};
use hames_log::{Place, Sessions};
use hames_types::chunk::StreamChunk;
use hames_types::content::Content;
use hames_types::fault::Fault;
use hames_types::id::{ModelId, ProviderId};
use hames_types::json::{Extra, FromJson, Json, JsonMap};
use hames_types::port::clock::FixedClock;
use hames_types::port::listener::Observe;
use hames_types::port::llm::{ChunkStream, Llm};
use hames_types::port::notice::SessionEvent;
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::request::{Request, ToolSchema};
use hames_types::signal::Signal;
use hames_types::tool::{ExecutionMode, ToolCall, ToolDefinition, ToolOutput};
use parking_lot::Mutex;
use serde_json::json;

/// Calls in one measurement.
const CALLS: usize = 1_000;

struct Nothing {
    definition: ToolDefinition,
    mode: ExecutionMode,
}

#[async_trait]
impl Tool for Nothing {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn classify(&self, _: &Json) -> Result<ExecutionMode, Fault> {
        Ok(self.mode)
    }

    async fn execute(&self, _: &ToolCall, _: &ToolRun) -> Result<ToolOutput, Fault> {
        Ok(ToolOutput::text("ok"))
    }
}

/// Answers with so many calls for so many times, then with nothing.
struct Script {
    calls: usize,
    answers: AtomicUsize,
}

fn chunk(value: Json) -> Result<StreamChunk, Fault> {
    Ok(StreamChunk::from_json(value).unwrap())
}

impl Llm for Script {
    fn stream(&self, _: Request, _: Signal) -> ChunkStream {
        let left = self.answers.load(Ordering::Relaxed);
        if left == 0 {
            let finish = chunk(json!({"type": "finish", "reason": {"kind": "stop"}}));
            return Box::pin(stream::iter([finish]));
        }
        self.answers.store(left - 1, Ordering::Relaxed);
        let calls = (0..self.calls).flat_map(move |index| {
            let block = json!({"type": "tool-call", "id": format!("c{left}-{index}"), "name": "t", "arguments": "{}"});
            [
                chunk(json!({"type": "block-start", "index": index, "blockType": "tool-call"})),
                chunk(json!({"type": "block-end", "index": index, "block": block})),
            ]
        });
        let finish = chunk(json!({"type": "finish", "reason": {"kind": "tool-calls"}}));
        let chunks: Vec<_> = calls.chain([finish]).collect();
        Box::pin(stream::iter(chunks))
    }
}

/// Takes the time between the answer and the last result.
#[derive(Default)]
struct Watch(Mutex<(Option<Instant>, Duration)>);

impl Observe<SessionEvent> for Watch {
    fn observe(&self, notice: &SessionEvent) -> Result<(), Fault> {
        let mut times = self.0.lock();
        match notice.event.kind() {
            "assistant/message" if times.0.is_none() => times.0 = Some(Instant::now()),
            "tool/result" => {
                if let Some(begin) = times.0 {
                    times.1 = begin.elapsed();
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// One turn; the time of its batch and its whole time.
async fn turn(calls: usize, answers: usize, mode: ExecutionMode) -> (Duration, Duration) {
    let listeners = Arc::new(Listeners::new());
    let tools = Arc::new(Tools::new(Arc::clone(&listeners)));
    let definition = ToolDefinition {
        schema: ToolSchema {
            name: "t".into(),
            description: "nothing".into(),
            parameters: Arc::new(JsonMap::new()),
            extra: Extra::NONE,
        },
        timeout_ms: None,
    };
    tools
        .register(None, Arc::new(Nothing { definition, mode }))
        .unwrap();
    let prompts = Prompts::new(PromptConfig::default()).unwrap();
    prompts.tools(None, Arc::clone(&tools) as _).unwrap();
    let (router, provider) = (Router::new(), ProviderId::new("mock"));
    let script = Script {
        calls,
        answers: AtomicUsize::new(answers),
    };
    router
        .register(std::slice::from_ref(&provider), Arc::new(script))
        .unwrap();
    let sessions = Sessions::new(Arc::new(FixedClock(0)));
    let watch = Arc::new(Watch::default());
    sessions
        .on_event()
        .add(None, Place::Last, Arc::clone(&watch) as _);
    let services = Services {
        sessions,
        listeners,
        tools,
        prompts: Arc::new(prompts),
        router: Arc::new(router),
        limits: Limits {
            max_steps: u64::MAX,
            ..Limits::STANDARD
        },
    };
    let agents = Agents::new(services, None);
    let options = AgentOptions {
        provider: Some(provider),
        model: Some(ModelId::new("m")),
    };
    let start = StartOptions {
        options,
        ..StartOptions::default()
    };
    let agent = agents.start(start).await.unwrap();
    let begin = Instant::now();
    agent.send(Content::text("go"), SendOptions::default()).unwrap();
    agent.when_idle().await;
    let whole = begin.elapsed();
    agents.close().await;
    let batch = watch.0.lock().1;
    (batch, whole)
}

fn benches(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let mut group = criterion.benchmark_group("1,000 no-op calls");
    group.sample_size(20);
    for (name, mode) in [
        ("batch, exclusive", ExecutionMode::Exclusive),
        ("batch, parallel, cap 10", ExecutionMode::Parallel),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|rounds| {
                (0..rounds)
                    .map(|_| runtime.block_on(turn(CALLS, 1, mode)).0)
                    .sum()
            });
        });
    }
    group.bench_function("steps", |bencher| {
        let mode = ExecutionMode::Exclusive;
        bencher.iter_custom(|rounds| {
            (0..rounds)
                .map(|_| runtime.block_on(turn(1, CALLS, mode)).1)
                .sum()
        });
    });
    group.finish();
}

criterion_group!(group, benches);
criterion_main!(group);
