//! What does the loop ask, and how does a listener ask on?
//!
//! Each seam is a type here: what is asked, what is answered, and the rest of the chain behind it.

use std::fmt;

use crate::bindings::imports::hames::plugin::content::Message;
use crate::bindings::imports::hames::plugin::decisions as wit;
use crate::bindings::imports::hames::plugin::events::CallConfig;
use crate::bindings::imports::hames::plugin::invocation::ToolOutcome;
use crate::bindings::imports::hames::plugin::next;
use crate::bindings::{
    on_execute, on_post_execute, on_pre_execute, on_prompt_assemble, on_prompt_submit, on_request,
    on_request_error, on_session_prefix, on_step_result, on_turn_continuation,
};
use crate::error::Error;

pub use wit::{
    ContinuationDecision, ContinueReason, PostAccept, PostBlock, PostToolDecision, PreToolDecision,
    PromptAllow, PromptAssembly, PromptDecision, PromptSection, PromptVariable, RequestErrorDecision,
    StepAnswer, StopAnswer,
};

/// A point at which the loop asks a chain of listeners.
pub trait Seam {
    /// The interface, as the contract and the log name it.
    const NAME: &'static str;
    /// What is asked about.
    type Ask;
    /// What is answered.
    type Answer;
    #[doc(hidden)]
    type Rest: 'static;
    #[doc(hidden)]
    fn run(rest: &Self::Rest) -> Result<Self::Answer, wit::NextError>;
}

/// What a listener of a seam comes to.
pub type Decision<S> = Result<<S as Seam>::Answer, Error>;

/// The rest of a chain: the listeners inside this one and, innermost, what the loop does by itself.
///
/// It can be asked once, which the type says: [`Next::run`] takes it. Whoever never asks answers alone.
pub struct Next<'a, S: Seam>(&'a S::Rest);

impl<'a, S: Seam> Next<'a, S> {
    #[doc(hidden)]
    #[must_use]
    pub fn new(rest: &'a S::Rest) -> Self {
        Self(rest)
    }

    /// Asks the rest of the chain.
    ///
    /// # Errors
    /// [`Error::Propagated`] with what it failed with. Handed on with `?` it stays the very same error for whoever is
    /// outside; matched, it can be answered with something else.
    pub fn run(self) -> Decision<S> {
        S::run(self.0).map_err(told)
    }
}

impl Next<'_, Execute> {
    /// Asks the rest of the chain with a deadline for everything in it, in milliseconds above 0.
    ///
    /// # Errors
    /// As [`Next::run`].
    pub fn run_with(self, deadline_ms: u64) -> Decision<Execute> {
        self.0.run_with(deadline_ms).map_err(told)
    }
}

impl<S: Seam> fmt::Debug for Next<'_, S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Next").field(&S::NAME).finish()
    }
}

fn told(error: wit::NextError) -> Error {
    match error {
        wit::NextError::Failed(fault) => Error::Propagated(fault),
        // The type keeps it from happening twice; the contract has a word for it all the same.
        wit::NextError::Spent => Error::new("the rest of the chain was asked before"),
    }
}

macro_rules! seams {
    ($( $(#[$meta:meta])* $name:ident($label:literal): $ask:ty => $answer:ty, $rest:ty; )*) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;

        impl Seam for $name {
            const NAME: &'static str = $label;
            type Ask = $ask;
            type Answer = $answer;
            type Rest = $rest;

            fn run(rest: &Self::Rest) -> Result<Self::Answer, wit::NextError> {
                rest.run()
            }
        }
    )* };
}

seams! {
    /// May a claimed prompt begin its turn?
    PromptSubmit("on-prompt-submit"): on_prompt_submit::exports::hames::plugin::on_prompt_submit::PromptAsk => PromptDecision, next::NextPromptSubmit;
    /// Which messages stand in front of the history?
    SessionPrefix("on-session-prefix"): on_session_prefix::exports::hames::plugin::on_session_prefix::PrefixAsk => Vec<Message>, next::NextSessionPrefix;
    /// What is the system prompt made of, and which tools does the model see?
    PromptAssemble("on-prompt-assemble"): on_prompt_assemble::exports::hames::plugin::on_prompt_assemble::AssembleAsk => PromptAssembly, next::NextPromptAssemble;
    /// Which provider, model and sampling does a request get?
    CallRequest("on-request"): on_request::exports::hames::plugin::on_request::RequestAsk => CallConfig, next::NextRequest;
    /// What did the model say?
    StepResult("on-step-result"): on_step_result::exports::hames::plugin::on_step_result::StepResultAsk => Message, next::NextStepResult;
    /// May a call run?
    PreExecute("on-pre-execute"): on_pre_execute::exports::hames::plugin::on_pre_execute::PreExecuteAsk => PreToolDecision, next::NextPreExecute;
    /// Around the body of a call.
    Execute("on-execute"): on_execute::exports::hames::plugin::on_execute::ExecuteAsk => ToolOutcome, next::NextExecute;
    /// What becomes of a result?
    PostExecute("on-post-execute"): on_post_execute::exports::hames::plugin::on_post_execute::PostExecuteAsk => PostToolDecision, next::NextPostExecute;
    /// What becomes of a failed model call?
    RequestError("on-request-error"): on_request_error::exports::hames::plugin::on_request_error::RequestErrorAsk => RequestErrorDecision, next::NextRequestError;
    /// Does a turn go on?
    TurnContinuation("on-turn-continuation"): on_turn_continuation::exports::hames::plugin::on_turn_continuation::ContinuationAsk => ContinuationDecision, next::NextTurnContinuation;
}

impl PromptDecision {
    /// The prompt goes through as it is, without contexts. Those attached to it are in the answer of `next`.
    #[must_use]
    pub fn allow() -> Self {
        Self::Allow(PromptAllow {
            content: None,
            additional_contexts: None,
        })
    }
}

impl PostToolDecision {
    /// The result stands.
    #[must_use]
    pub fn accept() -> Self {
        Self::Accept(PostAccept {
            content: None,
            additional_contexts: None,
        })
    }
}
