//! An observer: it writes down what ran, and can change nothing.
//!
//! It is told of turns, of refused prompts and of every call of a tool, and keeps one line for each in its own store, in
//! order, and the same line in the operator's diagnostics. The kinds of events it hears of stand in its manifest: of all
//! others, chunks among them, the host doesn't even wake it. What a call said or was given isn't kept; that is in the
//! session's log.
//!
//! A person reads the record with the command `audit`.

use hames_sdk::kv;
use hames_sdk::log;
use hames_sdk::prelude::*;
use hames_sdk::session::EventBody;

/// The number of the last line, and where lines are.
const COUNT: &str = "count";
const LINES: &str = "line/";

struct Audit;

#[plugin(manifest = "../manifest.json")]
impl Plugin for Audit {
    fn on_session_event(notice: SessionEvent) -> Result<(), Error> {
        let session = &notice.session;
        match &notice.event.body {
            EventBody::TurnStart(start) => keep(&format!("{session}: turn {} began", start.turn)),
            EventBody::TurnEnd(end) => keep(&format!("{session}: turn {} ended", end.turn)),
            EventBody::PromptBlocked(blocked) => {
                keep(&format!("{session}: a prompt was refused: {}", blocked.reason))
            }
            // The manifest names no other kind.
            _ => Ok(()),
        }
    }

    fn on_tool_result(notice: ToolResult) -> Result<(), Error> {
        let call = &notice.call;
        let who = call.agent.as_deref().unwrap_or("nobody");
        let how = match (&notice.outcome.error, notice.outcome.is_error) {
            (Some(error), _) => format!("failed with {}", error.code),
            (None, true) => "failed".to_owned(),
            (None, false) => "succeeded".to_owned(),
        };
        keep(&format!("{who}: {} ({}) {how}", call.name, call.call_id))
    }

    fn commands(_config: Value) -> Result<Vec<CommandDefinition>, Error> {
        Ok(vec![CommandDefinition {
            name: "audit".to_owned(),
            description: "Shows the last lines of the record.".to_owned(),
            argument_hint: Some("how many, 20 if nothing is said".to_owned()),
            extra: None,
        }])
    }

    fn run_command(_name: &str, arguments: &str, _agent: Option<&str>) -> Result<CommandOutcome, Error> {
        let wanted: i64 = match arguments.trim() {
            "" => 20,
            number => number.parse()?,
        };
        let last: i64 = kv::get(COUNT)?.unwrap_or(0);
        let mut lines = Vec::new();
        for number in (last - wanted).max(0) + 1..=last {
            // One that is being written stands in the count already.
            lines.extend(kv::get::<String>(&key(number))?);
        }
        Ok(CommandOutcome::Show(lines.join("\n")))
    }
}

fn key(number: i64) -> String {
    format!("{LINES}{number:012}")
}

/// Keeps a line behind all others, whoever writes beside.
fn keep(line: &str) -> Result<(), Error> {
    log::info(line);
    let number = kv::increment(COUNT, 1)?;
    kv::set(&key(number), &line)
}
