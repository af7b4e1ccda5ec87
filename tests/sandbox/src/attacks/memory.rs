//! What does a guest try with memory, tables and what crosses? Growth, lies about addresses, floods.

use super::Expect::{Fails, Refused, Succeeds};
use super::{Attack, armed, in_call, with};
use crate::handmade::Module;

/// A success whose content is the list at `$at` with `$len` blocks.
const ANSWER_LIST: &str = "(i32.store8 (i32.const 4096) (i32.const 0))
    (i32.store (i32.const 4104) (AT)) (i32.store (i32.const 4108) (LEN))
    (i32.store8 (i32.const 4112) (i32.const 0))
    (i32.store (i32.const 4124) (i32.const 4160)) (i32.store (i32.const 4128) (i32.const 0))
    (i32.const 4096)";

fn list(at: &str, len: &str) -> String {
    ANSWER_LIST.replace("AT", at).replace("LEN", len)
}

fn text(at: &str, len: &str) -> String {
    format!("(call $answer ({at}) ({len}))")
}

pub(super) fn attacks() -> anyhow::Result<Vec<Attack>> {
    let mut all = growth()?;
    all.extend(lies()?);
    all.extend(floods()?);
    Ok(all)
}

fn growth() -> anyhow::Result<Vec<Attack>> {
    Ok(vec![
        in_call(
            "memory beyond the limit, then a trap",
            "(if (i32.eq (memory.grow (i32.const 2000)) (i32.const -1)) (then (unreachable))) (i32.const 0)",
            Fails("PLUGIN_LIMIT_MEMORY"),
        )?,
        in_call(
            "memory page by page, then a trap",
            "(loop $on (br_if $on (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) (unreachable)",
            Fails("PLUGIN_LIMIT_MEMORY"),
        )?,
        in_call(
            "memory again and again",
            "(loop $on (drop (memory.grow (i32.const 1))) (br $on)) (unreachable)",
            Fails("PLUGIN_DEADLINE"),
        )?,
        in_call(
            "memory beyond the limit, taken calmly",
            "(drop (memory.grow (i32.const 2000))) (call $answer (i32.const 2304) (i32.const 2))",
            Succeeds,
        )?,
        with(
            "a memory that begins beyond the limit",
            Module {
                memory: "(memory (export \"memory\") 2000)".to_owned(),
                ..Module::default()
            },
            Refused("PLUGIN_LIMIT_MEMORY"),
        )?,
        with(
            "a memory that begins beyond the pool",
            Module {
                memory: "(memory (export \"memory\") 60000)".to_owned(),
                ..Module::default()
            },
            Refused("PLUGIN_COMPILE"),
        )?,
        with(
            "a table beyond the limit, then a trap",
            Module {
                execute: armed(
                    "(if (i32.eq (table.grow 0 (ref.null func) (i32.const 60000)) (i32.const -1)) (then (unreachable)))
                     (i32.const 0)",
                ),
                more: "(table 1 funcref)".to_owned(),
                ..Module::default()
            },
            Fails("PLUGIN_LIMIT_TABLES"),
        )?,
        with(
            "a table that begins beyond the limit",
            Module {
                more: "(table 50000 funcref)".to_owned(),
                ..Module::default()
            },
            Refused("PLUGIN_LIMIT_TABLES"),
        )?,
        with(
            "a table that begins beyond the pool",
            Module {
                more: "(table 1000000 funcref)".to_owned(),
                ..Module::default()
            },
            Refused("PLUGIN_COMPILE"),
        )?,
        with(
            "many memories",
            Module {
                more: "(memory 1)".repeat(20),
                ..Module::default()
            },
            Refused("PLUGIN_COMPILE"),
        )?,
    ])
}

#[expect(clippy::too_many_lines, reason = "a table, one row per attack")]
fn lies() -> anyhow::Result<Vec<Attack>> {
    let broken = Fails("PLUGIN_BROKEN");
    Ok(vec![
        in_call("an answer past the memory", "(i32.const -16)", broken)?,
        in_call("an answer at the very end", "(i32.const 131064)", broken)?,
        in_call("an answer that isn't aligned", "(i32.const 4097)", broken)?,
        in_call(
            "a list past the memory",
            &list("i32.const -8", "i32.const 1"),
            broken,
        )?,
        in_call(
            "a list of four billion",
            &list("i32.const 4160", "i32.const -1"),
            broken,
        )?,
        in_call(
            "a list that isn't aligned",
            &list("i32.const 4162", "i32.const 1"),
            broken,
        )?,
        in_call(
            "a text past the memory",
            &text("i32.const -8", "i32.const 100"),
            broken,
        )?,
        in_call(
            "a text of four billion",
            &text("i32.const 8", "i32.const -1"),
            broken,
        )?,
        in_call(
            "a text of one gibibyte",
            &text("i32.const 8", "i32.const 0x40000000"),
            broken,
        )?,
        with(
            "a text that isn't UTF-8",
            Module {
                execute: armed(&text("i32.const 3000", "i32.const 4")),
                more: "(data (i32.const 3000) \"\\ff\\fe\\c0\\80\")".to_owned(),
                ..Module::default()
            },
            broken,
        )?,
        with(
            "a text that ends inside a character",
            Module {
                execute: armed(&text("i32.const 3000", "i32.const 2")),
                more: "(data (i32.const 3000) \"\\e2\\82\\ac\")".to_owned(),
                ..Module::default()
            },
            broken,
        )?,
        in_call(
            "a result that is neither",
            "(drop (call $answer (i32.const 2304) (i32.const 2)))
             (i32.store8 (i32.const 4096) (i32.const 7)) (i32.const 4096)",
            broken,
        )?,
        in_call(
            "a block of no case",
            "(drop (call $answer (i32.const 2304) (i32.const 2)))
             (i32.store8 (i32.const 4160) (i32.const 77)) (i32.const 4096)",
            broken,
        )?,
        in_call(
            "an option that is neither",
            "(drop (call $answer (i32.const 2304) (i32.const 2)))
             (i32.store8 (i32.const 4172) (i32.const 2)) (i32.const 4096)",
            broken,
        )?,
        with(
            "`realloc` gives an address past the memory",
            Module {
                realloc: "(i32.const -8)".to_owned(),
                ..Module::default()
            },
            Refused("PLUGIN_EXPORTS"),
        )?,
        with(
            "`realloc` gives an address that isn't aligned",
            Module {
                realloc: "(if (result i32) (i32.gt_u (local.get $align) (i32.const 1))
                    (then (i32.const 8193)) (else (i32.const 8200)))"
                    .to_owned(),
                ..Module::default()
            },
            Fails("PLUGIN_BROKEN"),
        )?,
    ])
}

#[expect(clippy::too_many_lines, reason = "a table, one row per attack")]
fn floods() -> anyhow::Result<Vec<Attack>> {
    let log = r#"(import "hames:plugin/log@0.1.0" "write" (func $write (param i32 i32 i32)))"#;
    let progress = r#"(import "hames:plugin/call@0.1.0" "progress" (func $progress (param i32 i32 i32)))"#;
    let times = |count: u32, work: &str| {
        format!(
            "(global.set $count (i32.const {count}))
             (loop $on {work}
                (global.set $count (i32.sub (global.get $count) (i32.const 1)))
                (br_if $on (global.get $count)))
             (call $answer (i32.const 2304) (i32.const 2))"
        )
    };
    let counting = |imports: &str, body: String| Module {
        imports: imports.to_owned(),
        execute: armed(&body),
        more: "(global $count (mut i32) (i32.const 0))".to_owned(),
        ..Module::default()
    };
    // A thousand blocks whose text is one and the same 64 KiB.
    let aliases = "(global.set $count (i32.const 1000))
        (loop $on
            (global.set $count (i32.sub (global.get $count) (i32.const 1)))
            (i32.store (i32.add (i32.const 20004) (i32.mul (global.get $count) (i32.const 40))) (i32.const 65536))
            (i32.store (i32.add (i32.const 20008) (i32.mul (global.get $count) (i32.const 40))) (i32.const 65536))
            (br_if $on (global.get $count)))
        (drop (memory.grow (i32.const 1)))";
    Ok(vec![
        with(
            "a flood of diagnostics",
            counting(
                log,
                times(
                    2_000,
                    "(call $write (i32.const 2) (i32.const 2304) (i32.const 2))",
                ),
            ),
            Succeeds,
        )?,
        with(
            "a flood of progress",
            counting(
                progress,
                times(
                    2_000,
                    "(call $progress (i32.const 2304) (i32.const 2) (i32.const 6000))",
                ),
            ),
            Succeeds,
        )?,
        with(
            "a line of 100 KiB",
            counting(
                log,
                times(1, "(call $write (i32.const 2) (i32.const 0) (i32.const 1000))"),
            ),
            Succeeds,
        )?,
        with(
            "a line beyond a crossing",
            counting(
                log,
                times(
                    1,
                    "(drop (memory.grow (i32.const 40))) (call $write (i32.const 2) (i32.const 8192) (i32.const 2097152))",
                ),
            ),
            Fails("PLUGIN_LIMIT_CROSSING"),
        )?,
        with(
            "a level that there isn't",
            counting(
                log,
                times(1, "(call $write (i32.const 9) (i32.const 2304) (i32.const 2))"),
            ),
            Fails("PLUGIN_BROKEN"),
        )?,
        with(
            "one text a thousand times",
            counting(
                "",
                format!("{aliases} {}", list("i32.const 20000", "i32.const 1000")),
            ),
            Fails("PLUGIN_LIMIT_CROSSING"),
        )?,
        in_call(
            "a hundred thousand empty blocks",
            &format!(
                "(drop (memory.grow (i32.const 62))) {}",
                list("i32.const 65536", "i32.const 100000")
            ),
            Fails("PLUGIN_LIMIT_CROSSING"),
        )?,
        in_call(
            "a result beyond the limit",
            "(drop (memory.grow (i32.const 8))) (call $answer (i32.const 8192) (i32.const 200000))",
            Fails("PLUGIN_LIMIT_OUTPUT"),
        )?,
    ])
}
