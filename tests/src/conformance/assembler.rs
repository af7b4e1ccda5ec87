//! Are chunks assembled into the message that the reference made of them? (part 9)

use hames_log::assemble::BlockAssembler;
use hames_types::chunk::StreamChunk;
use hames_types::json::{FromJson, Json, to_json};
use serde_json::json;

use super::case::Case;
use super::outcome::Outcome;

/// One stream.
///
/// # Errors
/// If a chunk can't be decoded or the case isn't of the format.
pub fn run(case: &Case<'_>) -> anyhow::Result<Outcome> {
    let mut assembler = BlockAssembler::new();
    for chunk in case.list("chunks")? {
        assembler.push(&StreamChunk::from_json(chunk.clone())?);
    }
    let ending = {
        let (usage, finish, replay_state) = assembler.ending();
        Outcome::first_of([
            Outcome::compare(case.field("usage"), &to_json(&usage)?).within(".usage"),
            Outcome::compare(case.field("finish"), &to_json(&finish)?).within(".finish"),
            Outcome::compare(case.field("replayState"), &presence(replay_state)).within(".replayState"),
        ])
    };
    let blocks = match assembler.finish() {
        Ok(assembled) => Outcome::first_of([
            Outcome::compare(case.field("expect"), &json!("ok")).within(".expect"),
            Outcome::compare(case.field("blocks"), &to_json(&assembled.content)?).within(".blocks"),
        ]),
        Err(fault) => Outcome::first_of([
            Outcome::compare(case.field("expect"), &json!("error")).within(".expect"),
            Outcome::compare(case.field("error"), &json!(fault.to_string())).within(".error"),
        ]),
    };
    Ok(Outcome::first_of([blocks, ending]))
}

/// Absent and null are different replay states.
fn presence(value: Option<&Json>) -> Json {
    match value {
        Some(value) => json!({"present": true, "value": value}),
        None => json!({"present": false}),
    }
}
