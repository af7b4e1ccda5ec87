//! What do chunks, turns and idle agents cost, with nobody listening and no store?
//!
//! Plain figures, because growth and memory are asked as well: `cargo bench -p hames-agent --bench turns`.
//! Compare processor time when the machine is busy; the reference's figures are beside each line.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that can't set itself up can only stop, and what it finds it prints"
)]

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream;
use hames_agent::listeners::Listeners;
use hames_agent::prompt::{PromptConfig, Prompts};
use hames_agent::router::Router;
use hames_agent::tools::Tools;
use hames_agent::{Agent, AgentOptions, Agents, Limits, SendOptions, Services, StartOptions};
use hames_log::Sessions;
use hames_types::chunk::{FinishReason, StreamChunk};
use hames_types::content::Content;
use hames_types::id::{ModelId, ProviderId};
use hames_types::port::clock::FixedClock;
use hames_types::port::llm::{ChunkStream, Llm};
use hames_types::request::Request;
use hames_types::signal::Signal;

/// Answers with so many text deltas of four characters.
struct Prepared {
    deltas: usize,
}

impl Llm for Prepared {
    fn stream(&self, _: Request, _: Signal) -> ChunkStream {
        let opening = [StreamChunk::block_start(0, "text")];
        let deltas = (0..self.deltas).map(|_| StreamChunk::text_delta(0, "abcd"));
        let end = [StreamChunk::finish(FinishReason::STOP, None)];
        Box::pin(stream::iter(opening.into_iter().chain(deltas).chain(end).map(Ok)))
    }
}

fn agents(deltas: usize) -> Arc<Agents> {
    let listeners = Arc::new(Listeners::new());
    let tools = Arc::new(Tools::new(Arc::clone(&listeners)));
    let prompts = Prompts::new(PromptConfig::default()).unwrap();
    let router = Router::new();
    router
        .register(&[ProviderId::new("mock")], Arc::new(Prepared { deltas }))
        .unwrap();
    let services = Services {
        sessions: Sessions::new(Arc::new(FixedClock(0))),
        listeners,
        tools,
        prompts: Arc::new(prompts),
        router: Arc::new(router),
        limits: Limits::STANDARD,
    };
    Agents::new(services, None)
}

fn start() -> StartOptions {
    let options = AgentOptions {
        provider: Some(ProviderId::new("mock")),
        model: Some(ModelId::new("m")),
    };
    StartOptions {
        options,
        ..StartOptions::default()
    }
}

async fn say(agent: &Arc<Agent>) {
    agent.send(Content::text("go"), SendOptions::default()).unwrap();
    agent.when_idle().await;
}

/// Wall and processor time of some work, in this thread alone.
struct Watch {
    wall: Instant,
    cpu: Duration,
}

impl Watch {
    fn start() -> Self {
        Self {
            wall: Instant::now(),
            cpu: cpu(),
        }
    }

    fn read(&self) -> (Duration, Duration) {
        (self.wall.elapsed(), cpu().saturating_sub(self.cpu))
    }
}

/// Processor time of this thread, as the kernel counts it.
fn cpu() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = stat
        .split_whitespace()
        .next()
        .and_then(|field| field.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

/// Resident memory of this process, in bytes.
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap_or_default();
    let kib: u64 = line
        .split_whitespace()
        .nth(1)
        .and_then(|field| field.parse().ok())
        .unwrap_or_default();
    kib * 1024
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

async fn chunks() {
    const CHUNKS: usize = 100_000;
    let (mut walls, mut cpus) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let agents = agents(CHUNKS);
        let agent = agents.start(start()).await.unwrap();
        let watch = Watch::start();
        say(&agent).await;
        let (wall, cpu) = watch.read();
        walls.push(wall);
        cpus.push(cpu);
        agents.close().await;
    }
    let (wall, cpu) = (median(walls), median(cpus));
    println!(
        "a turn of {CHUNKS} chunks: {:.1} ms wall, {:.1} ms processor (reference: 540 and 670); {:.0} and {:.0} times",
        ms(wall),
        ms(cpu),
        540.0 / ms(wall),
        670.0 / ms(cpu),
    );
}

async fn turns() {
    const TURNS: usize = 2_000;
    const PART: usize = 200;
    let agents = agents(3);
    let agent = agents.start(start()).await.unwrap();
    let mut parts = Vec::new();
    let whole = Watch::start();
    for _ in 0..TURNS / PART {
        let mut each = Vec::new();
        for _ in 0..PART {
            let begin = Instant::now();
            say(&agent).await;
            each.push(begin.elapsed());
        }
        parts.push(median(each));
    }
    let (wall, cpu) = whole.read();
    let per_turn = |part: Option<&Duration>| part.map_or(0.0, |part| ms(*part) * 1000.0);
    println!(
        "{TURNS} one-step turns: {:.1} ms wall, {:.1} ms processor (reference: 2330 and 2490); {:.0} and {:.0} times",
        ms(wall),
        ms(cpu),
        2330.0 / ms(wall),
        2490.0 / ms(cpu),
    );
    println!(
        "  median wall time a turn: first {PART} {:.1} µs, last {PART} {:.1} µs (reference: 350 and 2320)",
        per_turn(parts.first()),
        per_turn(parts.last()),
    );
    agents.close().await;
}

async fn idle() {
    const AGENTS: usize = 200;
    let agents = agents(3);
    let warm = agents.start(start()).await.unwrap();
    say(&warm).await;
    let before = resident_bytes();
    let watch = Watch::start();
    let mut live = Vec::new();
    for _ in 0..AGENTS {
        live.push(agents.start(start()).await.unwrap());
    }
    let (wall, _) = watch.read();
    let never_run = resident_bytes().saturating_sub(before);
    for agent in &live {
        say(agent).await;
    }
    let after_one = resident_bytes().saturating_sub(before);
    println!(
        "{AGENTS} idle agents: {:.1} KiB each never run, {:.1} KiB after one turn (reference: 113 and 164); started in {:.1} ms (reference: 74)",
        kib(never_run) / AGENTS as f64,
        kib(after_one) / AGENTS as f64,
        ms(wall),
    );
    agents.close().await;
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn kib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        idle().await;
        chunks().await;
        turns().await;
    });
}
