//! Is this file a component we are willing to compile, and what does it say about itself? Runs no guest code.
//!
//! Walks the binary once, without recursion and without building anything, and counts. What passes is bounded in
//! every dimension in which compiling it is expensive; whether it is valid is for the compiler to say.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use wasmparser::{Encoding, Parser, Payload};

use crate::error::LoadProblem;
use crate::limits::{MAX_BODY, MAX_ITEMS, MAX_NESTING, MAX_PARTS};
use crate::manifest::{Manifest, ManifestError, SECTION};
use crate::point::{Point, PointKind};

/// What a component says about itself.
#[derive(Default)]
pub(crate) struct Inspected {
    pub(crate) manifest: Manifest,
    /// Whether it offers a listener that decides. What it computes is counted then, so that a decision says what it
    /// cost and comes out the same anywhere.
    pub(crate) decides: bool,
}

/// Looks at a component without running it: what it is, and the text of its manifest.
///
/// # Errors
/// [`LoadProblem`] if it is malformed, beyond the bounds, or has a bad manifest.
pub(crate) fn inspect(bytes: &[u8]) -> Result<(Inspected, Option<&[u8]>), LoadProblem> {
    guarded(|| walk(bytes))?
}

/// Runs code of the WebAssembly libraries on a stranger's file. They fail by panicking on a few files; that must
/// cost this load and nothing else.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, LoadProblem> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| LoadProblem::Panicked {
        message: panic_text(panic.as_ref()),
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    text.chars().take(500).collect()
}

#[derive(Default)]
struct Counts<'a> {
    depth: usize,
    parts: usize,
    items: u32,
    manifest: Option<&'a [u8]>,
    decides: bool,
}

fn walk(bytes: &[u8]) -> Result<(Inspected, Option<&[u8]>), LoadProblem> {
    let mut counts = Counts::default();
    let mut is_first = true;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(|error| LoadProblem::Malformed {
            problem: error.to_string(),
        })?;
        if std::mem::take(&mut is_first) {
            check_header(&payload)?;
        }
        count(&mut counts, &payload)?;
    }
    let manifest = counts.manifest.map(Manifest::parse).transpose()?;
    let inspected = Inspected {
        manifest: manifest.unwrap_or_default(),
        decides: counts.decides,
    };
    Ok((inspected, counts.manifest))
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser's payloads are a stranger's, not ours"
)]
fn check_header(payload: &Payload<'_>) -> Result<(), LoadProblem> {
    match payload {
        Payload::Version {
            encoding: Encoding::Component,
            ..
        } => Ok(()),
        _ => Err(LoadProblem::Malformed {
            problem: "it is a core module; make a component of it (wasm32-wasip2, or `hames plugin pack`)"
                .to_owned(),
        }),
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser's payloads are a stranger's, not ours"
)]
fn count<'a>(counts: &mut Counts<'a>, payload: &Payload<'a>) -> Result<(), LoadProblem> {
    match payload {
        Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => {
            counts.depth += 1;
            counts.parts += 1;
            bound("levels of nesting", counts.depth, MAX_NESTING)?;
            bound("modules and components", counts.parts, MAX_PARTS)
        }
        Payload::End(_) => {
            counts.depth = counts.depth.saturating_sub(1);
            Ok(())
        }
        Payload::CodeSectionEntry(body) => bound("bytes in one function", body.range().len(), MAX_BODY),
        Payload::TypeSection(section) => add(counts, section.count()),
        Payload::ImportSection(section) => add(counts, section.count()),
        Payload::FunctionSection(section) => add(counts, section.count()),
        Payload::GlobalSection(section) => add(counts, section.count()),
        Payload::ExportSection(section) => add(counts, section.count()),
        Payload::ElementSection(section) => add(counts, section.count()),
        Payload::DataSection(section) => add(counts, section.count()),
        Payload::TableSection(section) => add(counts, section.count()),
        Payload::MemorySection(section) => add(counts, section.count()),
        Payload::TagSection(section) => add(counts, section.count()),
        Payload::InstanceSection(section) => add(counts, section.count()),
        Payload::CoreTypeSection(section) => add(counts, section.count()),
        Payload::ComponentInstanceSection(section) => add(counts, section.count()),
        Payload::ComponentAliasSection(section) => add(counts, section.count()),
        Payload::ComponentTypeSection(section) => add(counts, section.count()),
        Payload::ComponentCanonicalSection(section) => add(counts, section.count()),
        Payload::ComponentImportSection(section) => add(counts, section.count()),
        Payload::ComponentExportSection(section) => {
            // Of what lies inside it, nothing is called.
            if counts.depth == 0 {
                for export in section.clone() {
                    let export = export.map_err(|error| LoadProblem::Malformed {
                        problem: error.to_string(),
                    })?;
                    counts.decides |= decides(export.name.name);
                }
            }
            add(counts, section.count())
        }
        Payload::CustomSection(section) if section.name() == SECTION => {
            if counts.manifest.is_some() {
                return Err(ManifestError::Several.into());
            }
            counts.manifest = Some(section.data());
            Ok(())
        }
        _ => Ok(()),
    }
}

fn add(counts: &mut Counts<'_>, items: u32) -> Result<(), LoadProblem> {
    counts.items = counts.items.saturating_add(items);
    bound("items", counts.items as usize, MAX_ITEMS as usize)
}

fn bound(what: &'static str, found: usize, limit: usize) -> Result<(), LoadProblem> {
    if found <= limit {
        return Ok(());
    }
    Err(LoadProblem::Bounds {
        what,
        found: found as u64,
        limit: limit as u64,
    })
}

/// Whether an interface of that name is one of a listener that decides, in whatever version.
fn decides(name: &str) -> bool {
    let unversioned = |name: &'static str| name.split('@').next();
    Point::ALL
        .iter()
        .filter(|point| point.kind() != PointKind::Observer)
        .any(|point| unversioned(point.interface()) == name.split('@').next())
}
