//! Order, scopes, delegation and containment of listeners.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures_util::FutureExt;
use hames_types::decision::PreToolDecision;
use hames_types::fault::Fault;
use hames_types::id::{CallId, SessionId, StepNo, TurnNo};
use hames_types::json::Json;
use hames_types::port::listener::{Consult, Decide, Next, Notice, Observe, Seam};
use hames_types::port::notice::{AgentCreated, ConfigStartFailed, StatusChanged};
use hames_types::port::seam::{
    Execute, ExecuteAsk, PreExecute, PreExecuteAsk, PreStep, StepAsk, TurnAsk, TurnStop,
};
use hames_types::scope::ScopeKey;
use hames_types::signal::{Signal, SignalReason, Trigger};
use hames_types::tool::{ToolCall, ToolOutcome, ToolOutput};
use hames_types::turn::AgentStatus;
use parking_lot::Mutex;

use hames_log::Place;

use super::Listeners;

type Trace = Arc<Mutex<Vec<String>>>;

/// Writes down when it is entered and left, and does one thing.
struct Scripted {
    name: &'static str,
    trace: Trace,
    act: Act,
}

enum Act {
    Delegate,
    Deny,
    Fail(Fault),
    Recover,
}

impl Scripted {
    fn new(name: &'static str, trace: &Trace, act: Act) -> Arc<Self> {
        Arc::new(Self {
            name,
            trace: Arc::clone(trace),
            act,
        })
    }
}

#[async_trait]
impl Decide<PreExecute> for Scripted {
    async fn decide(&self, _: &PreExecuteAsk, next: Next<'_, PreExecute>) -> Result<PreToolDecision, Fault> {
        self.trace.lock().push(format!("{} in", self.name));
        tokio::task::yield_now().await;
        let answer = match &self.act {
            Act::Delegate => next.run().await,
            Act::Deny => Ok(deny(self.name)),
            Act::Fail(fault) => Err(fault.clone()),
            Act::Recover => Ok(next.run().await.unwrap_or(PreToolDecision::ALLOW)),
        };
        self.trace.lock().push(format!("{} out", self.name));
        answer
    }
}

fn deny(reason: &str) -> PreToolDecision {
    let value = serde_json::json!({"kind": "deny", "reason": reason});
    hames_types::json::FromJson::from_json(value).unwrap()
}

fn call() -> ToolCall {
    ToolCall {
        call_id: CallId::new("c1"),
        name: "t".into(),
        arguments: Arc::new(Json::Null),
        agent: None,
        at: None,
        parent: None,
    }
}

fn question() -> PreExecuteAsk {
    PreExecuteAsk {
        call: call(),
        signal: Signal::never(),
    }
}

async fn pre_execute(listeners: &Listeners, carrier: Option<ScopeKey>) -> Result<PreToolDecision, Fault> {
    listeners
        .decide::<PreExecute, _, _>(carrier, &question(), |_| async { Ok(PreToolDecision::ALLOW) })
        .await
}

#[tokio::test]
async fn r_disp_7_the_first_registered_is_outermost_and_the_default_innermost() {
    let (listeners, trace) = (Listeners::new(), Trace::default());
    for name in ["a", "b"] {
        listeners.add::<PreExecute>(None, Place::Last, Scripted::new(name, &trace, Act::Delegate));
    }
    // R-DISP-3: one that is put first goes to the very front.
    listeners.add::<PreExecute>(None, Place::First, Scripted::new("front", &trace, Act::Delegate));

    let answer = pre_execute(&listeners, None).await.unwrap();

    assert_eq!(answer, PreToolDecision::ALLOW);
    let expected = ["front in", "a in", "b in", "b out", "a out", "front out"];
    assert_eq!(*trace.lock(), expected);
}

#[tokio::test]
async fn r_disp_7_an_answer_without_delegating_keeps_everyone_inside_out() {
    let (listeners, trace) = (Listeners::new(), Trace::default());
    listeners.add::<PreExecute>(None, Place::Last, Scripted::new("a", &trace, Act::Deny));
    listeners.add::<PreExecute>(None, Place::Last, Scripted::new("b", &trace, Act::Delegate));
    let ran = AtomicUsize::new(0);

    let answer = listeners
        .decide::<PreExecute, _, _>(None, &question(), |_| async {
            ran.fetch_add(1, Ordering::Relaxed);
            Ok(PreToolDecision::ALLOW)
        })
        .await
        .unwrap();

    assert_eq!(answer, deny("a"));
    assert_eq!(*trace.lock(), ["a in", "a out"]);
    assert_eq!(ran.load(Ordering::Relaxed), 0, "the default must not run");
}

#[tokio::test]
async fn r_disp_5_a_fault_passes_outwards_as_the_same_fault_unless_caught() {
    let (listeners, trace) = (Listeners::new(), Trace::default());
    let fault = Fault::foreign("broken");
    listeners.add::<PreExecute>(None, Place::Last, Scripted::new("a", &trace, Act::Delegate));
    listeners.add::<PreExecute>(
        None,
        Place::Last,
        Scripted::new("b", &trace, Act::Fail(fault.clone())),
    );

    let raised = pre_execute(&listeners, None).await.unwrap_err();
    assert!(raised.is(&fault));

    listeners.add::<PreExecute>(None, Place::First, Scripted::new("net", &trace, Act::Recover));
    assert_eq!(
        pre_execute(&listeners, None).await.unwrap(),
        PreToolDecision::ALLOW
    );
}

#[tokio::test]
async fn r_scope_2_a_scoped_listener_hears_its_own_scope_and_an_unscoped_one_everything() {
    let (listeners, trace) = (Listeners::new(), Trace::default());
    let (mine, other) = (ScopeKey::fresh(), ScopeKey::fresh());
    listeners.add::<PreExecute>(Some(mine), Place::Last, Scripted::new("mine", &trace, Act::Deny));

    assert_eq!(pre_execute(&listeners, Some(mine)).await.unwrap(), deny("mine"));
    for carrier in [None, Some(other)] {
        assert_eq!(
            pre_execute(&listeners, carrier).await.unwrap(),
            PreToolDecision::ALLOW
        );
    }

    // R-SCOPE-9: what was registered for a scope ends with it.
    listeners.end_scope(mine);
    assert!(!listeners.any::<PreExecute>());
}

/// Registers another listener while it is asked.
struct Breeder {
    listeners: Arc<Listeners>,
    trace: Trace,
}

#[async_trait]
impl Decide<PreExecute> for Breeder {
    async fn decide(&self, _: &PreExecuteAsk, next: Next<'_, PreExecute>) -> Result<PreToolDecision, Fault> {
        let late = Scripted::new("late", &self.trace, Act::Deny);
        self.listeners.add::<PreExecute>(None, Place::Last, late);
        next.run().await
    }
}

#[tokio::test]
async fn r_disp_6_the_list_is_taken_when_the_dispatch_begins() {
    let (listeners, trace) = (Arc::new(Listeners::new()), Trace::default());
    let breeder = Breeder {
        listeners: Arc::clone(&listeners),
        trace: Arc::clone(&trace),
    };
    let id = listeners.add::<PreExecute>(None, Place::Last, Arc::new(breeder));

    assert_eq!(
        pre_execute(&listeners, None).await.unwrap(),
        PreToolDecision::ALLOW
    );
    listeners.remove::<PreExecute>(id);
    assert_eq!(pre_execute(&listeners, None).await.unwrap(), deny("late"));
}

/// Passes a signal on, or writes down the one it sees.
enum Wrapper {
    Passes(Signal),
    Sees(Trace),
}

#[async_trait]
impl Decide<Execute> for Wrapper {
    async fn decide(&self, ask: &ExecuteAsk, next: Next<'_, Execute>) -> Result<ToolOutcome, Fault> {
        match self {
            Self::Passes(signal) => next.run_with(signal.clone()).await,
            Self::Sees(trace) => {
                trace.lock().push(ask.signal.is_raised().to_string());
                next.run().await
            }
        }
    }
}

#[tokio::test]
async fn what_a_listener_passes_on_is_what_everyone_inside_it_sees() {
    let (listeners, trace) = (Listeners::new(), Trace::default());
    let trigger = Trigger::new();
    trigger.raise(SignalReason::Withdrawn);
    listeners.add::<Execute>(None, Place::Last, Arc::new(Wrapper::Sees(Arc::clone(&trace))));
    listeners.add::<Execute>(None, Place::Last, Arc::new(Wrapper::Passes(trigger.signal())));
    listeners.add::<Execute>(None, Place::Last, Arc::new(Wrapper::Sees(Arc::clone(&trace))));
    let ask = ExecuteAsk {
        call: call(),
        timeout_ms: None,
        signal: Signal::never(),
    };

    let outcome = listeners
        .decide::<Execute, _, _>(None, &ask, |passed| async move {
            let raised = passed.is_some_and(|signal| signal.is_raised());
            Ok(ToolOutcome::success(
                ToolOutput::text(raised.to_string()),
                Vec::new(),
            ))
        })
        .await
        .unwrap();

    assert_eq!(*trace.lock(), ["false", "true"]);
    assert_eq!(outcome.content.joined_text(), "true");
}

/// Counts how many of it are being asked at this moment.
struct Waits(Arc<AtomicUsize>);

struct Inside<'a>(&'a AtomicUsize);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl Decide<PreExecute> for Waits {
    async fn decide(&self, _: &PreExecuteAsk, next: Next<'_, PreExecute>) -> Result<PreToolDecision, Fault> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let _inside = Inside(&self.0);
        next.run().await
    }
}

#[tokio::test]
async fn dropping_a_dispatch_drops_everyone_in_it() {
    let (listeners, inside) = (Listeners::new(), Arc::new(AtomicUsize::new(0)));
    for _ in 0..3 {
        listeners.add::<PreExecute>(None, Place::Last, Arc::new(Waits(Arc::clone(&inside))));
    }
    let question = question();
    let mut dispatch =
        Box::pin(listeners.decide::<PreExecute, _, _>(None, &question, |_| std::future::pending()));

    assert!(dispatch.as_mut().now_or_never().is_none());
    assert_eq!(inside.load(Ordering::Relaxed), 3);
    drop(dispatch);
    assert_eq!(inside.load(Ordering::Relaxed), 0);
}

/// Answers a serial seam with what it was given.
struct Says {
    name: &'static str,
    trace: Trace,
    answer: Result<Option<()>, Fault>,
}

#[async_trait]
impl<S: Seam<Answer = ()>> Consult<S> for Says {
    async fn consult(&self, _: &S::Ask) -> Result<Option<()>, Fault> {
        self.trace.lock().push(self.name.to_owned());
        self.answer.clone()
    }
}

fn says(name: &'static str, trace: &Trace, answer: Result<Option<()>, Fault>) -> Arc<Says> {
    Arc::new(Says {
        name,
        trace: Arc::clone(trace),
        answer,
    })
}

#[tokio::test]
async fn r_disp_1_a_serial_seam_ends_with_the_first_answer() {
    let (listeners, trace) = (Listeners::new(), Trace::default());
    listeners.add::<TurnStop>(None, Place::Last, says("a", &trace, Ok(None)));
    listeners.add::<TurnStop>(None, Place::Last, says("b", &trace, Ok(Some(()))));
    listeners.add::<TurnStop>(None, Place::Last, says("c", &trace, Ok(Some(()))));
    let ask = TurnAsk {
        agent: SessionId::new("main"),
        turn: TurnNo::FIRST,
        signal: Signal::never(),
    };

    let answer = listeners.consult::<TurnStop>(None, &ask).await.unwrap();

    assert_eq!(answer, Some(()));
    assert_eq!(*trace.lock(), ["a", "b"]);
}

#[tokio::test]
async fn r_disp_5_a_fault_ends_a_serial_seam() {
    let (listeners, trace) = (Listeners::new(), Trace::default());
    let fault = Fault::foreign("no");
    listeners.add::<PreStep>(None, Place::Last, says("a", &trace, Err(fault.clone())));
    listeners.add::<PreStep>(None, Place::Last, says("b", &trace, Ok(None)));
    let ask = StepAsk {
        agent: SessionId::new("main"),
        turn: TurnNo::FIRST,
        step: StepNo::FIRST,
        signal: Signal::never(),
    };

    let raised = listeners.consult::<PreStep>(None, &ask).await.unwrap_err();

    assert!(raised.is(&fault));
    assert_eq!(*trace.lock(), ["a"]);
}

/// Writes down that it was told, and fails if it was made to.
struct Told {
    name: &'static str,
    trace: Trace,
    fails: bool,
}

impl<N: Notice> Observe<N> for Told {
    fn observe(&self, _: &N) -> Result<(), Fault> {
        self.trace.lock().push(self.name.to_owned());
        if self.fails {
            return Err(Fault::foreign("observer"));
        }
        Ok(())
    }
}

fn told(name: &'static str, trace: &Trace, fails: bool) -> Arc<Told> {
    Arc::new(Told {
        name,
        trace: Arc::clone(trace),
        fails,
    })
}

#[test]
fn r_disp_4_a_failing_observer_starves_nobody() {
    let (listeners, trace) = (Listeners::new(), Trace::default());
    let scope = ScopeKey::fresh();
    listeners.add::<StatusChanged>(None, Place::Last, told("a", &trace, true));
    listeners.add::<StatusChanged>(Some(scope), Place::Last, told("scoped", &trace, false));
    listeners.add::<StatusChanged>(None, Place::Last, told("b", &trace, false));
    let status = || StatusChanged {
        agent: SessionId::new("main"),
        status: AgentStatus::Running,
    };

    listeners.tell(None, status);
    assert_eq!(*trace.lock(), ["a", "b"]);
    trace.lock().clear();
    listeners.tell(Some(scope), status);
    assert_eq!(*trace.lock(), ["a", "scoped", "b"]);
}

#[test]
fn a_notice_nobody_listens_to_is_not_even_made() {
    let made = AtomicUsize::new(0);
    Listeners::new().tell(None, || {
        made.fetch_add(1, Ordering::Relaxed);
        AgentCreated {
            agent: SessionId::new("main"),
        }
    });
    assert_eq!(made.load(Ordering::Relaxed), 0);
}

#[test]
fn a_veto_ends_the_telling() {
    let (listeners, trace) = (Listeners::new(), Trace::default());
    listeners.add::<AgentCreated>(None, Place::Last, told("a", &trace, true));
    listeners.add::<AgentCreated>(None, Place::Last, told("b", &trace, false));

    let notice = AgentCreated {
        agent: SessionId::new("main"),
    };
    assert_eq!(listeners.veto(None, &notice).unwrap_err().message(), "observer");
    assert_eq!(*trace.lock(), ["a"]);
}

#[test]
fn r_scope_4_what_is_not_filtered_reaches_scoped_observers_too() {
    let (listeners, trace) = (Listeners::new(), Trace::default());
    listeners.add::<ConfigStartFailed>(Some(ScopeKey::fresh()), Place::Last, told("a", &trace, false));

    listeners.tell(None, || ConfigStartFailed {
        session: SessionId::new("x"),
        error: Fault::foreign("missing"),
    });

    assert_eq!(*trace.lock(), ["a"]);
}
