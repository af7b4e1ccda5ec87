//! Questions, answers, policies, and what the model hears of them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hames_log::{Draft, Log, Place, Session, SessionMeta, Sessions};
use hames_types::decision::ApprovalOutcome;
use hames_types::fault::Fault;
use hames_types::id::{CallId, PluginId, SessionId, StepNo, TurnNo};
use hames_types::json::{Json, to_json};
use hames_types::kinds::{KindRegistry, Sum};
use hames_types::port::clock::FixedClock;
use hames_types::port::listener::{Decide, Next, Observe};
use hames_types::port::notice::SessionEvent;
use hames_types::port::seam::{Approval, ApprovalAsk, PreStep, StepAsk};
use hames_types::signal::{Signal, SignalReason, Trigger};
use hames_types::turn::InterruptReason;
use serde_json::json;

use super::{ApprovalPolicy, ApprovalService, Approver, kinds};
use crate::listeners::Listeners;
use crate::prompt::{PromptConfig, PromptContext, Prompts, render};

struct Bench {
    sessions: Sessions,
    session: Arc<Session>,
    listeners: Arc<Listeners>,
    prompts: Prompts,
    service: Arc<ApprovalService>,
}

impl Bench {
    fn new(configured: ApprovalPolicy, seed: &[(&str, Json)]) -> Self {
        let sessions = Sessions::new(Arc::new(FixedClock(0)));
        let listeners = Arc::new(Listeners::new());
        let prompts = Prompts::new(PromptConfig::default()).unwrap();
        let service = ApprovalService::install(configured, &sessions, &listeners, &prompts).unwrap();
        let id = SessionId::new("main");
        let session = sessions
            .create(Some(id), SessionMeta::default(), Log::new())
            .unwrap();
        let bench = Self {
            sessions,
            session,
            listeners,
            prompts,
            service,
        };
        for (kind, data) in seed {
            bench.log(kind, data.clone());
        }
        bench
    }

    /// In an open turn.
    fn open(configured: ApprovalPolicy) -> Self {
        Self::new(configured, &[turn(1)])
    }

    fn log(&self, kind: &str, data: Json) {
        let draft = Draft::read(kind, data, None, None).unwrap();
        self.session.append(draft).unwrap();
    }

    fn on(&self, listener: Says) {
        self.listeners
            .add::<Approval>(None, Place::First, Arc::new(listener));
    }

    async fn request(&self, signal: Signal) -> Result<ApprovalOutcome, Fault> {
        let ask = ApprovalAsk {
            agent: SessionId::new("main"),
            tool: "rm".into(),
            call_id: Some(CallId::new("c1")),
            reason: Some("deletes".into()),
            signal,
        };
        self.service.request(None, ask).await
    }

    /// What the log has of approvals, as `[kind, data]`.
    fn record(&self) -> Vec<Json> {
        let events = self.session.all_events();
        let approvals = events
            .iter()
            .filter(|event| event.kind().starts_with("approval/"));
        approvals
            .map(|event| json!([event.kind(), to_json(&event.data).unwrap()]))
            .collect()
    }

    /// Asserts that there is one question and its one answer.
    fn assert_pair(&self, outcome: &str) {
        let asked = json!(["approval/asked",
            {"id": "approval-1", "toolName": "rm", "callId": "c1", "reason": "deletes"}]);
        let decided = json!(["approval/decided", {"id": "approval-1", "outcome": outcome}]);
        assert_eq!(self.record(), [asked, decided]);
    }

    async fn pre_step(&self) -> Vec<String> {
        let before = self.session.len();
        let ask = StepAsk {
            agent: SessionId::new("main"),
            turn: TurnNo::FIRST,
            step: StepNo::FIRST,
            signal: Signal::never(),
        };
        self.listeners.consult::<PreStep>(None, &ask).await.unwrap();
        let events = self.session.all_events();
        events[before..]
            .iter()
            .map(|event| to_json(&event.data).unwrap()["content"][0]["text"].to_string())
            .collect()
    }

    async fn system(&self) -> String {
        let id = SessionId::new("main");
        self.system_for(Some(&id)).await
    }

    async fn system_for(&self, agent: Option<&SessionId>) -> String {
        let signal = Signal::never();
        let context = PromptContext {
            agent,
            scope: None,
            provider: None,
            model: None,
            cwd: None,
            signal: &signal,
        };
        let assembly = self.prompts.assemble(&self.listeners, context).await.unwrap();
        render(&assembly).unwrap().unwrap_or_default().to_string()
    }

    /// Logs the header of a request that tells what the prompt tells now, as the loop would.
    async fn log_header(&self) {
        let system = self.system().await;
        self.log("request/header", header(&system));
    }

    async fn set(&self, policy: &str) -> Result<(), Fault> {
        self.service.set_policy(&SessionId::new("main"), policy).await
    }
}

fn turn(number: u64) -> (&'static str, Json) {
    let trigger = json!({"kind": "message", "source": {"kind": "user"}});
    ("turn/start", json!({"turn": number, "trigger": trigger}))
}

fn step() -> (&'static str, Json) {
    ("step/start", json!({"turn": 1, "step": 1}))
}

fn header(system: &str) -> Json {
    let config = json!({"provider": "p", "model": "m"});
    json!({"header": {"config": config, "system": system}, "reason": "initial"})
}

/// Answers, after a while or never.
enum Says {
    This(Result<ApprovalOutcome, Fault>),
    Delegates,
    After(Duration, ApprovalOutcome),
}

#[async_trait]
impl Decide<Approval> for Says {
    async fn decide(&self, _: &ApprovalAsk, next: Next<'_, Approval>) -> Result<ApprovalOutcome, Fault> {
        match self {
            Self::This(answer) => answer.clone(),
            Self::Delegates => next.run().await,
            Self::After(wait, outcome) => {
                tokio::time::sleep(*wait).await;
                Ok(*outcome)
            }
        }
    }
}

fn cancelled() -> Trigger {
    let trigger = Trigger::new();
    trigger.raise(SignalReason::Interrupt(InterruptReason::User));
    trigger
}

#[tokio::test]
async fn r_appr_1_outside_of_a_turn_nothing_is_asked_and_nothing_logged() {
    let closed = ("turn/end", json!({"turn": 1, "reason": {"kind": "completed"}}));
    for seed in [vec![], vec![turn(1), closed]] {
        let bench = Bench::new(ApprovalPolicy::Ask, &seed);
        let fault = bench.request(Signal::never()).await.unwrap_err();
        assert_eq!(fault.code(), Some("NO_OPEN_TURN"));
        assert_eq!(bench.record(), Vec::<Json>::new());
    }
}

#[tokio::test]
async fn r_appr_2_nobody_a_failure_and_a_pass_read_as_unavailable_and_an_answer_as_itself() {
    use ApprovalOutcome::{AllowedOnce, Rejected, Unavailable};
    let cases = [
        (None, Unavailable),
        (Some(Says::This(Err(Fault::foreign("broken")))), Unavailable),
        (Some(Says::Delegates), Unavailable),
        (Some(Says::This(Ok(AllowedOnce))), AllowedOnce),
        (Some(Says::This(Ok(Rejected))), Rejected),
    ];
    for (listener, expected) in cases {
        let bench = Bench::open(ApprovalPolicy::Ask);
        if let Some(listener) = listener {
            bench.on(listener);
        }
        assert_eq!(bench.request(Signal::never()).await.unwrap(), expected);
        bench.assert_pair(expected.as_str());
    }
}

#[tokio::test(start_paused = true)]
async fn r_appr_2_cancelled_before_nobody_is_asked_and_cancelled_meanwhile_the_late_answer_is_lost() {
    let bench = Bench::open(ApprovalPolicy::Ask);
    bench.on(Says::This(Ok(ApprovalOutcome::AllowedOnce)));
    let outcome = bench.request(cancelled().signal()).await.unwrap();
    assert_eq!(outcome, ApprovalOutcome::Cancelled);
    bench.assert_pair("cancelled");

    let bench = Bench::open(ApprovalPolicy::Ask);
    let late = Says::After(Duration::from_millis(10), ApprovalOutcome::AllowedOnce);
    bench.on(late);
    let trigger = Trigger::new();
    let (outcome, _) = tokio::join!(bench.request(trigger.signal()), async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        trigger.raise(SignalReason::Interrupt(InterruptReason::User))
    });
    assert_eq!(outcome.unwrap(), ApprovalOutcome::Cancelled);
    tokio::time::sleep(Duration::from_millis(20)).await;
    bench.assert_pair("cancelled");
}

#[tokio::test]
async fn r_appr_1_a_question_whose_asker_is_gone_is_answered_all_the_same() {
    let bench = Bench::open(ApprovalPolicy::Ask);
    bench.on(Says::After(
        Duration::from_secs(3600),
        ApprovalOutcome::AllowedOnce,
    ));
    let mut asked = Box::pin(bench.request(Signal::never()));
    assert!(futures_util::FutureExt::now_or_never(asked.as_mut()).is_none());
    drop(asked);
    bench.assert_pair("cancelled");
}

#[tokio::test]
async fn r_appr_2_under_the_policy_never_not_even_the_first_listener_can_grant() {
    let bench = Bench::open(ApprovalPolicy::Never);
    bench.on(Says::This(Ok(ApprovalOutcome::AllowedOnce)));
    let outcome = bench.request(Signal::never()).await.unwrap();
    assert_eq!(outcome, ApprovalOutcome::Rejected);
    bench.assert_pair("rejected");
}

#[tokio::test]
async fn r_appr_3_the_last_policy_in_the_log_holds_and_an_unknown_one_is_refused_before_it_is_logged() {
    let bench = Bench::open(ApprovalPolicy::Ask);
    let policy = || bench.service.policy(&SessionId::new("main")).unwrap();
    assert_eq!(policy(), ApprovalPolicy::Ask);
    bench.set("never").await.unwrap();
    assert_eq!(policy(), ApprovalPolicy::Never);
    let fault = bench.set("sometimes").await.unwrap_err();
    assert_eq!(fault.code(), Some("UNKNOWN_POLICY"));
    bench.set("ask").await.unwrap();
    assert_eq!(policy(), ApprovalPolicy::Ask);
    let policies = [
        json!(["approval/policy", {"policy": "never"}]),
        json!(["approval/policy", {"policy": "ask"}]),
    ];
    assert_eq!(bench.record(), policies);

    // A word nobody knows, from a log of another version, changes nothing.
    bench.log("approval/policy", json!({"policy": "sometimes"}));
    assert_eq!(policy(), ApprovalPolicy::Ask);
}

#[tokio::test]
async fn r_appr_3_a_policy_can_be_set_while_nothing_runs() {
    let bench = Bench::new(ApprovalPolicy::Ask, &[]);
    bench.set("never").await.unwrap();
    let kinds: Vec<_> = bench
        .session
        .all_events()
        .iter()
        .map(|event| event.kind().to_owned())
        .collect();
    assert_eq!(kinds, ["turn/start", "approval/policy", "turn/end"]);
}

#[tokio::test]
async fn r_appr_4_the_prompt_tells_an_agent_s_policy_and_words_only_never() {
    let bench = Bench::open(ApprovalPolicy::Ask);
    let ask = bench.system().await;
    bench.set("never").await.unwrap();
    let never = bench.system().await;

    assert!(ask.ends_with("<approval-policy>ask</approval-policy>"), "{ask}");
    assert!(
        never.contains("<approval-policy>never</approval-policy>\nNobody"),
        "{never}"
    );
    assert!(!bench.system_for(None).await.contains("approval"));
}

#[tokio::test]
async fn r_appr_5_a_net_change_is_told_once_with_who_made_it_and_there_and_back_is_not() {
    let bench = Bench::new(ApprovalPolicy::Ask, &[turn(1), step()]);
    assert_eq!(
        bench.pre_step().await,
        Vec::<String>::new(),
        "told for the first time"
    );
    bench.log_header().await;

    bench.set("never").await.unwrap();
    bench.set("ask").await.unwrap();
    assert_eq!(bench.pre_step().await, Vec::<String>::new());

    bench.set("never").await.unwrap();
    let told = bench.pre_step().await;
    assert!(
        told.len() == 1 && told[0].contains("`never` by the user"),
        "{told:?}"
    );
    assert_eq!(bench.pre_step().await, Vec::<String>::new());
}

#[tokio::test]
async fn r_appr_5_after_a_restart_the_logged_prompt_says_what_was_told() {
    let marked = "before <approval-policy>never</approval-policy> after";
    let cases = [
        (ApprovalPolicy::Ask, marked, 1),
        (ApprovalPolicy::Never, marked, 0),
        (ApprovalPolicy::Ask, "no word of it", 0),
    ];
    for (configured, system, notices) in cases {
        let logged = ("request/header", header(system));
        let bench = Bench::new(configured, &[turn(1), step(), logged]);
        let told = bench.pre_step().await;
        assert_eq!(told.len(), notices, "{configured:?} {system}");
        assert!(
            told.iter().all(|text| text.contains("operator's configuration")),
            "{told:?}"
        );
    }
}

/// An observer that always fails.
struct Fails;

impl Observe<SessionEvent> for Fails {
    fn observe(&self, _: &SessionEvent) -> Result<(), Fault> {
        Err(Fault::foreign("observer"))
    }
}

#[tokio::test]
async fn r_appr_1_an_observer_that_fails_leaves_the_pair_complete() {
    let bench = Bench::open(ApprovalPolicy::Ask);
    bench.on(Says::This(Ok(ApprovalOutcome::AllowedOnce)));
    bench.sessions.on_event().add(None, Place::Last, Arc::new(Fails));
    assert_eq!(
        bench.request(Signal::never()).await.unwrap(),
        ApprovalOutcome::AllowedOnce
    );
    bench.assert_pair("allowed-once");
}

#[tokio::test]
async fn what_is_written_fits_what_is_declared() {
    let mut registry = KindRegistry::new();
    let owner = PluginId::new("approval");
    for kind in kinds() {
        registry.declare_shipped(&owner, kind).unwrap();
    }
    let bench = Bench::open(ApprovalPolicy::Ask);
    bench.request(Signal::never()).await.unwrap();
    bench.set("never").await.unwrap();
    for entry in bench.record() {
        let (kind, data) = (entry[0].as_str().unwrap(), &entry[1]);
        registry.check(&owner, Sum::SessionEvent, kind, data).unwrap();
    }
    assert!(registry.is_out_of_band("approval/policy"));
    assert!(!registry.is_out_of_band("approval/asked"));
}

#[test]
fn a_session_that_is_gone_leaves_nothing_behind() {
    let bench = Bench::open(ApprovalPolicy::Ask);
    let id = SessionId::new("main");
    bench.service.policy(&id).unwrap();
    assert_eq!(bench.service.folds.lock().len(), 1);
    bench.sessions.detach(&bench.session);
    assert_eq!(bench.service.folds.lock().len(), 0);
    assert_eq!(
        bench.service.policy(&id).unwrap_err().code(),
        Some("SESSION_NOT_LIVE")
    );
}
