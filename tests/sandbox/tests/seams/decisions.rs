//! Is what a listener decided in the log, and can it be computed again?

use std::sync::Arc;

use hames_log::RecordedSession;
use hames_plugin::{Clocks, DECISION_KIND, Ledger, PluginSpec, Point, Random, backtest};
use hames_sandbox_tests::listening::{Does, Listening};
use hames_types::content::Content;
use hames_types::id::PluginId;
use hames_types::port::plugin::Recorded;
use serde_json::json;

use crate::stage::{Run, Stage, spec};

/// Denies, and gives 32 letters as the reason: 16 of a random number and 16 of the time.
fn moody() -> Listening {
    let letters = "(func $letters (param $at i32) (param $from i64) (local $n i32)
        (loop $more
            (i32.store8 (i32.add (local.get $at) (local.get $n))
                (i32.add (i32.const 97) (i32.wrap_i64 (i64.and (local.get $from) (i64.const 15)))))
            (local.set $from (i64.shr_u (local.get $from) (i64.const 4)))
            (local.set $n (i32.add (local.get $n) (i32.const 1)))
            (br_if $more (i32.lt_u (local.get $n) (i32.const 16)))))";
    let code = "(call $now (i32.const 7000))
        (call $letters (i32.const 5000) (call $random))
        (call $letters (i32.const 5016) (i64.load (i32.const 7000)))";
    let mut deny = vec![1, 0, 0, 0];
    deny.extend(5_000_u32.to_le_bytes());
    deny.extend(32_u32.to_le_bytes());
    Listening {
        imports: r#"(import "wasi:random/random@0.2.6" "get-random-u64" (func $random (result i64)))
            (import "wasi:clocks/wall-clock@0.2.6" "now" (func $now (param i32)))"#
            .to_owned(),
        more: letters.to_owned(),
        packages: vec![
            (
                "package wasi:random@0.2.6; interface random { get-random-u64: func() -> u64; }".to_owned(),
                "import wasi:random/random@0.2.6;".to_owned(),
            ),
            (
                "package wasi:clocks@0.2.6; interface wall-clock { record datetime { seconds: u64, nanoseconds: u32 } now: func() -> datetime; }".to_owned(),
                "import wasi:clocks/wall-clock@0.2.6;".to_owned(),
            ),
        ],
        ..Listening::at("on-pre-execute", Does::After(code.to_owned(), deny))
    }
}

fn moody_spec() -> PluginSpec {
    let mut spec = spec("policy", &moody());
    spec.grant.clocks = Some(Clocks::Real);
    spec.grant.random = Some(Random::Real);
    spec
}

/// Runs one turn; the session as it was recorded.
async fn recorded(stage: &Stage) -> (Run, Arc<dyn Recorded>) {
    let agent = stage.start().await;
    agent.send(Content::text("go"), Default::default()).unwrap();
    agent.when_idle().await;
    let session = agent.session();
    let record = session.read(|log| RecordedSession::new(session.header().clone(), log));
    (Run(session.all_events()), Arc::new(record))
}

#[tokio::test]
async fn a_decision_is_logged_before_its_step_closes_and_comes_out_the_same_again() {
    let stage = Stage::with("native", Default::default(), Some(Ledger::new()));
    let plugin = stage.add(moody_spec()).await.unwrap();
    let watching = Listening::at("on-session-event", Does::Answer(Vec::new()));
    stage.add(spec("watcher", &watching)).await.unwrap();
    let (run, record) = recorded(&stage).await;
    assert!(run.is_balanced());
    let decisions = run.of(DECISION_KIND);
    assert_eq!(decisions.len(), 1, "{decisions:?}");
    let decision = &decisions[0];
    assert_eq!(decision["plugin"], "policy");
    assert_eq!(decision["component"], plugin.digest());
    assert_eq!(decision["seam"], "pre-execute");
    assert_eq!(
        decision["about"],
        json!({ "callId": "c1", "tool": "native", "turn": 1, "step": 1 })
    );
    assert_eq!(decision["answer"]["kind"], "deny");
    assert_eq!(decision["clockMs"], 1_700_000_000_000_u64);
    assert!(decision["tookUs"].as_u64().unwrap() > 0);
    assert!(
        (100..10_000).contains(&decision["fuel"].as_u64().unwrap()),
        "{decision}"
    );
    let kinds: Vec<&str> = run.0.iter().map(|event| event.kind()).collect();
    let at = kinds.iter().position(|kind| *kind == DECISION_KIND).unwrap();
    assert_eq!(kinds[at - 1..=at + 1], ["tool/result", DECISION_KIND, "step/end"]);
    // The same policy decides the same: time and numbers are what they were.
    let again = backtest(&stage.sandbox, moody_spec(), &[Arc::clone(&record)])
        .await
        .unwrap();
    assert_eq!((again.asked, again.differences), (1, Vec::new()));
    // Another policy doesn't, and the difference says where.
    let lenient = spec("policy", &Listening::at("on-pre-execute", Does::Answer(vec![0])));
    let changed = backtest(&stage.sandbox, lenient, &[record]).await.unwrap();
    assert_eq!(changed.differences.len(), 1);
    let difference = &changed.differences[0];
    assert_eq!(difference.point, Point::PreExecute);
    assert_eq!(difference.call.as_ref().unwrap().as_str(), "c1");
    assert_eq!(difference.then, decision["answer"]);
    assert_eq!(difference.now, json!({ "kind": "allow" }));
    stage.close().await;
}

/// The same call takes the same fuel, and no more than it may.
#[tokio::test]
async fn fuel_is_the_same_every_time_and_runs_out() {
    let mut used = Vec::new();
    for fuel in [None, None, Some(1_000_000), Some(50)] {
        let stage = Stage::with("native", Default::default(), Some(Ledger::new()));
        let mut spec = moody_spec();
        spec.limits.fuel = fuel;
        stage.add(spec).await.unwrap();
        let (run, _) = recorded(&stage).await;
        let decision = run.of(DECISION_KIND).remove(0);
        used.push((decision["fuel"].as_u64(), decision["error"]["code"].clone()));
        stage.close().await;
    }
    assert!(used[0].0.unwrap() > 100);
    assert_eq!(used[0], used[1]);
    assert_eq!(used[0], used[2]);
    assert_eq!(used[3], (Some(50), json!("PLUGIN_LIMIT_FUEL")));
}

#[tokio::test]
async fn without_a_ledger_nothing_of_it_is_logged() {
    let stage = Stage::new();
    stage.add(moody_spec()).await.unwrap();
    let run = stage.run().await;
    assert_eq!(run.of(DECISION_KIND).len(), 0);
    assert!(run.result().unwrap().is_error);
    stage.close().await;
}

/// A prompt is blocked before any step; a failure and what it was restricted to are recorded as well.
#[tokio::test]
async fn every_answering_seam_is_recorded_with_what_counted() {
    let stage = Stage::with("native", Default::default(), Some(Ledger::new()));
    let made = Listening {
        exports: vec![
            ("on-prompt-submit", Does::Delegate),
            ("on-pre-step", Does::Answer(vec![1])),
            ("guard", Does::Answer(Vec::new())),
            ("on-turn-stop", Does::Answer(vec![0])),
            ("on-turn-continuation", Does::Trap),
        ],
        ..Listening::default()
    };
    let mut restricted = spec("policy", &made);
    restricted.grant.full.clear();
    restricted.open = vec![Point::TurnContinuation];
    stage.add(restricted).await.unwrap();
    let (run, _) = recorded(&stage).await;
    let decisions: Vec<(String, bool, bool)> = run
        .of(DECISION_KIND)
        .iter()
        .map(|decision| {
            let has = |key: &str| decision.get(key).is_some();
            (
                decision["seam"].as_str().unwrap().to_owned(),
                has("error"),
                has("rest"),
            )
        })
        .collect();
    let step = |error| ("pre-step".to_owned(), error, false);
    assert_eq!(
        decisions,
        [
            ("prompt-submit".to_owned(), false, true),
            step(false),
            ("guard".to_owned(), false, false),
            ("turn-continuation".to_owned(), true, false),
            ("turn-stop".to_owned(), false, false),
            step(false),
            ("turn-continuation".to_owned(), true, false),
            ("turn-stop".to_owned(), false, false),
        ]
    );
    stage.close().await;
}

#[tokio::test]
async fn a_backtest_asks_prompts_guards_and_results_as_well() {
    let stage = Stage::new();
    let (_, record) = recorded(&stage).await;
    let harsh = Listening {
        exports: vec![
            ("on-prompt-submit", Does::Fail(3)),
            ("guard", Does::Fail(3)),
            ("on-post-execute", Does::Fail(3)),
            ("on-pre-execute", Does::Delegate),
        ],
        ..Listening::default()
    };
    let spec = PluginSpec::new(PluginId::new("new"), harsh.component("new").unwrap());
    let found = backtest(&stage.sandbox, spec, &[record]).await.unwrap();
    assert_eq!(found.asked, 4);
    let points: Vec<Point> = found.differences.iter().map(|found| found.point).collect();
    assert_eq!(points, [Point::PromptSubmit, Point::Guard, Point::PostExecute]);
    assert_eq!(
        found.differences[0].now,
        json!({ "error": { "message": "xxx", "code": null } })
    );
    stage.close().await;
}

#[tokio::test]
async fn nobody_but_the_host_writes_decisions() {
    let stage = Stage::new();
    let made = Listening {
        manifest: r#"{"id":"{}","version":"1.0.0","kinds":[{"sum":"session event","tag":"plugin/decision","schema":{}}]}"#
            .to_owned(),
        ..Listening::at("guard", Does::Answer(Vec::new()))
    };
    for is_shipped in [false, true] {
        let mut spec = spec("made", &made);
        spec.is_shipped = is_shipped;
        let refused = stage.sandbox.load(spec).await.unwrap_err();
        assert_eq!(refused.problem.code(), "PLUGIN_KIND");
    }
    stage.close().await;
}
