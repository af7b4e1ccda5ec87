//! How soon are 20 plugins ready, compiled and from the cache?

use std::sync::Arc;
use std::time::{Duration, Instant};

use hames_plugin::{Cache, PluginSpec};
use hames_sandbox_tests::guests;
use hames_sandbox_tests::handmade::with_section;
use hames_sandbox_tests::home::Home;
use hames_types::id::PluginId;

use crate::median;

const PLUGINS: u8 = 20;
const RUNS: usize = 9;

async fn ready(home: &Home, plugins: &[Arc<[u8]>]) -> Duration {
    let begun = Instant::now();
    let loads: Vec<_> = plugins
        .iter()
        .map(|component| {
            let sandbox = home.sandbox.clone();
            let spec = PluginSpec::new(PluginId::new("hello"), Arc::clone(component));
            tokio::spawn(async move { sandbox.load(spec).await })
        })
        .collect();
    for load in loads {
        load.await.unwrap().unwrap();
    }
    begun.elapsed()
}

pub(crate) async fn run() {
    let hello = guests::wasip2("hello").unwrap();
    let plugins: Vec<Arc<[u8]>> = (0..PLUGINS)
        .map(|number| with_section(&hello, "number", &[number]))
        .collect();
    let (mut cold, mut cached) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let folder = tempfile::tempdir().unwrap();
        let open = || Cache::open(folder.path().join("compiled")).unwrap();
        cold.push(ready(&Home::with(Some(open()), None).unwrap(), &plugins).await);
        cached.push(ready(&Home::with(Some(open()), None).unwrap(), &plugins).await);
    }
    println!("\n| {PLUGINS} plugins of {} KiB ready | ms |", hello.len() >> 10);
    println!("|---|---|");
    println!("| compiled | {:.1} |", median(&mut cold).as_secs_f64() * 1e3);
    println!(
        "| from the cache | {:.1} |",
        median(&mut cached).as_secs_f64() * 1e3
    );
}
