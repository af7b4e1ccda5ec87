//! `hames doctor`: whether everything a run needs is there, part by part.
//!
//! Each line of `--json`: `{"type": "check", "part", "ok", "found"}`. The code is 1 if any part isn't as it should be.
//! Nothing is sent anywhere: whether the model answers, `hames run` says.

use std::path::Path;

use hames_log::repair;
use serde_json::json;

use super::Context;
use crate::compose::{Loader, Setup, Shelf, adapter, kinds};
use crate::exit::Exit;
use crate::lock::Lock;
use crate::output::{Output, Tone, visible};

/// Prints one line per part.
struct Report<'a> {
    output: &'a Output,
    is_well: bool,
}

impl Report<'_> {
    fn part(&mut self, part: &str, found: Result<String, anyhow::Error>) -> anyhow::Result<()> {
        let ok = found.is_ok();
        self.is_well &= ok;
        let found = found.unwrap_or_else(|error| format!("{error:#}"));
        if self.output.is_json() {
            self.output
                .json(&json!({"type": "check", "part": part, "ok": ok, "found": found}))?;
            return Ok(());
        }
        let (sign, tone) = if ok {
            ("✓", Tone::Good)
        } else {
            ("✗", Tone::Bad)
        };
        self.output.line(format_args!(
            "{} {part}: {}",
            self.output.paint(tone, sign),
            visible(&found)
        ))?;
        Ok(())
    }
}

/// Looks at every part.
///
/// # Errors
/// If nobody reads what it says.
pub async fn run(context: &Context) -> anyhow::Result<Exit> {
    let mut report = Report {
        output: &context.output,
        is_well: true,
    };
    let setup = match Setup::read(context) {
        Ok(setup) => setup,
        Err(error) => {
            report.part("configuration", Err(error))?;
            return Ok(Exit::Failed);
        }
    };
    report.part("configuration", Ok(sources(&setup)))?;
    report.part("data folder", data(&setup.place.data))?;
    report.part("sessions", sessions(&setup).await)?;
    let model = &setup.config.model;
    let reached = adapter(model, &context.environment);
    let named = format!(
        "{} {}, its key and address can be used",
        model.provider.as_str(),
        model.model
    );
    report.part("model", reached.map(|_| named))?;
    match kinds().and_then(|kinds| Loader::new(&setup, None, kinds)) {
        Ok(loader) => {
            report.part(
                "sandbox",
                Ok(format!(
                    "its cache is {}",
                    setup.place.data.join("compiled").display()
                )),
            )?;
            plugins(&loader, &setup, context, &mut report).await?;
        }
        Err(error) => report.part("sandbox", Err(error))?,
    }
    Ok(if report.is_well { Exit::Done } else { Exit::Failed })
}

fn sources(setup: &Setup) -> String {
    let named = [&setup.sources.user, &setup.sources.project];
    let files: Vec<String> = named
        .into_iter()
        .flatten()
        .map(|file| file.display().to_string())
        .collect();
    match files.as_slice() {
        [] => "no hames.toml; the built-in demonstration counts".to_owned(),
        files => files.join(", "),
    }
}

fn data(folder: &Path) -> anyhow::Result<String> {
    std::fs::create_dir_all(folder)?;
    can_write(folder)?;
    let free = rustix::fs::statvfs(folder)?;
    let mib = free.f_bavail.saturating_mul(free.f_frsize) >> 20;
    anyhow::ensure!(
        mib >= MIN_FREE_MIB,
        "{} has {mib} MiB left; free some space",
        folder.display()
    );
    Ok(format!("{}, {mib} MiB free", folder.display()))
}

/// Less free space than this is worth a warning: a long session has some ten.
const MIN_FREE_MIB: u64 = 100;

/// Whether a file can be made there; it is gone at once.
fn can_write(folder: &Path) -> std::io::Result<()> {
    let file = folder.join(format!("doctor-{}", std::process::id()));
    std::fs::write(&file, b"x")?;
    std::fs::remove_file(&file)
}

async fn sessions(setup: &Setup) -> anyhow::Result<String> {
    let shelf = Shelf::open(&setup.config.store, &setup.place)?;
    let store = shelf.store();
    let headers = store.list().await?;
    let mut interrupted = Vec::new();
    for header in headers.iter().rev().take(MAX_LOOKED_AT) {
        if !repair::closers(&store.load(&header.id).await?.events).is_empty() {
            interrupted.push(header.id.to_string());
        }
    }
    store.close().await;
    let at = shelf
        .path()
        .map_or_else(|| "not kept".to_owned(), |path| path.display().to_string());
    let mut found = format!("{} in {at}", headers.len());
    if !interrupted.is_empty() {
        found += &format!(
            "; interrupted (or running now): {}; `hames resume ID` closes them",
            interrupted.join(", ")
        );
    }
    Ok(found)
}

/// How many sessions are read to look for interrupted ones.
const MAX_LOOKED_AT: usize = 20;

async fn plugins(
    loader: &Loader,
    setup: &Setup,
    context: &Context,
    report: &mut Report<'_>,
) -> anyhow::Result<()> {
    for config in &setup.config.plugins {
        let loaded = loader.load(config, &context.environment).await.map(|plugin| {
            let tools = plugin.tools().map_or(0, |tools| tools.len());
            let locked = config.lock.as_ref().map_or(Ok(true), |file| {
                Lock::read(file).map(|lock| lock.get(config.id.as_str()).is_some())
            });
            let note = if locked.unwrap_or(false) {
                ""
            } else {
                ", not in the lock file yet"
            };
            format!(
                "version {}, {tools} tools, {} points{note}",
                plugin.manifest().version,
                plugin.points().len()
            )
        });
        report.part(&format!("plugin {}", config.id), loaded)?;
    }
    Ok(())
}
