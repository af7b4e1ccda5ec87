//! How does a turn look to whoever watches? Each event of the log, as a person or a program has it.
//!
//! Under `--json`, `run` and `resume` print these lines; whatever else a line holds may come and go:
//!
//! | `type` | fields |
//! |---|---|
//! | `session` | `id`, `folder`, `store` (file, or null), `resumed` |
//! | `text`, `reasoning` | `text`: the next piece |
//! | `call` | `id`, `name`, `arguments` (JSON text as the model wrote it), `card` or null |
//! | `result` | `id`, `name`, `error` (whether), `code` or null, `text`, `card` or null |
//! | `retry` | `message`, `code`, `delayMs` |
//! | `question` | `tool`, `reason` or null: a call needs a person's word |
//! | `answer` | `outcome`: `allowed-once`, `rejected`, `cancelled` or `unavailable` |
//! | `trouble` | `message`, `code` or null: something beside the turn failed |
//! | `end` | `exit` (name of the code), `reason` (as the log has it), `tokens` (`input`, `output`, `total`), `context` (`tokens` of the last model call, `window` or null), `ms`, `session` |
//! | `error` | `code`, `message`, `causes`: the command failed |
//!
//! Cards are `{"kind": "generic" | "terminal" | "diff", …}` as tools make them.

mod card;
mod text;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use hames_agent::approval::{ASKED, DECIDED};
use hames_agent::retry::RETRY_KIND;
use hames_agent::tools::Tools;
use hames_types::chunk::StreamChunk;
use hames_types::content::ContentBlock;
use hames_types::event::{Event, EventBody, ToolCallEvent, ToolResultEvent};
use hames_types::id::CallId;
use hames_types::json::{Extra, Json};
use hames_types::port::notice::AgentError;
use hames_types::tool::ToolView;
use hames_types::turn::TurnEndReason;
use hames_types::usage::TokenUsage;
use serde_json::json;
use smol_str::SmolStr;

use crate::output::Output;

pub use text::{Paper, Terminal, TextView};

/// Something to show.
pub trait View: Send {
    /// A piece of the answer.
    ///
    /// # Errors
    /// If nobody looks any more.
    fn text(&mut self, piece: &str) -> io::Result<()>;

    /// A piece of thinking.
    ///
    /// # Errors
    /// As [`View::text`].
    fn reasoning(&mut self, piece: &str) -> io::Result<()>;

    /// A block of the answer is complete.
    ///
    /// # Errors
    /// As [`View::text`].
    fn block_end(&mut self) -> io::Result<()>;

    /// A call is about to be considered.
    ///
    /// # Errors
    /// As [`View::text`].
    fn call(&mut self, call: &ToolCallEvent, card: Option<&ToolView>) -> io::Result<()>;

    /// A call has its result.
    ///
    /// # Errors
    /// As [`View::text`].
    fn result(&mut self, name: &str, result: &ToolResultEvent, card: Option<&ToolView>) -> io::Result<()>;

    /// A failed model call is tried again.
    ///
    /// # Errors
    /// As [`View::text`].
    fn retry(&mut self, data: &Json) -> io::Result<()>;

    /// Something beside the turn failed.
    ///
    /// # Errors
    /// As [`View::text`].
    fn trouble(&mut self, error: &AgentError) -> io::Result<()>;

    /// A call needs a person's word.
    ///
    /// # Errors
    /// As [`View::text`].
    fn question(&mut self, data: &Json) -> io::Result<()>;

    /// Somebody gave it, or nobody could.
    ///
    /// # Errors
    /// As [`View::text`].
    fn answered(&mut self, outcome: &str) -> io::Result<()>;

    /// A prompt was refused.
    ///
    /// # Errors
    /// As [`View::text`].
    fn blocked(&mut self, reason: &str) -> io::Result<()>;
}

/// What a turn came to.
#[derive(Debug, Clone)]
pub struct Tally {
    /// Why it ended; none while it runs.
    pub reason: Option<TurnEndReason>,
    /// What its model calls used.
    pub usage: TokenUsage,
    /// How many model calls there were.
    pub steps: u64,
    /// Tokens of its last model call, the answer among them: what the conversation takes up of the context.
    pub context_tokens: u64,
    /// How many tokens the model can take, if that is known.
    pub window_tokens: Option<u64>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            reason: None,
            usage: TokenUsage {
                input_tokens: 0,
                output_tokens: 0,
                cache_read_tokens: None,
                cache_write_tokens: None,
                reasoning_tokens: None,
                extra: Extra::NONE,
            },
            steps: 0,
            context_tokens: 0,
            window_tokens: None,
        }
    }
}

impl Tally {
    fn add(&mut self, usage: &TokenUsage) {
        self.context_tokens = usage.total_tokens();
        let sum = |a: u64, b: u64| a.saturating_add(b);
        let both = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(sum(a.unwrap_or(0), b.unwrap_or(0))),
        };
        self.usage.input_tokens = sum(self.usage.input_tokens, usage.input_tokens);
        self.usage.output_tokens = sum(self.usage.output_tokens, usage.output_tokens);
        self.usage.cache_read_tokens = both(self.usage.cache_read_tokens, usage.cache_read_tokens);
        self.usage.cache_write_tokens = both(self.usage.cache_write_tokens, usage.cache_write_tokens);
    }
}

/// Follows a session's events and shows them.
pub struct Watch {
    tools: Arc<Tools>,
    calls: HashMap<CallId, (SmolStr, SmolStr)>,
    /// What this turn came to so far.
    pub tally: Tally,
}

impl Watch {
    /// Begins to watch; `tools` make the cards.
    #[must_use]
    pub fn new(tools: Arc<Tools>, window_tokens: Option<u64>) -> Self {
        Self {
            tools,
            calls: HashMap::new(),
            tally: Tally {
                window_tokens,
                ..Tally::default()
            },
        }
    }

    /// Shows an event.
    ///
    /// # Errors
    /// If nobody looks any more.
    pub fn event(&mut self, event: &Event, view: &mut dyn View) -> io::Result<()> {
        let Some(body) = event.body() else { return Ok(()) };
        match body {
            EventBody::TurnStart(_) => {
                self.tally = Tally {
                    window_tokens: self.tally.window_tokens,
                    ..Tally::default()
                };
                self.calls.clear();
                Ok(())
            }
            EventBody::TurnEnd(end) => {
                self.tally.reason = Some(end.reason.clone());
                Ok(())
            }
            EventBody::StepStart(_) => {
                self.tally.steps += 1;
                Ok(())
            }
            EventBody::AssistantChunk(piece) => chunk(&piece.chunk, view),
            EventBody::AssistantMessage(message) => {
                if let Some(usage) = &message.usage {
                    self.tally.add(usage);
                }
                Ok(())
            }
            EventBody::ToolCall(call) => {
                let card = self.tools.present_call(None, &call.name, &call.arguments);
                let seen = (call.name.clone(), call.arguments.clone());
                self.calls.insert(call.call_id.clone(), seen);
                view.call(call, card.as_ref())
            }
            EventBody::ToolResult(result) => {
                let (name, arguments) = self.calls.get(&result.call_id).cloned().unwrap_or_default();
                let meta = result.meta.as_ref();
                let card = self
                    .tools
                    .present_result(None, (&name, &arguments), &result.content, meta);
                view.result(&name, result, card.as_ref())
            }
            EventBody::PromptBlocked(blocked) => view.blocked(&blocked.reason),
            EventBody::Other(other) => match other.kind() {
                RETRY_KIND => view.retry(other.data()),
                ASKED => view.question(other.data()),
                DECIDED => {
                    let outcome = other.data().get("outcome").and_then(Json::as_str);
                    view.answered(outcome.unwrap_or_default())
                }
                _ => Ok(()),
            },
            EventBody::StepEnd(_)
            | EventBody::UserMessage(_)
            | EventBody::ContextMessage(_)
            | EventBody::SteeringMessage(_)
            | EventBody::TodoWrite(_)
            | EventBody::RequestHeader(_) => Ok(()),
        }
    }
}

fn chunk(chunk: &StreamChunk, view: &mut dyn View) -> io::Result<()> {
    match chunk {
        StreamChunk::TextDelta(delta) => view.text(&delta.text),
        StreamChunk::ReasoningDelta(delta) => view.reasoning(&delta.text),
        StreamChunk::BlockEnd(end)
            if matches!(end.block, ContentBlock::Text(_) | ContentBlock::Reasoning(_)) =>
        {
            view.block_end()
        }
        StreamChunk::BlockStart(_)
        | StreamChunk::ToolCallDelta(_)
        | StreamChunk::BlockEnd(_)
        | StreamChunk::Usage(_)
        | StreamChunk::Finish(_) => Ok(()),
    }
}

/// Each event as a line of JSON.
pub struct JsonView(pub Output);

impl View for JsonView {
    fn text(&mut self, piece: &str) -> io::Result<()> {
        self.0.json(&json!({"type": "text", "text": piece}))
    }

    fn reasoning(&mut self, piece: &str) -> io::Result<()> {
        self.0.json(&json!({"type": "reasoning", "text": piece}))
    }

    fn block_end(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn call(&mut self, call: &ToolCallEvent, card: Option<&ToolView>) -> io::Result<()> {
        self.0.json(&json!({
            "type": "call", "id": call.call_id, "name": call.name, "arguments": call.arguments, "card": card,
        }))
    }

    fn result(&mut self, name: &str, result: &ToolResultEvent, card: Option<&ToolView>) -> io::Result<()> {
        self.0.json(&json!({
            "type": "result", "id": result.call_id, "name": name, "error": result.is_error,
            "code": result.error.as_ref().map(|error| &error.code), "text": result.content.joined_text(), "card": card,
        }))
    }

    fn retry(&mut self, data: &Json) -> io::Result<()> {
        let failure = data.get("failure");
        let of = |key: &str| failure.and_then(|failure| failure.get(key));
        self.0.json(&json!({
            "type": "retry", "message": of("message"), "code": of("code"), "delayMs": data.get("delayMs"),
        }))
    }

    fn trouble(&mut self, error: &AgentError) -> io::Result<()> {
        self.0.json(
            &json!({"type": "trouble", "message": error.error.chain(), "code": error.error.trusted_code()}),
        )
    }

    fn question(&mut self, data: &Json) -> io::Result<()> {
        let of = |key: &str| data.get(key);
        self.0
            .json(&json!({"type": "question", "tool": of("toolName"), "reason": of("reason")}))
    }

    fn answered(&mut self, outcome: &str) -> io::Result<()> {
        self.0.json(&json!({"type": "answer", "outcome": outcome}))
    }

    fn blocked(&mut self, _: &str) -> io::Result<()> {
        // The turn's end says it.
        Ok(())
    }
}
