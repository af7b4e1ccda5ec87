//! What becomes of a turn when a listener traps, loops, waits, lies or says too much? At every point.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hames_agent::SendOptions;
use hames_plugin::{DECISION_KIND, Ledger, Point, PointKind};
use hames_sandbox_tests::listening::{Does, Listening};
use hames_types::content::Content;
use hames_types::turn::{CancelCause, TurnEndReason};

use crate::stage::{Run, Stage, spec};

/// Every turn must be over within this, on a machine that does other things as well.
const BOUND: Duration = Duration::from_secs(20);

fn interface(point: Point) -> &'static str {
    let name = point.interface();
    let name = name.strip_prefix("hames:plugin/").unwrap();
    name.split('@').next().unwrap()
}

fn misdeeds() -> [(Does, &'static str); 5] {
    [
        (Does::Trap, "PLUGIN_TRAP"),
        (Does::Loop, "PLUGIN_DEADLINE"),
        (Does::Wait, "PLUGIN_DEADLINE"),
        (Does::Lie, "PLUGIN_BROKEN"),
        (Does::Fail(3 << 20), "PLUGIN_LIMIT_CROSSING"),
    ]
}

async fn misbehave(point: Point, does: Does, code: &str) {
    let stage = Stage::with("native", Default::default(), Some(Ledger::new()));
    let plugin = stage
        .add(spec("made", &Listening::at(interface(point), does.clone())))
        .await
        .unwrap();
    assert_eq!(plugin.points(), [point]);
    stage
        .model_fails
        .store(point == Point::RequestError, Ordering::Relaxed);
    let begun = Instant::now();
    let run = stage.run().await;
    let context = format!("{point} with {does:?}: {:?}", run.end());
    assert!(begun.elapsed() < BOUND, "{context} after {:?}", begun.elapsed());
    assert!(run.is_balanced(), "{context}");
    let decisions = run.of(DECISION_KIND);
    assert_eq!(
        decisions.is_empty(),
        point.kind() == PointKind::Observer,
        "{context}"
    );
    for decision in decisions {
        assert_eq!(decision["error"]["code"], code, "{context}");
        assert!(decision["tookUs"].as_u64() > Some(0), "{context}: {decision}");
        assert!(decision["fuel"].as_u64() > Some(0), "{context}: {decision}");
    }
    match point {
        Point::PreExecute | Point::Guard | Point::Execute | Point::PostExecute => {
            assert!(matches!(run.end(), TurnEndReason::Completed(_)), "{context}");
            let result = run.result().unwrap();
            assert!(result.is_error, "{context}");
            let found = result.error.as_ref().map(|error| error.code.as_str());
            assert_eq!(found, Some(code), "{context}");
        }
        Point::RequestError => {
            let TurnEndReason::Error(error) = run.end() else {
                panic!("{context}")
            };
            let failure = error.failure.as_ref().unwrap();
            assert_eq!(failure.code, "SERVER", "{context}");
        }
        observer if observer.kind() == PointKind::Observer => {
            assert!(matches!(run.end(), TurnEndReason::Completed(_)), "{context}");
            assert!(!run.result().unwrap().is_error, "{context}");
        }
        _ => assert_eq!(run.error(), Some(code), "{context}"),
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_ends_as_the_rules_say_whatever_a_listener_does() {
    for point in Point::ALL
        .iter()
        .filter(|point| point.kind() != PointKind::Observer)
    {
        for (does, code) in misdeeds() {
            misbehave(*point, does, code).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_takes_no_notice_of_what_an_observer_does() {
    for point in Point::ALL
        .iter()
        .filter(|point| point.kind() == PointKind::Observer)
    {
        for (does, code) in misdeeds() {
            misbehave(*point, does, code).await;
        }
    }
}

/// A listener that waits is asked to stop, and dropped when it doesn't; the turn ends as a cancelled one does.
#[tokio::test]
async fn a_cancelled_turn_doesnt_wait_for_a_listener() {
    for interface in [
        "on-prompt-submit",
        "on-pre-step",
        "on-pre-execute",
        "on-turn-stop",
    ] {
        for does in [Does::Wait, Does::Loop] {
            let stage = Stage::new();
            let mut spec = spec("made", &Listening::at(interface, does));
            spec.limits.decide = Duration::from_secs(60);
            stage.add(spec).await.unwrap();
            let agent = stage.start().await;
            agent.send(Content::text("go"), SendOptions::default()).unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
            let begun = Instant::now();
            agent.cancel(CancelCause::User);
            agent.when_idle().await;
            assert!(begun.elapsed() < Duration::from_secs(10), "{interface}");
            let run = Run(agent.session().all_events());
            assert!(
                matches!(run.end(), TurnEndReason::Aborted(_)),
                "{interface}: {:?}",
                run.end()
            );
            assert!(run.is_balanced());
            stage.close().await;
        }
    }
}
