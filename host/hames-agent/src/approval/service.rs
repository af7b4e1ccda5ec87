//! The service that asks listeners for a person's answer and keeps the record of it.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use hames_log::{Draft, ListenerId, Place, Session, Sessions, WeakSessions};
use hames_types::content::Content;
use hames_types::decision::{ApprovalOutcome, HookContext};
use hames_types::event::EventBody;
use hames_types::fault::Fault;
use hames_types::id::{CallId, SessionId};
use hames_types::json::{Json, JsonMap};
use hames_types::message::MessageSource;
use hames_types::port::listener::{Consult, Observe};
use hames_types::port::notice::SessionDisposed;
use hames_types::port::seam::{Approval, ApprovalAsk, PreStep, StepAsk};
use hames_types::scope::ScopeKey;
use hames_types::turn::TurnTrigger;
use parking_lot::Mutex;
use serde_json::json;
use smol_str::SmolStr;

use super::fold::{Change, Fold, marker};
use super::{APPROVAL_SECTION, APPROVAL_SOURCE, ASKED, ApprovalPolicy, Approver, DECIDED, POLICY};
use crate::agent::context_draft;
use crate::listeners::Listeners;
use crate::prompt::{PromptContext, Prompts, Section};

/// Asks the listeners of `approval/request`, within the policy in force, and records question and answer.
///
/// A question that was recorded gets exactly one recorded answer, even if whoever waited for it is gone (R-APPR-1).
pub struct ApprovalService {
    sessions: WeakSessions,
    listeners: Weak<Listeners>,
    configured: ApprovalPolicy,
    pub(super) folds: Mutex<HashMap<SessionId, Fold>>,
}

impl ApprovalService {
    /// A service for all agents of a process; `configured` holds where a session's log doesn't say otherwise.
    ///
    /// It tells the model of the policy in a section of the prompt and of changes before a step.
    ///
    /// # Errors
    /// If the prompt has the section already or refuses it.
    pub fn install(
        configured: ApprovalPolicy,
        sessions: &Sessions,
        listeners: &Arc<Listeners>,
        prompts: &Prompts,
    ) -> Result<Arc<Self>, Fault> {
        let service = Arc::new(Self {
            sessions: sessions.downgrade(),
            listeners: Arc::downgrade(listeners),
            configured,
            folds: Mutex::default(),
        });
        let (name, order) = APPROVAL_SECTION;
        let teller = Arc::clone(&service);
        let text = move |context: &PromptContext<'_>| Ok(teller.section(context.agent));
        prompts.section(None, Section::made(name, order, text))?;
        listeners.add::<PreStep>(None, Place::Last, Arc::clone(&service) as _);
        let _: ListenerId = sessions
            .on_disposed()
            .add(None, Place::Last, Arc::clone(&service) as _);
        Ok(service)
    }

    /// The policy in force for a live session (R-APPR-3).
    ///
    /// # Errors
    /// If it isn't live.
    pub fn policy(&self, session: &SessionId) -> Result<ApprovalPolicy, Fault> {
        let session = self.session(session)?;
        Ok(self.with_fold(&session, |fold| fold.policy(self.configured)))
    }

    /// Changes the policy of a live session from here on, by name; the change is in its log.
    ///
    /// # Errors
    /// If there is no such policy or session, or the log can't take it; nothing is changed then.
    pub async fn set_policy(&self, session: &SessionId, policy: &str) -> Result<(), Fault> {
        let Some(policy) = ApprovalPolicy::from_word(policy) else {
            return Err(fault(
                "UNKNOWN_POLICY",
                format!("there is no approval policy `{policy}`; use `ask` or `never`"),
            ));
        };
        let session = self.session(session)?;
        let sessions = self.live()?;
        let body = event(POLICY, json!({"policy": policy.as_str()}))?;
        let trigger = TurnTrigger::injection(MessageSource::plugin(APPROVAL_SOURCE));
        match sessions.append_out_of_band(&session, body, trigger).await {
            Ok(_) => Ok(()),
            Err(error) => Err(Fault::of("ApprovalError", "APPEND_FAILED", &error)),
        }
    }

    fn live(&self) -> Result<Sessions, Fault> {
        self.sessions
            .upgrade()
            .ok_or_else(|| fault("CLOSED", "the process's sessions are closed".to_owned()))
    }

    fn session(&self, id: &SessionId) -> Result<Arc<Session>, Fault> {
        self.live()?
            .get(id)
            .ok_or_else(|| fault("SESSION_NOT_LIVE", format!("session `{id}` isn't live")))
    }

    fn with_fold<T>(&self, session: &Session, look: impl FnOnce(&mut Fold) -> T) -> T {
        let mut folds = self.folds.lock();
        let fold = match folds.get_mut(session.id()) {
            Some(fold) => fold,
            None => folds.entry(session.id().clone()).or_default(),
        };
        session.read(|log| fold.follow(log.events()));
        look(fold)
    }

    /// What the prompt says of the policy (R-APPR-4).
    fn section(&self, agent: Option<&SessionId>) -> SmolStr {
        let Some(policy) = agent.and_then(|agent| self.policy(agent).ok()) else {
            return SmolStr::default();
        };
        let marker = marker(policy);
        match policy {
            ApprovalPolicy::Ask => marker.into(),
            ApprovalPolicy::Never => format!(
                "{marker}\nNobody can approve a call in this session: one that would need approval is rejected. \
                 Don't repeat it; find a way that needs none, or say what is missing."
            )
            .into(),
        }
    }

    async fn answer(&self, session: &Session, scope: Option<ScopeKey>, ask: &ApprovalAsk) -> ApprovalOutcome {
        if ask.signal.is_raised() {
            return ApprovalOutcome::Cancelled;
        }
        match self.with_fold(session, |fold| fold.policy(self.configured)) {
            ApprovalPolicy::Never => return ApprovalOutcome::Rejected,
            ApprovalPolicy::Ask => {}
        }
        let Some(listeners) = self.listeners.upgrade() else {
            return ApprovalOutcome::Unavailable;
        };
        let nobody = |_| std::future::ready(Ok(ApprovalOutcome::Unavailable));
        let asked = listeners.decide::<Approval, _, _>(scope, ask, nobody);
        match ask.signal.unless_raised(asked).await {
            None => ApprovalOutcome::Cancelled,
            // An answer that came with the cancellation came too late.
            Some(_) if ask.signal.is_raised() => ApprovalOutcome::Cancelled,
            Some(Ok(outcome)) => outcome,
            Some(Err(fault)) => {
                tracing::warn!(agent = %ask.agent, error = %fault.chain(), "nobody could be asked for approval");
                ApprovalOutcome::Unavailable
            }
        }
    }
}

#[async_trait]
impl Approver for ApprovalService {
    async fn request(&self, scope: Option<ScopeKey>, ask: ApprovalAsk) -> Result<ApprovalOutcome, Fault> {
        let session = self.session(&ask.agent)?;
        let question = Question::ask(&session, &ask)?;
        let outcome = self.answer(&session, scope, &ask).await;
        question.decide(outcome)?;
        Ok(outcome)
    }
}

/// A recorded question that is owed an answer.
struct Question<'a> {
    session: &'a Session,
    id: Option<String>,
}

impl<'a> Question<'a> {
    fn ask(session: &'a Session, ask: &ApprovalAsk) -> Result<Self, Fault> {
        let id = session.exclusively(|session| {
            if session.open_turn().is_none() {
                let message = format!(
                    "session `{}` has no open turn; approval belongs to one",
                    ask.agent
                );
                return Err(fault("NO_OPEN_TURN", message));
            }
            // The question's own place in the log names it: nothing else in the session can.
            let id = format!("approval-{}", session.len());
            let fields = [
                ("id", Some(id.as_str())),
                ("toolName", Some(ask.tool.as_str())),
                ("callId", ask.call_id.as_ref().map(CallId::as_str)),
                ("reason", ask.reason.as_deref()),
            ];
            let data: JsonMap = fields
                .into_iter()
                .filter_map(|(key, text)| Some((key.to_owned(), Json::from(text?))))
                .collect();
            append(session, ASKED, Json::Object(data))?;
            Ok(id)
        })?;
        Ok(Self {
            session,
            id: Some(id),
        })
    }

    fn decide(mut self, outcome: ApprovalOutcome) -> Result<(), Fault> {
        self.record(outcome)
    }

    fn record(&mut self, outcome: ApprovalOutcome) -> Result<(), Fault> {
        match self.id.take() {
            Some(id) => append(
                self.session,
                DECIDED,
                json!({"id": id, "outcome": outcome.as_str()}),
            ),
            None => Ok(()),
        }
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        if let Err(fault) = self.record(ApprovalOutcome::Cancelled) {
            tracing::warn!(session = %self.session.id(), error = %fault.chain(), "an abandoned question keeps no answer");
        }
    }
}

#[async_trait]
impl Consult<PreStep> for ApprovalService {
    async fn consult(&self, ask: &StepAsk) -> Result<Option<()>, Fault> {
        let session = self.session(&ask.agent)?;
        if let Some(change) = self.with_fold(&session, |fold| fold.tell(self.configured)) {
            let context = HookContext::new(
                Content::text(notice(change)),
                MessageSource::plugin(APPROVAL_SOURCE),
            );
            session
                .append(context_draft(context))
                .map_err(|error| Fault::of("ApprovalError", "APPEND_FAILED", &error))?;
        }
        Ok(None)
    }
}

impl Observe<SessionDisposed> for ApprovalService {
    fn observe(&self, notice: &SessionDisposed) -> Result<(), Fault> {
        self.folds.lock().remove(&notice.session);
        Ok(())
    }
}

fn notice(Change { now, by_user }: Change) -> String {
    let by = if by_user {
        "the user"
    } else {
        "the operator's configuration"
    };
    let means = match now {
        ApprovalPolicy::Ask => "calls that need approval are asked about again",
        ApprovalPolicy::Never => "calls that need approval are rejected without asking anybody",
    };
    format!(
        "The approval policy was changed to `{}` by {by}: {means}.",
        now.as_str()
    )
}

fn append(session: &Session, kind: &str, data: Json) -> Result<(), Fault> {
    match session.append(Draft::log_only(event(kind, data)?)) {
        Ok(_) => Ok(()),
        Err(error) => Err(Fault::of("ApprovalError", "APPEND_FAILED", &error)),
    }
}

fn event(kind: &str, data: Json) -> Result<EventBody, Fault> {
    EventBody::decode(kind, data).map_err(|error| Fault::of("ApprovalError", "BAD_EVENT", &error))
}

fn fault(code: &'static str, message: String) -> Fault {
    Fault::host("ApprovalError", code, message)
}
