//! Which imports does a component get? Its own ∩ its manifest ∩ the grant; nothing else is in its linker.

use hames_types::id::PluginId;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, HasSelf, Linker};
use wasmtime_wasi::WasiView;
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView};
use wasmtime_wasi::p2::bindings as wasi;
use wasmtime_wasi::random::WasiRandom;

use crate::bindings::hames::plugin as own;
use crate::engine::Engine;
use crate::error::{LoadProblem, Opaque};
use crate::grant::{Capability, Grant};
use crate::manifest::Manifest;
use crate::opening;
use crate::state::State;

/// What an import needs before it is linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing: every guest may have it.
    Nothing,
    /// One of these.
    AnyOf(&'static [Capability]),
    /// This host doesn't have it; what to do instead.
    Absent(&'static str),
}

/// What opens the session, each a part of it.
const SESSION: &[Capability] = &[Capability::Session, Capability::Todos, Capability::Surface];

/// An import's name without its version.
fn stem(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}

fn need(name: &str) -> Need {
    match stem(name) {
        "hames:plugin/types"
        | "hames:plugin/content"
        | "hames:plugin/events"
        | "hames:plugin/invocation"
        | "hames:plugin/decisions"
        | "hames:plugin/next"
        | "hames:plugin/call"
        | "hames:plugin/log"
        | "hames:plugin/config"
        | "hames:plugin/wait" => Need::Nothing,
        "hames:plugin/kv" => Need::AnyOf(&[Capability::Kv]),
        "hames:plugin/session" => Need::AnyOf(SESSION),
        "hames:plugin/agent" => Need::AnyOf(&[Capability::Agent]),
        "wasi:io/error"
        | "wasi:io/poll"
        | "wasi:io/streams"
        | "wasi:cli/environment"
        | "wasi:cli/exit"
        | "wasi:cli/stdin"
        | "wasi:cli/stdout"
        | "wasi:cli/stderr"
        | "wasi:cli/terminal-input"
        | "wasi:cli/terminal-output"
        | "wasi:cli/terminal-stdin"
        | "wasi:cli/terminal-stdout"
        | "wasi:cli/terminal-stderr"
        // Every hash table of the usual toolchains asks for it. Without a grant it is the same number each time.
        | "wasi:random/insecure-seed" => Need::Nothing,
        "wasi:clocks/wall-clock" | "wasi:clocks/monotonic-clock" => Need::AnyOf(&[Capability::Clocks]),
        "wasi:random/random" | "wasi:random/insecure" => Need::AnyOf(&[Capability::Random]),
        "wasi:filesystem/types" | "wasi:filesystem/preopens" => Need::AnyOf(&[Capability::Filesystem]),
        "wasi:http/types" | "wasi:http/outgoing-handler" => Need::AnyOf(&[Capability::Http]),
        other if other.starts_with("wasi:sockets/") => {
            Need::Absent("sockets are granted to no plugin; use wasi:http, which can be granted by host")
        }
        other if other.starts_with("hames:plugin/") => {
            Need::Absent("the plugin is newer than this host; use a newer host or an older SDK")
        }
        _ => Need::Absent("remove the import, or build the plugin for WASI 0.2"),
    }
}

/// Checks every import against manifest and grant.
///
/// # Errors
/// The first import that isn't to be had, and what to do about it.
pub(crate) fn check(
    engine: &Engine,
    component: &Component,
    manifest: &Manifest,
    granted: &Grant,
) -> Result<(), LoadProblem> {
    let wanted = manifest.wanted();
    for (name, import) in component.component_type().imports(engine.wasm()) {
        if has_types_only(engine, &import.ty) {
            continue;
        }
        match need(name) {
            Need::Nothing => {}
            Need::AnyOf(capabilities) => check_one(name, capabilities, &wanted, granted)?,
            Need::Absent(advice) => {
                return Err(LoadProblem::UnknownImport {
                    interface: crate::manifest::shown(name),
                    advice,
                });
            }
        }
    }
    Ok(())
}

fn check_one(
    name: &str,
    capabilities: &[Capability],
    wanted: &[Capability],
    granted: &Grant,
) -> Result<(), LoadProblem> {
    let is_wanted = |capability: &&Capability| wanted.contains(capability);
    let Some(first) = capabilities.first() else {
        return Ok(());
    };
    if !capabilities.iter().any(|capability| wanted.contains(capability)) {
        return Err(LoadProblem::NotWanted {
            interface: name.to_owned(),
            capability: *first,
        });
    }
    if capabilities
        .iter()
        .filter(is_wanted)
        .any(|capability| granted.gives(*capability))
    {
        return Ok(());
    }
    Err(LoadProblem::NotGranted {
        interface: name.to_owned(),
        capability: capabilities.iter().find(is_wanted).copied().unwrap_or(*first),
    })
}

/// What each import needs, but for those of types alone.
pub(crate) fn needs(engine: &Engine, component: &Component) -> Vec<(String, Need)> {
    let imports = component.component_type();
    imports
        .imports(engine.wasm())
        .filter(|(_, import)| !has_types_only(engine, &import.ty))
        .map(|(name, _)| (name.to_owned(), need(name)))
        .collect()
}

/// An interface that is imported for its types alone needs nobody behind it.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the items are wasmtime's, not ours"
)]
fn has_types_only(engine: &Engine, item: &ComponentItem) -> bool {
    match item {
        ComponentItem::ComponentInstance(instance) => instance
            .exports(engine.wasm())
            .all(|(_, export)| matches!(export.ty, ComponentItem::Type(_))),
        _ => false,
    }
}

/// Whether a component imports anything of WASI.
pub(crate) fn uses_wasi(engine: &Engine, component: &Component) -> bool {
    component
        .component_type()
        .imports(engine.wasm())
        .any(|(name, _)| name.starts_with("wasi:"))
}

/// A linker with what `grant` allows, which is already limited to what the manifest wants.
///
/// # Errors
/// If an interface is defined twice, which this code doesn't do.
pub(crate) fn linker(
    engine: &Engine,
    grant: &Grant,
    plugin: &PluginId,
) -> Result<Linker<State>, LoadProblem> {
    let mut linker = Linker::new(engine.wasm());
    fill(&mut linker, |capability| grant.gives(capability))
        .inspect_err(|error| tracing::error!(%plugin, %error, "the linker can't be filled"))
        .map_err(|error| LoadProblem::Imports(Opaque::new(error)))?;
    Ok(linker)
}

/// A linker with everything this host has. For a call with nothing in reach, which can do nothing with it.
///
/// # Errors
/// If the component imports what this host doesn't have.
pub(crate) fn stand_ins(engine: &Engine, component: &Component) -> Result<Linker<State>, LoadProblem> {
    for (name, need) in needs(engine, component) {
        if let Need::Absent(advice) = need {
            return Err(LoadProblem::UnknownImport {
                interface: crate::manifest::shown(&name),
                advice,
            });
        }
    }
    let mut linker = Linker::new(engine.wasm());
    fill(&mut linker, |_| true).map_err(|error| LoadProblem::Imports(Opaque::new(error)))?;
    Ok(linker)
}

fn fill(linker: &mut Linker<State>, gives: impl Fn(Capability) -> bool) -> wasmtime::Result<()> {
    own::types::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    own::content::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    own::events::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    own::invocation::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    own::decisions::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    own::next::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    own::call::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    own::log::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    own::config::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    own::wait::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    if gives(Capability::Kv) {
        own::kv::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    }
    if SESSION.iter().any(|capability| gives(*capability)) {
        own::session::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    }
    if gives(Capability::Agent) {
        own::agent::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    }
    fill_base(linker)?;
    if gives(Capability::Clocks) {
        wasi::clocks::wall_clock::add_to_linker::<State, WasiClocks>(linker, State::clocks)?;
        wasi::clocks::monotonic_clock::add_to_linker::<State, WasiClocks>(linker, State::clocks)?;
    }
    if gives(Capability::Random) {
        wasi::random::random::add_to_linker::<State, WasiRandom>(linker, |state| state.ctx().ctx.random())?;
        wasi::random::insecure::add_to_linker::<State, WasiRandom>(linker, |state| state.ctx().ctx.random())?;
    }
    if gives(Capability::Filesystem) {
        wasi::filesystem::types::add_to_linker::<State, WasiFilesystem>(linker, State::filesystem)?;
        opening::guard(linker)?;
        wasi::filesystem::preopens::add_to_linker::<State, WasiFilesystem>(linker, State::filesystem)?;
    }
    if gives(Capability::Http) {
        wasmtime_wasi_http::p2::add_only_http_to_linker_async(linker)?;
    }
    Ok(())
}

/// What every guest's standard library imports: there, and empty.
fn fill_base(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    use wasi::cli;
    use wasmtime_wasi_io::bindings::wasi::io;

    io::error::add_to_linker::<State, HasTable>(linker, |state| state.ctx().table)?;
    io::poll::add_to_linker::<State, HasTable>(linker, |state| state.ctx().table)?;
    io::streams::add_to_linker::<State, HasTable>(linker, |state| state.ctx().table)?;
    cli::environment::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::exit::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::stdin::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::stdout::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::stderr::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_input::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_output::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_stdin::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_stdout::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_stderr::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    wasi::random::insecure_seed::add_to_linker::<State, WasiRandom>(linker, |state| {
        state.ctx().ctx.random()
    })?;
    Ok(())
}

struct HasTable;

impl wasmtime::component::HasData for HasTable {
    type Data<'a> = &'a mut wasmtime::component::ResourceTable;
}
