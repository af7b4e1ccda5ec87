//! One call from its arguments to its final outcome (R-TOOL).
//!
//! Three stages, because a scheduler overlaps only the middle one: [`Tools::begin`] is ordered (arguments, policy,
//! approval, guards), [`Tools::dispatch`] runs the body with its wrappers, [`Tools::finish`] lets policy see the
//! result and tells the observers.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use hames_types::decision::{ApprovalOutcome, PostToolDecision, PreToolDecision, Question};
use hames_types::fault::Fault;
use hames_types::json::{Json, JsonMap, check_lossless};
use hames_types::port::notice::ToolResultReady;
use hames_types::port::seam::{
    ApprovalAsk, Execute, ExecuteAsk, PostExecute, PostExecuteAsk, PreExecute, PreExecuteAsk,
};
use hames_types::port::tool::{Tool, ToolRun};
use hames_types::scope::ScopeKey;
use hames_types::signal::Signal;
use hames_types::tool::{ToolCall, ToolOutcome};

use super::Tools;
use super::outcome::{aborted, aborted_before_dispatch, bad_arguments, denied, failed, kept, unknown_tool};

/// On whose behalf a call is made.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The agent's scope; none for a call without an agent, which scoped listeners never hear of (R-TOOL-6).
    pub scope: Option<ScopeKey>,
    /// Raised when the call should end.
    pub signal: Signal,
}

/// What the ordered stage of a call came to.
#[derive(Debug)]
pub enum Begun {
    /// It may run.
    Ready(ReadyCall),
    /// It has an outcome without running.
    Settled(SettledCall),
}

/// A call that may run.
#[derive(Debug)]
pub struct ReadyCall {
    call: ToolCall,
    caller: Caller,
}

/// A call that has an outcome which observers haven't seen yet.
#[derive(Debug)]
pub struct SettledCall {
    call: ToolCall,
    caller: Caller,
    outcome: ToolOutcome,
    // A final outcome isn't shown to post-execute policy.
    is_final: bool,
    body_ran: bool,
}

impl ReadyCall {
    fn settled(self, outcome: ToolOutcome, is_final: bool, body_ran: bool) -> SettledCall {
        SettledCall {
            call: self.call,
            caller: self.caller,
            outcome,
            is_final,
            body_ran,
        }
    }
}

/// What a model wrote as arguments, as a value: nothing is an empty object, what isn't JSON stays text (R-SCHED-1).
#[must_use]
pub fn materialise(raw: &str) -> Json {
    if raw.is_empty() {
        return Json::Object(JsonMap::new());
    }
    serde_json::from_str(raw).unwrap_or_else(|_| Json::String(raw.to_owned()))
}

/// What stops a call before it runs.
struct Stop {
    outcome: ToolOutcome,
    is_final: bool,
}

impl Stop {
    /// Policy has had its say already or must not have any.
    fn finally(outcome: ToolOutcome) -> Box<Self> {
        let is_final = true;
        Box::new(Self { outcome, is_final })
    }

    /// Post-execute policy sees this, too.
    fn refused(outcome: ToolOutcome) -> Box<Self> {
        let is_final = false;
        Box::new(Self { outcome, is_final })
    }
}

impl Tools {
    /// The ordered stage: checks the arguments, asks policy, a person if policy says so, and the guards.
    ///
    /// Never fails: whatever goes wrong is the call's outcome. A call dropped in here has had no effect.
    pub async fn begin(&self, call: ToolCall, caller: Caller) -> Begun {
        let mut ready = ReadyCall { call, caller };
        if let Err(problem) = check_lossless(&ready.call.arguments, "arguments") {
            // Nobody is to see what can't be kept.
            ready.call.arguments = Arc::new(Json::Null);
            return Begun::Settled(ready.settled(bad_arguments(&problem), true, false));
        }
        if ready.caller.signal.is_raised() {
            return Begun::Settled(ready.settled(aborted_before_dispatch(), true, false));
        }
        match self.admit(&ready).await {
            Ok(()) => Begun::Ready(ready),
            Err(stop) => Begun::Settled(ready.settled(stop.outcome, stop.is_final, false)),
        }
    }

    async fn admit(&self, ReadyCall { call, caller }: &ReadyCall) -> Result<(), Box<Stop>> {
        let fails = |fault: Fault| Stop::finally(failed(&fault));
        let decision = self.ask_policy(call, caller).await.map_err(fails)?;
        match decision {
            PreToolDecision::Allow(_) => {}
            PreToolDecision::Deny(denial) => return Err(Stop::refused(denied(&denial.reason))),
            PreToolDecision::Ask(question) => self.ask(call, caller, question).await?,
        }
        if let Some(reason) = self.first_objection(call, caller.scope).await.map_err(fails)? {
            return Err(Stop::refused(denied(&reason)));
        }
        if caller.signal.is_raised() {
            return Err(Stop::refused(aborted_before_dispatch()));
        }
        Ok(())
    }

    async fn ask_policy(&self, call: &ToolCall, caller: &Caller) -> Result<PreToolDecision, Fault> {
        if !self.listeners.any::<PreExecute>() {
            return Ok(PreToolDecision::ALLOW);
        }
        let ask = PreExecuteAsk {
            call: call.clone(),
            signal: caller.signal.clone(),
        };
        let allow = |_| std::future::ready(Ok(PreToolDecision::ALLOW));
        self.listeners
            .decide::<PreExecute, _, _>(caller.scope, &ask, allow)
            .await
    }

    async fn ask(&self, call: &ToolCall, caller: &Caller, question: Question) -> Result<(), Box<Stop>> {
        let refused = |reason: &str| Err(Stop::refused(denied(reason)));
        let approver = self.approver.read().clone();
        let Some(approver) = approver else {
            return refused(
                question
                    .reason
                    .as_deref()
                    .unwrap_or("this call needs approval and nobody can be asked for it here"),
            );
        };
        let Some(agent) = call.agent.clone() else {
            return refused("this call needs approval, and only an agent's call can be approved");
        };
        let ask = ApprovalAsk {
            agent,
            tool: call.name.clone(),
            call_id: Some(call.call_id.clone()),
            reason: question.reason,
            signal: caller.signal.clone(),
        };
        let answer = approver.request(caller.scope, ask).await;
        match answer.map_err(|fault| Stop::finally(failed(&fault)))? {
            ApprovalOutcome::AllowedOnce => Ok(()),
            ApprovalOutcome::Rejected => refused("the user rejected this call"),
            ApprovalOutcome::Cancelled if caller.signal.is_raised() => {
                Err(Stop::refused(aborted_before_dispatch()))
            }
            ApprovalOutcome::Cancelled => refused("the request to approve this call was cancelled"),
            ApprovalOutcome::Unavailable => {
                refused("this call needs approval and nobody answered the request for it")
            }
        }
    }

    async fn first_objection(
        &self,
        call: &ToolCall,
        scope: Option<ScopeKey>,
    ) -> Result<Option<smol_str::SmolStr>, Fault> {
        for layer in std::iter::once(None).chain(scope.map(Some)) {
            for (_, guard) in self.guards.snapshot(layer) {
                if let Some(reason) = guard.check(call).await? {
                    return Ok(Some(reason));
                }
            }
        }
        Ok(None)
    }

    /// Runs the body inside the wrappers of `tools/execute`.
    ///
    /// A started body is awaited whatever the signal says (R-TOOL-3); dropping the future drops the body.
    pub async fn dispatch(&self, ready: ReadyCall) -> SettledCall {
        let body_ran = AtomicBool::new(false);
        let ran = self.run_wrapped(&ready, &body_ran).await;
        let body_ran = body_ran.into_inner();
        match ran {
            Ok(outcome) => {
                let outcome = unless_aborted(outcome, &ready.caller.signal, body_ran);
                ready.settled(outcome, false, body_ran)
            }
            Err(fault) => ready.settled(failed(&fault), true, body_ran),
        }
    }

    async fn run_wrapped(
        &self,
        ReadyCall { call, caller }: &ReadyCall,
        body_ran: &AtomicBool,
    ) -> Result<ToolOutcome, Fault> {
        let body = |passed: Option<Signal>| async move {
            let signal = match passed {
                // Whoever swaps the signal can't shield the body from the caller's (R-TOOL-2).
                Some(signal) => signal.fused(&caller.signal),
                None => caller.signal.clone(),
            };
            Ok(self.run_body(call, caller.scope, signal, body_ran).await)
        };
        if !self.listeners.any::<Execute>() {
            return body(None).await;
        }
        let timeout = self
            .find(caller.scope, &call.name)
            .and_then(|tool| tool.definition().timeout_ms.as_ref()?.as_f64());
        let ask = ExecuteAsk {
            call: call.clone(),
            timeout_ms: timeout,
            signal: caller.signal.clone(),
        };
        self.listeners
            .decide::<Execute, _, _>(caller.scope, &ask, body)
            .await
    }

    async fn run_body(
        &self,
        call: &ToolCall,
        scope: Option<ScopeKey>,
        signal: Signal,
        body_ran: &AtomicBool,
    ) -> ToolOutcome {
        if signal.is_raised() {
            return aborted_before_dispatch();
        }
        let Some(tool) = self.find(scope, &call.name) else {
            return unknown_tool(&call.name);
        };
        body_ran.store(true, Ordering::Relaxed);
        execute(&*tool, call, signal).await
    }

    /// Shows the outcome to post-execute policy, unless it is final, and tells the observers of `tools/result`, once
    /// for every call (R-TOOL-5).
    pub async fn finish(&self, settled: SettledCall) -> (ToolCall, ToolOutcome) {
        let SettledCall {
            call,
            caller,
            mut outcome,
            is_final,
            body_ran,
        } = settled;
        if !is_final && self.listeners.any::<PostExecute>() {
            let ask = PostExecuteAsk {
                call: call.clone(),
                outcome,
                signal: caller.signal.clone(),
            };
            let decision = self
                .listeners
                .decide::<PostExecute, _, _>(caller.scope, &ask, |_| {
                    std::future::ready(Ok(PostToolDecision::ACCEPT))
                })
                .await;
            outcome = judged(ask.outcome, decision);
        }
        let outcome = kept(unless_aborted(outcome, &caller.signal, body_ran));
        self.listeners.tell(caller.scope, || ToolResultReady {
            call: call.clone(),
            outcome: outcome.clone(),
        });
        (call, outcome)
    }

    /// All three stages, for a call outside of a scheduler: a direct one, or one from inside another.
    pub async fn call(&self, call: ToolCall, caller: Caller) -> ToolOutcome {
        let settled = match self.begin(call, caller).await {
            Begun::Ready(ready) => self.dispatch(ready).await,
            Begun::Settled(settled) => settled,
        };
        self.finish(settled).await.1
    }
}

async fn execute(tool: &dyn Tool, call: &ToolCall, signal: Signal) -> ToolOutcome {
    let run = ToolRun::new(signal);
    // A body that panics costs its call; the other bodies of the batch go on.
    let result = AssertUnwindSafe(tool.execute(call, &run)).catch_unwind().await;
    let result = result.unwrap_or_else(|panic| Err(Fault::panicked(&*panic)));
    let mut contexts = run.take_contexts();
    match result {
        Ok(_) if run.signal.is_raised() => ToolOutcome {
            contexts,
            ..aborted()
        },
        Ok(output) => ToolOutcome::success(output, contexts),
        Err(fault) => {
            let outcome = failed(&fault);
            contexts.extend(outcome.contexts);
            ToolOutcome { contexts, ..outcome }
        }
    }
}

/// A success that came too late reads as aborted; an error stays the error it is. Contexts stay in either case.
fn unless_aborted(outcome: ToolOutcome, signal: &Signal, body_ran: bool) -> ToolOutcome {
    if outcome.is_error || !signal.is_raised() {
        return outcome;
    }
    let replacement = if body_ran {
        aborted()
    } else {
        aborted_before_dispatch()
    };
    ToolOutcome {
        contexts: outcome.contexts,
        ..replacement
    }
}

fn judged(mut outcome: ToolOutcome, decision: Result<PostToolDecision, Fault>) -> ToolOutcome {
    match decision {
        Ok(PostToolDecision::Accept(accept)) => {
            if let Some(content) = accept.content {
                outcome.content = content;
            }
            outcome
                .contexts
                .extend(accept.additional_contexts.unwrap_or_default());
            outcome
        }
        Ok(PostToolDecision::Block(block)) => ToolOutcome {
            content: block.feedback,
            is_error: true,
            error: None,
            contexts: block.additional_contexts.unwrap_or_default(),
            meta: None,
        },
        Err(fault) => {
            let failure = failed(&fault);
            outcome.contexts.extend(failure.contexts);
            ToolOutcome {
                contexts: outcome.contexts,
                ..failure
            }
        }
    }
}
