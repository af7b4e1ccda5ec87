//! Do crates depend on each other, and on the outside, only as drawn? The picture is in `ARCHITECTURE.md`.

use std::process::Command;

use serde_json::Value;

use crate::{assert_none, root};

/// Every crate of the host and whom it may know. A new line or a new edge is argued in its commit.
const EDGES: &[(&str, &[&str])] = &[
    ("hames-types", &[]),
    ("hames-log", &["hames-types"]),
    ("hames-agent", &["hames-types", "hames-log"]),
    ("hames-llm", &["hames-types"]),
    ("hames-plugin", &["hames-types"]),
    ("hames-store", &["hames-types", "hames-log"]),
    (
        "hames",
        &[
            "hames-types",
            "hames-log",
            "hames-agent",
            "hames-llm",
            "hames-plugin",
            "hames-store",
        ],
    ),
    // For guests: the contract is the WIT, so no crate of the host.
    ("hames-sdk", &["hames-sdk-macros"]),
    ("hames-sdk-macros", &[]),
];

/// Technologies that one crate alone may name, by the beginning of the dependency's name.
const HOMES: &[(&str, &str)] = &[
    ("wasmtime", "hames-plugin"),
    ("reqwest", "hames-llm"),
    ("rusqlite", "hames-store"),
];

/// What the vocabulary may stand on: no runtime, no file, no socket, no clock, no randomness.
const TYPES_STAND_ON: &[&str] = &[
    "async-trait",
    "event-listener",
    "futures-core",
    "imbl",
    "jsonschema",
    "serde",
    "serde_json",
    "smol_str",
    "thiserror",
];

struct Package {
    name: String,
    /// Below `guest-plugins/` or `tests/guests/`.
    is_guest: bool,
    dependencies: Vec<Dependency>,
}

struct Dependency {
    name: String,
    /// Used by the crate itself, not only by its tests or its build script.
    is_normal: bool,
}

fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo's metadata is JSON");
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    list(&metadata, "packages")
        .iter()
        .map(|package| Package {
            name: text(package, "name"),
            is_guest: ["guest-plugins", "tests/guests"].iter().any(|folder| {
                text(package, "manifest_path").starts_with(&*root().join(folder).to_string_lossy())
            }),
            dependencies: list(package, "dependencies")
                .iter()
                .map(|dependency| Dependency {
                    name: text(dependency, "name"),
                    is_normal: dependency["kind"].is_null(),
                })
                .collect(),
        })
        .collect()
}

#[test]
fn the_edges_between_crates_are_the_ones_drawn() {
    let mut complaints = Vec::new();
    for package in packages() {
        let allowed: Option<&[&str]> = if package.is_guest {
            Some(&["hames-sdk"])
        } else {
            EDGES
                .iter()
                .find(|(name, _)| *name == package.name)
                .map(|(_, allowed)| *allowed)
        };
        // The tests of the whole may know everything.
        if matches!(package.name.as_str(), "hames-tests" | "hames-sandbox-tests") {
            continue;
        }
        let Some(allowed) = allowed else {
            complaints.push(format!(
                "`{}` is no crate of the picture; draw it first",
                package.name
            ));
            continue;
        };
        let inner = |name: &str| name == "hames" || name.starts_with("hames-");
        for dependency in package
            .dependencies
            .iter()
            .filter(|dependency| inner(&dependency.name))
        {
            // The program's tests may use the plugins that are made for tests.
            if dependency.name == "hames-sandbox-tests" && package.name == "hames" && !dependency.is_normal {
                continue;
            }
            // A crate may name itself to switch on a feature of its own in its tests.
            if dependency.name != package.name && !allowed.contains(&dependency.name.as_str()) {
                complaints.push(format!(
                    "`{}` may not depend on `{}`; it may know {allowed:?}",
                    package.name, dependency.name
                ));
            }
        }
    }
    assert_none(&complaints);
}

#[test]
fn a_technology_is_named_by_its_home_alone() {
    let mut complaints = Vec::new();
    for package in packages() {
        for dependency in &package.dependencies {
            let home = HOMES
                .iter()
                .find(|(technology, _)| dependency.name.starts_with(technology));
            if let Some((_, home)) = home.filter(|(_, home)| *home != package.name) {
                complaints.push(format!(
                    "`{}` names `{}`, which only `{home}` may",
                    package.name, dependency.name
                ));
            }
        }
    }
    assert_none(&complaints);
}

#[test]
fn the_vocabulary_stands_on_nothing_that_has_effects() {
    let packages = packages();
    let types = packages
        .iter()
        .find(|package| package.name == "hames-types")
        .expect("the vocabulary is a crate");
    let complaints: Vec<_> = types
        .dependencies
        .iter()
        .filter(|dependency| dependency.is_normal && !TYPES_STAND_ON.contains(&dependency.name.as_str()))
        .map(|dependency| format!("`hames-types` may not depend on `{}`", dependency.name))
        .collect();
    assert_none(&complaints);
}
