//! How does a component listen around the rest of a chain?

use std::marker::PhantomData;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use hames_types::fault::Fault;
use hames_types::port::listener::{Decide, Next};

use super::{Around, Ask, Question, Viewer};
use crate::bindings::hames::plugin::decisions::ListenerError;
use crate::convert::Admit;
use crate::convert::events::For;
use crate::error::{CallError, Limit};
use crate::host::next::{Request, line};
use crate::invoke::{Aside, Terms};
use crate::ledger::Entry;
use crate::plugin::{Loaded, Plugin};
use crate::point::OnFailure;
use crate::state::Call;
use crate::tool::{admit_fault, broken};

/// A plugin's listener at one waterfall. After a reload its calls go to the new component.
pub(crate) struct ComponentListener<S> {
    plugin: Plugin,
    seam: PhantomData<fn() -> S>,
}

impl<S: Around> ComponentListener<S> {
    pub(crate) const fn new(plugin: Plugin) -> Self {
        Self {
            plugin,
            seam: PhantomData,
        }
    }
}

/// The rest of the chain, asked or not.
struct Inside<'n, S: Around> {
    next: Option<Next<'n, S>>,
    /// What it came to, once it was asked.
    answer: Option<Result<S::Answer, Fault>>,
    /// How long that took.
    took: Duration,
}

impl<S: Around> Inside<'_, S> {
    async fn run(&mut self, ask: &S::Ask, deadline: Option<Duration>) -> Option<Result<S::Answer, Fault>> {
        let next = self.next.take()?;
        let begun = Instant::now();
        let answer = S::run(next, ask, deadline).await;
        self.took = begun.elapsed();
        self.answer = Some(answer.clone());
        Some(answer)
    }

    /// What it answers; asked now if it wasn't.
    async fn settle(mut self, ask: &S::Ask) -> Result<S::Answer, Fault> {
        if self.answer.is_none() {
            self.run(ask, None).await;
        }
        self.answer.unwrap_or_else(|| {
            Err(Fault::host(
                "PluginError",
                "PLUGIN_BROKEN",
                "the rest of the chain was asked and never answered",
            ))
        })
    }
}

/// How a guest's listener ended.
enum Ended<T> {
    /// With an answer.
    Answered(T),
    /// With the rest's own error, handed on.
    Propagated(Fault),
    /// It failed, by itself or in the sandbox.
    Failed(Fault),
}

#[async_trait]
impl<S: Around> Decide<S> for ComponentListener<S> {
    async fn decide(&self, ask: &S::Ask, next: Next<'_, S>) -> Result<S::Answer, Fault> {
        let loaded = self.plugin.current();
        let mut entry = Entry::begin(&loaded, S::POINT, ask);
        let mut inside = Inside {
            next: Some(next),
            answer: None,
            took: Duration::ZERO,
        };
        let ended = ask_guest::<S>(&loaded, ask, &mut inside, &entry).await;
        entry.stop(inside.took);
        entry.rest(inside.answer.as_ref().map(|rest| rest.as_ref().map(S::record)));
        let counted = match ended {
            Ended::Answered(own) => {
                entry.answered(|| S::record(&own));
                if loaded.site.who.grant.full.contains(&S::POINT) {
                    Ok(own)
                } else {
                    restrict::<S>(own, ask, inside).await
                }
            }
            Ended::Propagated(fault) => {
                entry.propagated();
                Err(fault)
            }
            Ended::Failed(fault) => {
                entry.failed(&fault);
                match loaded.on_failure(S::POINT) {
                    OnFailure::Closed => Err(fault),
                    OnFailure::Open => {
                        loaded.passed_over(S::POINT, &fault);
                        inside.settle(ask).await
                    }
                }
            }
        };
        entry.close(counted.as_ref().map(S::record));
        counted
    }
}

/// The stricter of the guest's answer and the rest's.
async fn restrict<S: Around>(
    own: S::Answer,
    ask: &S::Ask,
    inside: Inside<'_, S>,
) -> Result<S::Answer, Fault> {
    if inside.answer.is_none() && S::is_strictest(&own) {
        return Ok(own);
    }
    Ok(S::stricter(own, inside.settle(ask).await?))
}

async fn ask_guest<S: Around>(
    loaded: &Loaded,
    ask: &S::Ask,
    inside: &mut Inside<'_, S>,
    entry: &Entry<'_>,
) -> Ended<S::Answer> {
    let who = &loaded.site.who;
    let failed = |error: CallError| Ended::Failed(error.into_fault(&who.id));
    let answer = match call_guest::<S>(loaded, ask, inside, entry).await {
        Ok(answer) => answer,
        Err(error) => return failed(error),
    };
    match answer {
        Ok(answer) => {
            let admit = Admit::new(who, who.limits.output, Limit::Output);
            let known = inside.answer.as_ref().and_then(|rest| rest.as_ref().ok());
            match S::admit(admit, ask, known, answer) {
                Ok(answer) => Ended::Answered(answer),
                Err(refused) => failed(refused.into()),
            }
        }
        Err(ListenerError::Failed(fault)) => Ended::Failed(admit_fault(loaded, fault)),
        Err(ListenerError::Propagated) => match &inside.answer {
            Some(Err(fault)) => Ended::Propagated(fault.clone()),
            Some(Ok(_)) | None => failed(CallError::Answer {
                place: "propagated".to_owned(),
                problem: "hands on an error of `next`, which didn't fail".to_owned(),
            }),
        },
        Err(ListenerError::Other(other)) => Ended::Failed(unknown_error(&other.kind)),
    }
}

/// A listener's error of a kind this host doesn't know.
pub(super) fn unknown_error(kind: &str) -> Fault {
    let kind = crate::manifest::shown(kind);
    Fault::foreign(format!("the listener failed with `{kind}`"))
}

async fn call_guest<S: Around>(
    loaded: &Loaded,
    ask: &S::Ask,
    inside: &mut Inside<'_, S>,
    entry: &Entry<'_>,
) -> Result<Result<S::WitAnswer, ListenerError>, CallError> {
    let who = &loaded.site.who;
    let indices = S::indices(&loaded.exports)
        .cloned()
        .ok_or_else(|| loaded.gone(S::POINT))?;
    let viewer = Viewer {
        reader: For(who.id.as_str()),
        owns_tool: loaded.owns_tool(ask.tool()),
    };
    let (handle, asked) = line::<S>();
    let question = Question::<S> {
        indices,
        ask: S::ask(ask, viewer).map_err(broken)?,
        next: handle,
    };
    let terms = Terms {
        limit: who.limits.decide,
        signal: ask.signal(),
    };
    let (fixed, spent) = (entry.fixed(), entry.spent());
    loaded
        .site
        .call_around(
            terms,
            |ends| {
                let mut call = Call::reaching(who, ask.agent(), ask.signal().clone(), ends);
                call.owns_tool = viewer.owns_tool;
                call.fixed = Some(fixed);
                call.spent = Some(spent);
                call
            },
            move |store, instance| S::call(question, store, instance),
            Aside {
                asked: Some(asked),
                serve: move |request: Request<S>| async move {
                    if let Some(answer) = inside.run(ask, request.deadline).await {
                        // A guest that is gone by now has no use for it.
                        drop(request.reply.send(answer));
                    }
                },
            },
        )
        .await
}
