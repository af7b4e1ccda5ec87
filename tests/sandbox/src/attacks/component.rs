//! What does a component try with the component model itself? Entering itself again, handles without end, forged
//! handles, the builtins of concurrency, and files on which the compiler panics.
//!
//! Each is the text of a whole component, not of a module: a plugin without tools, whose `start` attacks while it is
//! loaded.

use anyhow::Context as _;

use super::Expect::Refused;
use super::{Attack, Expect, file};

/// The types of `start`, from the contract.
const TYPES: &str = r#"
    (type $contract (instance
        (type $cause' (record (field "message" string) (field "name" (option string))
            (field "code" (option string))))
        (export "cause" (type $cause (eq $cause')))
        (type $failure' (record (field "message" string) (field "code" string) (field "status" (option u64))
            (field "provider-retry-after-ms" (option string)) (field "request-id" (option string))
            (field "extra" (option string))))
        (export "failure" (type $failure (eq $failure')))
        (type $origin' (enum "contract" "foreign" "not-an-error"))
        (export "fault-origin" (type $origin (eq $origin')))
        (type $fault' (record (field "message" string) (field "name" (option string))
            (field "code" (option string)) (field "origin" $origin) (field "failure" (option $failure))
            (field "causes" (list $cause))))
        (export "fault" (type (eq $fault')))))
    (import "hames:plugin/types@0.1.0" (instance $types (type $contract)))
    (alias export $types "fault" (type $fault))
    (type $starting (func (param "config" string) (result (result (error $fault)))))"#;

/// A component whose `start` runs `attack`.
#[derive(Default)]
struct Starting<'a> {
    /// What defines the core functions the attack may call.
    before: &'a str,
    /// Those functions.
    with: &'a [&'a str],
    /// Their imports, from "host", and whatever else the module has.
    module: &'a str,
    /// Gives the address of the answer; at 0 there is a success.
    attack: &'a str,
    /// What stands behind the definition of `start`.
    behind: &'a str,
}

impl Starting<'_> {
    fn component(&self) -> anyhow::Result<Vec<u8>> {
        let Self {
            before,
            with,
            module,
            attack,
            behind,
        } = self;
        let with: String = with
            .iter()
            .map(|name| format!("(export \"{name}\" (func ${name}))"))
            .collect();
        let text = format!(
            r#"(component {TYPES}
    (core module $libc (memory (export "memory") 1) (table (export "table") 4 funcref)
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
    (core instance $libc (instantiate $libc))
    (alias core export $libc "memory" (core memory $memory))
    (alias core export $libc "realloc" (core func $realloc))
    {before}
    (core module $m
        {module}
        (import "libc" "memory" (memory 1))
        (import "libc" "table" (table 4 funcref))
        (global $count (mut i32) (i32.const 0))
        (func (export "start") (param $at i32) (param $len i32) (result i32) {attack}))
    (core instance $host {with})
    (core instance $c (instantiate $m (with "host" (instance $host)) (with "libc" (instance $libc))))
    (func $start (type $starting)
        (canon lift (core func $c "start") (memory $memory) (realloc (core func $realloc))))
    {behind}
    (instance $plugin (export "start" (func $start)))
    (export "hames:plugin/plugin@0.1.0" (instance $plugin)))"#
        );
        wat::parse_str(&text).with_context(|| text)
    }
}

pub(super) fn starting_component(
    before: &str,
    with: &[&str],
    module: &str,
    attack: &str,
) -> anyhow::Result<Vec<u8>> {
    let starting = Starting {
        before,
        with,
        module,
        attack,
        behind: "",
    };
    starting.component()
}

fn starting(name: &'static str, starting: &Starting<'_>, expects: Expect) -> anyhow::Result<Attack> {
    let component = starting
        .component()
        .map_err(|error| error.context(format!("the attack `{name}` can't be built")))?;
    Ok(file(name, component.into(), expects))
}

pub(super) fn attacks() -> anyhow::Result<Vec<Attack>> {
    let mut all = entries()?;
    all.extend(handles()?);
    all.extend(concurrency()?);
    all.extend(panics()?);
    Ok(all)
}

/// Entering the component while it runs.
fn entries() -> anyhow::Result<Vec<Attack>> {
    // Slot 0 of the table becomes `start`, as the component's own caller sees it.
    let late = r#"
        (core func $again (canon lower (func $start) (memory $memory) (realloc (core func $realloc))))
        (core module $late
            (import "libc" "table" (table 4 funcref))
            (import "host" "again" (func $again (param i32 i32 i32)))
            (elem (i32.const 0) func $again))
        (core instance $host' (export "again" (func $again)))
        (core instance (instantiate $late (with "libc" (instance $libc)) (with "host" (instance $host'))))"#;
    Ok(vec![starting(
        "entering itself again",
        &Starting {
            module: "(type $again (func (param i32 i32 i32)))",
            attack: "(call_indirect (type $again) (i32.const 0) (i32.const 0) (i32.const 512) (i32.const 0))
                (i32.const 0)",
            behind: late,
            ..Starting::default()
        },
        Refused("PLUGIN_TRAP"),
    )?])
}

/// Resources, streams and futures without end, and handles that were never given.
#[expect(clippy::too_many_lines, reason = "a table, one row per attack")]
fn handles() -> anyhow::Result<Vec<Attack>> {
    const RESOURCE: &str = "(type $thing (resource (rep i32)))
        (core func $new (canon resource.new $thing)) (core func $drop (canon resource.drop $thing))
        (core func $rep (canon resource.rep $thing))";
    const IMPORTS: &str = r#"(import "host" "new" (func $new (param i32) (result i32)))
        (import "host" "drop" (func $drop (param i32)))
        (import "host" "rep" (func $rep (param i32) (result i32)))"#;
    let resources = |attack| Starting {
        before: RESOURCE,
        with: &["new", "drop", "rep"],
        module: IMPORTS,
        attack,
        behind: "",
    };
    let flood = |before, module| Starting {
        before,
        with: &["new"],
        module,
        attack: "(loop $on (drop (call $new)) (br $on)) (i32.const 512)",
        behind: "",
    };
    let pair = r#"(import "host" "new" (func $new (result i64)))"#;
    let full = Refused("PLUGIN_LIMIT_RESOURCES");
    Ok(vec![
        starting(
            "resources without end",
            &resources("(loop $on (drop (call $new (i32.const 7))) (br $on)) (i32.const 512)"),
            full,
        )?,
        starting(
            "streams without end",
            &flood(
                "(type $stream (stream u8)) (core func $new (canon stream.new $stream))",
                pair,
            ),
            full,
        )?,
        starting(
            "futures without end",
            &flood(
                "(type $future (future u8)) (core func $new (canon future.new $future))",
                pair,
            ),
            full,
        )?,
        starting(
            "sets of waitables without end",
            &flood(
                "(core func $new (canon waitable-set.new))",
                r#"(import "host" "new" (func $new (result i32)))"#,
            ),
            full,
        )?,
        starting(
            "resources made and dropped without end",
            &resources("(loop $on (call $drop (call $new (i32.const 7))) (br $on)) (i32.const 512)"),
            Refused("PLUGIN_DEADLINE"),
        )?,
        starting(
            "a handle that was never given",
            &resources("(drop (call $rep (i32.const 12345))) (i32.const 512)"),
            Refused("PLUGIN_EXPORTS"),
        )?,
        starting(
            "a handle dropped twice",
            &resources("(call $drop (call $new (i32.const 7))) (call $drop (i32.const 1)) (i32.const 512)"),
            Refused("PLUGIN_EXPORTS"),
        )?,
        starting(
            "a destructor that doesn't end",
            &Starting {
                before: r#"(core module $end (func (export "end") (param i32) (loop $on (br $on))))
                    (core instance $end (instantiate $end))
                    (type $thing (resource (rep i32) (dtor (core func $end "end"))))
                    (core func $new (canon resource.new $thing))
                    (core func $drop (canon resource.drop $thing))"#,
                with: &["new", "drop"],
                module: r#"(import "host" "new" (func $new (param i32) (result i32)))
                    (import "host" "drop" (func $drop (param i32)))"#,
                attack: "(call $drop (call $new (i32.const 7))) (i32.const 512)",
                behind: "",
            },
            Refused("PLUGIN_DEADLINE"),
        )?,
    ])
}

/// The builtins of concurrency, which a plugin of this contract has no use for.
fn concurrency() -> anyhow::Result<Vec<Attack>> {
    const SLEEP: &str = r#"
        (type $waits (instance
            (type $end' (enum "elapsed" "aborted"))
            (export "wait-end" (type $end (eq $end')))
            (export "sleep" (func (param "ms" u64) (result $end)))))
        (import "hames:plugin/wait@0.1.0" (instance $wait (type $waits)))
        (alias export $wait "sleep" (func $wait_sleep))
        (core func $sleep (canon lower (func $wait_sleep) async (memory $memory)))"#;
    let builtin = |before, with, module, attack| Starting {
        before,
        with,
        module,
        attack,
        behind: "",
    };
    Ok(vec![
        starting(
            "a wait for nothing",
            &builtin(
                "(core func $set (canon waitable-set.new))
                 (core func $wait (canon waitable-set.wait (memory $memory)))",
                &["set", "wait"],
                r#"(import "host" "set" (func $set (result i32)))
                   (import "host" "wait" (func $wait (param i32 i32) (result i32)))"#,
                "(drop (call $wait (call $set) (i32.const 256))) (i32.const 512)",
            ),
            Refused("PLUGIN_TRAP"),
        )?,
        starting(
            "yielding without end",
            &builtin(
                "(core func $yield (canon thread.yield))",
                &["yield"],
                r#"(import "host" "yield" (func $yield (result i32)))"#,
                "(loop $on (drop (call $yield)) (br $on)) (i32.const 512)",
            ),
            Refused("PLUGIN_DEADLINE"),
        )?,
        starting(
            "pressure without end",
            &builtin(
                "(core func $press (canon backpressure.inc))",
                &["press"],
                r#"(import "host" "press" (func $press))"#,
                "(loop $on (call $press) (br $on)) (i32.const 512)",
            ),
            Refused("PLUGIN_TRAP"),
        )?,
        starting(
            "a wait begun and left",
            &builtin(
                SLEEP,
                &["sleep"],
                r#"(import "host" "sleep" (func $sleep (param i64 i32) (result i32)))"#,
                "(loop $on (drop (call $sleep (i64.const 3600000) (i32.const 256))) (br $on)) (i32.const 512)",
            ),
            Refused("PLUGIN_COMPILE"),
        )?,
        starting(
            "an end without a beginning",
            &builtin(
                "(core func $cancel (canon task.cancel))",
                &["cancel"],
                r#"(import "host" "cancel" (func $cancel))"#,
                "(call $cancel) (i32.const 512)",
            ),
            Refused("PLUGIN_TRAP"),
        )?,
    ])
}

/// Files on which wasmtime 48 panics instead of refusing them.
fn panics() -> anyhow::Result<Vec<Attack>> {
    let text = r#"(component
        (core module $libc (memory (export "memory") 1))
        (core instance $libc (instantiate $libc))
        (type $future (future u8))
        (core func (canon future.write $future async (memory (core memory $libc "memory")) (callback (core func 9999)))))"#;
    Ok(vec![file(
        "a callback that there isn't",
        wat::parse_str(text)?.into(),
        Refused("PLUGIN_PANICKED"),
    )])
}
