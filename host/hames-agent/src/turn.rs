//! Room 2: `turn/start` … `turn/end`, owed whatever happens between (R-TURN).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use hames_log::Draft;
use hames_types::content::{Content, ContentBlock};
use hames_types::decision::{HookContext, PromptAllow, PromptDecision};
use hames_types::event::{
    Envelope, EventBody, PrefixContext, PromptBlocked, StepMark, TurnEnd, TurnStart, UserMessage,
};
use hames_types::failure::LlmFailure;
use hames_types::fault::Fault;
use hames_types::id::{Seq, StepNo, TurnNo};
use hames_types::json::{Extra, FromJson};
use hames_types::message::Plain;
use hames_types::port::seam::{PromptAsk, PromptSubmit};
use hames_types::signal::Signal;
use hames_types::turn::{AgentStatus, ErrorEnd, InterruptReason, RejectedEnd, TurnEndReason, TurnTrigger};

use crate::agent::Agent;
use crate::driver::Memory;
use crate::error::{append_fault, flush_fault};
use crate::inbox::Item;
use crate::step;

/// What stands between baked-in contexts and the prompt they came with (R-TURN-4).
const PROMPT_DELIMITER: &str = "\n\n## My request:\n";

/// One running turn.
pub(crate) struct Turn<'a> {
    pub(crate) agent: &'a Arc<Agent>,
    pub(crate) no: TurnNo,
    /// The step that runs or ran last; 0 before the first.
    pub(crate) step: StepNo,
    pub(crate) signal: Signal,
    pub(crate) memory: &'a mut Memory,
}

/// Why a turn stops before its end.
#[derive(Debug)]
pub(crate) enum Halt {
    /// Its signal is raised.
    Interrupted,
    /// Something failed.
    Failed(Fault),
    /// A model call failed and nobody wants to try again.
    Request(Fault, Box<LlmFailure>),
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

impl From<hames_log::error::AppendError> for Halt {
    fn from(error: hames_log::error::AppendError) -> Self {
        Self::Failed(append_fault(&error))
    }
}

/// A turn that couldn't open; its prompt comes back.
pub(crate) struct Unopened {
    pub(crate) item: Item,
    pub(crate) turn: TurnNo,
    pub(crate) fault: Fault,
}

/// Runs the turn of one prompt to its end, checkpoint included.
pub(crate) async fn run(
    agent: &Arc<Agent>,
    memory: &mut Memory,
    item: Item,
    signal: Signal,
) -> Result<(), Unopened> {
    // The number is the log's next, and nobody may open another turn before ours is there.
    let opened = agent.session().exclusively(|session| {
        let no = session.next_turn();
        let trigger = TurnTrigger::message(item.source.clone());
        let start = EventBody::TurnStart(TurnStart {
            turn: no,
            trigger,
            extra: Extra::NONE,
        });
        session
            .append(Draft::log_only(start))
            .map(|_| no)
            .map_err(|error| (no, error))
    });
    let no = match opened {
        Ok(no) => no,
        Err((turn, error)) => {
            return Err(Unopened {
                item,
                turn,
                fault: append_fault(&error),
            });
        }
    };
    let mut turn = Turn {
        agent,
        no,
        step: StepNo::new(0),
        signal,
        memory,
    };
    // A listener that panics costs its turn, not the agent.
    let outcome = AssertUnwindSafe(turn.body(item)).catch_unwind().await;
    let outcome = outcome.unwrap_or_else(|panic| Err(Halt::Failed(Fault::panicked(&*panic))));
    turn.close(outcome).await;
    Ok(())
}

impl Turn<'_> {
    async fn body(&mut self, item: Item) -> Result<TurnEndReason, Halt> {
        self.checkpoint()?;
        let Item {
            content,
            source,
            contexts,
        } = item;
        let ask = PromptAsk {
            agent: self.agent.id().clone(),
            content: content.clone(),
            source: source.clone(),
            contexts: contexts.clone(),
            signal: self.signal.clone(),
        };
        let decided = self.agent.services.listeners.decide::<PromptSubmit, _, _>(
            Some(self.agent.scope_key()),
            &ask,
            |_| std::future::ready(Ok(allow(contexts))),
        );
        let decision = decided.await?;
        self.checkpoint()?;
        match decision {
            PromptDecision::Block(block) => {
                let reason = block.reason;
                let blocked = PromptBlocked {
                    content,
                    source,
                    reason: reason.clone(),
                    extra: Extra::NONE,
                };
                self.log(EventBody::PromptBlocked(Box::new(blocked)))?;
                Ok(TurnEndReason::Rejected(RejectedEnd {
                    reason,
                    extra: Extra::NONE,
                }))
            }
            PromptDecision::Allow(allowed) => {
                let content = allowed.content.unwrap_or(content);
                let contexts = allowed.additional_contexts.unwrap_or_default();
                content
                    .check_lossless()
                    .map_err(|fault| Fault::plain(fault.to_string()))?;
                let (content, envelope, separate) = bake(content, contexts);
                let message = UserMessage {
                    content,
                    source,
                    envelope,
                    extra: Extra::NONE,
                };
                self.append(Draft::message(EventBody::UserMessage(message)))?;
                for context in separate {
                    self.agent.inject_context(context).map_err(Fault::from)?;
                }
                step::run_all(self).await
            }
        }
    }

    /// Tests the turn's signal: every await is followed by this.
    pub(crate) fn checkpoint(&self) -> Result<(), Halt> {
        if self.signal.is_raised() {
            Err(Halt::Interrupted)
        } else {
            Ok(())
        }
    }

    pub(crate) fn append(&self, draft: Draft) -> Result<Seq, Halt> {
        Ok(self.agent.session().append(draft)?.seq)
    }

    pub(crate) fn log(&self, body: EventBody) -> Result<Seq, Halt> {
        self.append(Draft::log_only(body))
    }

    /// Logs what is held for this session: before a step or the turn closes, so that it lies inside.
    pub(crate) fn log_held(&self) {
        let held = self.agent.services.listeners.take_held(self.agent.id());
        for body in held {
            if let Err(error) = self.agent.session().append(Draft::log_only(body)) {
                tracing::error!(error = %error, "an event held for the log can't be logged");
            }
        }
    }

    /// Closes what is open, says why, and makes it durable (R-TURN-7, R-TURN-8).
    async fn close(self, outcome: Result<TurnEndReason, Halt>) {
        let session = self.agent.session();
        self.log_held();
        if let Some(step) = session.open_step() {
            let mark = StepMark {
                turn: self.no,
                step,
                extra: Extra::NONE,
            };
            if let Err(error) = session.append(Draft::log_only(EventBody::StepEnd(mark))) {
                tracing::error!(error = %error, "a step could not be closed");
            }
        }
        let (reason, error) = self.classify(outcome);
        if let Some(error) = error {
            self.agent.report(self.no, self.step, error, None);
        }
        // From here on a cancellation finds nothing to interrupt (R-CANC-4).
        self.agent.state.lock().owner = None;
        let end = EventBody::TurnEnd(TurnEnd {
            turn: self.no,
            reason,
            extra: Extra::NONE,
        });
        if let Err(error) = session.append(Draft::log_only(end)) {
            tracing::error!(error = %error, "a turn could not be closed");
        }
        if let Err(error) = self.agent.services.sessions.flush(session).await {
            self.agent.report(self.no, self.step, flush_fault(error), None);
        }
    }

    /// Disposal and cancellation beat whatever else went wrong meanwhile (R-CANC-6).
    fn classify(&self, outcome: Result<TurnEndReason, Halt>) -> (TurnEndReason, Option<Fault>) {
        let halt = match outcome {
            Ok(reason) => return (reason, None),
            Err(halt) => halt,
        };
        if self.agent.status() == AgentStatus::Disposed {
            return (TurnEndReason::Disposed(Plain::NEW), None);
        }
        match self.signal.interruption() {
            Some(InterruptReason::User | InterruptReason::Parent) => {
                return (TurnEndReason::Aborted(Plain::NEW), None);
            }
            Some(InterruptReason::Disposed) | None => {}
        }
        let (failure, message, code, fault) = match halt {
            Halt::Interrupted => {
                let fault = Fault::plain("the turn's signal was raised without an interruption");
                (None, Some(fault.chain()), None, fault)
            }
            Halt::Failed(fault) => (None, Some(fault.chain()), fault.code().map(Into::into), fault),
            Halt::Request(fault, failure) => {
                let mut failure = *failure;
                failure.message = Some(fault.chain())
                    .filter(|chain| !chain.is_empty())
                    .map_or(failure.message, Into::into);
                (Some(failure), None, None, fault)
            }
        };
        let message = message.map(Into::into);
        let end = ErrorEnd {
            step: self.step,
            failure,
            message,
            code,
            extra: Extra::NONE,
        };
        (TurnEndReason::Error(Box::new(end)), Some(fault))
    }
}

/// What happens to a prompt that nobody objects to: its contexts go with it (R-TURN-2).
fn allow(contexts: Vec<HookContext>) -> PromptDecision {
    let additional_contexts = (!contexts.is_empty()).then_some(contexts);
    PromptDecision::Allow(PromptAllow {
        content: None,
        additional_contexts,
        extra: Extra::NONE,
    })
}

/// Bakes the contexts that belong in front of a prompt into it; gives back the others.
pub(crate) fn bake(
    content: Content,
    contexts: Vec<HookContext>,
) -> (Content, Option<Box<Envelope>>, Vec<HookContext>) {
    let (prefix, separate): (Vec<_>, Vec<_>) = contexts.into_iter().partition(HookContext::is_prefix);
    if prefix.is_empty() {
        return (content, None, separate);
    }
    let mut blocks: Vec<ContentBlock> = Vec::new();
    let mut prefix_contexts = Vec::with_capacity(prefix.len());
    for context in prefix {
        blocks.extend(context.content.iter().cloned());
        let HookContext { source, meta, .. } = context;
        prefix_contexts.push(PrefixContext {
            source,
            meta,
            extra: Extra::NONE,
        });
    }
    blocks.push(ContentBlock::text(PROMPT_DELIMITER));
    blocks.extend(content.iter().cloned());
    let envelope = Envelope {
        display_content: content,
        prefix_contexts,
        extra: Extra::NONE,
    };
    (Content::from(blocks), Some(Box::new(envelope)), separate)
}
