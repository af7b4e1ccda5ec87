//! How does a seam cross into a component? One trait says it for each; the adapters do the rest.

pub(crate) mod around;
pub(crate) mod asks;
mod merge;
mod model;
mod prompt;
pub(crate) mod serial;
mod tools;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hames_types::fault::Fault;
use hames_types::id::SessionId;
use hames_types::json::Json;
use hames_types::port::listener::{Next, Seam};
use hames_types::signal::Signal;
use wasmtime::Store;
use wasmtime::component::Instance;

use crate::bindings::hames::plugin::decisions::ListenerError;
use crate::convert::events::For;
use crate::convert::{Admit, Refused};
use crate::exports::Exports;
use crate::host::next::Handle;
use crate::invoke::Work;
use crate::point::Point;
use crate::state::State;

/// What every ask has: who asks, and what ends it.
pub(crate) trait Ask {
    /// The agent that asks.
    fn agent(&self) -> Option<&SessionId>;

    /// Raised when the call should end.
    fn signal(&self) -> &Signal;

    /// The tool, if it is about a call.
    fn tool(&self) -> Option<&str> {
        None
    }

    /// What is asked about, in a few bounded words for the log: numbers and ids, no content.
    fn about(&self) -> Json;

    /// Everything that is asked, for its digest.
    fn whole(&self) -> Json;
}

/// To whom something is shown.
#[derive(Clone, Copy)]
pub(crate) struct Viewer<'a> {
    pub(crate) reader: For<'a>,
    /// Whether the tool asked about is its own, whose private state it may see.
    pub(crate) owns_tool: bool,
}

/// A waterfall whose listeners may be components.
#[async_trait]
pub(crate) trait Around:
    Seam<Ask: Ask, Answer: Clone + Sync + 'static, Pass: 'static> + Sized
{
    /// Where.
    const POINT: Point;
    /// The generated indices of the interface.
    type Indices: Send + Sync + 'static;
    /// What the guest is asked.
    type WitAsk: Send + Sync + 'static;
    /// What it answers.
    type WitAnswer: Send + 'static;

    /// The interface, if the component exports it.
    fn indices(exports: &Exports) -> Option<&Arc<Self::Indices>>;

    /// The question as the guest sees it.
    fn ask(ask: &Self::Ask, viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAsk>;

    /// Calls the guest.
    fn call<'a>(
        question: Question<Self>,
        store: &'a mut Store<State>,
        instance: &'a Instance,
    ) -> Work<'a, Result<Self::WitAnswer, ListenerError>>;

    /// An answer of the rest of the chain as the guest sees it.
    fn show(answer: &Self::Answer, viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAnswer>;

    /// A guest's answer.
    fn admit<'a>(
        admit: Admit<'a>,
        ask: &'a Self::Ask,
        rest: Option<&'a Self::Answer>,
        answer: Self::WitAnswer,
    ) -> Result<Self::Answer, Refused>;

    /// Whether nothing can be stricter.
    fn is_strictest(answer: &Self::Answer) -> bool {
        let _ = answer;
        false
    }

    /// The stricter of the two; the rest's own where neither is. Asked for only where answers have an order.
    fn stricter(own: Self::Answer, rest: Self::Answer) -> Self::Answer {
        let _ = rest;
        own
    }

    /// An answer for the log.
    fn record(answer: &Self::Answer) -> Json;

    /// Runs the rest of the chain within a deadline, where the seam has one.
    async fn run(
        next: Next<'_, Self>,
        ask: &Self::Ask,
        deadline: Option<Duration>,
    ) -> Result<Self::Answer, Fault>
    where
        Self: Sized,
    {
        let _ = (ask, deadline);
        next.run().await
    }
}

/// All that a call of a guest's listener needs.
pub(crate) struct Question<S: Around> {
    pub(crate) indices: Arc<S::Indices>,
    pub(crate) ask: S::WitAsk,
    pub(crate) next: Handle<S>,
}

/// What is the same for every waterfall: the interface's indices and the call itself.
macro_rules! crosses {
    ($module:ident, $field:ident, $point:ident, $ask:ident => $answer:ty) => {
        const POINT: crate::point::Point = crate::point::Point::$point;
        type Indices = crate::bindings::exports::hames::plugin::$module::GuestIndices;
        type WitAsk = crate::bindings::exports::hames::plugin::$module::$ask;
        type WitAnswer = $answer;

        fn indices(exports: &crate::exports::Exports) -> Option<&std::sync::Arc<Self::Indices>> {
            exports.$field.as_ref()
        }

        fn call<'a>(
            question: crate::seam::Question<Self>,
            store: &'a mut wasmtime::Store<crate::state::State>,
            instance: &'a wasmtime::component::Instance,
        ) -> crate::invoke::Work<
            'a,
            Result<Self::WitAnswer, crate::bindings::hames::plugin::decisions::ListenerError>,
        > {
            Box::pin(async move {
                let guest = question.indices.load(&mut *store, instance)?;
                let next = store.data_mut().table.push(question.next)?;
                let rep = next.rep();
                let answer = guest.call_decide(&mut *store, &question.ask, next).await?;
                // Lent, not given: the guest's loan doesn't free it.
                let lent = wasmtime::component::Resource::<crate::host::next::Handle<Self>>::new_own(rep);
                store.data_mut().table.delete(lent)?;
                Ok(answer)
            })
        }
    };
}
pub(crate) use crosses;
