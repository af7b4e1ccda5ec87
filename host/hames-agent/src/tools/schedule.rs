//! Room 6: the calls of one answer, in the model's order, beside each other where they may be (R-SCHED).
//!
//! Starting a call and committing its result happen one at a time; only bodies overlap. While a start or a commit
//! waits for a listener, the bodies that run go on.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, Stream};
use hames_log::Draft;
use hames_types::content::ToolCallBlock;
use hames_types::event::{EventBody, ToolCallEvent, ToolResultEvent};
use hames_types::fault::Fault;
use hames_types::id::Seq;
use hames_types::json::{Extra, Json};
use hames_types::tool::{ExecutionMode, ToolCall, ToolOutcome};

use super::{Begun, Caller, SettledCall, aborted, aborted_before_dispatch, materialise};
use crate::agent::context_draft;
use crate::stream::Answer;
use crate::turn::{Halt, Turn};

/// Runs every call of an answer. When it returns, each has exactly one call and one result in the log, and the
/// contexts that came with them are behind the last result.
pub(crate) async fn run(turn: &Turn<'_>, answer: &Answer) -> Result<(), Halt> {
    let calls = answer.content.tool_calls().map(Slot::new).collect();
    turn.agent.state.lock().deferred = Some(Vec::new());
    let mut batch = Batch {
        turn,
        calls,
        running: FuturesUnordered::new(),
        settled: BTreeMap::new(),
        committed: 0,
    };
    // Whatever a listener does, no call stays unanswered: the next request would be refused for it.
    let ran = AssertUnwindSafe(batch.walk()).catch_unwind().await;
    let mut ran = ran.unwrap_or_else(|panic| Err(Halt::Failed(Fault::panicked(&*panic))));
    if ran.is_err() {
        let drained = AssertUnwindSafe(batch.drain()).catch_unwind().await;
        ran = ran.and(drained.unwrap_or_else(|panic| Err(Halt::Failed(Fault::panicked(&*panic)))));
    }
    let answered = batch.answer_rest();
    let drained = drain_contexts(turn);
    ran.and(answered).and(drained)
}

/// Appends what was deferred during the batch, in the order in which it was accepted (R-SCHED-6, R-INJ-3).
fn drain_contexts(turn: &Turn<'_>) -> Result<(), Halt> {
    loop {
        let contexts = {
            let mut state = turn.agent.state.lock();
            match state.deferred.take() {
                Some(contexts) if !contexts.is_empty() => {
                    // Still deferring: what an observer injects now comes behind these.
                    state.deferred = Some(Vec::new());
                    contexts
                }
                Some(_) | None => return Ok(()),
            }
        };
        for context in contexts {
            turn.append(context_draft(context))?;
        }
    }
}

/// One call and how far it has come.
struct Slot {
    block: ToolCallBlock,
    arguments: Arc<Json>,
    logged: Option<Seq>,
    answered: bool,
}

impl Slot {
    fn new(block: &ToolCallBlock) -> Self {
        let arguments = Arc::new(materialise(&block.arguments));
        Self {
            block: block.clone(),
            arguments,
            logged: None,
            answered: false,
        }
    }
}

type Body<'a> = Pin<Box<dyn Future<Output = (usize, SettledCall)> + Send + 'a>>;

struct Batch<'a, 't> {
    turn: &'a Turn<'t>,
    calls: Vec<Slot>,
    running: FuturesUnordered<Body<'a>>,
    /// Calls that have an outcome and wait for those in front of them.
    settled: BTreeMap<usize, SettledCall>,
    /// How many results are in the log; they go there in the model's order (R-SCHED-5).
    committed: usize,
}

impl<'a> Batch<'a, '_> {
    async fn walk(&mut self) -> Result<(), Halt> {
        let mut next = 0;
        while next < self.calls.len() && !self.turn.signal.is_raised() {
            next = match self.classify(next).await {
                ExecutionMode::Exclusive => {
                    self.start(next).await?;
                    self.drain().await?;
                    next + 1
                }
                ExecutionMode::Parallel => self.pool(next).await?,
            };
        }
        Ok(())
    }

    /// Runs calls beside each other from `first` on, until one that may not; gives the index of that one.
    async fn pool(&mut self, first: usize) -> Result<usize, Halt> {
        let cap = self.turn.agent.services.limits.max_parallel_tool_calls.max(1);
        let (mut next, mut open) = (first, true);
        loop {
            while open && next < self.calls.len() && self.in_flight() < cap && !self.turn.signal.is_raised() {
                // The registry is live: a call is asked again just before it starts (R-SCHED-3).
                if next > first && self.classify(next).await == ExecutionMode::Exclusive {
                    open = false;
                    break;
                }
                self.start(next).await?;
                next += 1;
                self.commit_ready().await?;
            }
            if self.running.is_empty() && self.settled.is_empty() {
                return Ok(next);
            }
            self.settle_one().await;
            self.commit_ready().await?;
        }
    }

    fn in_flight(&self) -> usize {
        self.running.len()
    }

    async fn classify(&mut self, at: usize) -> ExecutionMode {
        let Some(slot) = self.calls.get(at) else {
            return ExecutionMode::Exclusive;
        };
        let (tools, scope) = (&self.turn.agent.services.tools, Some(self.turn.agent.scope_key()));
        let (name, arguments) = (slot.block.name.clone(), Arc::clone(&slot.arguments));
        let asked = tools.classify(scope, &name, &arguments);
        beside(&mut self.running, &mut self.settled, asked).await
    }

    /// Logs the call and runs its ordered stage; the body is on its way when this returns (R-SCHED-4).
    async fn start(&mut self, at: usize) -> Result<(), Halt> {
        let turn = self.turn;
        let Some(slot) = self.calls.get_mut(at) else {
            return Ok(());
        };
        slot.logged = Some(log_call(turn, &slot.block)?);
        let call = ToolCall {
            call_id: slot.block.id.clone(),
            name: slot.block.name.clone(),
            arguments: Arc::clone(&slot.arguments),
            agent: Some(turn.agent.id().clone()),
            at: Some((turn.no, turn.step)),
            parent: None,
        };
        let caller = Caller {
            scope: Some(turn.agent.scope_key()),
            signal: turn.signal.clone(),
        };
        let tools = &turn.agent.services.tools;
        match beside(&mut self.running, &mut self.settled, tools.begin(call, caller)).await {
            Begun::Settled(settled) => {
                self.settled.insert(at, settled);
            }
            Begun::Ready(ready) => {
                let body: Body<'a> = Box::pin(async move { (at, tools.dispatch(ready).await) });
                self.running.push(body);
            }
        }
        Ok(())
    }

    /// Waits until a running body has an outcome, if one runs.
    async fn settle_one(&mut self) {
        let (running, settled) = (&mut self.running, &mut self.settled);
        poll_fn(|context| match Pin::new(&mut *running).poll_next(context) {
            Poll::Ready(Some((at, outcome))) => {
                settled.insert(at, outcome);
                Poll::Ready(())
            }
            Poll::Ready(None) => Poll::Ready(()),
            Poll::Pending => Poll::Pending,
        })
        .await;
    }

    /// Commits every outcome whose turn it is.
    async fn commit_ready(&mut self) -> Result<(), Halt> {
        while let Some(settled) = self.settled.remove(&self.committed) {
            let finishing = self.turn.agent.services.tools.finish(settled);
            let (_, outcome) = beside(&mut self.running, &mut self.settled, finishing).await;
            let at = self.committed;
            self.committed += 1;
            if let Some(slot) = self.calls.get_mut(at) {
                answer(self.turn, slot, outcome)?;
            }
        }
        Ok(())
    }

    /// Lets every started body come to its end and commits it (R-SCHED-7, A-3).
    async fn drain(&mut self) -> Result<(), Halt> {
        let mut first_failure = Ok(());
        loop {
            let committed = self.commit_ready().await;
            first_failure = first_failure.and(committed);
            if self.running.is_empty() {
                return first_failure;
            }
            self.settle_one().await;
        }
    }

    /// Gives every call that has none an answer: it was interrupted, or the batch failed.
    fn answer_rest(&mut self) -> Result<(), Halt> {
        let mut first_failure = Ok(());
        for slot in self.calls.iter_mut().filter(|slot| !slot.answered) {
            let outcome = if slot.logged.is_some() {
                aborted()
            } else {
                aborted_before_dispatch()
            };
            let answered = match slot.logged {
                Some(_) => Ok(()),
                None => log_call(self.turn, &slot.block).map(|seq| slot.logged = Some(seq)),
            };
            first_failure = first_failure.and(answered.and_then(|()| answer(self.turn, slot, outcome)));
        }
        first_failure
    }
}

/// Runs `work` while the bodies that run go on.
async fn beside<T>(
    running: &mut FuturesUnordered<Body<'_>>,
    settled: &mut BTreeMap<usize, SettledCall>,
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin!(work);
    poll_fn(|context: &mut Context<'_>| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(done);
        }
        while let Poll::Ready(Some((at, outcome))) = Pin::new(&mut *running).poll_next(context) {
            settled.insert(at, outcome);
        }
        Poll::Pending
    })
    .await
}

fn log_call(turn: &Turn<'_>, block: &ToolCallBlock) -> Result<Seq, Halt> {
    let call = ToolCallEvent {
        turn: turn.no,
        step: turn.step,
        call_id: block.id.clone(),
        name: block.name.clone(),
        arguments: block.arguments.clone(),
        extra: Extra::NONE,
    };
    turn.log(EventBody::ToolCall(Box::new(call)))
}

fn answer(turn: &Turn<'_>, slot: &mut Slot, outcome: ToolOutcome) -> Result<(), Halt> {
    let ToolOutcome {
        content,
        is_error,
        error,
        contexts,
        meta,
    } = outcome;
    let result = ToolResultEvent {
        turn: turn.no,
        step: turn.step,
        call_id: slot.block.id.clone(),
        content,
        is_error,
        error,
        meta,
        extra: Extra::NONE,
    };
    let body = EventBody::ToolResult(Box::new(result));
    turn.append(Draft::message_from(body, slot.logged.into_iter().collect()))?;
    slot.answered = true;
    if let Some(deferred) = &mut turn.agent.state.lock().deferred {
        deferred.extend(contexts);
    }
    Ok(())
}
