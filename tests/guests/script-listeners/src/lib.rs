//! An interpreter of scripted listeners: one listener of a recorded case, given as configuration, as one plugin.
//!
//! Every step that can be said through the contract is; any other fails with the code `NOT_IN_CONTRACT`. The component
//! listens to everything; which question reaches it is its host's to say, and its manifest is added when it is loaded:
//! a script says under which name it speaks.

mod answers;
mod behaviour;
mod facts;

use hames_sdk::prelude::*;

use self::answers::around;
use self::behaviour::{consulted, told};
use self::facts::{of_agent, of_call, of_event, of_step, of_turn, with};

struct Script;

#[plugin(manifest = none)]
impl Plugin for Script {
    fn on_prompt_submit(ask: PromptAsk, next: Next<'_, PromptSubmit>) -> Decision<PromptSubmit> {
        around(ask, next)
    }

    fn on_session_prefix(ask: PrefixAsk, next: Next<'_, SessionPrefix>) -> Decision<SessionPrefix> {
        around(ask, next)
    }

    fn on_request(ask: RequestAsk, next: Next<'_, CallRequest>) -> Decision<CallRequest> {
        around(ask, next)
    }

    fn on_step_result(ask: StepResultAsk, next: Next<'_, StepResult>) -> Decision<StepResult> {
        around(ask, next)
    }

    fn on_pre_execute(ask: PreExecuteAsk, next: Next<'_, PreExecute>) -> Decision<PreExecute> {
        around(ask, next)
    }

    fn on_execute(ask: ExecuteAsk, next: Next<'_, Execute>) -> Decision<Execute> {
        around(ask, next)
    }

    fn on_post_execute(ask: PostExecuteAsk, next: Next<'_, PostExecute>) -> Decision<PostExecute> {
        around(ask, next)
    }

    fn on_request_error(ask: RequestErrorAsk, next: Next<'_, RequestError>) -> Decision<RequestError> {
        around(ask, next)
    }

    fn on_turn_continuation(
        ask: ContinuationAsk,
        next: Next<'_, TurnContinuation>,
    ) -> Decision<TurnContinuation> {
        around(ask, next)
    }

    fn on_pre_step(ask: PreStepAsk) -> Result<StepAnswer, Error> {
        let answers = consulted(&ask.agent, &of_step(&ask.agent, ask.turn, ask.step))?;
        Ok(if answers {
            StepAnswer::Settled
        } else {
            StepAnswer::Abstain
        })
    }

    fn on_post_step(ask: PostStepAsk) -> Result<StepAnswer, Error> {
        let answers = consulted(&ask.agent, &of_step(&ask.agent, ask.turn, ask.step))?;
        Ok(if answers {
            StepAnswer::Settled
        } else {
            StepAnswer::Abstain
        })
    }

    fn on_turn_stop(ask: TurnAsk) -> Result<StopAnswer, Error> {
        let answers = consulted(&ask.agent, &of_turn(&ask.agent, ask.turn))?;
        Ok(if answers {
            StopAnswer::Stop
        } else {
            StopAnswer::Abstain
        })
    }

    fn on_session_event(notice: SessionEvent) -> Result<(), Error> {
        told(Some(&notice.session), &of_event(&notice.session, &notice.event))
    }

    fn on_session_start(notice: SessionStart) -> Result<(), Error> {
        let source = match notice.source {
            StartSource::Startup => "startup",
            StartSource::Resume => "resume",
            StartSource::Clear => "clear",
            StartSource::Compact => "compact",
        };
        told(
            Some(&notice.agent),
            &with(of_agent(&notice.agent), "source", source),
        )
    }

    fn on_status(notice: StatusChange) -> Result<(), Error> {
        let status = match notice.status {
            AgentStatus::Idle => "idle",
            AgentStatus::Running => "running",
            AgentStatus::Disposed => "disposed",
        };
        told(
            Some(&notice.agent),
            &with(of_agent(&notice.agent), "status", status),
        )
    }

    fn on_queued(notice: Queued) -> Result<(), Error> {
        told(
            Some(&notice.agent),
            &with(of_agent(&notice.agent), "steering", notice.steering),
        )
    }

    fn on_cancel_requested(notice: CancelRequested) -> Result<(), Error> {
        told(Some(&notice.agent), &of_agent(&notice.agent))
    }

    fn on_error(notice: AgentError) -> Result<(), Error> {
        told(Some(&notice.agent), &of_agent(&notice.agent))
    }

    fn on_tool_result(notice: ToolResult) -> Result<(), Error> {
        told(notice.call.agent.as_deref(), &of_call(&notice.call))
    }

    fn on_agent_created(notice: AgentCreated) -> Result<(), Error> {
        told(Some(&notice.agent), &of_agent(&notice.agent))
    }

    fn on_agent_disposed(notice: AgentDisposed) -> Result<(), Error> {
        told(Some(&notice.agent), &of_agent(&notice.agent))
    }
}
