//! The same scenarios, interrupted: at the n-th time the main agent's driver runs, the agent is cancelled or disposed.
//!
//! Whatever the point, the log must be balanced, the history one that a provider takes, and nothing may be left running.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::Context as _;
use hames_agent::{Agent, Life};
use hames_log::Session;
use hames_types::json::Json;
use hames_types::message::History;
use hames_types::turn::CancelCause;

use super::extras::Extras;
use super::world::World;
use super::yielding::Yields;
use super::{ops, snapshot};

/// How the agent is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// A person cancels.
    Cancel,
    /// The agent is disposed.
    Dispose,
}

/// Where a scenario is interrupted.
#[derive(Debug, Clone, Copy)]
pub struct At {
    /// Just before the driver runs for this time, counted from 0.
    pub poll: usize,
    /// How.
    pub how: How,
}

/// What an interrupted scenario left.
#[derive(Debug)]
pub struct Left {
    /// How often the driver ran in all.
    pub polls: usize,
    /// What is wrong with what it left; empty if nothing is.
    pub problems: Vec<String>,
}

/// Longest a scenario may take on the paused clock; only one that waits for what never comes gets there.
const PATIENCE: Duration = Duration::from_secs(100_000);

/// Plays a scenario and interrupts it.
///
/// # Errors
/// If the scenario can't be run at all.
pub fn play(script: &Json, at: At) -> anyhow::Result<Left> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .context("building the runtime")?;
    let watch = Arc::new(Watch {
        at,
        polls: AtomicUsize::new(0),
    });
    let mut problems = runtime.block_on(async {
        match tokio::time::timeout(PATIENCE, play_and_look(script, &watch)).await {
            Ok(problems) => problems,
            Err(_) => Ok(vec!["something waits for what never comes".to_owned()]),
        }
    })?;
    let alive = runtime.metrics().num_alive_tasks();
    if alive > 0 {
        problems.push(format!("{alive} tasks are left"));
    }
    Ok(Left {
        polls: watch.polls.load(Ordering::Relaxed),
        problems,
    })
}

/// Counts the driver's polls and interrupts at one of them.
#[derive(Debug)]
pub(super) struct Watch {
    at: At,
    polls: AtomicUsize,
}

impl Watch {
    /// The agent's life, watched.
    pub(super) fn over(self: &Arc<Self>, agent: &Arc<Agent>, life: Life) -> Life {
        Box::pin(Watched {
            watch: Arc::clone(self),
            agent: Arc::clone(agent),
            life,
        })
    }
}

struct Watched {
    watch: Arc<Watch>,
    agent: Arc<Agent>,
    life: Life,
}

impl Future for Watched {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let poll = self.watch.polls.fetch_add(1, Ordering::Relaxed);
        if poll == self.watch.at.poll {
            match self.watch.at.how {
                How::Cancel => self.agent.cancel(CancelCause::User),
                How::Dispose => self.agent.dispose(),
            }
        }
        self.life.as_mut().poll(context)
    }
}

async fn play_and_look(script: &Json, watch: &Arc<Watch>) -> anyhow::Result<Vec<String>> {
    // Every await of the loop really waits once, so that every one of them is a place to be interrupted at.
    let yields: Yields = Arc::new(|| 1);
    let world = World::new(
        script,
        Extras {
            watch: Some(Arc::clone(watch)),
            yields: Some(yields),
            ..Extras::default()
        },
    )?;
    world.open().await;
    let actions = script
        .get("actions")
        .cloned()
        .unwrap_or_else(|| Json::Array(Vec::new()));
    drop(ops::run(Arc::clone(&world), actions).await);
    world.quiesce().await;
    let mut problems = Vec::new();
    for (id, session) in snapshot::sessions_of(&world) {
        problems.extend(
            faults_of(&session)
                .into_iter()
                .map(|fault| format!("session {id}: {fault}")),
        );
    }
    world.end().await;
    let bodies = world.bodies_running();
    if bodies > 0 {
        problems.push(format!("{bodies} tool bodies are left"));
    }
    Ok(problems)
}

/// What is wrong with a session that nobody drives any more: something open, or a history no provider takes.
#[must_use]
pub fn faults_of(session: &Arc<Session>) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(turn) = session.open_turn() {
        faults.push(format!("turn {turn} is open"));
    }
    if let Some(step) = session.open_step() {
        faults.push(format!("step {step} is open"));
    }
    match session.derive() {
        Ok(history) => faults.extend(unanswered(&history)),
        Err(error) => faults.push(error.to_string()),
    }
    faults
}

/// A call without its result, or a result without its call, anywhere in a history.
fn unanswered(history: &History) -> Option<String> {
    use hames_types::content::ContentBlock;
    use hames_types::message::Role;

    let mut open = Vec::new();
    for message in history.iter() {
        if message.role == Role::Assistant {
            if let Some(id) = open.first() {
                return Some(format!("call {id} has no result before the next answer"));
            }
            open.extend(message.content.tool_calls().map(|call| call.id.clone()));
        }
        for block in message.content.iter() {
            if let ContentBlock::ToolResult(result) = block {
                match open.iter().position(|id| *id == result.tool_call_id) {
                    Some(at) => drop(open.remove(at)),
                    None => return Some(format!("a result answers no open call: {}", result.tool_call_id)),
                }
            }
        }
    }
    open.first().map(|id| format!("call {id} has no result"))
}
