//! Arbitrary schedules: sends, steering, injections and cancellations come while everything takes its time at random.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hames_agent::{Agent, InjectOptions, SendOptions};
use hames_tests::conformance::loop_cases::interrupt::faults_of;
use hames_tests::rig::{Dice, Rig};
use hames_types::content::Content;
use hames_types::turn::{AgentStatus, CancelCause};

/// How many schedules are played: ten thousand with `HAMES_LONG=1` at build time, see CONTRIBUTING.
const SCHEDULES: u64 = if option_env!("HAMES_LONG").is_some() {
    10_000
} else {
    400
};

/// Says something to an agent, as the dice fall. A verb may come at any time and none may fail.
fn say(agent: &Arc<Agent>, dice: &Dice) {
    let content = Content::text("well");
    match dice.below(6) {
        0 | 1 => agent.send(content, SendOptions::default()).expect("a send"),
        2 => agent.steer(content, SendOptions::default()).expect("steering"),
        3 => agent
            .inject(content, InjectOptions::default())
            .expect("an injection"),
        4 => agent.cancel(CancelCause::User),
        _ => {}
    }
}

async fn play(dice: &Dice) -> Vec<String> {
    let rig = Rig::new(dice).expect("a rig");
    let agent = rig.start().await.expect("an agent");
    for _ in 0..(5 + dice.below(20)) {
        say(&agent, dice);
        for _ in 0..dice.below(30) {
            tokio::task::yield_now().await;
        }
    }
    if dice.below(4) == 0 {
        agent.dispose();
    }
    agent.when_idle().await;
    let mut faults = faults_of(agent.session());
    if agent.status() == AgentStatus::Running {
        faults.push("idle was promised, but it runs".to_owned());
    }
    rig.agents.close().await;
    let bodies = rig.bodies.load(Ordering::Relaxed);
    if bodies > 0 {
        faults.push(format!("{bodies} tool bodies are left"));
    }
    faults
}

#[test]
fn any_schedule_of_verbs_leaves_a_balanced_log_and_a_history_that_providers_take() {
    for seed in 0..SCHEDULES {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        let faults = runtime.block_on(play(&Dice::new(seed)));
        assert!(faults.is_empty(), "seed {seed}: {}", faults.join("; "));
        assert_eq!(runtime.metrics().num_alive_tasks(), 0, "seed {seed} leaves tasks");
    }
}
