//! How fast are sessions stored, loaded and listed?
//!
//! `cargo bench -p hames-store`; with `--bench store -- million` the load of a million events alone.

#![expect(clippy::expect_used, reason = "a benchmark that can't run stops")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use hames_store::{Backend, Batch, Compression, Database, Folder, Form};
use hames_types::event::Event;
use hames_types::header::SessionHeader;
use hames_types::id::{Seq, SessionId};
use tempfile::TempDir;

#[path = "made/sessions.rs"]
mod sessions;

use sessions::{chunky, stream};

fn header(name: &str) -> SessionHeader {
    SessionHeader::new(SessionId::new(name), 1_700_000_000_000)
}

fn put<B: Backend>(store: &mut B, name: &str, events: &[Arc<Event>]) {
    let header = header(name);
    let epoch = store.create(&header).expect("the id is free");
    let batch = Batch::check(&header, epoch, Seq::FIRST, events).expect("the events continue each other");
    store
        .append(&batch.expect("there are events"))
        .expect("there is space");
}

fn sqlite(folder: &TempDir) -> Database {
    Database::open(folder.path().join("sessions.db")).expect("a database")
}

fn frames(folder: &TempDir) -> Folder {
    Folder::open(folder.path(), Compression::Zstd, Form::Packed).expect("a folder")
}

fn lines(folder: &TempDir) -> Folder {
    Folder::open(folder.path(), Compression::Plain, Form::Plain).expect("a folder")
}

/// Everything of one kind of store.
fn kind<B: Backend>(bench: &mut Criterion, name: &str, open: fn(&TempDir) -> B) {
    let mut group = bench.benchmark_group(name);
    group.sample_size(10).warm_up_time(Duration::from_millis(500));

    let turn = stream(100_000);
    group.bench_function("persist a turn of 100,000 chunks", |bench| {
        let folder = TempDir::new().expect("a folder");
        let mut store = open(&folder);
        let mut number = 0;
        bench.iter_custom(|rounds| {
            let mut spent = Duration::ZERO;
            for _ in 0..rounds {
                number += 1;
                let name = format!("s{number}");
                let begun = Instant::now();
                put(&mut store, &name, &turn);
                spent += begun.elapsed();
                store.delete(&SessionId::new(name)).expect("it is there");
            }
            spent
        });
    });
    drop(turn);

    for (label, turns) in [("load 100,000 events", 2_000), ("load a million events", 20_000)] {
        group.bench_function(label, |bench| {
            let folder = TempDir::new().expect("a folder");
            let mut store = open(&folder);
            put(&mut store, "s", &chunky(turns));
            let id = SessionId::new("s");
            bench.iter_custom(|rounds| {
                let mut spent = Duration::ZERO;
                for _ in 0..rounds {
                    let begun = Instant::now();
                    let loaded = black_box(store.load(&id).expect("it is stored"));
                    spent += begun.elapsed();
                    assert_eq!(loaded.events.len(), turns * 50);
                }
                spent
            });
        });
    }

    group.bench_function("list 10,000 sessions", |bench| {
        let folder = TempDir::new().expect("a folder");
        let mut store = open(&folder);
        let turn = chunky(1);
        for number in 0..10_000 {
            put(&mut store, &format!("session-{number}"), &turn);
        }
        bench.iter(|| assert_eq!(store.list().expect("it is there").len(), 10_000));
    });
}

fn all(bench: &mut Criterion) {
    kind(bench, "sqlite", sqlite);
    kind(bench, "frames", frames);
    kind(bench, "lines", lines);
}

criterion_group!(benches, all);
criterion_main!(benches);
