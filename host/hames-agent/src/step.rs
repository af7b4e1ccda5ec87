//! Room 3: one model call and the tools it asked for, again and again until the turn is over (R-STEP, R-CONT).

use hames_log::Draft;
use hames_types::decision::{ContinuationDecision, Continue, RequestErrorDecision};
use hames_types::event::{EventBody, SteeringMessage, StepMark};
use hames_types::failure::LlmFailure;
use hames_types::fault::Fault;
use hames_types::json::{Extra, FromJson};
use hames_types::message::{History, Plain};
use hames_types::port::seam::{
    ContinuationAsk, PostStep, PreStep, PrefixAsk, RequestError, RequestErrorAsk, SessionPrefix, StepAsk,
    TurnAsk, TurnContinuation, TurnStop,
};
use hames_types::prompt::PromptAssembly;
use hames_types::turn::TurnEndReason;
use smol_str::SmolStr;

use crate::agent::context_draft;
use crate::inbox::Item;
use crate::prompt::{PromptContext, render};
use crate::request;
use crate::stream::{self, Answer};
use crate::tools::schedule;
use crate::turn::{Halt, Turn, bake};

/// What a step needs before it opens.
pub(crate) struct Opening {
    pub(crate) system: Option<SmolStr>,
    pub(crate) assembly: PromptAssembly,
    pub(crate) prefix: History,
    pub(crate) history: History,
}

/// How the turn stands after its successful steps so far.
#[derive(Default)]
struct Progress {
    max_tokens: bool,
    forced: u64,
    failures: Vec<LlmFailure>,
}

/// Runs the steps of a turn.
pub(crate) async fn run_all(turn: &mut Turn<'_>) -> Result<TurnEndReason, Halt> {
    let mut progress = Progress::default();
    loop {
        if turn.step.get() >= turn.agent.services.limits.max_steps {
            return Err(max_steps(turn.agent.services.limits.max_steps).into());
        }
        turn.step = turn.step.next();
        let answer = match attempt(turn).await {
            Ok(answer) => answer,
            Err(Halt::Request(error, failure)) => {
                recover(turn, &mut progress, error, *failure).await?;
                continue;
            }
            Err(halt) => return Err(halt),
        };
        progress.failures.clear();
        progress.max_tokens |= answer.max_tokens;
        let called = answer.calls_tools();
        if called {
            schedule::run(turn, &answer).await?;
        }
        let steered = drain_steering(turn)?;
        consult_post_step(turn).await?;
        close_step(turn)?;
        if !goes_on(turn, &mut progress, called || steered).await? {
            return Ok(if progress.max_tokens {
                TurnEndReason::MaxTokens(Plain::NEW)
            } else {
                TurnEndReason::Completed(Plain::NEW)
            });
        }
    }
}

fn max_steps(limit: u64) -> Fault {
    let message =
        format!("the turn took {limit} steps, which is the limit `max_steps`; raise it or split the task");
    Fault::host("LimitError", "MAX_STEPS", message)
}

/// Opens a step and makes its model call.
async fn attempt(turn: &mut Turn<'_>) -> Result<Answer, Halt> {
    let opening = prepare(turn).await?;
    let mark = StepMark {
        turn: turn.no,
        step: turn.step,
        extra: Extra::NONE,
    };
    // The boundary of reconstruction: what is appended from here on belongs to the next request (R-STEP-1).
    turn.log(EventBody::StepStart(mark))?;
    turn.checkpoint()?;
    let request = request::build(turn, opening).await?;
    stream::run(turn, request).await
}

/// Everything in front of `step/start`, in the order of §11.3.
async fn prepare(turn: &mut Turn<'_>) -> Result<Opening, Halt> {
    drain_steering(turn)?;
    let assembly = assemble(turn).await?;
    turn.checkpoint()?;
    let system = render(&assembly).map_err(|error| Fault::plain(error.to_string()))?;
    let prefix = prefix(turn).await?;
    let ask = step_ask(turn);
    turn.agent
        .services
        .listeners
        .consult::<PreStep>(Some(turn.agent.scope_key()), &ask)
        .await?;
    turn.checkpoint()?;
    let history = turn
        .agent
        .session()
        .derive()
        .map_err(|error| Fault::plain(error.to_string()))?;
    Ok(Opening {
        system,
        assembly,
        prefix,
        history,
    })
}

async fn assemble(turn: &Turn<'_>) -> Result<PromptAssembly, Fault> {
    let agent = turn.agent;
    let context = PromptContext {
        agent: Some(agent.id()),
        scope: Some(agent.scope_key()),
        provider: agent.options().provider.as_ref(),
        model: agent.options().model.as_ref(),
        cwd: agent.session().header().fields.cwd.as_deref(),
        signal: &turn.signal,
    };
    agent
        .services
        .prompts
        .assemble(&agent.services.listeners, context)
        .await
}

/// The messages in front of the history: composed by the first step of a driver, then kept (R-STEP-3).
async fn prefix(turn: &mut Turn<'_>) -> Result<History, Halt> {
    if let Some(prefix) = &turn.memory.prefix {
        return Ok(prefix.clone());
    }
    let ask = PrefixAsk {
        agent: turn.agent.id().clone(),
        signal: turn.signal.clone(),
    };
    let composed = turn.agent.services.listeners.decide::<SessionPrefix, _, _>(
        Some(turn.agent.scope_key()),
        &ask,
        |_| std::future::ready(Ok(History::new())),
    );
    let prefix = composed.await?;
    turn.checkpoint()?;
    prefix
        .check_lossless()
        .map_err(|fault| Fault::plain(fault.to_string()))?;
    turn.memory.prefix = Some(prefix.clone());
    Ok(prefix)
}

pub(crate) fn step_ask(turn: &Turn<'_>) -> StepAsk {
    StepAsk {
        agent: turn.agent.id().clone(),
        turn: turn.no,
        step: turn.step,
        signal: turn.signal.clone(),
    }
}

fn turn_ask(turn: &Turn<'_>) -> TurnAsk {
    TurnAsk {
        agent: turn.agent.id().clone(),
        turn: turn.no,
        signal: turn.signal.clone(),
    }
}

/// Takes up everything said to the running turn; says whether there was anything.
fn drain_steering(turn: &Turn<'_>) -> Result<bool, Halt> {
    let mut steered = false;
    loop {
        // One at a time: what an observer of the append adds is taken up as well.
        let Some(item) = turn.agent.state.lock().inbox.steering.pop_front() else {
            return Ok(steered);
        };
        steered = true;
        let Item {
            content,
            source,
            contexts,
        } = item;
        let (content, envelope, separate) = bake(content, contexts);
        let message = SteeringMessage {
            turn: turn.no,
            content,
            source,
            envelope,
            extra: Extra::NONE,
        };
        turn.append(Draft::message(EventBody::SteeringMessage(Box::new(message))))?;
        for context in separate {
            turn.append(context_draft(context))?;
        }
    }
}

/// Asked even when the signal is raised: results are durable and may be looked at (R-CONT-1).
async fn consult_post_step(turn: &Turn<'_>) -> Result<(), Halt> {
    let ask = step_ask(turn);
    turn.agent
        .services
        .listeners
        .consult::<PostStep>(Some(turn.agent.scope_key()), &ask)
        .await?;
    turn.checkpoint()
}

fn close_step(turn: &Turn<'_>) -> Result<(), Halt> {
    turn.log_held();
    turn.log(EventBody::StepEnd(StepMark {
        turn: turn.no,
        step: turn.step,
        extra: Extra::NONE,
    }))?;
    Ok(())
}

/// A failed model call: its step closes, then a listener may ask for another (R-FAIL).
async fn recover(
    turn: &Turn<'_>,
    progress: &mut Progress,
    error: Fault,
    failure: LlmFailure,
) -> Result<(), Halt> {
    close_step(turn)?;
    turn.checkpoint()?;
    let ask = RequestErrorAsk {
        at: step_ask(turn),
        error: error.clone(),
        failure: failure.clone(),
        prior: progress.failures.clone(),
    };
    let decided = turn.agent.services.listeners.decide::<RequestError, _, _>(
        Some(turn.agent.scope_key()),
        &ask,
        |_| std::future::ready(Ok(RequestErrorDecision::FAIL)),
    );
    let decision = match decided.await {
        Ok(decision) => decision,
        Err(fault) => {
            // A recovery that fails mustn't hide what it should have recovered from (R-FAIL-2).
            tracing::warn!(error = %fault.chain(), "a recovery from a failed request failed");
            RequestErrorDecision::FAIL
        }
    };
    turn.checkpoint()?;
    match decision {
        RequestErrorDecision::Fail(_) => Err(Halt::Request(error, Box::new(failure))),
        RequestErrorDecision::Retry(_) => {
            progress.failures.push(failure);
            Ok(())
        }
    }
}

/// Whether another step follows (R-CONT).
async fn goes_on(turn: &Turn<'_>, progress: &mut Progress, wanted: bool) -> Result<bool, Halt> {
    turn.checkpoint()?;
    let default = if wanted {
        ContinuationDecision::CONTINUE
    } else {
        ContinuationDecision::STOP
    };
    let ask = ContinuationAsk {
        at: turn_ask(turn),
        default: default.clone(),
        stop_hook_active: progress.forced > 0,
    };
    let scope = Some(turn.agent.scope_key());
    let listeners = &turn.agent.services.listeners;
    let decided =
        listeners.decide::<TurnContinuation, _, _>(scope, &ask, |_| std::future::ready(Ok(default)));
    let decision = decided.await?;
    turn.checkpoint()?;
    let mut more = match decision {
        ContinuationDecision::Stop(_) => false,
        ContinuationDecision::Continue(more) => {
            force(turn, progress, wanted, more)?;
            true
        }
    };
    // Somebody spoke meanwhile and wants an answer (R-CONT-4).
    more |= !turn.agent.state.lock().inbox.steering.is_empty();
    let stop = listeners.consult::<TurnStop>(scope, &turn_ask(turn)).await?;
    turn.checkpoint()?;
    if stop.is_some() {
        let mut state = turn.agent.state.lock();
        state.terminal = true;
        state.inbox.steering.clear();
        return Ok(false);
    }
    Ok(more)
}

/// A listener makes the turn go on: counted against its limit, and what it says becomes steering.
fn force(turn: &Turn<'_>, progress: &mut Progress, wanted: bool, more: Continue) -> Result<(), Halt> {
    if !wanted {
        progress.forced += 1;
        if let Some(limit) = turn.agent.services.limits.max_forced_continuations
            && progress.forced > limit
        {
            let message = format!(
                "listeners made the turn go on {limit} times, which is the limit `max_forced_continuations`"
            );
            return Err(Fault::host("LimitError", "CONTINUATION_LIMIT", message).into());
        }
    }
    if let Some(reason) = more.reason {
        reason
            .content
            .check_lossless()
            .map_err(|fault| Fault::plain(fault.to_string()))?;
        let item = Item {
            content: reason.content,
            source: reason.source,
            contexts: Vec::new(),
        };
        turn.agent.state.lock().inbox.steering.push_back(item);
    }
    Ok(())
}
