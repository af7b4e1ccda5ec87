//! Does a component's type say what its author wrote, and nothing else?

use std::path::Path;

use hames_sandbox_tests::guests;
use wit_component::DecodedWasm;

/// Names of what a component imports and exports.
fn sides(component: &[u8]) -> (Vec<String>, Vec<String>) {
    let decoded = wit_component::decode(component).unwrap();
    let world = match &decoded {
        DecodedWasm::Component(_, world) => Some(*world),
        DecodedWasm::WitPackage(..) => None,
    };
    let resolve = decoded.resolve();
    let world = resolve.worlds.get(world.unwrap()).unwrap();
    let imports = world
        .imports
        .keys()
        .map(|key| resolve.name_world_key(key))
        .collect();
    let exports = world
        .exports
        .keys()
        .map(|key| resolve.name_world_key(key))
        .collect();
    (imports, exports)
}

fn named(interfaces: &[&str]) -> Vec<String> {
    let full = |name: &&str| format!("hames:plugin/{name}@0.1.0");
    interfaces.iter().map(full).collect()
}

/// The types its question is made of are interfaces as well; those with functions are what a plugin can reach.
const TYPES: &[&str] = &["types", "content", "events", "invocation", "decisions"];

#[test]
fn a_listener_exports_what_is_written_and_imports_what_it_uses() {
    let (imports, exports) = sides(&guests::plain("no-force").unwrap());
    assert_eq!(exports, named(&["on-pre-execute"]));
    let functions: Vec<_> = imports
        .iter()
        .filter(|name| !named(TYPES).contains(name))
        .collect();
    assert_eq!(functions, named(&["next"]).iter().collect::<Vec<_>>());
}

/// The code in the SDK's own documentation is a plugin that is built and tried.
#[test]
fn the_listener_in_the_documentation_is_no_force() {
    let source = text("tests/guests/no-force/src/lib.rs");
    let (_, shown) = source.split_once("\n\n").unwrap();
    let documented: String = text("sdk/hames-sdk/src/lib.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line)))
        .collect();
    for (place, text) in [
        ("the SDK's first page", documented),
        ("the readme", text("sdk/hames-sdk/README.md")),
    ] {
        assert!(text.contains(shown), "{place} doesn't show:\n{shown}");
    }
}

fn text(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(guests::root().join(path)).unwrap()
}
