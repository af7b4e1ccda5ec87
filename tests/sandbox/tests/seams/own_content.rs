//! Does a component find its own content again after a restart?

use hames_sandbox_tests::answer::Answer;
use hames_sandbox_tests::handmade::Module;
use hames_sandbox_tests::listening::{ANSWER, Does, Listening};
use hames_types::content::Content;
use hames_types::turn::TurnEndReason;

use crate::stage::{Run, Stage, options, spec};

/// A tool that answers with a card, and a listener that blocks the prompt behind it and gives the card's fields, as it
/// finds them in the conversation, as the reason.
fn cards() -> Listening {
    let mut answer = Answer::default();
    let card = answer.other("made:card", r#"{"suit":"hearts","rank":1.50}"#);
    let address = answer.blocks(&[card]);
    // The third message holds the tool's result, and that one block. A message takes 68 bytes, its content stands at
    // 4; a tool result's content at 12 of its block; the fields of an unknown block at 12 of it.
    let code = format!(
        "(call $messages (i32.const 100) (i32.const 7000))
         (if (i32.load8_u (i32.const 7000)) (then (unreachable)))
         (if (result i32) (i32.lt_u (i32.load (i32.const 7008)) (i32.const 3))
           (then
             (call $run-prompt-submit (local.get $next) (i32.const {ANSWER}))
             (call $drop-prompt-submit (local.get $next))
             (i32.const {ANSWER}))
           (else
             (memory.fill (i32.const {ANSWER}) (i32.const 0) (i32.const 256))
             (i32.store8 offset=8 (i32.const {ANSWER}) (i32.const 1))
             (i32.store offset=12 (i32.const {ANSWER}) (i32.load offset=12 (call $card)))
             (i32.store offset=16 (i32.const {ANSWER}) (i32.load offset=16 (call $card)))
             (call $drop-prompt-submit (local.get $next))
             (i32.const {ANSWER})))"
    );
    Listening {
        imports: r#"(import "hames:plugin/session@0.1.0" "messages" (func $messages (param i32 i32)))"#.to_owned(),
        more: format!(
            "(func $card (result i32)
               (i32.load offset=12 (i32.load offset=4 (i32.add (i32.load (i32.const 7004)) (i32.const 136)))))
             {}",
            answer.data()
        ),
        tools: Some(Module {
            execute: format!("(i32.const {address})"),
            ..Module::default()
        }),
        manifest: r#"{"id":"{}","version":"1.0.0","wants":[{"grant":"session","reason":"reads its cards"},{"grant":"authority","reason":"blocks"}],
            "kinds":[{"sum":"content block","tag":"made:card","schema":{"type":"object","required":["suit"]}}]}"#
            .to_owned(),
        ..Listening::at("on-prompt-submit", Does::Body(code))
    }
}

async fn add(stage: &Stage) {
    let mut spec = spec("made", &cards());
    spec.grant.session.read = true;
    stage.add(spec).await.unwrap();
}

#[tokio::test]
async fn a_block_of_its_own_is_in_the_conversation_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.db");
    let stage = Stage::stored("t", &file);
    add(&stage).await;
    let agent = stage.start().await;
    agent.send(Content::text("go"), Default::default()).unwrap();
    agent.when_idle().await;
    let run = Run(agent.session().all_events());
    assert!(
        matches!(run.end(), TurnEndReason::Completed(_)),
        "{:?}",
        run.end()
    );
    let block = &run.of("tool/result")[0]["content"][0];
    assert_eq!(block["type"], "made:card");
    let id = agent.id().clone();
    drop(agent);
    stage.close().await;

    // Another process: nothing is left but the file.
    let stage = Stage::stored("t", &file);
    add(&stage).await;
    let agent = stage.agents.resume(&id, options(), None).await.unwrap();
    agent.send(Content::text("again"), Default::default()).unwrap();
    agent.when_idle().await;
    let run = Run(agent.session().all_events());
    let TurnEndReason::Rejected(rejected) = run.end() else {
        panic!("the turn ended as {:?}", run.end());
    };
    assert_eq!(rejected.reason, r#"{"suit":"hearts","rank":1.50}"#);
    drop(agent);
    stage.close().await;
}
