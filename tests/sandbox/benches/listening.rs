//! What does a component that listens cost? A pre-execute listener per tool call, in a chain of one and of five; and
//! a filtered observer per chunk it isn't told of, in instructions (needs valgrind).
//!
//! `cargo bench -p hames-sandbox-tests --bench listening [-- decide|chunks]`

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that can't set itself up can only stop, and says what it found"
)]

use std::hint::black_box;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use hames_agent::listeners::Listeners;
use hames_agent::tools::{Caller, Tools};
use hames_log::{Draft, Log, Place, SessionMeta, Sessions};
use hames_plugin::{Capacity, Plugin, PluginSpec, Sandbox};
use hames_sandbox_tests::home::Home;
use hames_sandbox_tests::listening::{Does, Listening};
use hames_types::chunk::StreamChunk;
use hames_types::event::{AssistantChunk, EventBody, StepMark, TurnStart};
use hames_types::fault::Fault;
use hames_types::id::{CallId, PluginId, SessionId, StepNo, TurnNo};
use hames_types::json::{Extra, JsonMap};
use hames_types::message::MessageSource;
use hames_types::port::clock::FixedClock;
use hames_types::port::registration::Registration;
use hames_types::port::seam::PreExecute;
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::request::ToolSchema;
use hames_types::signal::Signal;
use hames_types::tool::{ToolCall, ToolDefinition, ToolOutput};
use hames_types::turn::TurnTrigger;
use serde_json::json;

/// Calls in one measurement.
const CALLS: usize = 2_000;

/// Chunks in one measurement.
const CHUNKS: usize = 100_000;

/// The most that a listener may add to a call, in microseconds.
const GOAL_US: f64 = 40.0;

/// The most that an observer may add to a chunk it isn't told of, in hundredths.
const GOAL_PERCENT: f64 = 5.0;

fn main() {
    let asked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let wants = |part: &str| asked.is_empty() || asked.iter().any(|word| word == part);
    match asked.first().map(String::as_str) {
        Some("append-alone") => return append(None),
        Some("append-observed") => return append(Some(&observer())),
        Some(_) | None => {}
    }
    if wants("decide") {
        runtime().block_on(decide());
    }
    if wants("chunks") {
        chunks();
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

async fn load(sandbox: &Sandbox, interface: &'static str, does: Does) -> Plugin {
    let made = Listening::at(interface, does);
    let spec = PluginSpec::new(PluginId::new("made"), made.component("made").unwrap());
    sandbox.load(spec).await.unwrap()
}

/// Answers at once.
struct Nothing(ToolDefinition);

#[async_trait::async_trait]
impl Tool for Nothing {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    async fn execute(&self, _: &ToolCall, _: &ToolRun) -> Result<ToolOutput, Fault> {
        Ok(ToolOutput::text("ok"))
    }
}

fn nothing() -> Arc<dyn Tool> {
    Arc::new(Nothing(ToolDefinition {
        schema: ToolSchema {
            name: "t".into(),
            description: "does nothing".into(),
            parameters: Arc::new(JsonMap::new()),
            extra: Extra::NONE,
        },
        timeout_ms: None,
    }))
}

/// Median of a call through the whole pipeline, in microseconds.
async fn median_call(listeners: &Arc<Listeners>) -> f64 {
    let tools = Tools::new(Arc::clone(listeners));
    tools.register(None, nothing()).unwrap();
    let mut times = Vec::with_capacity(CALLS);
    for at in 0..CALLS {
        let call = ToolCall {
            call_id: CallId::new(format!("c{at}")),
            name: "t".into(),
            arguments: Arc::new(json!({ "path": "src/lib.rs", "limit": 100 })),
            agent: Some(SessionId::new("s")),
            at: Some((TurnNo::FIRST, StepNo::FIRST)),
            parent: None,
        };
        let caller = Caller {
            scope: None,
            signal: Signal::never(),
        };
        let begun = Instant::now();
        black_box(tools.call(call, caller).await);
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    times
        .get(CALLS / 2)
        .map_or(0.0, |median| median.as_secs_f64() * 1e6)
}

async fn decide() {
    let home = Home::new().unwrap();
    let plugin = load(&home.sandbox, "on-pre-execute", Does::Delegate).await;
    let listener = plugin.listeners().into_iter().find_map(|found| {
        if let Registration::PreExecute(listener) = found {
            return Some(listener);
        }
        None
    });
    let listener = listener.unwrap();
    let bare = median_call(&Arc::new(Listeners::new())).await;
    println!("a call without listeners: {bare:.1} us");
    for length in [1_u8, 5] {
        let listeners = Arc::new(Listeners::new());
        for _ in 0..length {
            listeners.add::<PreExecute>(None, Place::Last, Arc::clone(&listener));
        }
        let all = median_call(&listeners).await - bare;
        let each = all / f64::from(length);
        let verdict = if each < GOAL_US { "in time" } else { "too slow" };
        println!(
            "a chain of {length} pre-execute listeners adds {all:.1} us, {each:.1} us each ({verdict}: {GOAL_US} us each)"
        );
    }
}

/// The one function that callgrind watches.
#[inline(never)]
fn measured(work: &mut dyn FnMut()) {
    black_box(&work);
    work();
}

/// A plugin that observes other kinds, loaded on a thread of its own: guests run on stacks of their own, and callgrind
/// loses count of the thread that switches to one.
fn observer() -> Plugin {
    let load = || {
        // Valgrind has little address space to give.
        let capacity = Capacity { calls: 1, waiting: 0 };
        let home = Home::with_capacity(capacity).unwrap();
        runtime().block_on(load(&home.sandbox, "on-session-event", Does::Answer(Vec::new())))
    };
    std::thread::spawn(load).join().unwrap()
}

/// Appends chunks to a published session, alone or with an observer.
fn append(observer: Option<&Plugin>) {
    let sessions = Sessions::new(Arc::new(FixedClock(0)));
    let session = sessions.create(None, SessionMeta::default(), Log::new()).unwrap();
    for found in observer.map(Plugin::listeners).unwrap_or_default() {
        if let Registration::SessionEvent(observer) = found {
            let kinds = observer.kinds().unwrap();
            sessions.on_kinds().add(&kinds, None, Place::Last, observer);
        }
    }
    let (turn, step) = (TurnNo::FIRST, StepNo::FIRST);
    let open = [
        EventBody::TurnStart(TurnStart {
            turn,
            trigger: TurnTrigger::message(MessageSource::USER),
            extra: Extra::NONE,
        }),
        EventBody::StepStart(StepMark {
            turn,
            step,
            extra: Extra::NONE,
        }),
    ];
    for body in open {
        session.append(Draft::log_only(body)).unwrap();
    }
    measured(&mut || {
        for _ in 0..CHUNKS {
            let chunk = EventBody::AssistantChunk(AssistantChunk {
                turn,
                step,
                chunk: StreamChunk::text_delta(0, "hello"),
                extra: Extra::NONE,
            });
            session.append(Draft::log_only(chunk)).unwrap();
        }
    });
    black_box(session.len());
}

/// Instructions of the appends.
fn count(work: &str) -> Option<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect={}::measured", module_path!()))
        .arg(std::env::current_exe().ok()?)
        .arg(work)
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let counted = said
        .lines()
        .filter(|_| output.status.success())
        .find_map(|line| line.split("Collected :").nth(1))
        .and_then(|number| number.trim().parse().ok());
    if counted.is_none() {
        println!("{said}");
    }
    counted
}

fn chunks() {
    let (Some(alone), Some(observed)) = (count("append-alone"), count("append-observed")) else {
        println!("instructions can't be counted here; is valgrind installed?");
        return;
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "a ratio of two counts far below the loss"
    )]
    let more = (observed as f64 / alone.max(1) as f64 - 1.0) * 100.0;
    let verdict = if more < GOAL_PERCENT { "within" } else { "over" };
    println!(
        "{CHUNKS} chunks take {alone} instructions alone and {observed} with an observer of other kinds: \
         {more:.1} % more ({verdict} {GOAL_PERCENT} %)"
    );
}
