//! What was said and done in a session, for a person or event by event?

use hames_types::content::{Content, ContentBlock};
use hames_types::event::{Event, EventBody};
use hames_types::turn::TurnEndReason;

use super::find;
use super::list::{line, value};
use crate::compose::Shelf;
use crate::exit::Exit;
use crate::output::{Output, Tone, visible};
use crate::outside::shown_time;

/// How much of a tool's result is shown, in lines; the log has all of it.
const RESULT_LINES: usize = 12;

/// Prints a session.
pub(super) async fn show(shelf: &Shelf, typed: &str, all: bool, output: &Output) -> anyhow::Result<Exit> {
    let store = shelf.store();
    let id = find(&*store, typed).await?;
    let stored = store.load(&id).await?;
    if output.is_json() {
        output.json(&value(&stored.header))?;
        for event in &stored.events {
            output.json(&**event)?;
        }
        return Ok(Exit::Done);
    }
    output.line(line(&stored.header, output))?;
    for event in &stored.events {
        if all {
            let head = format!(
                "{} {} {}",
                event.seq,
                shown_time(event.time_ms),
                visible(event.kind())
            );
            let data = visible(&serde_json::to_string(&event.data)?);
            output.line(format_args!("{}  {data}", output.paint(Tone::Dim, head)))?;
        } else if let Some((tone, text)) = told(event) {
            output.line(output.paint(tone, visible(&text)))?;
        }
    }
    Ok(Exit::Done)
}

/// What a person reads of an event; nothing of those that only the machinery needs.
fn told(event: &Event) -> Option<(Tone, String)> {
    let said = |who: &str, content: &Content| format!("\n{who}: {}", content.joined_text());
    let (tone, text) = match event.body()? {
        EventBody::TurnStart(start) => (Tone::Dim, format!("\n── turn {} ──", start.turn)),
        EventBody::TurnEnd(end) => ended(&end.reason)?,
        EventBody::UserMessage(message) => {
            let content = message
                .envelope
                .as_ref()
                .map_or(&message.content, |envelope| &envelope.display_content);
            (Tone::Strong, said("user", content))
        }
        EventBody::SteeringMessage(message) => (Tone::Strong, said("user, meanwhile", &message.content)),
        EventBody::ContextMessage(message) => (Tone::Dim, said("context", &message.content)),
        EventBody::PromptBlocked(blocked) => (Tone::Bad, format!("refused: {}", blocked.reason)),
        EventBody::AssistantMessage(message) => (Tone::Plain, answer(&message.content)?),
        EventBody::ToolCall(call) => (Tone::Good, format!("\n→ {} {}", call.name, call.arguments)),
        EventBody::ToolResult(result) => {
            let tone = if result.is_error { Tone::Bad } else { Tone::Dim };
            (tone, head(&result.content.joined_text()))
        }
        EventBody::TodoWrite(list) => {
            let lines = list
                .todos
                .iter()
                .map(|todo| format!("  [{}] {}", todo.status.as_str(), todo.content));
            (Tone::Dim, lines.collect::<Vec<_>>().join("\n"))
        }
        EventBody::StepStart(_)
        | EventBody::StepEnd(_)
        | EventBody::AssistantChunk(_)
        | EventBody::RequestHeader(_)
        | EventBody::Other(_) => return None,
    };
    Some((tone, text))
}

/// What the model said, without the calls: those have events of their own.
fn answer(content: &Content) -> Option<String> {
    let texts: Vec<String> = content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text.text.to_string()),
            ContentBlock::Reasoning(thought) => Some(format!("(thinking) {}", thought.text)),
            ContentBlock::ToolCall(_) | ContentBlock::ToolResult(_) => None,
            ContentBlock::Other(other) => Some(format!("[{}]", other.kind())),
        })
        .collect();
    (!texts.is_empty()).then(|| format!("\nassistant: {}", texts.join("\n")))
}

fn head(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().take(RESULT_LINES + 1).collect();
    let rest = text.lines().count().saturating_sub(RESULT_LINES);
    if rest == 0 {
        return lines.join("\n");
    }
    lines.truncate(RESULT_LINES);
    format!(
        "{}\n… {rest} more lines (`--events` prints them)",
        lines.join("\n")
    )
}

fn ended(reason: &TurnEndReason) -> Option<(Tone, String)> {
    Some(match reason {
        TurnEndReason::Completed(_) => return None,
        TurnEndReason::Aborted(_) => (Tone::Warning, "(cancelled)".to_owned()),
        TurnEndReason::Error(error) => {
            let failure = error.failure.as_ref().map(|failure| &failure.message);
            let message = error
                .message
                .as_ref()
                .or(failure)
                .map_or("no reason was recorded", |text| text.as_str());
            (Tone::Bad, format!("(failed: {message})"))
        }
        TurnEndReason::Disposed(_) => (Tone::Warning, "(the agent was ended)".to_owned()),
        TurnEndReason::MaxTokens(_) => (Tone::Warning, "(the model ran into its output limit)".to_owned()),
        TurnEndReason::Rejected(rejected) => (Tone::Bad, format!("(refused: {})", rejected.reason)),
        TurnEndReason::Interrupted(_) => (Tone::Warning, "(interrupted: the process ended)".to_owned()),
        TurnEndReason::Other(other) => (Tone::Warning, format!("({})", other.kind())),
    })
}
