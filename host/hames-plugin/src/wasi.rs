//! What does a guest find behind WASI? Empty streams and an empty environment, and what was granted.

use std::sync::Arc;
use std::time::Duration;

use hames_types::port::clock::Clock;
use rand::SeedableRng;
use rand::rngs::StdRng;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{FsPerms, HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxBuilder};

use crate::grant::{Access, Clocks, Random};
use crate::state::{Call, Streams};
use crate::who::Who;

/// Most random bytes in one answer.
const MAX_RANDOM: u64 = 64 * 1024;

/// The WASI state of one call.
///
/// # Errors
/// If a granted folder isn't there any more.
pub(crate) fn context(who: &Who, call: &Call) -> wasmtime::Result<(WasiCtx, Streams)> {
    let streams = Streams {
        out: MemoryOutputPipe::new(who.limits.stream_bytes),
        err: MemoryOutputPipe::new(who.limits.stream_bytes),
    };
    let mut builder = WasiCtxBuilder::new();
    builder
        .stdout(streams.out.clone())
        .stderr(streams.err.clone())
        .max_random_size(MAX_RANDOM);
    let (now, numbers) = match call.fixed {
        Some(fixed) => (
            Some(Clocks::Fixed(fixed.now_ms)),
            Some(Random::Seeded(fixed.seed)),
        ),
        None => (who.grant.clocks, who.grant.random),
    };
    clocks(&mut builder, who, now);
    random(&mut builder, numbers);
    if call.reaches {
        for (name, value) in &who.grant.environment {
            builder.env(name, value);
        }
        for folder in &who.grant.filesystem {
            let permissions = match folder.access {
                Access::ReadOnly => FsPerms::ReadOnly,
                Access::ReadWrite => FsPerms::ReadWrite,
            };
            builder.preopened_dir(&folder.path, &folder.name, permissions)?;
        }
    }
    Ok((builder.build(), streams))
}

fn clocks(builder: &mut WasiCtxBuilder, who: &Who, now: Option<Clocks>) {
    match now {
        Some(Clocks::Real) => {
            builder.wall_clock(Wall(Arc::clone(&who.services.clock)));
        }
        Some(Clocks::Fixed(now_ms)) => {
            builder
                .wall_clock(Still(Duration::from_millis(now_ms)))
                .monotonic_clock(Still(Duration::ZERO));
        }
        // Not linked then; what stands here is never asked.
        None => {
            builder
                .wall_clock(Still(Duration::ZERO))
                .monotonic_clock(Still(Duration::ZERO));
        }
    }
}

fn random(builder: &mut WasiCtxBuilder, numbers: Option<Random>) {
    let seed = match numbers {
        Some(Random::Real) => return,
        Some(Random::Seeded(seed)) => seed,
        // Only the seed of hash tables is linked then.
        None => 0,
    };
    builder
        .secure_random(StdRng::seed_from_u64(seed))
        .insecure_random(StdRng::seed_from_u64(seed.wrapping_add(1)))
        .insecure_random_seed(u128::from(seed));
}

/// The host's time.
struct Wall(Arc<dyn Clock>);

impl HostWallClock for Wall {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.0.now_ms())
    }
}

/// A clock that stands still.
struct Still(Duration);

impl HostWallClock for Still {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        self.0
    }
}

impl HostMonotonicClock for Still {
    fn resolution(&self) -> u64 {
        1_000_000
    }

    fn now(&self) -> u64 {
        0
    }
}
