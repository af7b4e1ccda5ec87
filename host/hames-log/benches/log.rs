//! How fast are an append, a cold derivation, a construction from decoded events and a header fold?
//!
//! `cargo bench -p hames-log --bench log`. What came of it stands in `README.md` beside this file.

#![expect(clippy::expect_used, reason = "a benchmark that can't run stops")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use cpu_time::ThreadTime;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use hames_log::header::fold_header;
use hames_log::project;
use hames_log::surface::Surface;
use hames_log::{Draft, Log, SessionMeta, Sessions};
use hames_types::event::Event;
use hames_types::json::{Json, to_json};
use hames_types::port::clock::FixedClock;
use serde_json::json;

/// The thread's own time: on a machine that others use too, the clock tells more about them.
struct CpuTime;

impl Measurement for CpuTime {
    type Intermediate = ThreadTime;
    type Value = Duration;

    fn start(&self) -> ThreadTime {
        ThreadTime::now()
    }

    fn end(&self, begin: ThreadTime) -> Duration {
        begin.elapsed()
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        WallTime.to_f64(value)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

/// How many events a log has.
const EVENTS: usize = 100_000;

fn draft(kind: &str, data: Json, is_message: bool) -> Draft {
    Draft::read(kind, data, is_message.then(|| json!("append")), None).expect("the events are well formed")
}

fn text(text: &str) -> Json {
    json!([{"type": "text", "text": text}])
}

/// One turn of one step with that many deltas: six events and the deltas.
fn turn(number: u64, deltas: usize) -> Vec<Draft> {
    let mark = json!({"turn": number, "step": 1});
    let source = json!({"kind": "user"});
    let trigger = json!({"kind": "message", "source": source});
    let mut drafts = vec![
        draft("turn/start", json!({"turn": number, "trigger": trigger}), false),
        draft(
            "user/message",
            json!({"content": text("a prompt of some words"), "source": source}),
            true,
        ),
        draft("step/start", mark.clone(), false),
    ];
    let delta = json!({"type": "text-delta", "index": 0, "text": "word"});
    let chunk = json!({"turn": number, "step": 1, "chunk": delta});
    drafts.extend((0..deltas).map(|_| draft("assistant/chunk", chunk.clone(), false)));
    let answer = "word".repeat(deltas.max(1));
    let provenance = json!({"provider": "mock", "model": "m1"});
    let answer = json!({"turn": number, "step": 1, "content": text(&answer), "provenance": provenance});
    drafts.push(draft("assistant/message", answer, true));
    drafts.push(draft("step/end", mark, false));
    drafts.push(draft(
        "turn/end",
        json!({"turn": number, "reason": {"kind": "completed"}}),
        false,
    ));
    drafts
}

/// A log of about [`EVENTS`] events: few long turns or many short ones.
fn events(deltas: usize) -> Vec<Arc<Event>> {
    let mut log = Log::new();
    for number in 1.. {
        if log.len() + deltas + 6 > EVENTS {
            break;
        }
        for draft in turn(number, deltas) {
            log.append(draft, 1_700_000_000_000)
                .expect("the events fit the log");
        }
    }
    log.events().to_vec()
}

fn append(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("append");
    // A hundred turns in one iteration, so that taking turns and growing the list are in the mean.
    let turns = 100;
    let drafts: Vec<Draft> = (1..=turns).flat_map(|number| turn(number, 44)).collect();
    group.throughput(Throughput::Elements(drafts.len() as u64));
    group.bench_function("to a bare log", |bencher| {
        bencher.iter_batched(
            || drafts.clone(),
            |drafts| {
                let mut log = Log::new();
                for draft in drafts {
                    log.append(draft, 0).expect("the events fit the log");
                }
                log
            },
            BatchSize::LargeInput,
        );
    });
    group.bench_function("to a live session", |bencher| {
        bencher.iter_batched(
            || drafts.clone(),
            |drafts| {
                let sessions = Sessions::new(Arc::new(FixedClock(0)));
                let session = sessions
                    .create(None, SessionMeta::default(), Log::new())
                    .expect("the session is new");
                for draft in drafts {
                    session.append(draft).expect("the events obey the rules");
                }
                session
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

fn derive(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("cold derivation");
    for (name, deltas) in [("chunky", 44), ("dense", 0)] {
        let log = Log::from_events(events(deltas)).expect("the events are a seed");
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || log.clone(),
                |log| log.derive().expect("the history is sound").len(),
                BatchSize::LargeInput,
            );
        });
        group.bench_function(format!("{name}, by the pure fold"), |bencher| {
            bencher.iter(|| project::derive(black_box(log.surface()), log.events()));
        });
        let mut warm = log.clone();
        warm.derive().expect("the history is sound");
        group.bench_function(format!("{name}, warm"), |bencher| {
            bencher.iter(|| black_box(&mut warm).derive().expect("the history is sound").len());
        });
    }
    group.finish();
}

fn construction(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("construction");
    group.sample_size(20);
    for (name, deltas) in [("chunky", 44), ("dense", 0)] {
        let events = events(deltas);
        group.bench_function(format!("{name}, from decoded events"), |bencher| {
            bencher.iter_batched(
                || events.clone(),
                |events| Log::from_events(events).expect("the events are a seed"),
                BatchSize::LargeInput,
            );
        });
        let records = to_json(&events).expect("events encode");
        let records = records.as_array().cloned().unwrap_or_default();
        group.bench_function(format!("{name}, from JSON values"), |bencher| {
            bencher.iter_batched(
                || records.clone(),
                |records| Log::from_records(records).expect("the records are a seed"),
                BatchSize::LargeInput,
            );
        });
        group.bench_function(format!("{name}, surface alone"), |bencher| {
            bencher.iter(|| Surface::fold(black_box(&events)).expect("the events are a seed"));
        });
    }
    group.finish();
}

fn header(criterion: &mut Criterion<CpuTime>) {
    let mut log = Log::new();
    let tools: Vec<Json> = (0..20)
        .map(|number| {
            let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
            json!({"name": format!("tool-{number}"), "description": "does something", "parameters": parameters})
        })
        .collect();
    for turn in 0..1_000 {
        let config = json!({"provider": "mock", "model": format!("m{}", turn % 2)});
        let header = json!({"config": config, "system": "You are an agent.", "tools": tools});
        let logged = json!({"header": header, "reason": if turn == 0 { "initial" } else { "change" }});
        log.append(draft("request/header", logged, false), 0)
            .expect("the events fit the log");
        for _ in 0..99 {
            log.append(draft("plugin/thing", json!({}), false), 0)
                .expect("the events fit the log");
        }
    }
    criterion.bench_function("header fold of 100,000 events with 1,000 headers", |bencher| {
        bencher.iter(|| fold_header(black_box(log.events())).expect("every header is one"));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = append, derive, construction, header
}
criterion_main!(benches);
