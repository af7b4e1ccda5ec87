//! What one can say to an agent: send, steer, inject, cancel.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use hames_log::Draft;
use hames_types::content::Content;
use hames_types::decision::HookContext;
use hames_types::event::{ContextMessage, EventBody, TurnEnd, TurnStart};
use hames_types::id::{StepNo, TurnNo};
use hames_types::json::{Extra, FromJson, NotLossless};
use hames_types::message::{MessageSource, Plain};
use hames_types::port::notice::{CancelRequested, Queued};
use hames_types::signal::SignalReason;
use hames_types::turn::{AgentStatus, CancelCause, TurnEndReason, TurnTrigger};

use super::{Agent, InjectOptions, SendOptions};
use crate::error::{VerbError, flush_fault};
use crate::inbox::Item;

impl Agent {
    /// Queues a prompt: it becomes the only ordinary message of a later turn, in order (R-INBOX-5).
    ///
    /// # Errors
    /// [`VerbError`]; nothing is queued and nobody is told.
    pub fn send(&self, content: Content, options: SendOptions) -> Result<(), VerbError> {
        let item = self.item(content, options)?;
        self.queue(item, false);
        Ok(())
    }

    /// Says something to the running turn: it is taken up at the next checkpoint, or becomes a prompt of its own
    /// if the turn ends before (R-INBOX-4). While nothing runs it is a [`Agent::send`].
    ///
    /// # Errors
    /// [`VerbError`]; nothing is queued and nobody is told.
    pub fn steer(&self, content: Content, options: SendOptions) -> Result<(), VerbError> {
        let item = self.item(content, options)?;
        self.queue(item, true);
        Ok(())
    }

    fn item(&self, content: Content, options: SendOptions) -> Result<Item, VerbError> {
        if self.status() == AgentStatus::Disposed {
            return Err(VerbError::Disposed(self.id().clone()));
        }
        let source = options.source.unwrap_or(MessageSource::USER);
        lossless("content", content.check_lossless())?;
        lossless("source", source.check_lossless())?;
        lossless("contexts", options.contexts.check_lossless())?;
        Ok(Item {
            content,
            source,
            contexts: options.contexts,
        })
    }

    fn queue(&self, item: Item, steer: bool) {
        let notice = |steering| Queued {
            agent: self.id().clone(),
            content: item.content.clone(),
            source: item.source.clone(),
            contexts: item.contexts.len(),
            steering,
        };
        let steering = {
            let mut state = self.state.lock();
            let steering = steer && state.status.now == AgentStatus::Running;
            let queue = if steering {
                &mut state.inbox.steering
            } else {
                &mut state.inbox.queued
            };
            queue.push_back(item.clone());
            state.stalled = false;
            steering
        };
        // First in the queue, then told, then the driver wakes: an observer that cancels finds it (R-INBOX-3).
        self.services
            .listeners
            .tell(Some(self.scope_key()), || notice(steering));
        if !steering {
            self.wake.notify_one();
        }
    }

    /// Adds context for the model without running it (R-INJ). In an open turn it joins the log where it stands, or
    /// behind the running tool batch; otherwise it gets a turn of its own, whose flush goes on in the background.
    ///
    /// # Errors
    /// [`VerbError`]. A turn of its own is closed even if the context is refused.
    pub fn inject(self: &Arc<Self>, content: Content, options: InjectOptions) -> Result<(), VerbError> {
        if self.status() == AgentStatus::Disposed {
            return Err(VerbError::Disposed(self.id().clone()));
        }
        let source = options.source.unwrap_or(MessageSource::USER);
        lossless("content", content.check_lossless())?;
        lossless("source", source.check_lossless())?;
        lossless(
            "meta",
            options.meta.as_ref().map_or(Ok(()), FromJson::check_lossless),
        )?;
        let context = HookContext {
            content,
            source,
            placement: None,
            meta: options.meta,
            extra: Extra::NONE,
        };
        self.inject_context(context)
    }

    pub(crate) fn inject_context(self: &Arc<Self>, context: HookContext) -> Result<(), VerbError> {
        // The log says whether a turn is open, not the status (R-INJ-1); nobody may open or close one meanwhile.
        let context = HookContext {
            placement: None,
            ..context
        };
        let own_turn = self.session().exclusively(|session| {
            if session.open_turn().is_none() {
                return self.inject_idle(context).map(Some);
            }
            if let Some(deferred) = &mut self.state.lock().deferred {
                deferred.push(context);
                return Ok(Some((None, Ok(()))));
            }
            session.append(context_draft(context))?;
            Ok(None)
        })?;
        let Some((turn, appended)) = own_turn else {
            return Ok(());
        };
        if let Some(turn) = turn {
            self.flush_idle(turn);
        }
        appended
    }

    /// A turn of the context's own. The turn is closed whatever becomes of the context (R-INJ-4).
    fn inject_idle(
        &self,
        context: HookContext,
    ) -> Result<(Option<TurnNo>, Result<(), VerbError>), VerbError> {
        let session = self.session();
        let turn = session.next_turn();
        let trigger = TurnTrigger::injection(context.source.clone());
        let start = EventBody::TurnStart(TurnStart {
            turn,
            trigger,
            extra: Extra::NONE,
        });
        session.append(Draft::log_only(start))?;
        let appended = session
            .append(context_draft(context))
            .map(|_| ())
            .map_err(VerbError::from);
        let reason = TurnEndReason::Completed(Plain::NEW);
        let end = EventBody::TurnEnd(TurnEnd {
            turn,
            reason,
            extra: Extra::NONE,
        });
        session.append(Draft::log_only(end))?;
        Ok((Some(turn), appended))
    }

    /// Flushes behind an idle injection. Begins at once and goes on in the background; a failure is told (R-INJ-5).
    fn flush_idle(self: &Arc<Self>, turn: TurnNo) {
        let agent = Arc::clone(self);
        let mut flush: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            if let Err(error) = agent.services.sessions.flush(agent.session()).await {
                agent.report(turn, StepNo::new(0), flush_fault(error), None);
            }
        });
        // Without a store a flush is over at once; only a real one becomes a task.
        if flush.as_mut().poll(&mut Context::from_waker(Waker::noop())) == Poll::Pending {
            let mut flushes = self.flushes.lock();
            flushes.retain(|flush| !flush.is_finished());
            #[expect(
                clippy::disallowed_methods,
                reason = "owned by the agent and awaited by its disposal"
            )]
            flushes.push(tokio::spawn(flush));
        }
    }

    /// Drops everything queued and interrupts the running turn (R-CANC). Without either it does nothing and arms
    /// nothing. The first cause of a turn wins.
    pub fn cancel(&self, cause: CancelCause) {
        {
            let mut state = self.state.lock();
            if state.owner.is_none() && state.inbox.is_empty() {
                return;
            }
            if state.owner.is_none() {
                state.cancelled_before_run = true;
            }
        }
        let agent = || self.id().clone();
        self.services
            .listeners
            .tell(Some(self.scope_key()), || CancelRequested {
                agent: agent(),
                cause,
            });
        let owner = {
            let mut state = self.state.lock();
            state.inbox.clear();
            state.owner.clone()
        };
        if let Some(owner) = owner {
            owner.raise(SignalReason::Interrupt(cause.into()));
        }
        self.wake.notify_one();
    }
}

fn lossless(what: &'static str, checked: Result<(), NotLossless>) -> Result<(), VerbError> {
    checked.map_err(|fault| VerbError::NotLossless { what, fault })
}

/// A context as an event at the history's tail. A placement that nothing was left to bake into is kept as it came.
pub(crate) fn context_draft(context: HookContext) -> Draft {
    let HookContext {
        content,
        source,
        meta,
        placement,
        extra,
    } = context;
    let extra = match placement {
        Some(placement) => extra.with("placement", placement.as_str().into()),
        None => extra,
    };
    Draft::message(EventBody::ContextMessage(Box::new(ContextMessage {
        content,
        source,
        meta,
        extra,
    })))
}
