//! A model that says what a file says: no key, no network, the same every time.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use hames_types::chunk::StreamChunk;
use hames_types::failure::LlmFailure;
use hames_types::fault::Fault;
use hames_types::id::{ProviderId, SessionId};
use hames_types::json::{FromJson, Json};
use hames_types::message::Role;
use hames_types::port::llm::{ChunkStream, Llm};
use hames_types::request::Request;
use hames_types::signal::Signal;
use hames_types::usage::TokenUsage;
use serde::Deserialize;
use smol_str::{SmolStr, format_smolstr};

use crate::ConfigError;
use crate::blocks::{Blocks, CallPiece};
use crate::items::{all, just};
use crate::limits::Limits;

#[cfg(test)]
pub(crate) mod tests;

/// Answers for a first run: they work without tools and say what to do next.
const DEFAULT_SCRIPT: &str = include_str!("scripted/default.json");

/// Pieces of text have about this many characters, as a provider's do.
const PIECE_CHARS: usize = 20;

/// Most sessions whose place in the script is remembered; the eldest then begins anew.
const MAX_SESSIONS: usize = 1024;

/// Code of a call for which the script has no answer.
pub const SCRIPT_EXHAUSTED: &str = "SCRIPT_EXHAUSTED";

/// A script: the answers to successive calls of one session.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    answers: Vec<Answer>,
    /// Whether the script begins anew after its last answer; else a further call fails.
    #[serde(default)]
    repeat: bool,
}

/// One answer. `chunks` says it literally, the other fields say it in short.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Answer {
    /// Thinking, first.
    reasoning: String,
    /// Visible text; `{prompt}` stands for the last text of the user.
    text: String,
    /// Calls, last.
    calls: Vec<ScriptedCall>,
    /// Token counts.
    usage: Option<Json>,
    /// The finish reason; absent: `tool-calls` if there are calls, else `stop`.
    finish: Option<Json>,
    /// The call fails with this, after whatever else the answer says.
    failure: Option<Json>,
    /// The chunks themselves.
    chunks: Option<Vec<Json>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    /// Absent: a number that is unique in the session.
    id: Option<SmolStr>,
    name: SmolStr,
    /// The arguments; a string is taken as their JSON text.
    #[serde(default)]
    arguments: Json,
}

/// The adapter.
#[derive(Debug)]
pub struct Scripted {
    script: Script,
    places: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Places {
    next: HashMap<Option<SessionId>, usize>,
    eldest: VecDeque<Option<SessionId>>,
}

impl Scripted {
    /// The script that is built in.
    ///
    /// # Errors
    /// None: a test reads it.
    pub fn builtin() -> Result<Self, ConfigError> {
        Self::parse("the built-in script", DEFAULT_SCRIPT)
    }

    /// A script from JSON text; `what` names it in errors.
    ///
    /// # Errors
    /// [`ConfigError::Script`] with the place of the first mistake.
    pub fn parse(what: &str, text: &str) -> Result<Self, ConfigError> {
        let fault = |problem: String| ConfigError::Script {
            what: what.to_owned(),
            problem,
        };
        let script: Script = serde_json::from_str(text).map_err(|error| fault(error.to_string()))?;
        for (at, answer) in script.answers.iter().enumerate() {
            // Every answer is told once here, so that a mistake shows before the first call.
            answer
                .tell("", at)
                .map_err(|error| fault(format!("answers[{at}]: {error}")))?;
        }
        Ok(Self {
            script,
            places: Mutex::new(Places::default()),
        })
    }

    /// The number of the call in its session.
    fn advance(&self, session: Option<SessionId>) -> usize {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if !places.next.contains_key(&session) {
            if places.next.len() >= MAX_SESSIONS
                && let Some(eldest) = places.eldest.pop_front()
            {
                places.next.remove(&eldest);
            }
            places.eldest.push_back(session.clone());
        }
        let next = places.next.entry(session).or_default();
        let number = *next;
        *next += 1;
        number
    }
}

impl Llm for Scripted {
    fn stream(&self, request: Request, signal: Signal) -> ChunkStream {
        let number = self.advance(request.session_id.clone());
        let at = match self.script.answers.len() {
            0 => 0,
            len if self.script.repeat => number % len,
            _ => number,
        };
        let Some(answer) = self.script.answers.get(at) else {
            let problem = format_smolstr!("the script has no answer number {}", number + 1);
            return just(Err(Fault::llm(LlmFailure::new(SCRIPT_EXHAUSTED, problem))));
        };
        match answer.tell(&prompt_of(&request), number) {
            Ok(items) => all(items, signal),
            Err(error) => just(Err(Fault::of("ScriptError", SCRIPT_EXHAUSTED, &error))),
        }
    }

    fn provider_name(&self, _: &ProviderId) -> Option<SmolStr> {
        Some(SmolStr::new_static("Scripted"))
    }
}

/// The last text a user said.
fn prompt_of(request: &Request) -> String {
    let said = request
        .messages
        .iter()
        .rev()
        .filter(|message| message.role == Role::User);
    said.map(|message| message.content.joined_text())
        .find(|text| !text.is_empty())
        .unwrap_or_default()
}

/// Why an answer can't be told.
#[derive(Debug, thiserror::Error)]
enum AnswerError {
    #[error("{0}")]
    Decode(#[from] hames_types::json::DecodeError),
    #[error("{0}")]
    Limit(SmolStr),
}

impl From<LlmFailure> for AnswerError {
    fn from(failure: LlmFailure) -> Self {
        Self::Limit(failure.message)
    }
}

impl Answer {
    /// The answer as the stream's items.
    fn tell(&self, prompt: &str, number: usize) -> Result<VecDeque<Result<StreamChunk, Fault>>, AnswerError> {
        let mut items: VecDeque<Result<StreamChunk, Fault>> = match &self.chunks {
            Some(chunks) => {
                let chunks = chunks.iter().cloned().map(StreamChunk::from_json);
                chunks.map(|chunk| chunk.map(Ok)).collect::<Result<_, _>>()?
            }
            None => self.compose(prompt, number)?.map(Ok).collect(),
        };
        if let Some(failure) = &self.failure {
            let failure = LlmFailure::from_json(failure.clone())?;
            failure.validate()?;
            items.push_back(Err(Fault::llm(failure)));
        }
        Ok(items)
    }

    fn compose(&self, prompt: &str, number: usize) -> Result<impl Iterator<Item = StreamChunk>, AnswerError> {
        let mut blocks = Blocks::new(Limits::default());
        if !self.reasoning.is_empty() {
            let block = blocks.open_reasoning()?;
            pieces(&self.reasoning).try_for_each(|piece| blocks.text(block, piece))?;
        }
        let text = self.text.replace("{prompt}", prompt);
        if !text.is_empty() {
            let block = blocks.open_text()?;
            pieces(&text).try_for_each(|piece| blocks.text(block, piece))?;
        }
        for (at, call) in self.calls.iter().enumerate() {
            let block = blocks.open_call()?;
            let id = call
                .id
                .clone()
                .unwrap_or_else(|| format_smolstr!("call-{}-{at}", number + 1));
            let arguments = match &call.arguments {
                Json::String(text) => text.clone(),
                Json::Null => "{}".to_owned(),
                other @ (Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_)) => {
                    other.to_string()
                }
            };
            blocks.call(
                block,
                CallPiece {
                    id: Some(&id),
                    name: Some(call.name.clone()),
                    arguments: &arguments,
                },
            )?;
        }
        if self.failure.is_none() {
            let usage = self.usage.clone().map(TokenUsage::from_json).transpose()?;
            blocks.finish(usage, self.reason()?, None);
        }
        Ok(std::iter::from_fn(move || blocks.pop()))
    }

    fn reason(&self) -> Result<hames_types::chunk::FinishReason, AnswerError> {
        use hames_types::chunk::FinishReason;
        use hames_types::message::Plain;

        Ok(match &self.finish {
            Some(reason) => FinishReason::from_json(reason.clone())?,
            None if self.calls.is_empty() => FinishReason::STOP,
            None => FinishReason::ToolCalls(Plain::NEW),
        })
    }
}

/// The text in pieces of about [`PIECE_CHARS`].
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest
            .char_indices()
            .nth(PIECE_CHARS)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at_checked(end)?;
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
