//! How do the plugins written in Rust become components? Built once per process, for WebAssembly, by cargo.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, bail, ensure};
use wit_component::ComponentEncoder;

/// The repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A core module that names its imports and exports by WIT, as a component.
///
/// # Errors
/// If it isn't one.
pub fn componentize(module: &[u8]) -> anyhow::Result<Arc<[u8]>> {
    let component = ComponentEncoder::default()
        .validate(true)
        .module(module)?
        .encode()?;
    Ok(component.into())
}

fn build(target: &str, packages: &[&str]) -> anyhow::Result<PathBuf> {
    let folder = root().join("target/guests");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--profile", "guest", "--target", target, "--target-dir"])
        .arg(&folder)
        .current_dir(root().join("guest-plugins"))
        // The caller's own settings are for native code.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    for package in packages {
        cargo.args(["--package", package]);
    }
    let output = cargo.output().context("cargo can't be run")?;
    ensure!(
        output.status.success(),
        "the guests can't be built for {target} (is the target installed? `rustup target add {target}`):\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(folder.join(target).join("guest"))
}

fn read(folder: &Path, name: &str) -> anyhow::Result<Vec<u8>> {
    let path = folder.join(format!("{}.wasm", name.replace('-', "_")));
    std::fs::read(&path).with_context(|| format!("{} was not built", path.display()))
}

/// The plugins that need no WASI.
const PLAIN: &[&str] = &[
    "audit",
    "hello",
    "no-force",
    "path-guard",
    "ponder",
    "redact",
    "repeat-guard",
    "scribe",
    "script-listeners",
    "script-tools",
    "todo",
];

/// A shipped or test plugin, built for `wasm32-unknown-unknown` and made a component here: it imports nothing but
/// `hames:*`.
///
/// # Errors
/// If it can't be built.
pub fn plain(name: &str) -> anyhow::Result<Arc<[u8]>> {
    static FOLDER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let folder =
        FOLDER.get_or_init(|| build("wasm32-unknown-unknown", PLAIN).map_err(|error| format!("{error:#}")));
    match folder {
        Ok(folder) => componentize(&read(folder, name)?),
        Err(problem) => bail!("{problem}"),
    }
}

/// A plugin built for `wasm32-wasip2`, which makes components by itself and imports WASI's base.
///
/// # Errors
/// If it can't be built.
pub fn wasip2(name: &str) -> anyhow::Result<Arc<[u8]>> {
    let folder = build("wasm32-wasip2", &[name])?;
    Ok(read(&folder, name)?.into())
}
