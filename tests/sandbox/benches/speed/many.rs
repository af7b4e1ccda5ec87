//! How many calls does a process make in a second, 16 at once?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use hames_sandbox_tests::guests;
use hames_sandbox_tests::home::{Home, first_tool};

use crate::call::{Pipeline, arguments};
use crate::micros;

const CALLS: usize = 10_000;
const AT_ONCE: usize = 16;

pub(crate) async fn run() {
    let home = Home::new().unwrap();
    let plugin = home.load("hello", guests::plain("hello").unwrap()).await.unwrap();
    let pipeline = Arc::new(Pipeline::with(first_tool(&plugin).unwrap()));
    let left = Arc::new(AtomicUsize::new(CALLS));
    let begun = Instant::now();
    let callers: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (pipeline, left) = (Arc::clone(&pipeline), Arc::clone(&left));
            tokio::spawn(async move {
                let take =
                    || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
                while take().is_ok() {
                    pipeline.call(arguments()).await;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    let took = begun.elapsed();
    println!("\n| {CALLS} calls of 1 KB, {AT_ONCE} at once | |");
    println!("|---|---|");
    println!("| in all | {:.0} ms |", took.as_secs_f64() * 1e3);
    println!("| each | {:.1} µs |", micros(took) / CALLS as f64);
    println!("| in a second | {:.0} |", CALLS as f64 / took.as_secs_f64());
}
