//! How do bytes become code? From the program itself, out of the cache, or by compiling; each for the engine it needs.

use sha2::{Digest, Sha256};
use wasmtime::component::Component;

use super::{PluginSpec, Sandbox};
use crate::cache::{Cache, hex};
use crate::engine::{Engine, Fuel};
use crate::error::{LoadProblem, Opaque};
use crate::inspect::{Inspected, guarded, inspect};
use crate::manifest::Manifest;
use crate::precompiled::{Embedded, Precompiled};

/// A component that is compiled, and what was found on the way.
pub(super) struct Compiled {
    pub(super) engine: Engine,
    pub(super) component: Component,
    pub(super) manifest: Manifest,
    pub(super) digest: String,
}

impl Sandbox {
    /// Inspected and compiled, or found in the cache.
    pub(super) async fn compiled(&self, spec: &PluginSpec) -> Result<Compiled, LoadProblem> {
        if spec.component.len() > spec.limits.component {
            return Err(LoadProblem::TooLarge {
                found: spec.component.len(),
                limit: spec.limits.component,
            });
        }
        let (sandbox, fuel, limit) = (self.clone(), spec.limits.fuel, spec.limits.load);
        let (bytes, pinned, precompiled) = (spec.component.clone(), spec.digest.clone(), spec.precompiled);
        // Given back when the time is over, even if the work goes on: nobody else waits for that.
        let _turn = self.loads.acquire().await;
        let work = tokio::task::spawn_blocking(move || {
            let pinned = pinned.as_deref();
            if let Some(embedded) = precompiled.and_then(Precompiled::open)
                && let Some(compiled) = sandbox.embedded(embedded, fuel, pinned)?
            {
                return Ok(compiled);
            }
            let digest = Sha256::digest(&bytes[..]);
            check_digest(&hex(&digest), pinned)?;
            let (inspected, _) = inspect(&bytes)?;
            let engine = sandbox.engine_for(Fuel::for_a_plugin(inspected.decides, fuel))?;
            compile(engine, sandbox.cache.as_ref(), &bytes, (digest.into(), inspected))
        });
        // A compilation that takes too long can't be stopped, only left alone: the bounds of the inspection keep it
        // finite, and its result goes to nobody.
        match tokio::time::timeout(limit, work).await {
            Ok(Ok(compiled)) => compiled,
            Ok(Err(failed)) => Err(LoadProblem::Panicked {
                message: failed.to_string(),
            }),
            Err(_elapsed) => Err(LoadProblem::TooSlow { limit }),
        }
    }

    fn engine_for(&self, fuel: Fuel) -> Result<Engine, LoadProblem> {
        if fuel == Fuel::Uncounted {
            return Ok(self.engine.clone());
        }
        // Held while it is made: plugins are loaded side by side, and one engine is enough.
        let mut counting = self.counting.lock();
        if let Some(engine) = &*counting {
            return Ok(engine.clone());
        }
        let engine =
            Engine::new(self.capacity, fuel).map_err(|error| LoadProblem::Compile(Opaque::new(error)))?;
        Ok(counting.insert(engine).clone())
    }

    /// What was compiled with the program, if it fits this machine. Nobody looks at the component then.
    fn embedded(
        &self,
        embedded: Embedded,
        fuel: Option<u64>,
        pinned: Option<&str>,
    ) -> Result<Option<Compiled>, LoadProblem> {
        let digest = hex(embedded.digest);
        check_digest(&digest, pinned)?;
        let engine = self.engine_for(Fuel::for_a_plugin(embedded.inspected.decides, fuel))?;
        let component = embedded.component(engine.wasm(), self.cache.as_ref());
        Ok(component.map(|component| Compiled {
            engine,
            component,
            manifest: embedded.inspected.manifest,
            digest,
        }))
    }
}

/// Whether the digest is the one it has to be.
fn check_digest(found: &str, pinned: Option<&str>) -> Result<(), LoadProblem> {
    if let Some(pinned) = pinned
        && !pinned.eq_ignore_ascii_case(found)
    {
        return Err(LoadProblem::Digest {
            found: found.to_owned(),
            pinned: pinned.to_owned(),
        });
    }
    Ok(())
}

fn compile(
    engine: Engine,
    cache: Option<&Cache>,
    bytes: &[u8],
    (digest, inspected): ([u8; 32], Inspected),
) -> Result<Compiled, LoadProblem> {
    let found_compiled = cache.and_then(|cache| cache.find(engine.wasm(), &digest));
    let compiled = |engine, component| Compiled {
        engine,
        component,
        manifest: inspected.manifest,
        digest: hex(&digest),
    };
    if let Some(component) = found_compiled {
        return Ok(compiled(engine, component));
    }
    let failed = |error| LoadProblem::Compile(Opaque::new(error));
    let component = guarded(|| Component::new(engine.wasm(), bytes))?.map_err(failed)?;
    if let Some(cache) = cache {
        let serialized = component.serialize().map_err(failed)?;
        cache.keep(engine.wasm(), &digest, &serialized);
    }
    Ok(compiled(engine, component))
}
