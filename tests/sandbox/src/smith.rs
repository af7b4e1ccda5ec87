//! What does the host make of components nobody thought of? Generated ones, loaded and called: whatever comes of it,
//! the host lives, in bounded time.
//!
//! A generated module becomes the inside of a plugin: its start function runs, and `start` runs the first function it
//! exports. A generated component is loaded as it is.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use arbitrary::Unstructured;
use hames_plugin::{Limits, PluginSpec};
use hames_types::id::PluginId;
use wasm_smith::{Component, Config, Module};
use wasmparser::{ExternalKind, Parser, Payload, ValType};

use crate::attacks::starting_component;
use crate::handmade::leb;
use crate::home::Home;
use crate::trial::narrow;

/// Longest that one seed may take, on a machine that does other things as well.
const BOUND: Duration = Duration::from_secs(20);

/// What came of a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// The seed makes nothing.
    Nothing,
    /// It wasn't loaded, before any of it ran.
    Refused,
    /// It ran and failed.
    Failed,
    /// It ran and was loaded.
    Loaded,
}

/// What may be made: what this host's engine can do, and for every second component anything.
fn config(seed: u64) -> Config {
    if seed % 8 == 7 {
        return Config::default();
    }
    Config {
        export_everything: true,
        max_imports: 0,
        min_funcs: 1,
        max_memory32_bytes: 32 << 20,
        max_table_elements: 1_000,
        exceptions_enabled: false,
        gc_enabled: false,
        memory64_enabled: false,
        // Without its collector the engine has no references to the outside.
        reference_types_enabled: false,
        threads_enabled: false,
        ..Config::default()
    }
}

/// The component a seed makes.
fn make(seed: u64) -> anyhow::Result<Option<Vec<u8>>> {
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut bytes = vec![0; dice.usize(1_000..6_000)];
    dice.fill(&mut bytes);
    let mut bytes = Unstructured::new(&bytes);
    if seed % 4 == 3 {
        let made = Component::new(config(seed), &mut bytes);
        return Ok(made.ok().map(|component| component.to_bytes()));
    }
    let Ok(module) = Module::new(config(seed), &mut bytes) else {
        return Ok(None);
    };
    let module = module.to_bytes();
    let made = match Entry::find(&module)? {
        Some(entry) => entry.component(&module),
        // Nothing to call; its start function still runs.
        None => with_module(
            &starting_component(
                "(core module $made) (core instance (instantiate $made))",
                &[],
                "",
                "(i32.const 512)",
            )?,
            &module,
        ),
    };
    made.map(Some)
}

/// An exported function that takes and gives numbers alone.
struct Entry {
    name: String,
    parameters: Vec<&'static str>,
    results: Vec<&'static str>,
}

impl Entry {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the parser's payloads are a stranger's, not ours"
    )]
    fn find(module: &[u8]) -> anyhow::Result<Option<Self>> {
        let (mut types, mut functions) = (Vec::new(), Vec::new());
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::TypeSection(section) => {
                    for ty in section.into_iter_err_on_gc_types() {
                        let ty = ty?;
                        types.push((numbers(ty.params()), numbers(ty.results())));
                    }
                }
                Payload::FunctionSection(section) => {
                    for index in section {
                        functions.push(usize::try_from(index?)?);
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        let export = export?;
                        let place = usize::try_from(export.index)?;
                        let ty = functions.get(place).and_then(|ty| types.get(*ty));
                        if export.kind == ExternalKind::Func
                            && let Some((Some(parameters), Some(results))) = ty
                        {
                            return Ok(Some(Self {
                                name: export.name.to_owned(),
                                parameters: parameters.clone(),
                                results: results.clone(),
                            }));
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// A plugin whose `start` calls it, with numbers that mean nothing.
    fn component(&self, module: &[u8]) -> anyhow::Result<Vec<u8>> {
        let before = format!(
            r#"(core module $made)
            (core instance $made (instantiate $made))
            (alias core export $made "{}" (core func $run))"#,
            escaped(self.name.as_bytes())
        );
        let (parameters, results) = (self.parameters.join(" "), self.results.join(" "));
        let import = format!(r#"(import "host" "run" (func $run (param {parameters}) (result {results})))"#);
        let given: String = self
            .parameters
            .iter()
            .map(|number| format!("({number}.const 77) "))
            .collect();
        let attack = format!(
            "{given} (call $run) {} (i32.const 512)",
            "(drop) ".repeat(self.results.len())
        );
        with_module(&starting_component(&before, &["run"], &import, &attack)?, module)
    }
}

/// The types' names, if they are numbers.
fn numbers(types: &[ValType]) -> Option<Vec<&'static str>> {
    types
        .iter()
        .map(|ty| match ty {
            ValType::I32 => Some("i32"),
            ValType::I64 => Some("i64"),
            ValType::F32 => Some("f32"),
            ValType::F64 => Some("f64"),
            ValType::V128 | ValType::Ref(_) => None,
        })
        .collect()
}

/// A component whose second module is another: its text has no way to say a module in bytes.
fn with_module(component: &[u8], module: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut modules = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        if let Payload::ModuleSection { unchecked_range, .. } = payload? {
            modules.push(unchecked_range);
        }
    }
    let place = modules.get(1).context("there is no second module")?;
    let (before, old) = component.split_at(place.start - leb(place.len()).len());
    let rest = old
        .get(leb(place.len()).len() + place.len()..)
        .unwrap_or_default();
    Ok([before, &leb(module.len()), module, rest].concat())
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:02x}")).collect()
}

/// Makes, loads and so calls what a seed makes.
///
/// # Errors
/// If the compiler panicked on it or it took too long.
pub async fn attempt(home: &Home, seed: u64) -> anyhow::Result<Came> {
    let Some(component) = make(seed)? else {
        return Ok(Came::Nothing);
    };
    let mut spec = PluginSpec::new(PluginId::new("made"), component);
    spec.limits = Limits {
        memory: 64 << 20,
        start: Duration::from_millis(50),
        ..narrow()
    };
    let begun = Instant::now();
    let loaded = home.sandbox.load(spec).await;
    let took = begun.elapsed();
    ensure!(took < BOUND, "seed {seed} took {took:?}");
    home.diary.lines.lock().clear();
    match loaded {
        Ok(_) => Ok(Came::Loaded),
        Err(error) => match error.problem.code() {
            "PLUGIN_PANICKED" => Err(anyhow::Error::new(error).context(format!("seed {seed}"))),
            "PLUGIN_TRAP" | "PLUGIN_DEADLINE" | "PLUGIN_EXPORTS" => Ok(Came::Failed),
            limit if limit.starts_with("PLUGIN_LIMIT") => Ok(Came::Failed),
            _ => Ok(Came::Refused),
        },
    }
}
