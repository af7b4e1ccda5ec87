//! What can a plugin listen to, and what can it add? Every method of one trait, and `#[plugin]` exports those that
//! are written.

use serde_json::Value;

use crate::bindings as wit;
use crate::bindings::imports::hames::plugin::decisions::{StepAnswer, StopAnswer};
use crate::bindings::imports::hames::plugin::invocation::ToolCall;
use crate::error::Error;
use crate::seam::{
    CallRequest, Decision, Execute, Next, PostExecute, PreExecute, PromptAssemble, PromptSubmit,
    RequestError, Seam, SessionPrefix, StepResult, TurnContinuation,
};

pub use wit::commands::exports::hames::plugin::commands::{CommandDefinition, CommandOutcome};
pub use wit::on_agent_created::exports::hames::plugin::on_agent_created::AgentCreated;
pub use wit::on_agent_disposed::exports::hames::plugin::on_agent_disposed::AgentDisposed;
pub use wit::on_cancel_requested::exports::hames::plugin::on_cancel_requested::{
    CancelCause, CancelRequested,
};
pub use wit::on_error::exports::hames::plugin::on_error::AgentError;
pub use wit::on_execute::exports::hames::plugin::on_execute::ExecuteAsk;
pub use wit::on_post_execute::exports::hames::plugin::on_post_execute::PostExecuteAsk;
pub use wit::on_post_step::exports::hames::plugin::on_post_step::StepAsk as PostStepAsk;
pub use wit::on_pre_execute::exports::hames::plugin::on_pre_execute::PreExecuteAsk;
pub use wit::on_pre_step::exports::hames::plugin::on_pre_step::StepAsk as PreStepAsk;
pub use wit::on_prompt_assemble::exports::hames::plugin::on_prompt_assemble::AssembleAsk;
pub use wit::on_prompt_submit::exports::hames::plugin::on_prompt_submit::PromptAsk;
pub use wit::on_queued::exports::hames::plugin::on_queued::Queued;
pub use wit::on_request::exports::hames::plugin::on_request::RequestAsk;
pub use wit::on_request_error::exports::hames::plugin::on_request_error::RequestErrorAsk;
pub use wit::on_session_event::exports::hames::plugin::on_session_event::SessionEvent;
pub use wit::on_session_prefix::exports::hames::plugin::on_session_prefix::PrefixAsk;
pub use wit::on_session_start::exports::hames::plugin::on_session_start::{SessionStart, StartSource};
pub use wit::on_status::exports::hames::plugin::on_status::{AgentStatus, StatusChange};
pub use wit::on_step_result::exports::hames::plugin::on_step_result::StepResultAsk;
pub use wit::on_tool_result::exports::hames::plugin::on_tool_result::ToolResult;
pub use wit::on_turn_continuation::exports::hames::plugin::on_turn_continuation::ContinuationAsk;
pub use wit::on_turn_stop::exports::hames::plugin::on_turn_stop::TurnAsk;
pub use wit::prompt::exports::hames::plugin::prompt::{PromptAsk as SectionAsk, SectionDefinition};

/// A plugin, as what it listens to and what it adds.
///
/// Written under [`macro@crate::plugin`] a method is exported; the defaults are for those that aren't and never run.
/// Every call is one of a fresh instance, so no method has a `self`: what must last goes to the log or to the store.
///
/// An error of a listener that gates fails closed, and the log shows it; an error of an observer hurts nobody.
pub trait Plugin {
    /// Looks at the operator's configuration, once, at load.
    ///
    /// # Errors
    /// Keep the plugin from loading, and are shown to the operator.
    fn start(config: Value) -> Result<(), Error> {
        let _ = config;
        Ok(())
    }

    /// The sections it adds to the system prompt. Asked once, at load.
    ///
    /// # Errors
    /// Keep the plugin from loading.
    fn sections(config: Value) -> Result<Vec<SectionDefinition>, Error> {
        let _ = config;
        Ok(Vec::new())
    }

    /// The text of a section that has none of its own. Can't wait.
    ///
    /// # Errors
    /// Fail the turn.
    fn section_text(name: &str, ask: SectionAsk) -> Result<String, Error> {
        let _ = ask;
        Err(Error::new(format!("no section `{name}` here")))
    }

    /// The variables it gives to sections. Asked once, at load.
    ///
    /// # Errors
    /// Keep the plugin from loading.
    fn variables(config: Value) -> Result<Vec<String>, Error> {
        let _ = config;
        Ok(Vec::new())
    }

    /// A variable's value now, if it has one. Can't wait.
    ///
    /// # Errors
    /// Fail the turn.
    fn variable_value(name: &str, ask: SectionAsk) -> Result<Option<String>, Error> {
        let _ = (name, ask);
        Ok(None)
    }

    /// What a person may call by name. Asked once, at load.
    ///
    /// # Errors
    /// Keep the plugin from loading.
    fn commands(config: Value) -> Result<Vec<CommandDefinition>, Error> {
        let _ = config;
        Ok(Vec::new())
    }

    /// Runs a command.
    ///
    /// # Errors
    /// What the person is told.
    fn run_command(name: &str, arguments: &str, agent: Option<&str>) -> Result<CommandOutcome, Error> {
        let _ = (arguments, agent);
        Err(Error::new(format!("no command `{name}` here")))
    }

    /// The last word before a call runs: why it must not, or nothing.
    ///
    /// # Errors
    /// Deny the call.
    fn guard(call: ToolCall) -> Result<Option<String>, Error> {
        let _ = call;
        Ok(None)
    }

    /// May a claimed prompt begin its turn? Of two answers `Block` is the stricter.
    ///
    /// # Errors
    /// Fail the turn.
    fn on_prompt_submit(
        ask: <PromptSubmit as Seam>::Ask,
        next: Next<'_, PromptSubmit>,
    ) -> Decision<PromptSubmit> {
        let _ = ask;
        next.run()
    }

    /// Which messages stand in front of the history? Asked once in the life of an agent; needs full authority.
    ///
    /// # Errors
    /// Fail the turn.
    fn on_session_prefix(
        ask: <SessionPrefix as Seam>::Ask,
        next: Next<'_, SessionPrefix>,
    ) -> Decision<SessionPrefix> {
        let _ = ask;
        next.run()
    }

    /// What is the system prompt made of, and which tools does the model see? Asked for each request; needs full
    /// authority.
    ///
    /// # Errors
    /// Fail the turn.
    fn on_prompt_assemble(
        ask: <PromptAssemble as Seam>::Ask,
        next: Next<'_, PromptAssemble>,
    ) -> Decision<PromptAssemble> {
        let _ = ask;
        next.run()
    }

    /// Which provider, model and sampling does a request get? Needs full authority.
    ///
    /// # Errors
    /// Fail the turn.
    fn on_request(ask: <CallRequest as Seam>::Ask, next: Next<'_, CallRequest>) -> Decision<CallRequest> {
        let _ = ask;
        next.run()
    }

    /// What did the model say? Asked before it is logged; needs full authority.
    ///
    /// # Errors
    /// Fail the turn.
    fn on_step_result(ask: <StepResult as Seam>::Ask, next: Next<'_, StepResult>) -> Decision<StepResult> {
        let _ = ask;
        next.run()
    }

    /// May a call run? Strictest first: `Deny`, `Ask`, `Allow`.
    ///
    /// # Errors
    /// Become an error result: the call doesn't run.
    fn on_pre_execute(ask: <PreExecute as Seam>::Ask, next: Next<'_, PreExecute>) -> Decision<PreExecute> {
        let _ = ask;
        next.run()
    }

    /// Around the body of a call; needs full authority.
    ///
    /// # Errors
    /// Become an error result.
    fn on_execute(ask: <Execute as Seam>::Ask, next: Next<'_, Execute>) -> Decision<Execute> {
        let _ = ask;
        next.run()
    }

    /// What becomes of a result before it is logged? `Block` is the stricter; changing what is accepted needs full
    /// authority.
    ///
    /// # Errors
    /// Become an error result.
    fn on_post_execute(
        ask: <PostExecute as Seam>::Ask,
        next: Next<'_, PostExecute>,
    ) -> Decision<PostExecute> {
        let _ = ask;
        next.run()
    }

    /// What becomes of a failed model call? Needs full authority.
    ///
    /// # Errors
    /// Fail the turn with the model's own error.
    fn on_request_error(
        ask: <RequestError as Seam>::Ask,
        next: Next<'_, RequestError>,
    ) -> Decision<RequestError> {
        let _ = ask;
        next.run()
    }

    /// Does a turn go on behind a step? `Stop` is the stricter.
    ///
    /// # Errors
    /// Fail the turn.
    fn on_turn_continuation(
        ask: <TurnContinuation as Seam>::Ask,
        next: Next<'_, TurnContinuation>,
    ) -> Decision<TurnContinuation> {
        let _ = ask;
        next.run()
    }

    /// Before a step. Listeners are asked in order until one settles it.
    ///
    /// # Errors
    /// Fail the turn.
    fn on_pre_step(ask: PreStepAsk) -> Result<StepAnswer, Error> {
        let _ = ask;
        Ok(StepAnswer::Abstain)
    }

    /// Behind a step, when its results are in the log.
    ///
    /// # Errors
    /// Fail the turn.
    fn on_post_step(ask: PostStepAsk) -> Result<StepAnswer, Error> {
        let _ = ask;
        Ok(StepAnswer::Abstain)
    }

    /// Must a turn end? Asked last, in order until one says so.
    ///
    /// # Errors
    /// Fail the turn.
    fn on_turn_stop(ask: TurnAsk) -> Result<StopAnswer, Error> {
        let _ = ask;
        Ok(StopAnswer::Abstain)
    }

    /// An event of a kind the manifest names was committed. The session takes no append of its own observer. Is told, and can't wait.
    ///
    /// # Errors
    /// Are for the operator to read.
    fn on_session_event(notice: SessionEvent) -> Result<(), Error> {
        let _ = notice;
        Ok(())
    }

    /// An agent's life in this process began. Is told, and can't wait.
    ///
    /// # Errors
    /// Are for the operator to read.
    fn on_session_start(notice: SessionStart) -> Result<(), Error> {
        let _ = notice;
        Ok(())
    }

    /// An agent's status changed. Is told, and can't wait.
    ///
    /// # Errors
    /// Are for the operator to read.
    fn on_status(notice: StatusChange) -> Result<(), Error> {
        let _ = notice;
        Ok(())
    }

    /// Something was put into an agent's inbox. Is told, and can't wait.
    ///
    /// # Errors
    /// Are for the operator to read.
    fn on_queued(notice: Queued) -> Result<(), Error> {
        let _ = notice;
        Ok(())
    }

    /// An effective cancellation is about to interrupt the turn. Is told, and can't wait.
    ///
    /// # Errors
    /// Are for the operator to read.
    fn on_cancel_requested(notice: CancelRequested) -> Result<(), Error> {
        let _ = notice;
        Ok(())
    }

    /// A turn or a checkpoint failed. Is told, and can't wait.
    ///
    /// # Errors
    /// Are for the operator to read.
    fn on_error(notice: AgentError) -> Result<(), Error> {
        let _ = notice;
        Ok(())
    }

    /// A call has its final outcome. Is told, and can't wait.
    ///
    /// # Errors
    /// Are for the operator to read.
    fn on_tool_result(notice: ToolResult) -> Result<(), Error> {
        let _ = notice;
        Ok(())
    }

    /// An agent is published. Is told, and can't wait.
    ///
    /// # Errors
    /// Are for the operator to read.
    fn on_agent_created(notice: AgentCreated) -> Result<(), Error> {
        let _ = notice;
        Ok(())
    }

    /// An agent is gone. Is told, and can't wait.
    ///
    /// # Errors
    /// Are for the operator to read.
    fn on_agent_disposed(notice: AgentDisposed) -> Result<(), Error> {
        let _ = notice;
        Ok(())
    }
}
