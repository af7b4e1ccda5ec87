//! Room 5: chunks → log → one message (R-STRM).

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::StreamExt;
use hames_log::Draft;
use hames_log::assemble::{Assembled, BlockAssembler};
use hames_types::chunk::{FinishReason, StreamChunk};
use hames_types::content::{Content, ContentBlock};
use hames_types::event::{AssistantChunk, AssistantMessage, EventBody};
use hames_types::failure::LlmFailure;
use hames_types::fault::Fault;
use hames_types::id::Seq;
use hames_types::json::{Extra, Json};
use hames_types::message::{Message, Provenance};
use hames_types::port::seam::{StepResult, StepResultAsk, StreamAsk};
use hames_types::request::{CallConfig, Request};
use hames_types::usage::TokenUsage;

use crate::router::failure_of;
use crate::step::step_ask;
use crate::turn::{Halt, Turn};

/// What a successful model call said, as it was logged.
pub(crate) struct Answer {
    /// The message's blocks, after the listeners.
    pub(crate) content: Content,
    /// Whether the model ran into its output limit; then no tool is called.
    pub(crate) max_tokens: bool,
}

impl Answer {
    pub(crate) fn calls_tools(&self) -> bool {
        !self.max_tokens && self.content.tool_calls().next().is_some()
    }
}

/// Makes the model call and logs what it said.
pub(crate) async fn run(turn: &mut Turn<'_>, request: Request) -> Result<Answer, Halt> {
    let config = request.config.clone();
    let (assembler, sources) = receive(turn, request).await?;
    turn.checkpoint()?;
    if let (_, finish, _) = assembler.ending()
        && let Some(failure) = finish.failure()
    {
        // Facts that break their own rules are no failure a policy could decide on.
        failure
            .validate()
            .map_err(|fault| Fault::plain(format!("the adapter's failure is none: {fault}")))?;
        // In band and thrown are the same failure (R-STRM-3).
        let facts = failure_of(&Fault::llm(failure.clone()));
        return Err(Halt::Request(Fault::llm(failure.clone()), Box::new(facts)));
    }
    let mut assembled = assembler
        .finish()
        .map_err(|error| Fault::plain(error.to_string()))?;
    refuse_twin_calls(&assembled.content)?;
    let max_tokens = matches!(assembled.finish, FinishReason::MaxTokens(_));
    let original = assembled.content.clone();
    if max_tokens {
        assembled.content = without_calls(&assembled.content);
    }
    let recording = Recording {
        config,
        usage: assembled.usage.clone(),
        sources,
    };
    let mut content = match reviewed(turn, &assembled, &recording.config).await {
        Ok(content) => content,
        Err(halt) => {
            // The call took place and was paid for; an empty message anchors that (R-STRM-5).
            recording.log(turn, Content::empty(), None)?;
            return Err(halt);
        }
    };
    if max_tokens {
        content = without_calls(&content);
    }
    // A rewritten message isn't what the provider said, so it can't be replayed as that (R-STRM-6).
    let replay_state = assembled.replay_state.filter(|_| content == original);
    recording.log(turn, content.clone(), replay_state)?;
    Ok(Answer { content, max_tokens })
}

/// Logs every chunk as it comes and collects them.
async fn receive(turn: &Turn<'_>, request: Request) -> Result<(BlockAssembler, Vec<Seq>), Halt> {
    let agent = turn.agent;
    let ask = StreamAsk {
        request,
        from_loop: true,
        signal: turn.signal.clone(),
    };
    let mut call = agent
        .services
        .router
        .stream(&agent.services.listeners, ask)
        .await?;
    let mut assembler = BlockAssembler::new();
    let mut sources = Vec::new();
    while let Some(item) = call.stream.next().await {
        let chunk = match item {
            Ok(chunk) => chunk,
            Err(fault) if call.is_adapters(&fault) => return Err(request_failure(turn, fault)),
            Err(fault) => return Err(fault.into()),
        };
        turn.checkpoint()?;
        sources.push(record(turn, chunk, &mut assembler)?);
    }
    Ok((assembler, sources))
}

/// An adapter that failed because the turn was interrupted isn't a failure to recover from.
fn request_failure(turn: &Turn<'_>, fault: Fault) -> Halt {
    let failure = failure_of(&fault);
    if turn.signal.is_raised() {
        Halt::Interrupted
    } else {
        Halt::Request(fault, Box::new(failure))
    }
}

fn record(turn: &Turn<'_>, chunk: StreamChunk, assembler: &mut BlockAssembler) -> Result<Seq, Halt> {
    let body = AssistantChunk {
        turn: turn.no,
        step: turn.step,
        chunk,
        extra: Extra::NONE,
    };
    let event = turn
        .agent
        .session()
        .append(Draft::log_only(EventBody::AssistantChunk(body)))?;
    if let Some(EventBody::AssistantChunk(logged)) = event.body() {
        assembler.push(&logged.chunk);
    }
    Ok(event.seq)
}

/// A provider that gives two calls one id makes results ambiguous.
fn refuse_twin_calls(content: &Content) -> Result<(), Halt> {
    let mut seen = HashSet::new();
    let Some(twin) = content.tool_calls().find(|call| !seen.insert(&call.id)) else {
        return Ok(());
    };
    let message = format!(
        "the model's answer calls two tools under the one id `{}`",
        twin.id
    );
    let failure = LlmFailure::new("MALFORMED_RESPONSE", message);
    Err(Halt::Request(Fault::llm(failure.clone()), Box::new(failure)))
}

fn without_calls(content: &Content) -> Content {
    if content.tool_calls().next().is_none() {
        return content.clone();
    }
    content
        .iter()
        .filter(|block| !matches!(block, ContentBlock::ToolCall(_)))
        .cloned()
        .collect()
}

/// The message after the listeners of `agent/step-result`.
async fn reviewed(turn: &Turn<'_>, assembled: &Assembled, config: &CallConfig) -> Result<Content, Halt> {
    let mut provenance = Provenance::of(config.provider.clone(), config.model.clone());
    provenance.replay_state = assembled.replay_state.clone();
    let message = Message::assistant(assembled.content.clone(), Some(Arc::new(provenance)));
    let ask = StepResultAsk {
        at: step_ask(turn),
        message,
    };
    let decided =
        turn.agent
            .services
            .listeners
            .decide::<StepResult, _, _>(Some(turn.agent.scope_key()), &ask, |_| {
                std::future::ready(Ok(ask.message.clone()))
            });
    let message = decided.await?;
    turn.checkpoint()?;
    if assembled.content != message.content
        && let Err(twins) = refuse_twin_calls(&message.content)
    {
        // A listener's twins are the listener's fault, not the provider's: nothing to recover from.
        return Err(match twins {
            Halt::Request(fault, _) => Halt::Failed(Fault::plain(fault.message())),
            Halt::Failed(_) | Halt::Interrupted => twins,
        });
    }
    Ok(message.content)
}

/// What the logged message says beside its content.
struct Recording {
    config: CallConfig,
    usage: Option<TokenUsage>,
    sources: Vec<Seq>,
}

impl Recording {
    fn log(self, turn: &Turn<'_>, content: Content, replay_state: Option<Json>) -> Result<(), Halt> {
        let mut provenance = Provenance::of(self.config.provider, self.config.model);
        provenance.replay_state = replay_state;
        let message = AssistantMessage {
            turn: turn.no,
            step: turn.step,
            content,
            provenance: Arc::new(provenance),
            usage: self.usage,
            extra: Extra::NONE,
        };
        let body = EventBody::AssistantMessage(Box::new(message));
        turn.append(Draft::message_from(body, self.sources))?;
        Ok(())
    }
}
