//! A listener whose memory is the log: it reminds a model that makes the same call again and again.
//!
//! Every call of a plugin is one of a fresh instance, so a count can't be kept in a variable. It needn't be: the session
//! log says which calls were made, in which order, and since which prompt. Counting from there survives restarts, is
//! the same on every replay, and there is nothing to clean up when an agent ends.
//!
//! It adds a context to what the rest of the chain decided, which takes full authority at `on-post-execute`, and it
//! never changes a decision.

mod canonical;
mod pattern;

use hames_sdk::config;
use hames_sdk::content::text_context;
use hames_sdk::prelude::*;
use hames_sdk::serde::Deserialize;
use hames_sdk::serde_json;
use hames_sdk::session::{self, Event, EventBody, HeaderReason};

use self::canonical::canonical;
use self::pattern::matches;

/// Under which name the reminders stand in the log.
const NAME: &str = "repeat-guard";

/// When and about which tools to remind.
#[derive(Deserialize)]
#[serde(crate = "hames_sdk::serde", default, rename_all = "camelCase")]
struct Settings {
    /// At how many calls in a row; the first reminds gently, the others in detail.
    thresholds: Vec<usize>,
    /// How much of the arguments a detailed reminder shows, in characters.
    preview_chars: usize,
    /// Which tools count; `*` stands for any text.
    include: Vec<String>,
    /// Which don't, even if included: they neither count nor reset the count.
    exclude: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            thresholds: vec![3, 5, 8],
            preview_chars: 500,
            include: vec!["*".to_owned()],
            exclude: Vec::new(),
        }
    }
}

struct RepeatGuard;

#[plugin(manifest = "../manifest.json")]
impl Plugin for RepeatGuard {
    fn on_post_execute(ask: PostExecuteAsk, next: Next<PostExecute>) -> Decision<PostExecute> {
        let settings: Settings = config::read()?;
        let reminder = settings.reminder(&ask.call)?;
        let mut decision = next.run()?;
        if let Some(text) = reminder {
            let contexts = match &mut decision {
                PostToolDecision::Accept(accept) => &mut accept.additional_contexts,
                PostToolDecision::Block(block) => &mut block.additional_contexts,
            };
            contexts
                .get_or_insert_default()
                .insert(0, text_context(NAME, text));
        }
        Ok(decision)
    }
}

impl Settings {
    fn is_tracked(&self, tool: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, tool));
        any(&self.include) && !any(&self.exclude)
    }

    /// What to say about a call, if it is time.
    fn reminder(&self, call: &ToolCall) -> Result<Option<String>, Error> {
        if call.agent.is_none() || !self.is_tracked(&call.name) {
            return Ok(None);
        }
        let arguments = canonical(&call.read_arguments()?);
        let count = self.in_a_row(call, &arguments)?;
        let lowest = self.thresholds.iter().min();
        Ok(match self.thresholds.contains(&count) {
            false => None,
            true if lowest == Some(&count) => Some(format!(
                "The last {count} calls of `{}` had the same arguments. If the result doesn't help, try something else.",
                call.name
            )),
            true => Some(format!(
                "`{}` was called {count} times in a row with the same arguments: {}\n\
                 Its result won't change. Use what it said, try another way, or tell the user what is in the way.",
                call.name,
                self.preview(&arguments)
            )),
        })
    }

    /// How many equal calls end with this one, by what the log says since the last prompt.
    fn in_a_row(&self, call: &ToolCall, arguments: &str) -> Result<usize, Error> {
        let mut count = 0;
        let mut first = last_prompt()?;
        loop {
            let page = session::read(first, 1_000, &["tool/call", "request/header"])?;
            for event in &page.events {
                match &event.body {
                    EventBody::ToolCall(made) => {
                        if self.is_tracked(&made.name) {
                            let is_same =
                                made.name == call.name && canonical_text(&made.arguments) == arguments;
                            count = if is_same { count + 1 } else { 0 };
                        }
                        if made.call_id == call.call_id && call.at == Some((made.turn, made.step)) {
                            return Ok(count);
                        }
                    }
                    // The agent that counted before is gone, and its count with it.
                    _ if begins_a_life(event) => count = 0,
                    _ => {}
                }
            }
            match page.next {
                Some(next) => first = next,
                // A call from inside a tool stands behind everything that is logged.
                None => return Ok(count + 1),
            }
        }
    }

    fn preview(&self, arguments: &str) -> String {
        let shown: String = arguments.chars().take(self.preview_chars).collect();
        match arguments.chars().count().saturating_sub(self.preview_chars) {
            0 => shown,
            rest => format!("{shown}… ({rest} more characters)"),
        }
    }
}

/// Where the last prompt stands in the log, let through or not: each begins a new count.
fn last_prompt() -> Result<u64, Error> {
    let mut newest = 0;
    for kind in ["user/message", "prompt/blocked"] {
        if let Some(event) = session::newest(kind)? {
            newest = newest.max(event.seq);
        }
    }
    Ok(newest)
}

fn begins_a_life(event: &Event) -> bool {
    matches!(&event.body, EventBody::RequestHeader(header) if header.reason != HeaderReason::Change)
}

/// Arguments as they stand in the log: JSON, or else just the text the model wrote.
fn canonical_text(written: &str) -> String {
    let value = serde_json::from_str(written).unwrap_or_else(|_| Value::from(written));
    canonical(&value)
}
