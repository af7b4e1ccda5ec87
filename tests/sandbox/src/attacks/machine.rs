//! What does a guest try with instructions alone? Loops, recursion, traps, and waits that don't end.

use super::Expect::{Fails, Refused, Succeeds, Unclassified, Unseen};
use super::{Attack, armed, in_call, with};
use crate::handmade::Module;

const LOOP: &str = "(loop $on (br $on)) (unreachable)";

const WAIT: &str = r#"
    (import "hames:plugin/wait@0.1.0" "sleep" (func $sleep (param i64) (result i32)))
    (import "hames:plugin/wait@0.1.0" "until-aborted" (func $until_aborted))
    (import "hames:plugin/call@0.1.0" "aborted" (func $aborted (result i32)))"#;

const POST: &str = r#"
    (global $evil (mut i32) (i32.const 0))
    (func (export "cabi_post_hames:plugin/tools@0.1.0#execute") (param i32)
        (if (global.get $evil) (then "#;

pub(super) fn attacks() -> anyhow::Result<Vec<Attack>> {
    let mut all = loops()?;
    all.extend(traps()?);
    all.extend(waits()?);
    Ok(all)
}

#[expect(clippy::too_many_lines, reason = "a table, one row per attack")]
fn loops() -> anyhow::Result<Vec<Attack>> {
    let looping = |piece: fn(&mut Module) -> &mut String| {
        let mut module = Module::default();
        *piece(&mut module) = LOOP.to_owned();
        module
    };
    Ok(vec![
        in_call("a loop in a call", LOOP, Fails("PLUGIN_DEADLINE"))?,
        with(
            "a loop in `list`",
            looping(|module| &mut module.list),
            Refused("PLUGIN_DEADLINE"),
        )?,
        with(
            "a loop in `classify`",
            Module {
                class: 2,
                ..looping(|module| &mut module.classify)
            },
            Unclassified("PLUGIN_DEADLINE"),
        )?,
        with("a loop in a view", looping(|module| &mut module.present), Unseen)?,
        with(
            "a loop in the start function",
            Module {
                more: format!("(func $first {LOOP}) (start $first)"),
                ..Module::default()
            },
            Refused("PLUGIN_DEADLINE"),
        )?,
        with(
            "a loop in `realloc`",
            Module {
                realloc: format!(
                    "(if (i32.gt_u (local.get $size) (i32.const 500)) (then {LOOP})) {}",
                    crate::handmade::BUMP.replace("(local $at i32)", "")
                )
                .replacen("(if", "(local $at i32) (if", 1),
                ..Module::default()
            },
            Fails("PLUGIN_DEADLINE"),
        )?,
        with(
            "a loop after the answer",
            Module {
                execute: armed(
                    "(global.set $evil (i32.const 1)) (call $answer (i32.const 2304) (i32.const 2))",
                ),
                more: format!("{POST} {LOOP})))"),
                ..Module::default()
            },
            Fails("PLUGIN_DEADLINE"),
        )?,
        with(
            "a loop of host calls",
            Module {
                imports: WAIT.to_owned(),
                execute: armed("(loop $on (drop (call $aborted)) (br $on)) (unreachable)"),
                ..Module::default()
            },
            Fails("PLUGIN_DEADLINE"),
        )?,
        with(
            "recursion",
            Module {
                execute: armed("(call $deeper (i32.const 1))"),
                more: "(func $deeper (param i32) (result i32)
                    (i32.add (call $deeper (local.get 0)) (i32.const 1)))"
                    .to_owned(),
                ..Module::default()
            },
            Fails("PLUGIN_LIMIT_STACK"),
        )?,
        with(
            "recursion through a table",
            Module {
                execute: armed("(call_indirect (type $t) (i32.const 0) (i32.const 0))"),
                more: "(type $t (func (param i32) (result i32)))
                    (table 1 funcref) (elem (i32.const 0) $deeper)
                    (func $deeper (param i32) (result i32)
                        (i32.add (call_indirect (type $t) (local.get 0) (i32.const 0)) (i32.const 1)))"
                    .to_owned(),
                ..Module::default()
            },
            Fails("PLUGIN_LIMIT_STACK"),
        )?,
        with(
            "recursion in `realloc`",
            Module {
                realloc: "(call $deeper (local.get $size))".to_owned(),
                more: "(func $deeper (param i32) (result i32)
                    (i32.add (call $deeper (local.get 0)) (i32.const 1)))"
                    .to_owned(),
                ..Module::default()
            },
            Refused("PLUGIN_LIMIT_STACK"),
        )?,
    ])
}

#[expect(clippy::too_many_lines, reason = "a table, one row per attack")]
fn traps() -> anyhow::Result<Vec<Attack>> {
    let trap = Fails("PLUGIN_TRAP");
    Ok(vec![
        in_call("unreachable", "(unreachable)", trap)?,
        in_call(
            "a division by zero",
            "(i32.div_u (i32.const 1) (i32.const 0))",
            trap,
        )?,
        in_call(
            "an overflowing division",
            "(i32.div_s (i32.const 0x80000000) (i32.const -1))",
            trap,
        )?,
        in_call(
            "a float that is no integer",
            "(i32.trunc_f32_s (f32.const nan))",
            trap,
        )?,
        in_call("a load past the memory", "(i32.load (i32.const -4))", trap)?,
        in_call(
            "a store past the memory",
            "(i32.store offset=0xffffffff (i32.const 100) (i32.const 1)) (i32.const 0)",
            trap,
        )?,
        in_call(
            "a fill past the memory",
            "(memory.fill (i32.const 0) (i32.const 1) (i32.const -1)) (i32.const 0)",
            trap,
        )?,
        in_call(
            "a copy past the memory",
            "(memory.copy (i32.const 0) (i32.const -100) (i32.const 1000)) (i32.const 0)",
            trap,
        )?,
        with(
            "a call through an empty slot",
            Module {
                execute: armed("(call_indirect (result i32) (i32.const 0))"),
                more: "(table 1 funcref)".to_owned(),
                ..Module::default()
            },
            trap,
        )?,
        with(
            "a call past the table",
            Module {
                execute: armed("(call_indirect (result i32) (i32.const 77))"),
                more: "(table 1 funcref)".to_owned(),
                ..Module::default()
            },
            trap,
        )?,
        with(
            "a call of another type",
            Module {
                execute: armed("(call_indirect (result i32) (i32.const 0))"),
                more: "(table 1 funcref) (elem (i32.const 0) $other) (func $other (param i64))".to_owned(),
                ..Module::default()
            },
            trap,
        )?,
        with(
            "a trap in `realloc`",
            Module {
                realloc: "(unreachable)".to_owned(),
                ..Module::default()
            },
            Refused("PLUGIN_TRAP"),
        )?,
        with(
            "a trap after the answer",
            Module {
                execute: armed(
                    "(global.set $evil (i32.const 1)) (call $answer (i32.const 2304) (i32.const 2))",
                ),
                more: format!("{POST} (unreachable))))"),
                ..Module::default()
            },
            trap,
        )?,
        with(
            "an import called in `realloc`",
            Module {
                imports: WAIT.to_owned(),
                realloc: "(drop (call $aborted)) (unreachable)".to_owned(),
                ..Module::default()
            },
            Refused("PLUGIN_TRAP"),
        )?,
        with(
            "an import called after the answer",
            Module {
                imports: WAIT.to_owned(),
                execute: armed(
                    "(global.set $evil (i32.const 1)) (call $answer (i32.const 2304) (i32.const 2))",
                ),
                more: format!("{POST} (drop (call $aborted)))))"),
                ..Module::default()
            },
            trap,
        )?,
    ])
}

fn waits() -> anyhow::Result<Vec<Attack>> {
    let waiting = |attack: &str| Module {
        imports: WAIT.to_owned(),
        execute: armed(attack),
        ..Module::default()
    };
    Ok(vec![
        with(
            "a wait of an hour",
            waiting("(drop (call $sleep (i64.const 3600000))) (call $answer (i32.const 2304) (i32.const 2))"),
            Fails("PLUGIN_DEADLINE"),
        )?,
        with(
            "a wait of half an eternity",
            waiting("(drop (call $sleep (i64.const -1))) (call $answer (i32.const 2304) (i32.const 2))"),
            Fails("PLUGIN_DEADLINE"),
        )?,
        with(
            "a wait for an abort that doesn't come",
            waiting("(call $until_aborted) (call $answer (i32.const 2304) (i32.const 2))"),
            Fails("PLUGIN_DEADLINE"),
        )?,
        with(
            "a million short waits",
            waiting("(loop $on (drop (call $sleep (i64.const 1))) (br $on)) (unreachable)"),
            Fails("PLUGIN_DEADLINE"),
        )?,
        with(
            "a wait while being shown",
            Module {
                imports: WAIT.to_owned(),
                present: "(drop (call $sleep (i64.const 1000))) (i32.const 2112)".to_owned(),
                ..Module::default()
            },
            Unseen,
        )?,
        with(
            "a wait while listing",
            Module {
                imports: WAIT.to_owned(),
                list: "(drop (call $sleep (i64.const 3600000))) (i32.const 1024)".to_owned(),
                ..Module::default()
            },
            Refused("PLUGIN_DEADLINE"),
        )?,
        with(
            "a wait in the start function",
            Module {
                imports: WAIT.to_owned(),
                more: "(func $first (drop (call $sleep (i64.const 3600000)))) (start $first)".to_owned(),
                ..Module::default()
            },
            Refused("PLUGIN_DEADLINE"),
        )?,
        with(
            "a short wait",
            waiting("(drop (call $sleep (i64.const 1))) (call $answer (i32.const 2304) (i32.const 2))"),
            Succeeds,
        )?,
    ])
}
