//! Room 1: claim one prompt, run its turn, checkpoint, repeat (R-LOOP).

use std::sync::Arc;

use hames_types::id::StepNo;
use hames_types::message::History;
use hames_types::signal::{Signal, Trigger};
use hames_types::turn::AgentStatus;

use crate::agent::Agent;
use crate::inbox::Item;
use crate::turn::{self, Unopened};

/// What one driver remembers; everything else comes from the log (R-LOOP-6).
#[derive(Default)]
pub(crate) struct Memory {
    /// Whether this driver has logged a request header.
    pub(crate) header_logged: bool,
    /// The messages in front of the history, composed once.
    pub(crate) prefix: Option<History>,
}

/// Drives an agent until it is disposed. A turn's failure never ends it (R-LOOP-4).
pub(crate) async fn drive(agent: &Arc<Agent>) {
    let mut memory = Memory::default();
    while let Some(signal) = next_turn(agent).await {
        // Status is `running` now; consecutive turns share the interval (R-IDLE-3).
        let mut owned = Some(signal);
        while let Some(signal) = owned.take() {
            let Some(item) = claim(agent, &signal) else { break };
            owned = run(agent, &mut memory, item, signal).await;
        }
        settle(agent);
    }
    agent.driver_done();
}

/// Waits until something is queued and takes ownership of the coming turn; `None` once the agent is disposed.
async fn next_turn(agent: &Arc<Agent>) -> Option<Signal> {
    loop {
        let ready = {
            let mut state = agent.state.lock();
            if state.status.now == AgentStatus::Disposed {
                return None;
            }
            // Work that was cancelled before anybody took it up leaves nothing but waiters (R-CANC-7).
            let cancelled = std::mem::take(&mut state.cancelled_before_run);
            if state.has_work() { Ok(()) } else { Err(cancelled) }
        };
        match ready {
            Ok(()) => break,
            Err(true) => agent.set_status(AgentStatus::Idle),
            Err(false) => agent.wake.notified().await,
        }
    }
    let signal = own(agent);
    agent.set_status(AgentStatus::Running);
    Some(signal)
}

/// Installs the right to interrupt the coming turn.
fn own(agent: &Agent) -> Signal {
    let trigger = Trigger::new();
    let signal = trigger.signal();
    let mut state = agent.state.lock();
    state.terminal = false;
    state.owner = Some(trigger);
    signal
}

/// The next prompt, unless an observer of `running` cancelled or disposed (R-CANC-8).
fn claim(agent: &Agent, signal: &Signal) -> Option<Item> {
    let mut state = agent.state.lock();
    if state.status.now == AgentStatus::Disposed {
        return None;
    }
    if signal.is_raised() {
        state.owner = None;
        return None;
    }
    state.inbox.queued.pop_front()
}

/// Runs the turn of one prompt; gives ownership of the next one, if something is queued.
async fn run(agent: &Arc<Agent>, memory: &mut Memory, item: Item, signal: Signal) -> Option<Signal> {
    let unopened = turn::run(agent, memory, item, signal).await.err();
    let more = {
        let mut state = agent.state.lock();
        state.owner = None;
        if state.terminal {
            state.inbox.steering.clear();
        } else {
            state.inbox.requeue_steering();
        }
        if let Some(Unopened { item, .. }) = &unopened {
            // The message isn't lost: it waits until somebody says something, and runs first then.
            state.stalled = true;
            if state.status.now != AgentStatus::Disposed {
                state.inbox.queued.push_front(item.clone());
            }
        }
        state.status.now != AgentStatus::Disposed && state.has_work()
    };
    if let Some(Unopened { item, turn, fault }) = unopened {
        let lost = (agent.status() == AgentStatus::Disposed).then_some(item.content);
        agent.report(turn, StepNo::new(0), fault, lost);
    }
    more.then(|| own(agent))
}

/// Gives up ownership and goes idle, unless something was queued in between.
fn settle(agent: &Agent) {
    let idle = {
        let mut state = agent.state.lock();
        state.owner = None;
        state.cancelled_before_run = false;
        !state.has_work()
    };
    if idle {
        agent.set_status(AgentStatus::Idle);
    }
}
