//! Which plugins lie in the program itself? Those that ship with hames: `source = "builtin:NAME"`.

use hames_plugin::{ComponentBytes, PluginSpec, Precompiled};
use hames_types::id::PluginId;

/// A plugin that ships with hames.
#[derive(Debug)]
pub struct Builtin {
    /// Its name, which is its id as well.
    pub name: &'static str,
    /// The component.
    pub component: &'static [u8],
    /// What it compiles to on the machine that built the program.
    precompiled: &'static [u8],
}

/// All of them, by name. A constant would lie in the program once for each place that uses it.
pub static ALL: &[Builtin] = include!(concat!(env!("OUT_DIR"), "/builtin.rs"));

/// The one of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Builtin> {
    ALL.iter().find(|builtin| builtin.name == name)
}

impl Builtin {
    /// What it compiles to.
    #[must_use]
    pub fn precompiled(&self) -> Precompiled {
        Precompiled::of_this_program(self.precompiled)
    }

    /// What the sandbox loads, with nothing granted.
    #[must_use]
    pub fn spec(&self, id: PluginId) -> PluginSpec {
        let mut spec = PluginSpec::new(id, ComponentBytes::Embedded(self.component));
        spec.is_shipped = true;
        spec.precompiled = Some(self.precompiled());
        spec
    }
}
