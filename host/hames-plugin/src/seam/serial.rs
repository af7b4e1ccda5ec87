//! How does a component listen where listeners are asked one after the other? And how does one guard?

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hames_types::fault::Fault;
use hames_types::json::Json;
use hames_types::port::listener::{Consult, Seam};
use hames_types::port::seam::{PostStep, PreStep, StepAsk, TurnAsk, TurnStop};
use hames_types::port::tool::Guard;
use hames_types::signal::Signal;
use hames_types::tool::ToolCall;
use smol_str::SmolStr;
use wasmtime::Store;
use wasmtime::component::Instance;

use super::Ask;
use super::around::unknown_error;
use super::asks::{about_call, whole_call};
use crate::bindings::exports::hames::plugin as wit;
use crate::bindings::hames::plugin::decisions::{ListenerError, StepAnswer, StopAnswer};
use crate::error::{CallError, Limit};
use crate::exports::Exports;
use crate::invoke::{Terms, Work};
use crate::ledger::Entry;
use crate::plugin::{Loaded, Plugin};
use crate::point::{OnFailure, Point};
use crate::state::{Call, State};
use crate::tool::{admit_fault, broken};

/// A serial seam whose listeners may be components.
pub(crate) trait Asked: Seam<Ask: Ask, Answer = ()> {
    /// Where.
    const POINT: Point;

    /// Whether an answer only ends the asking: then a listener that may only restrict abstains with it, since it
    /// would silence those behind it.
    const SILENCES: bool;

    /// The generated indices of the interface.
    type Indices: Send + Sync + 'static;
    /// What the guest is asked.
    type WitAsk: Send + Sync + 'static;

    /// The interface, if the component exports it.
    fn indices(exports: &Exports) -> Option<&Arc<Self::Indices>>;

    /// The question as the guest sees it.
    fn ask(ask: &Self::Ask) -> Self::WitAsk;

    /// Calls the guest: whether it answered.
    fn call<'a>(
        question: (Arc<Self::Indices>, Self::WitAsk),
        store: &'a mut Store<State>,
        instance: &'a Instance,
    ) -> Work<'a, Result<bool, ListenerError>>;
}

macro_rules! asked {
    (
        $seam:ident($ask_type:ident) in $module:ident, $field:ident;
        silences $silences:literal, answers with $answer:path;
        |$ask:ident| $make:expr
    ) => {
        impl Asked for $seam {
            const POINT: Point = Point::$seam;
            const SILENCES: bool = $silences;
            type Indices = wit::$module::GuestIndices;
            type WitAsk = wit::$module::$ask_type;

            fn indices(exports: &Exports) -> Option<&Arc<Self::Indices>> {
                exports.$field.as_ref()
            }

            fn ask($ask: &$ask_type) -> Self::WitAsk {
                $make
            }

            fn call<'a>(
                (indices, asked): (Arc<Self::Indices>, Self::WitAsk),
                store: &'a mut Store<State>,
                instance: &'a Instance,
            ) -> Work<'a, Result<bool, ListenerError>> {
                Box::pin(async move {
                    let guest = indices.load(&mut *store, instance)?;
                    let answer = guest.call_consult(store, &asked).await?;
                    Ok(answer.map(|answer| answer == $answer))
                })
            }
        }
    };
}

asked! {
    PreStep(StepAsk) in on_pre_step, pre_step;
    silences true, answers with StepAnswer::Settled;
    |ask| wit::on_pre_step::StepAsk {
        agent: ask.agent.to_string(),
        turn: ask.turn.get(),
        step: ask.step.get(),
        extra: None,
    }
}

asked! {
    PostStep(StepAsk) in on_post_step, post_step;
    silences true, answers with StepAnswer::Settled;
    |ask| wit::on_post_step::StepAsk {
        agent: ask.agent.to_string(),
        turn: ask.turn.get(),
        step: ask.step.get(),
        extra: None,
    }
}

asked! {
    TurnStop(TurnAsk) in on_turn_stop, turn_stop;
    silences false, answers with StopAnswer::Stop;
    |ask| wit::on_turn_stop::TurnAsk {
        agent: ask.agent.to_string(),
        turn: ask.turn.get(),
        extra: None,
    }
}

/// A plugin's listener at one serial seam.
pub(crate) struct ComponentConsultant<S> {
    plugin: Plugin,
    seam: PhantomData<fn() -> S>,
}

impl<S: Asked> ComponentConsultant<S> {
    pub(crate) const fn new(plugin: Plugin) -> Self {
        Self {
            plugin,
            seam: PhantomData,
        }
    }
}

#[async_trait]
impl<S: Asked> Consult<S> for ComponentConsultant<S> {
    async fn consult(&self, ask: &S::Ask) -> Result<Option<()>, Fault> {
        let loaded = self.plugin.current();
        let mut entry = Entry::begin(&loaded, S::POINT, ask);
        let asked = ask_guest::<S>(&loaded, ask, &entry).await;
        entry.stop(Duration::ZERO);
        let answer = match asked {
            Ok(is_answered) => {
                entry.answered(|| Json::from(if is_answered { "settled" } else { "abstain" }));
                let counts = !S::SILENCES || loaded.site.who.grant.full.contains(&S::POINT);
                Ok((is_answered && counts).then_some(()))
            }
            Err(fault) => {
                entry.failed(&fault);
                loaded.judge(S::POINT, fault, None)
            }
        };
        entry.close(answer.as_ref().map(|answer| Json::from(answer.is_some())));
        answer
    }
}

async fn ask_guest<S: Asked>(loaded: &Loaded, ask: &S::Ask, entry: &Entry<'_>) -> Result<bool, Fault> {
    let who = &loaded.site.who;
    let answer = call_guest::<S>(loaded, ask, entry)
        .await
        .map_err(|error| error.into_fault(&who.id))?;
    answer.map_err(|error| match error {
        ListenerError::Failed(fault) => admit_fault(loaded, fault),
        ListenerError::Propagated => CallError::Answer {
            place: "propagated".to_owned(),
            problem: "hands on an error, and there is no `next` here".to_owned(),
        }
        .into_fault(&who.id),
        ListenerError::Other(other) => unknown_error(&other.kind),
    })
}

async fn call_guest<S: Asked>(
    loaded: &Loaded,
    ask: &S::Ask,
    entry: &Entry<'_>,
) -> Result<Result<bool, ListenerError>, CallError> {
    let who = &loaded.site.who;
    let terms = Terms {
        limit: who.limits.decide,
        signal: ask.signal(),
    };
    let (fixed, spent) = (entry.fixed(), entry.spent());
    let begin = |ends| {
        let mut call = Call::reaching(who, ask.agent(), ask.signal().clone(), ends);
        call.fixed = Some(fixed);
        call.spent = Some(spent);
        call
    };
    let indices = S::indices(&loaded.exports).cloned();
    let question = (indices.ok_or_else(|| loaded.gone(S::POINT))?, S::ask(ask));
    loaded
        .site
        .call(terms.limit, terms.signal, begin, move |store, instance| {
            S::call(question, store, instance)
        })
        .await
}

/// A plugin's guard. It only denies, so it needs no authority.
pub(crate) struct ComponentGuard(pub(crate) Plugin);

/// What a guard is asked.
struct GuardAsk<'a>(&'a ToolCall, Signal);

impl Ask for GuardAsk<'_> {
    fn agent(&self) -> Option<&hames_types::id::SessionId> {
        self.0.agent.as_ref()
    }

    fn signal(&self) -> &Signal {
        &self.1
    }

    fn tool(&self) -> Option<&str> {
        Some(&self.0.name)
    }

    fn about(&self) -> Json {
        about_call(self.0)
    }

    fn whole(&self) -> Json {
        whole_call(self.0)
    }
}

#[async_trait]
impl Guard for ComponentGuard {
    async fn check(&self, call: &ToolCall) -> Result<Option<SmolStr>, Fault> {
        let loaded = self.0.current();
        let ask = GuardAsk(call, Signal::never());
        let mut entry = Entry::begin(&loaded, Point::Guard, &ask);
        let checked = check(&loaded, &ask, &entry).await;
        entry.stop(Duration::ZERO);
        let answer = match checked {
            Ok(objection) => {
                entry.answered(|| Json::from(objection.as_deref()));
                Ok(objection)
            }
            Err(fault) => {
                entry.failed(&fault);
                loaded.judge(Point::Guard, fault, None)
            }
        };
        entry.close(answer.as_ref().map(|answer| Json::from(answer.as_deref())));
        answer
    }
}

async fn check(loaded: &Loaded, ask: &GuardAsk<'_>, entry: &Entry<'_>) -> Result<Option<SmolStr>, Fault> {
    let who = &loaded.site.who;
    let fault = |error: CallError| error.into_fault(&who.id);
    let indices = loaded
        .exports
        .guard
        .clone()
        .ok_or_else(|| fault(loaded.gone(Point::Guard)))?;
    let asked = crate::convert::call::call(ask.0).map_err(|error| fault(broken(error)))?;
    let (fixed, spent) = (entry.fixed(), entry.spent());
    let answer = loaded
        .site
        .call(
            who.limits.decide,
            ask.signal(),
            |ends| {
                let mut call = Call::reaching(who, ask.agent(), Signal::never(), ends);
                call.fixed = Some(fixed);
                call.spent = Some(spent);
                call
            },
            move |store, instance| {
                Box::pin(async move {
                    let guard = indices.load(&mut *store, instance)?;
                    guard.call_check(store, &asked).await
                })
            },
        )
        .await
        .map_err(fault)?;
    match answer {
        Ok(Some(reason)) if reason.len() > who.limits.output => Err(fault(CallError::Limit(Limit::Output))),
        Ok(reason) => Ok(reason.map(Into::into)),
        Err(error) => Err(admit_fault(loaded, error)),
    }
}

impl Loaded {
    /// What a failure of this plugin comes to at a seam.
    fn judge<T>(&self, point: Point, fault: Fault, without: T) -> Result<T, Fault> {
        match self.on_failure(point) {
            OnFailure::Closed => Err(fault),
            OnFailure::Open => {
                self.passed_over(point, &fault);
                Ok(without)
            }
        }
    }
}
