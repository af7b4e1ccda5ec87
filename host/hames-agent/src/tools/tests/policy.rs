//! What happens to a call before it may run.

use std::sync::Arc;

use async_trait::async_trait;
use hames_types::decision::{ApprovalOutcome, PreToolDecision};
use hames_types::fault::Fault;
use hames_types::json::Json;
use hames_types::port::seam::{ApprovalAsk, PreExecute};
use hames_types::scope::ScopeKey;
use hames_types::signal::{Signal, Trigger};
use hames_types::tool::ToolCall;
use parking_lot::Mutex;
use serde_json::json;

use super::{ABORTED_BEFORE, Bench, Says, call, cancel, decision, listener, ok, pre, shown};
use crate::approval::Approver;
use crate::scope::Scope;
use crate::tools::{Caller, materialise};

/// Cancels in a phase, then goes on.
fn cancelling_pre(bench: &Bench, then: Result<PreToolDecision, Fault>) {
    let trigger = bench.trigger.clone();
    bench.on::<PreExecute>(listener::<PreExecute, _>(move |_, _| {
        cancel(&trigger);
        let then = then.clone();
        Box::pin(async move { then })
    }));
}

#[test]
fn r_sched_1_arguments_are_json_or_the_text_itself() {
    assert_eq!(materialise(""), json!({}));
    assert_eq!(materialise(" {\"a\": 1} "), json!({"a": 1}));
    assert_eq!(materialise("5"), json!(5));
    assert_eq!(materialise("{\"a\":"), json!("{\"a\":"));
    assert_eq!(materialise("\"x"), json!("\"x"));
    let deep = "[".repeat(100_000);
    assert_eq!(materialise(&deep), Json::String(deep));
}

#[tokio::test]
async fn r_tool_arguments_that_cannot_be_kept_win_over_everything_and_are_seen_by_nobody() {
    let bench = Bench::with(ok());
    bench.watch();
    bench.cancel();

    let outcome = bench.call_with("t", materialise("{\"n\":-0}")).await;

    assert!(shown(&outcome).starts_with("!Error: the arguments are not lossless JSON at `arguments.n`"));
    assert!(outcome.error.is_none());
    assert_eq!(bench.phases(), Vec::<&str>::new());
    assert_eq!(*bench.told.lock()[0].call.arguments, Json::Null);
}

#[tokio::test]
async fn r_tool_a_caller_that_was_cancelled_before_runs_no_phase() {
    let bench = Bench::with(ok());
    bench.watch();
    bench.cancel();

    assert_eq!(shown(&bench.call("t").await), ABORTED_BEFORE);
    assert_eq!(bench.phases(), Vec::<&str>::new());
    assert_eq!(
        bench.told.lock().len(),
        1,
        "R-TOOL-5: final outcomes are told, too"
    );
}

#[tokio::test]
async fn r_tool_a_policy_that_fails_ends_the_call_for_good() {
    for (fault, expected) in [
        (Fault::foreign("broken").with_code("CLAIMED"), "!Error: broken"),
        (
            Fault::host("PolicyError", "P1", "broken"),
            "!Error: broken [PolicyError P1]",
        ),
    ] {
        let bench = Bench::with(ok());
        bench.watch();
        bench.on::<PreExecute>(listener::<PreExecute, _>(move |_, _| {
            let fault = fault.clone();
            Box::pin(async move { Err(fault) })
        }));
        assert_eq!(shown(&bench.call("t").await), expected);
        assert_eq!(bench.phases(), ["pre"]);
    }
}

#[tokio::test]
async fn r_tool_a_denial_has_no_code_and_post_execute_sees_it() {
    let bench = Bench::with(ok());
    bench.watch();
    pre(&bench, json!({"kind": "deny", "reason": "not today"}));

    assert_eq!(shown(&bench.call("t").await), "!Error: not today");
    assert_eq!(bench.phases(), ["pre", "post"]);
}

/// Answers for a person; the second part is what was asked.
struct Person(
    Result<ApprovalOutcome, Fault>,
    Option<Trigger>,
    Mutex<Vec<ApprovalAsk>>,
);

#[async_trait]
impl Approver for Person {
    async fn request(&self, _: Option<ScopeKey>, ask: ApprovalAsk) -> Result<ApprovalOutcome, Fault> {
        self.2.lock().push(ask);
        if let Some(trigger) = &self.1 {
            cancel(trigger);
        }
        self.0.clone()
    }
}

#[tokio::test]
async fn r_tool_and_r_appr_6_a_question_has_six_ends() {
    use ApprovalOutcome::{AllowedOnce, Cancelled, Rejected, Unavailable};
    let cases = [
        (Ok(AllowedOnce), false, "done"),
        (Ok(Rejected), false, "!Error: the user rejected this call"),
        (Ok(Rejected), true, "!Error: the user rejected this call"),
        (
            Ok(Cancelled),
            false,
            "!Error: the request to approve this call was cancelled",
        ),
        (Ok(Cancelled), true, ABORTED_BEFORE),
        (
            Ok(Unavailable),
            false,
            "!Error: this call needs approval and nobody answered the request for it",
        ),
        (Ok(AllowedOnce), true, ABORTED_BEFORE),
    ];
    for (answer, cancels, expected) in cases {
        let bench = Bench::with(ok());
        bench.watch();
        pre(&bench, json!({"kind": "ask", "reason": "writes"}));
        let trigger = cancels.then(|| bench.trigger.clone());
        let person = Arc::new(Person(answer, trigger, Mutex::default()));
        bench.tools.set_approver(Some(Arc::clone(&person) as _));

        assert_eq!(shown(&bench.call("t").await), expected);
        let asked = person.2.lock();
        assert_eq!(asked[0].reason.as_deref(), Some("writes"));
        assert_eq!(asked[0].tool, "t");
        assert!(bench.phases().contains(&"post"), "policy sees it: {expected}");
    }
}

#[tokio::test]
async fn r_tool_a_question_nobody_can_be_asked_is_a_denial() {
    let bench = Bench::with(ok());
    pre(&bench, json!({"kind": "ask", "reason": "needs a human"}));
    assert_eq!(shown(&bench.call("t").await), "!Error: needs a human");

    let bench = Bench::with(ok());
    pre(&bench, json!({"kind": "ask"}));
    let unasked = shown(&bench.call("t").await);
    let person = Person(Ok(ApprovalOutcome::AllowedOnce), None, Mutex::default());
    bench.tools.set_approver(Some(Arc::new(person)));
    let caller = Caller {
        scope: None,
        signal: Signal::never(),
    };
    let agentless = ToolCall {
        agent: None,
        ..call("t", json!({}))
    };
    let agentless = shown(&bench.tools.call(agentless, caller).await);
    assert!(unasked.starts_with("!Error: ") && agentless.starts_with("!Error: "));
    assert_ne!(unasked, agentless);
}

#[tokio::test]
async fn r_tool_an_approval_service_that_fails_ends_the_call_for_good() {
    let bench = Bench::with(ok());
    bench.watch();
    pre(&bench, json!({"kind": "ask"}));
    let person = Person(Err(Fault::foreign("line is dead")), None, Mutex::default());
    bench.tools.set_approver(Some(Arc::new(person)));

    assert_eq!(shown(&bench.call("t").await), "!Error: line is dead");
    assert_eq!(bench.phases(), ["pre"]);
}

#[tokio::test]
async fn r_reg_6_guards_deny_after_policy_allowed_and_the_first_reason_counts() {
    let (bench, scope) = (Bench::with(ok()), Scope::new());
    bench.watch();
    let guards = [
        (Some(&scope), Ok(Some("scoped".into()))),
        (None, Ok(None)),
        (None, Ok(Some("global".into()))),
    ];
    for (scope, says) in guards {
        bench.tools.guard(scope, Arc::new(Says(says))).unwrap();
    }
    let caller = Caller {
        scope: Some(scope.key()),
        signal: Signal::never(),
    };
    let outcome = bench.tools.call(call("t", json!({})), caller).await;

    assert_eq!(shown(&outcome), "!Error: global");
    assert_eq!(bench.phases(), ["pre", "post"]);
}

#[tokio::test]
async fn r_reg_6_a_guard_that_fails_denies() {
    let bench = Bench::with(ok());
    bench.watch();
    bench
        .tools
        .guard(None, Arc::new(Says(Err(Fault::foreign("guard fell over")))))
        .unwrap();
    assert_eq!(shown(&bench.call("t").await), "!Error: guard fell over");
    assert_eq!(bench.phases(), ["pre"]);
}

#[tokio::test]
async fn r_tool_cancelled_while_policy_waited_an_allow_is_overtaken_a_denial_and_an_error_are_kept() {
    let deny = decision(json!({"kind": "deny", "reason": "no"}));
    let cases = [
        (Ok(PreToolDecision::ALLOW), ABORTED_BEFORE),
        (Ok(deny), "!Error: no"),
        (Err(Fault::foreign("broken")), "!Error: broken"),
    ];
    for (then, expected) in cases {
        let bench = Bench::with(ok());
        cancelling_pre(&bench, then);
        assert_eq!(shown(&bench.call("t").await), expected);
    }
}
