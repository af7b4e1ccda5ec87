//! Serves `next`: the rest of a chain, asked once. Its listener is suspended meanwhile and its time stands still.
//!
//! The rest of the chain is borrowed by whoever called the listener, so it can't live in the store. What lives there
//! is one end of a line: `run` sends a request along it, and the caller runs the rest and replies.

#![expect(
    unreachable_pub,
    reason = "the generated bindings name these types in their own public items"
)]

use std::time::{Duration, Instant};

use hames_types::fault::Fault;
use hames_types::port::listener::Seam;
use hames_types::port::seam::{
    CallRequest, Execute, PostExecute, PreExecute, PromptAssemble, PromptSubmit, RequestError, SessionPrefix,
    StepResult, TurnContinuation,
};
use tokio::sync::oneshot;
use wasmtime::component::Resource;

use crate::bindings::hames::plugin::next as wit;
use crate::bindings::hames::plugin::next::NextError;
use crate::convert::events::For;
use crate::convert::fault::fault;
use crate::seam::{Around, Viewer};
use crate::state::State;

/// The guest's end of the line. Without an inside it has been used.
pub struct Handle<S: Seam>(Option<oneshot::Sender<Request<S>>>);

/// The guest wants the rest of the chain.
pub(crate) struct Request<S: Seam> {
    /// How long everyone inside may take.
    pub(crate) deadline: Option<Duration>,
    /// Where the answer goes.
    pub(crate) reply: oneshot::Sender<Result<S::Answer, Fault>>,
}

/// A line: the guest's end, and where its request arrives.
pub(crate) fn line<S: Seam>() -> (Handle<S>, oneshot::Receiver<Request<S>>) {
    let (guest, host) = oneshot::channel();
    (Handle(Some(guest)), host)
}

pub type PromptSubmitNext = Handle<PromptSubmit>;
pub type SessionPrefixNext = Handle<SessionPrefix>;
pub type PromptAssembleNext = Handle<PromptAssemble>;
pub type CallRequestNext = Handle<CallRequest>;
pub type StepResultNext = Handle<StepResult>;
pub type PreExecuteNext = Handle<PreExecute>;
pub type ExecuteNext = Handle<Execute>;
pub type PostExecuteNext = Handle<PostExecute>;
pub type RequestErrorNext = Handle<RequestError>;
pub type TurnContinuationNext = Handle<TurnContinuation>;

#[derive(Debug, thiserror::Error)]
#[error("the rest of the chain went away")]
struct Gone;

impl State {
    async fn run_next<S: Around>(
        &mut self,
        next: &Resource<Handle<S>>,
        deadline: Option<Duration>,
    ) -> wasmtime::Result<Result<S::WitAnswer, NextError>> {
        let Some(line) = self.table.get_mut(next)?.0.take() else {
            return Ok(Err(NextError::Spent));
        };
        let (reply, answer) = oneshot::channel();
        if line.send(Request { deadline, reply }).is_err() {
            return Err(Gone.into());
        }
        let begun = Instant::now();
        let Ok(answer) = answer.await else {
            return Err(Gone.into());
        };
        self.call.deadline += begun.elapsed();
        match answer {
            Ok(answer) => S::show(&answer, self.viewer()).map(Ok),
            Err(failed) => Ok(Err(NextError::Failed(fault(&failed)?))),
        }
    }

    fn viewer(&self) -> Viewer<'_> {
        Viewer {
            reader: For(self.who.id.as_str()),
            owns_tool: self.call.owns_tool,
        }
    }

    fn drop_next<S: Seam>(&mut self, next: Resource<Handle<S>>) -> wasmtime::Result<()> {
        self.table.delete(next)?;
        Ok(())
    }
}

impl wit::Host for State {}

macro_rules! serve {
    ($($host:ident: $seam:ident;)*) => { $(
        impl wit::$host for State {
            async fn run(
                &mut self,
                next: Resource<Handle<$seam>>,
            ) -> wasmtime::Result<Result<<$seam as Around>::WitAnswer, NextError>> {
                self.run_next(&next, None).await
            }

            fn drop(&mut self, next: Resource<Handle<$seam>>) -> wasmtime::Result<()> {
                self.drop_next(next)
            }
        }
    )* };
}

serve! {
    HostNextPromptSubmit: PromptSubmit;
    HostNextSessionPrefix: SessionPrefix;
    HostNextPromptAssemble: PromptAssemble;
    HostNextRequest: CallRequest;
    HostNextStepResult: StepResult;
    HostNextPreExecute: PreExecute;
    HostNextPostExecute: PostExecute;
    HostNextRequestError: RequestError;
    HostNextTurnContinuation: TurnContinuation;
}

impl wit::HostNextExecute for State {
    async fn run(
        &mut self,
        next: Resource<ExecuteNext>,
    ) -> wasmtime::Result<Result<wit::ToolOutcome, NextError>> {
        self.run_next(&next, None).await
    }

    async fn run_with(
        &mut self,
        next: Resource<ExecuteNext>,
        deadline_ms: u64,
    ) -> wasmtime::Result<Result<wit::ToolOutcome, NextError>> {
        self.run_next(&next, Some(Duration::from_millis(deadline_ms)))
            .await
    }

    fn drop(&mut self, next: Resource<ExecuteNext>) -> wasmtime::Result<()> {
        self.drop_next(next)
    }
}
