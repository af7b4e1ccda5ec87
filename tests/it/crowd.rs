//! A crowd: ten thousand agents live in one process, a hundred of them busy at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use hames_agent::SendOptions;
use hames_agent::listeners::Listeners;
use hames_log::Place;
use hames_tests::conformance::loop_cases::interrupt::faults_of;
use hames_tests::rig::{Dice, Rig};
use hames_types::content::Content;
use hames_types::fault::Fault;
use hames_types::port::listener::Consult;
use hames_types::port::seam::{PreStep, StepAsk};
use hames_types::turn::AgentStatus;
use tokio::sync::watch;

const LIVE: usize = 10_000;
const BUSY: usize = 100;

/// Holds every step until the gate opens, and counts who waits.
struct Gate {
    waiting: AtomicUsize,
    open: watch::Receiver<bool>,
}

#[async_trait]
impl Consult<PreStep> for Gate {
    async fn consult(&self, _: &StepAsk) -> Result<Option<()>, Fault> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.open
            .clone()
            .wait_for(|open| *open)
            .await
            .expect("the gate is held");
        Ok(None)
    }
}

fn hold(listeners: &Listeners) -> (Arc<Gate>, watch::Sender<bool>) {
    let (opener, open) = watch::channel(false);
    let gate = Arc::new(Gate {
        waiting: AtomicUsize::new(0),
        open,
    });
    listeners.add::<PreStep>(None, Place::First, Arc::clone(&gate) as _);
    (gate, opener)
}

async fn until(what: &str, done: impl Fn() -> bool) {
    for _ in 0..6_000 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} took more than a minute");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_agents_live_in_one_process_and_a_hundred_are_busy_at_once() {
    let rig = Rig::new(&Dice::new(1)).expect("a rig");
    let (gate, opener) = hold(&rig.agents.services().listeners);
    let mut live = Vec::with_capacity(LIVE);
    for _ in 0..LIVE {
        live.push(rig.start().await.expect("an agent"));
    }
    let busy: Vec<_> = live.iter().step_by(LIVE / BUSY).collect();
    for agent in &busy {
        agent
            .send(Content::text("go"), SendOptions::default())
            .expect("a send");
    }
    until("all of them to be busy", || {
        gate.waiting.load(Ordering::SeqCst) == BUSY
    })
    .await;
    assert!(busy.iter().all(|agent| agent.status() == AgentStatus::Running));
    assert_eq!(
        live.iter()
            .filter(|agent| agent.status() == AgentStatus::Idle)
            .count(),
        LIVE - BUSY
    );

    opener.send_replace(true);
    for agent in &busy {
        agent.when_idle().await;
        assert!(!agent.session().is_empty());
        assert_eq!(faults_of(agent.session()), Vec::<String>::new());
    }
    rig.agents.close().await;
    assert!(rig.agents.live().is_empty());
    assert_eq!(rig.bodies.load(Ordering::SeqCst), 0);
}
