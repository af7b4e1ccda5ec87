//! Can a component be compiled before the program runs? While the program is built, for the plugins that lie in it.

use wasmtime::component::Component;

use crate::cache::map;
use crate::engine::{Engine, Fuel};
use crate::error::{LoadProblem, Opaque};
use crate::inspect::{guarded, inspect};

/// What a component compiles to, as a part of this program.
#[derive(Debug, Clone, Copy)]
pub struct Precompiled(&'static [u8]);

impl Precompiled {
    /// Code that was embedded when this program was built.
    ///
    /// **Trust:** it runs with the host's authority and nobody checks it. It has to be what [`precompile`] gave, put
    /// into the program by `include_bytes!`; a file that is read at run time belongs into a [`crate::Cache`].
    #[must_use]
    pub const fn of_this_program(code: &'static [u8]) -> Self {
        Self(code)
    }

    /// Ready to be linked; nothing if this engine or machine is another than it was compiled for.
    pub(crate) fn component(self, engine: &wasmtime::Engine) -> Option<Component> {
        map::embedded(engine, self.0)
            .inspect_err(|error| tracing::debug!(%error, "an embedded component is compiled anew"))
            .ok()
    }
}

/// Compiles a component with the settings of this host, for machines like this one, as it is used where its fuel
/// isn't limited. Meant for build scripts.
///
/// # Errors
/// [`LoadProblem`] if it would be refused when loaded, or can't be compiled.
pub fn precompile(component: &[u8]) -> Result<Vec<u8>, LoadProblem> {
    let fuel = Fuel::for_a_plugin(inspect(component)?.decides, None);
    let failed = |error| LoadProblem::Compile(Opaque::new(error));
    let engine = Engine::compiler(fuel).map_err(failed)?;
    guarded(|| engine.precompile_component(component))?.map_err(failed)
}
