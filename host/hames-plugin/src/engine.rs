//! How does WebAssembly run here? One engine for all plugins: its pool, its features and its ticking.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, Thread};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::{Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::limits::{Capacity, MAX_MEMORY, TICK};

/// The engine, shared by all plugins of a process. A clone is the same engine.
#[derive(Clone)]
pub(crate) struct Engine(Arc<Inner>);

/// Whether what is compiled counts what it computes. That costs it up to a third of its speed, so it is an engine of
/// its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fuel {
    Uncounted,
    Counted,
}

impl Fuel {
    /// What a plugin needs: what decides is counted, so that a decision tells what it cost, and what is limited.
    pub(crate) const fn for_a_plugin(decides: bool, limit: Option<u64>) -> Self {
        if decides || limit.is_some() {
            Self::Counted
        } else {
            Self::Uncounted
        }
    }
}

struct Inner {
    wasm: wasmtime::Engine,
    fuel: Fuel,
    places: Arc<Semaphore>,
    /// Where calls wait for others: apart from the places, so that those they wait for find one.
    rooms: Arc<Semaphore>,
    ticker: Ticker,
}

/// The thread that moves the epoch on while calls are in flight, and sleeps while none is.
struct Ticker {
    thread: Thread,
    state: Arc<TickerState>,
}

#[derive(Default)]
struct TickerState {
    calls: AtomicUsize,
    ended: AtomicBool,
}

impl Engine {
    /// Reserves the pool and starts ticking.
    ///
    /// # Errors
    /// If the address space or the ticking thread can't be had.
    pub(crate) fn new(capacity: Capacity, fuel: Fuel) -> wasmtime::Result<Self> {
        let wasm = wasmtime::Engine::new(&config(capacity, fuel))?;
        let ticker = Ticker::start(&wasm)?;
        Ok(Self(Arc::new(Inner {
            wasm,
            fuel,
            places: Arc::new(Semaphore::new(capacity.calls as usize)),
            rooms: Arc::new(Semaphore::new(capacity.waiting as usize)),
            ticker,
        })))
    }

    /// The same settings without anything that runs: for compiling alone.
    ///
    /// # Errors
    /// If this machine can't run such an engine.
    pub(crate) fn compiler(fuel: Fuel) -> wasmtime::Result<wasmtime::Engine> {
        wasmtime::Engine::new(&config(Capacity::default(), fuel))
    }

    /// Wasmtime's side of it.
    pub(crate) fn wasm(&self) -> &wasmtime::Engine {
        &self.0.wasm
    }

    /// Whether what runs in it is counted.
    pub(crate) fn fuel(&self) -> Fuel {
        self.0.fuel
    }

    /// A place for a call; waits while all are taken.
    pub(crate) async fn place(&self) -> Option<Place> {
        let permit = Arc::clone(&self.0.places).acquire_owned().await.ok()?;
        Some(Place {
            engine: self.clone(),
            ticking: Some(self.ticking()),
            permit,
        })
    }

    /// A place for a call if one is free.
    pub(crate) fn try_place(&self) -> Option<Place> {
        let permit = Arc::clone(&self.0.places).try_acquire_owned().ok()?;
        Some(Place {
            engine: self.clone(),
            ticking: Some(self.ticking()),
            permit,
        })
    }

    fn ticking(&self) -> Ticking {
        let ticker = &self.0.ticker;
        if ticker.state.calls.fetch_add(1, Ordering::AcqRel) == 0 {
            ticker.thread.unpark();
        }
        Ticking(Arc::clone(&ticker.state))
    }
}

/// A place in the pool, for as long as a call is in flight.
pub(crate) struct Place {
    engine: Engine,
    permit: OwnedSemaphorePermit,
    /// While the call computes.
    ticking: Option<Ticking>,
}

impl Place {
    /// Makes it a room, for a call that waits for others and computes nothing; waits while all rooms are taken. Says
    /// whether there was one.
    ///
    /// A call that has a room never waits for a place again: so places come free in bounded time whoever waits in
    /// the rooms, and those they wait for get one.
    pub(crate) async fn step_aside(&mut self) -> bool {
        let Ok(room) = Arc::clone(&self.engine.0.rooms).acquire_owned().await else {
            return false;
        };
        self.permit = room;
        self.ticking = None;
        true
    }

    /// Goes on computing, in the room.
    pub(crate) fn go_on(&mut self) {
        self.ticking = Some(self.engine.ticking());
    }
}

/// Keeps the epoch moving.
struct Ticking(Arc<TickerState>);

impl Drop for Ticking {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Ticker {
    fn start(wasm: &wasmtime::Engine) -> std::io::Result<Self> {
        let state = Arc::<TickerState>::default();
        let seen = Arc::downgrade(&state);
        let weak = wasm.weak();
        let handle = thread::Builder::new()
            .name("hames-epoch".to_owned())
            .spawn(move || tick(&seen, &weak))?;
        Ok(Self {
            thread: handle.thread().clone(),
            state,
        })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        // Not joined: the thread may be the last to hold the state for a tick, and nobody waits for it.
        self.state.ended.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

fn tick(state: &Weak<TickerState>, wasm: &wasmtime::EngineWeak) {
    loop {
        let Some(state) = state.upgrade() else { return };
        if state.ended.load(Ordering::Acquire) {
            return;
        }
        if state.calls.load(Ordering::Acquire) == 0 {
            drop(state);
            thread::park();
            continue;
        }
        drop(state);
        thread::sleep(TICK);
        match wasm.upgrade() {
            Some(wasm) => wasm.increment_epoch(),
            None => return,
        }
    }
}

fn config(capacity: Capacity, fuel: Fuel) -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(fuel == Fuel::Counted)
        .epoch_interruption(true)
        // A listener's answer must be the same everywhere.
        .relaxed_simd_deterministic(true)
        .cranelift_nan_canonicalization(true)
        // Formatting a backtrace costs milliseconds and a guest decides how often.
        .wasm_backtrace_max_frames(None)
        .generate_address_map(false)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool(capacity)));
    config
}

fn pool(capacity: Capacity) -> PoolingAllocationConfig {
    let calls = capacity.calls.saturating_add(capacity.waiting);
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(calls)
        .total_stacks(calls)
        // A guest of the usual toolchains has one to three core instances and one memory; others have more.
        .total_core_instances(4 * calls)
        .total_memories(calls + calls / 4)
        .total_tables(2 * calls)
        .max_core_instances_per_component(100)
        .max_tables_per_component(100)
        .max_memories_per_component(8)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(4 << 20)
        .table_elements(65_536)
        .max_memory_size(MAX_MEMORY)
        // What stays resident is cheaper to clean than to map anew, and with the page-map scan only what was touched
        // is cleaned. Without it fresh calls don't scale over threads.
        .linear_memory_keep_resident(256 << 10)
        .table_keep_resident(64 << 10)
        .async_stack_keep_resident(64 << 10)
        .pagemap_scan(Enabled::Auto)
        .max_unused_warm_slots(64);
    pool
}
