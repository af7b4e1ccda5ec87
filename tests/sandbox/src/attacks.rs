//! What does a hostile component try? One row per attack: the component, and how it must fail.
//!
//! An attack on a call is armed by its arguments: with `{}` the plugin behaves, with anything longer it attacks. So
//! the same plugin shows that its next call works.

mod answers;
mod component;
mod files;
mod machine;
mod memory;

use std::sync::Arc;

use hames_plugin::Grant;

use crate::handmade::Module;

/// One attack.
pub struct Attack {
    /// What it is.
    pub name: &'static str,
    /// The component.
    pub component: Arc<[u8]>,
    /// What it is granted.
    pub grant: Grant,
    /// How it must end.
    pub expects: Expect,
}

/// How an attack must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// It isn't loaded; the problem's code.
    Refused(&'static str),
    /// The call fails; the error's code.
    Fails(&'static str),
    /// The call succeeds, and what it tried had no effect.
    Succeeds,
    /// Classifying fails; the error's code.
    Unclassified(&'static str),
    /// It is shown without a view.
    Unseen,
}

/// All of them.
///
/// # Errors
/// If one can't be built, which is a mistake in the table.
pub fn all() -> anyhow::Result<Vec<Attack>> {
    let mut all = machine::attacks()?;
    all.extend(memory::attacks()?);
    all.extend(answers::attacks()?);
    all.extend(component::attacks()?);
    all.extend(files::attacks()?);
    Ok(all)
}

/// The body of `execute` that attacks when armed.
#[must_use]
pub fn armed(attack: &str) -> String {
    format!(
        "(if (result i32) (i32.eq (i32.load offset=20 (local.get $call)) (i32.const 2))
           (then (call $answer (i32.const 2304) (i32.const 2)))
           (else {attack}))"
    )
}

/// A plugin without tools whose `start` runs `attack`: it may call the core functions `with`, defined in `before` and
/// imported in `module` from "host".
///
/// # Errors
/// If the text isn't a component.
pub fn starting_component(
    before: &str,
    with: &[&str],
    module: &str,
    attack: &str,
) -> anyhow::Result<Vec<u8>> {
    component::starting_component(before, with, module, attack)
}

/// An attack in `execute`.
fn in_call(name: &'static str, attack: &str, expects: Expect) -> anyhow::Result<Attack> {
    with(
        name,
        Module {
            execute: armed(attack),
            ..Module::default()
        },
        expects,
    )
}

/// An attack of a whole module.
fn with(name: &'static str, module: Module, expects: Expect) -> anyhow::Result<Attack> {
    let component = module
        .component()
        .map_err(|error| error.context(format!("the attack `{name}` can't be built")))?;
    Ok(file(name, component, expects))
}

/// An attack with a file.
fn file(name: &'static str, component: Arc<[u8]>, expects: Expect) -> Attack {
    Attack {
        name,
        component,
        grant: Grant::default(),
        expects,
    }
}
