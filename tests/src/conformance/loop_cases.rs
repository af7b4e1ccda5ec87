//! Does the loop do what the reference's did? (parts 1 to 7 of the format)
//!
//! ```text
//! script ──► World (agents, scripted adapters, tools, listeners) ──► ops in order ──► snapshot ──► comparison
//! ```
//!
//! Time is tokio's paused clock on one thread: it moves only when nothing else can run.

mod adapter;
mod approval;
mod deviations;
mod extras;
mod fault;
pub mod interrupt;
mod listener;
mod observer;
mod ops;
mod prompt;
mod sandbox;
mod snapshot;
mod store;
mod tool;
mod world;
pub mod yielding;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use hames_agent::repeat::RepeatConfig;
use hames_types::json::Json;

use self::extras::Extras;
use self::sandbox::shipped::Repeats;
use self::store::Kind;
use self::world::World;
use super::case::{Case, Mode};
use super::outcome::Outcome;
use super::rules;

/// One scripted scenario, from start to idle.
///
/// # Errors
/// If the scenario can't be run at all.
pub fn run(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let script = case.field("script");
    if case.mode == Mode::Tools && !sandbox::can_load(script) {
        return Ok(Outcome::Deviating(&rules::OUTSIDE_CONTRACT));
    }
    if case.mode == Mode::Listeners && !sandbox::listeners::can_load(script) {
        return Ok(Outcome::Deviating(&rules::LISTENER_NUMBERS));
    }
    let persistence = script.get("persistence").filter(|store| !store.is_null());
    // A scenario without a store runs once, one with a store on every kind of store it applies to.
    let kinds = match persistence {
        None => vec![None],
        Some(persistence) => Kind::of(persistence).iter().copied().map(Some).collect(),
    };
    let mut outcomes = Vec::new();
    for kind in kinds {
        let extras = Extras {
            kind,
            guests: (case.mode == Mode::Tools)
                .then(|| sandbox::Tools::load(script))
                .transpose()?,
            listeners: (case.mode == Mode::Listeners)
                .then(|| sandbox::listeners::Guests::load(script))
                .transpose()?,
            ..Extras::default()
        };
        let shown = play_on(script, extras)?;
        let place = kind.map_or_else(String::new, |kind| format!("({kind:?})"));
        outcomes.push(judged(case, &shown).within(&place));
    }
    Ok(Outcome::first_of(outcomes))
}

/// Plays a script of the format from start to idle and gives everything that is recorded of it.
///
/// # Errors
/// If the script can't be played at all.
pub fn play_out(script: &Json) -> anyhow::Result<Json> {
    play_on(script, Extras::default())
}

/// Plays a script beside a guard against repeated calls: the native one, or the component that must be equal to it.
///
/// # Errors
/// If the script can't be played at all.
pub fn play_guarded(script: &Json, config: &RepeatConfig, in_sandbox: bool) -> anyhow::Result<Json> {
    let repeats = match in_sandbox {
        true => Repeats::guest(config)?,
        false => Repeats::Native(config.clone()),
    };
    let persistence = script.get("persistence").filter(|store| !store.is_null());
    let extras = Extras {
        kind: persistence.and_then(|persistence| Kind::of(persistence).first().copied()),
        repeats: Some(repeats),
        ..Extras::default()
    };
    play_on(script, extras)
}

fn play_on(script: &Json, extras: Extras) -> anyhow::Result<Json> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .context("building the runtime")?;
    runtime.block_on(async {
        tokio::time::timeout(PATIENCE, play(script, extras))
            .await
            .context("something waits for what never comes")?
    })
}

/// Longest a scenario may take on the paused clock; only one that waits for what never comes gets there.
const PATIENCE: Duration = Duration::from_secs(100_000);

fn judged(case: &Case<'_>, shown: &Json) -> Outcome {
    match snapshot::compare(case, shown) {
        Outcome::Failed(difference) => match deviations::of(case, shown) {
            Some(rule) => Outcome::Deviating(rule),
            None if case.mode == Mode::Tools && sandbox::exceeds_contract(case.field("script")) => {
                Outcome::Deviating(&rules::OUTSIDE_CONTRACT)
            }
            None if case.mode == Mode::Listeners => {
                let events = case.list("events").unwrap_or_default();
                match sandbox::listeners::foreign(case.field("script"), events) {
                    Some(rule) => Outcome::Deviating(rule),
                    None => Outcome::Failed(difference),
                }
            }
            None => Outcome::Failed(difference),
        },
        Outcome::Passed => Outcome::Passed,
        Outcome::Waiting(part) => Outcome::Waiting(part),
        Outcome::Deviating(rule) => Outcome::Deviating(rule),
    }
}

async fn play(script: &Json, extras: Extras) -> anyhow::Result<Json> {
    let world = World::new(script, extras)?;
    world.open().await;
    let actions = script
        .get("actions")
        .cloned()
        .unwrap_or_else(|| Json::Array(Vec::new()));
    // The driver's own list never propagates.
    drop(ops::run(Arc::clone(&world), actions).await);
    world.quiesce().await;
    snapshot::take(&world)
}
