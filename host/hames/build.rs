//! How do the plugins that ship with hames get into the program? Built for WebAssembly by cargo, made components,
//! compiled for this machine, and written to where `src/builtin.rs` takes them in.
//!
//! The guests are a workspace of their own with a target folder of their own (`guests` beside the profiles'), so this
//! build and that one never wait for each other's lock.

#![expect(
    clippy::disallowed_methods,
    reason = "cargo talks to build scripts by the environment"
)]

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, ensure};
use wit_component::ComponentEncoder;

/// Needs no WASI: a core module that is made a component here, so that it imports nothing but `hames:*`.
const PLAIN: &str = "wasm32-unknown-unknown";

/// Stands on the standard library's files: a component as the linker makes it.
const WASI: &str = "wasm32-wasip2";

/// The plugins that ship, and what they are built for.
const GUESTS: &[(&str, &str)] = &[
    ("audit", PLAIN),
    ("fs", WASI),
    ("hello", PLAIN),
    ("path-guard", PLAIN),
    ("redact", PLAIN),
    ("repeat-guard", PLAIN),
    ("todo", PLAIN),
];

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            for line in format!("{error:#}").lines() {
                println!("cargo::error={line}");
            }
            ExitCode::FAILURE
        }
    }
}

fn build() -> anyhow::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for watched in ["guest-plugins", "sdk", "wit"] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    // `target/PROFILE/build/PACKAGE/out`, or one more with `--target`.
    let target = out
        .ancestors()
        .nth(4)
        .context("OUT_DIR is no folder of cargo's")?
        .join("guests");
    check_targets()?;
    for triple in [PLAIN, WASI] {
        let names: Vec<&str> = GUESTS
            .iter()
            .filter(|guest| guest.1 == triple)
            .map(|guest| guest.0)
            .collect();
        compile(&root, &target, triple, &names)?;
    }
    let mut table = String::from("&[\n");
    for (name, triple) in GUESTS {
        let file = target
            .join(triple)
            .join("guest")
            .join(format!("{}.wasm", name.replace('-', "_")));
        embed(name, triple, &file, &out).with_context(|| format!("the plugin `{name}` can't be embedded"))?;
        writeln!(
            table,
            "    Builtin {{ name: {name:?}, component: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.wasm\")), \
             precompiled: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.cwasm\")) }},"
        )?;
    }
    table.push(']');
    fs::write(out.join("builtin.rs"), table)?;
    Ok(())
}

/// Without the targets cargo fails with a page about a missing `core`.
fn check_targets() -> anyhow::Result<()> {
    for triple in [PLAIN, WASI] {
        let output = Command::new(env::var("RUSTC")?)
            .args(["--print", "target-libdir", "--target", triple])
            .output()?;
        let folder = String::from_utf8(output.stdout)?;
        ensure!(
            output.status.success() && Path::new(folder.trim()).is_dir(),
            "the plugins that ship with hames are WebAssembly, and this toolchain can't build that yet; run\n    \
             rustup target add {PLAIN} {WASI}"
        );
    }
    Ok(())
}

fn compile(root: &Path, target: &Path, triple: &str, names: &[&str]) -> anyhow::Result<()> {
    let mut cargo = Command::new(env::var("CARGO")?);
    cargo
        .args([
            "build",
            "--profile",
            "guest",
            "--locked",
            "--target",
            triple,
            "--target-dir",
        ])
        .arg(target)
        .current_dir(root.join("guest-plugins"));
    // The caller's settings are for native code, and its lints for its own workspace.
    for variable in [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_BUILD_TARGET",
        "RUSTC_WORKSPACE_WRAPPER",
    ] {
        cargo.env_remove(variable);
    }
    for name in names {
        cargo.args(["--package", name]);
    }
    let output = cargo.output().context("cargo can't be run")?;
    ensure!(
        output.status.success(),
        "the plugins {} can't be built for {triple}:\n{}",
        names.join(", "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

fn embed(name: &str, triple: &str, file: &Path, out: &Path) -> anyhow::Result<()> {
    let built = fs::read(file).with_context(|| format!("{} wasn't built", file.display()))?;
    let component = if triple == PLAIN {
        ComponentEncoder::default()
            .validate(true)
            .module(&built)?
            .encode()?
    } else {
        built
    };
    let compiled = out.join(format!("{name}.cwasm"));
    let beside = out.join(format!("{name}.wasm"));
    // Compiling is the long part, and most runs of this script change nothing about most plugins. The compiler is
    // linked into this script, so what is younger than the script was compiled by it.
    let is_current = fs::read(&beside).ok().as_deref() == Some(component.as_slice())
        && age(&compiled)
            .zip(age(&env::current_exe()?))
            .is_some_and(|(code, script)| code > script);
    if !is_current {
        fs::write(&compiled, hames_plugin::precompile(&component)?)?;
        fs::write(&beside, &component)?;
    }
    Ok(())
}

fn age(file: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(file).ok()?.modified().ok()
}
