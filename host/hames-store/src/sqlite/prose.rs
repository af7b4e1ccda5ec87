//! Which of a session's text does a person see, and how is it searched?

use hames_types::content::{Content, ContentBlock};
use hames_types::event::{Event, EventBody};
use hames_types::json::Json;

/// The text of an event that a person reads: prompts, steering and answers, titles. Not what tools returned.
pub(super) fn of(event: &Event) -> Option<String> {
    let text = match event.body()? {
        EventBody::UserMessage(message) => joined(
            message
                .envelope
                .as_ref()
                .map_or(&message.content, |envelope| &envelope.display_content),
        ),
        EventBody::SteeringMessage(message) => joined(
            message
                .envelope
                .as_ref()
                .map_or(&message.content, |envelope| &envelope.display_content),
        ),
        EventBody::PromptBlocked(blocked) => joined(&blocked.content),
        EventBody::AssistantMessage(message) => joined(&message.content),
        EventBody::Other(other) if other.kind() == "session/title" => {
            other.data().get("title").and_then(Json::as_str)?.to_owned()
        }
        EventBody::TurnStart(_)
        | EventBody::TurnEnd(_)
        | EventBody::StepStart(_)
        | EventBody::StepEnd(_)
        | EventBody::ContextMessage(_)
        | EventBody::AssistantChunk(_)
        | EventBody::ToolCall(_)
        | EventBody::ToolResult(_)
        | EventBody::TodoWrite(_)
        | EventBody::RequestHeader(_)
        | EventBody::Other(_) => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

fn joined(content: &Content) -> String {
    let mut text = String::new();
    for block in content.iter() {
        if let ContentBlock::Text(block) = block {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&block.text);
        }
    }
    text
}

/// The text as the index takes it: characters of scripts written without spaces stand alone, so that a word inside
/// a sentence is found.
pub(super) fn indexed(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    for char in text.chars() {
        if stands_alone(char) {
            spaced.extend([' ', char, ' ']);
        } else {
            spaced.push(char);
        }
    }
    spaced
}

fn stands_alone(char: char) -> bool {
    matches!(char,
        '\u{2e80}'..='\u{2fdf}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' | '\u{0e00}'..='\u{0eff}')
}

/// What a person types, as a query for the index: every word must occur, `"words in quotes"` next to each other.
/// `None` if there is nothing to look for.
pub(super) fn query(typed: &str) -> Option<String> {
    let phrases: Vec<String> = phrases(typed)
        .into_iter()
        .map(|phrase| format!("\"{}\"", indexed(phrase)))
        .collect();
    (!phrases.is_empty()).then(|| phrases.join(" AND "))
}

/// The words and quoted phrases of what was typed; none is empty and none has a quote in it.
pub(super) fn phrases(typed: &str) -> Vec<&str> {
    typed
        .split('"')
        .enumerate()
        .flat_map(|(at, part)| {
            if at % 2 == 1 {
                vec![part.trim()]
            } else {
                part.split_whitespace().collect()
            }
        })
        .filter(|phrase| phrase.chars().any(char::is_alphanumeric))
        .collect()
}

/// How much of a text is shown around a hit, in characters to each side.
const AROUND: usize = 60;

/// The part of a text in which the first phrase that stands there verbatim is found, else its beginning.
pub(super) fn excerpt(text: &str, typed: &str) -> String {
    let lower: Vec<char> = text.chars().flat_map(|char| char.to_lowercase().next()).collect();
    let at = phrases(typed)
        .into_iter()
        .find_map(|phrase| {
            let phrase: Vec<char> = phrase
                .chars()
                .flat_map(|char| char.to_lowercase().next())
                .collect();
            lower
                .windows(phrase.len().max(1))
                .position(|window| window == phrase)
        })
        .unwrap_or(0);
    let from = at.saturating_sub(AROUND);
    let mut shown: String = text.chars().skip(from).take(at - from + AROUND * 2).collect();
    if from > 0 {
        shown.insert(0, '…');
    }
    if text.chars().count() > at + AROUND * 2 {
        shown.push('…');
    }
    shown
}
