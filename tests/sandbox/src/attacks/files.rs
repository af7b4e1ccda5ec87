//! What does a file try that isn't a plugin? Nothing of it may be more than a refusal.

use std::sync::Arc;

use super::Expect::Refused;
use super::{Attack, file, with};
use crate::handmade::{Module, with_section};

/// The first bytes of a component.
const HEAD: [u8; 8] = [0, b'a', b's', b'm', 0x0d, 0, 1, 0];

fn of(bytes: &[u8]) -> Arc<[u8]> {
    Arc::from(bytes)
}

pub(super) fn attacks() -> anyhow::Result<Vec<Attack>> {
    let mut all = binaries()?;
    all.extend(shapes()?);
    Ok(all)
}

fn binaries() -> anyhow::Result<Vec<Attack>> {
    let malformed = Refused("PLUGIN_MALFORMED");
    let good = Module::default().component()?;
    let half = good.len() / 2;
    let manifest = br#"{"id":"attack","version":"1"}"#;
    let twice = with_section(
        &with_section(&good, "hames:manifest", manifest),
        "hames:manifest",
        manifest,
    );
    Ok(vec![
        file("an empty file", of(&[]), malformed),
        file("a text", of(b"#!/bin/sh\nexit 0\n"), malformed),
        file("text of a component", of(b"(component)"), malformed),
        file(
            "a program of this machine",
            of(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"),
            malformed,
        ),
        file("a core module", of(&wat::parse_str("(module)")?), malformed),
        file(
            "a component of nothing",
            of(&HEAD),
            Refused("PLUGIN_NOTHING_EXPORTED"),
        ),
        file(
            "half a component",
            of(good.get(..half).unwrap_or_default()),
            malformed,
        ),
        file(
            "a section of four gigabytes",
            of(&[&HEAD[..], &[7, 0xff, 0xff, 0xff, 0xff, 0x0f]].concat()),
            malformed,
        ),
        file(
            "a section of no kind",
            of(&[&HEAD[..], &[99, 0]].concat()),
            Refused("PLUGIN_COMPILE"),
        ),
        file(
            "a count of four billion",
            of(&[&HEAD[..], &[7, 5, 0xff, 0xff, 0xff, 0xff, 0x0f]].concat()),
            Refused("PLUGIN_BOUNDS"),
        ),
        file(
            "a number that doesn't end",
            of(&[&HEAD[..], &[7, 6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]].concat()),
            malformed,
        ),
        file(
            "components in components",
            nested(1_000),
            Refused("PLUGIN_BOUNDS"),
        ),
        file("a thousand components", many(1_000), Refused("PLUGIN_BOUNDS")),
        file("two manifests", twice, Refused("PLUGIN_MANIFEST")),
        file(
            "a file beyond the limit",
            of(&vec![0; 5 << 20]),
            Refused("PLUGIN_TOO_LARGE"),
        ),
    ])
}

fn shapes() -> anyhow::Result<Vec<Attack>> {
    let import = |name: &str, function: &str| Module {
        imports: format!("(import \"{name}\" {function})"),
        ..Module::default()
    };
    let kv = || {
        let mut module = import("hames:plugin/kv@0.1.0", "\"get\" (func $get (param i32 i32 i32))");
        module.execute = "(call $get (i32.const 0) (i32.const 1) (i32.const 5000)) (i32.const 0)".to_owned();
        module
    };
    let wanting = |mut module: Module| {
        module.manifest =
            Some(r#"{"id":"attack","version":"1","wants":[{"grant":"kv","reason":"x"}]}"#.to_owned());
        module
    };
    let mut granted = with(
        "a grant its manifest doesn't want",
        kv(),
        Refused("PLUGIN_NOT_WANTED"),
    )?;
    granted.grant.kv = true;
    let text = |text: &str| -> anyhow::Result<Arc<[u8]>> { Ok(wat::parse_str(text)?.into()) };
    Ok(vec![
        granted,
        with(
            "a store it wasn't granted",
            wanting(kv()),
            Refused("PLUGIN_NOT_GRANTED"),
        )?,
        file(
            "an import of sockets",
            text(
                r#"(component (import "wasi:sockets/tcp-create-socket@0.2.6" (instance (export "f" (func)))))"#,
            )?,
            Refused("PLUGIN_UNKNOWN_IMPORT"),
        ),
        file(
            "an import of what there isn't",
            text(r#"(component (import "host:secrets/all@1.0.0" (instance (export "f" (func)))))"#)?,
            Refused("PLUGIN_UNKNOWN_IMPORT"),
        ),
        file(
            "an import of a bare function",
            text(r#"(component (import "system" (func (param "command" string))))"#)?,
            Refused("PLUGIN_UNKNOWN_IMPORT"),
        ),
        file(
            "an import of another shape",
            text(
                r#"(component (import "hames:plugin/config@0.1.0" (instance (export "get" (func (result u32))))))"#,
            )?,
            Refused("PLUGIN_IMPORTS"),
        ),
        file(
            "an export without its functions",
            text(r#"(component (instance $i) (export "hames:plugin/tools@0.1.0" (instance $i)))"#)?,
            Refused("PLUGIN_EXPORTS"),
        ),
        file(
            "an export of another shape",
            text(LIAR)?,
            Refused("PLUGIN_EXPORTS"),
        ),
        file(
            "an export of nothing we call",
            text("(component)")?,
            Refused("PLUGIN_NOTHING_EXPORTED"),
        ),
        with(
            "a function of three megabytes",
            Module {
                more: format!("(func {})", "(drop (i32.const 123456))".repeat(600_000)),
                ..Module::default()
            },
            Refused("PLUGIN_BOUNDS"),
        )?,
    ])
}

/// A plugin whose `start` takes a number.
const LIAR: &str = r#"(component
    (core module $m (func (export "start") (param i32)))
    (core instance $c (instantiate $m))
    (func $start (param "config" u32) (canon lift (core func $c "start")))
    (instance $i (export "start" (func $start)))
    (export "hames:plugin/plugin@0.1.0" (instance $i)))"#;

fn section(id: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![id];
    let mut size = body.len();
    loop {
        let low = u8::try_from(size & 0x7f).unwrap_or(0);
        size >>= 7;
        bytes.push(if size == 0 { low } else { low | 0x80 });
        if size == 0 {
            break;
        }
    }
    bytes.extend(body);
    bytes
}

/// Components in components.
fn nested(depth: usize) -> Arc<[u8]> {
    let mut inner = HEAD.to_vec();
    for _ in 0..depth {
        inner = [&HEAD[..], &section(4, &inner)].concat();
    }
    inner.into()
}

/// Components side by side.
fn many(count: usize) -> Arc<[u8]> {
    [HEAD.to_vec(), section(4, &HEAD).repeat(count)].concat().into()
}
