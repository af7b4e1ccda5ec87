//! Can a component be compiled before the program runs? While the program is built, for the plugins that lie in it.
//!
//! What comes out is compiled code behind what inspecting the component found, so that a start neither reads nor digests
//! the component itself.

use wasmtime::component::Component;

use sha2::{Digest, Sha256};

use crate::cache::{Cache, map};
use crate::engine::{Engine, Fuel};
use crate::error::{LoadProblem, Opaque};
use crate::inspect::{Inspected, guarded, inspect};
use crate::manifest::Manifest;

/// What it begins with.
const MAGIC: &[u8; 8] = b"hames\0\0\x01";

/// What a component compiles to, as a part of this program.
#[derive(Debug, Clone, Copy)]
pub struct Precompiled(&'static [u8]);

/// What it holds.
pub(crate) struct Embedded {
    /// The component's digest.
    pub(crate) digest: &'static [u8; 32],
    /// What inspecting the component found.
    pub(crate) inspected: Inspected,
    code: &'static [u8],
}

impl Precompiled {
    /// Code that was embedded when this program was built.
    ///
    /// **Trust:** it runs with the host's authority and nobody checks it, nor that it belongs to the component beside
    /// it. It has to be what [`precompile`] gave for that component, put into the program by `include_bytes!`; a file
    /// that is read at run time belongs into a [`crate::Cache`].
    #[must_use]
    pub const fn of_this_program(code: &'static [u8]) -> Self {
        Self(code)
    }

    /// What it holds; nothing if another version of hames made it.
    pub(crate) fn open(self) -> Option<Embedded> {
        let rest = self.0.strip_prefix(MAGIC)?;
        let (decides, rest) = rest.split_first()?;
        let (digest, rest) = rest.split_first_chunk::<32>()?;
        let (size, rest) = rest.split_first_chunk::<4>()?;
        let (manifest, code) = rest.split_at_checked(u32::from_le_bytes(*size) as usize)?;
        Some(Embedded {
            digest,
            inspected: Inspected {
                manifest: match manifest {
                    [] => Manifest::default(),
                    text => Manifest::parse(text).ok()?,
                },
                decides: *decides != 0,
            },
            code,
        })
    }
}

impl Embedded {
    /// Ready to be linked; nothing if this engine or machine is another than it was compiled for.
    ///
    /// Code in the program has to be copied to where it can run, all of it. From a cache it is mapped, and takes memory
    /// only where it runs.
    pub(crate) fn component(&self, engine: &wasmtime::Engine, cache: Option<&Cache>) -> Option<Component> {
        if let Some(component) = cache.and_then(|cache| cache.find(engine, self.digest)) {
            return Some(component);
        }
        let component = map::embedded(engine, self.code)
            .inspect_err(|error| tracing::debug!(%error, "an embedded component is compiled anew"))
            .ok()?;
        if let Some(cache) = cache {
            cache.keep(engine, self.digest, self.code);
        }
        Some(component)
    }
}

/// Compiles a component with the settings of this host, for machines like this one, as it is used where its fuel
/// isn't limited. Meant for build scripts.
///
/// # Errors
/// [`LoadProblem`] if it would be refused when loaded, or can't be compiled.
pub fn precompile(component: &[u8]) -> Result<Vec<u8>, LoadProblem> {
    let (inspected, manifest) = inspect(component)?;
    let failed = |error| LoadProblem::Compile(Opaque::new(error));
    let engine = Engine::compiler(Fuel::for_a_plugin(inspected.decides, None)).map_err(failed)?;
    let code = guarded(|| engine.precompile_component(component))?.map_err(failed)?;
    let manifest = manifest.unwrap_or_default();
    // Far below: the inspection bounds it.
    let size = u32::try_from(manifest.len()).unwrap_or_default();
    let mut out = Vec::with_capacity(code.len() + manifest.len() + 128);
    out.extend_from_slice(MAGIC);
    out.push(u8::from(inspected.decides));
    out.extend_from_slice(&Sha256::digest(component));
    out.extend_from_slice(&size.to_le_bytes());
    out.extend_from_slice(manifest);
    out.extend_from_slice(&code);
    Ok(out)
}
