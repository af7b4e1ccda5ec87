//! How does a plugin's trait become the contract's interfaces? One generic implementation of each; which of them end
//! up in a component `#[plugin]` decides.

use std::marker::PhantomData;

use serde_json::Value;

use crate::bindings as wit;
use crate::bindings::imports::hames::plugin::decisions::{ListenerError, StepAnswer, StopAnswer};
use crate::bindings::imports::hames::plugin::invocation::ToolCall;
use crate::bindings::imports::hames::plugin::types::{Fault, SessionId};
use crate::plugin::Plugin;
use crate::seam::{self, Next, Seam};

/// What `#[plugin]` exports for a type.
#[derive(Debug)]
pub struct Exported<P>(PhantomData<P>);

macro_rules! waterfalls {
    ($( $method:ident $seam:ident; )*) => { $(
        impl<P: Plugin> wit::$method::exports::hames::plugin::$method::Guest for Exported<P> {
            fn decide(
                ask: <seam::$seam as Seam>::Ask,
                next: &<seam::$seam as Seam>::Rest,
            ) -> Result<<seam::$seam as Seam>::Answer, ListenerError> {
                Ok(P::$method(ask, Next::new(next))?)
            }
        }
    )* };
}

waterfalls! {
    on_prompt_submit PromptSubmit;
    on_session_prefix SessionPrefix;
    on_prompt_assemble PromptAssemble;
    on_request CallRequest;
    on_step_result StepResult;
    on_pre_execute PreExecute;
    on_execute Execute;
    on_post_execute PostExecute;
    on_request_error RequestError;
    on_turn_continuation TurnContinuation;
}

macro_rules! serials {
    ($( $method:ident $ask:ident $answer:ident; )*) => { $(
        impl<P: Plugin> wit::$method::exports::hames::plugin::$method::Guest for Exported<P> {
            fn consult(
                ask: wit::$method::exports::hames::plugin::$method::$ask,
            ) -> Result<$answer, ListenerError> {
                // There is no rest of a chain here whose error could be handed on.
                P::$method(ask).map_err(|error| ListenerError::Failed(error.into()))
            }
        }
    )* };
}

serials! {
    on_pre_step StepAsk StepAnswer;
    on_post_step StepAsk StepAnswer;
    on_turn_stop TurnAsk StopAnswer;
}

macro_rules! observers {
    ($( $method:ident $notice:ident; )*) => { $(
        impl<P: Plugin> wit::$method::exports::hames::plugin::$method::Guest for Exported<P> {
            fn observe(notice: wit::$method::exports::hames::plugin::$method::$notice) -> Result<(), Fault> {
                Ok(P::$method(notice)?)
            }
        }
    )* };
}

observers! {
    on_session_event SessionEvent;
    on_session_start SessionStart;
    on_status StatusChange;
    on_queued Queued;
    on_cancel_requested CancelRequested;
    on_error AgentError;
    on_tool_result ToolResult;
    on_agent_created AgentCreated;
    on_agent_disposed AgentDisposed;
}

impl<P: Plugin> wit::plugin::exports::hames::plugin::plugin::Guest for Exported<P> {
    fn start(config: String) -> Result<(), Fault> {
        Ok(P::start(parsed(&config))?)
    }
}

impl<P: Plugin> wit::guard::exports::hames::plugin::guard::Guest for Exported<P> {
    fn check(call: ToolCall) -> Result<Option<String>, Fault> {
        Ok(P::guard(call)?)
    }
}

mod prompt {
    pub(super) use crate::bindings::prompt::exports::hames::plugin::prompt::{
        Guest, PromptAsk, SectionDefinition,
    };
}

impl<P: Plugin> prompt::Guest for Exported<P> {
    fn sections(config: String) -> Result<Vec<prompt::SectionDefinition>, Fault> {
        Ok(P::sections(parsed(&config))?)
    }

    fn section_text(name: String, ask: prompt::PromptAsk) -> Result<String, Fault> {
        Ok(P::section_text(&name, ask)?)
    }

    fn variables(config: String) -> Result<Vec<String>, Fault> {
        Ok(P::variables(parsed(&config))?)
    }

    fn variable_value(name: String, ask: prompt::PromptAsk) -> Result<Option<String>, Fault> {
        Ok(P::variable_value(&name, ask)?)
    }
}

mod commands {
    pub(super) use crate::bindings::commands::exports::hames::plugin::commands::{
        CommandDefinition, CommandOutcome, Guest,
    };
}

impl<P: Plugin> commands::Guest for Exported<P> {
    fn list(config: String) -> Result<Vec<commands::CommandDefinition>, Fault> {
        Ok(P::commands(parsed(&config))?)
    }

    fn run(
        name: String,
        arguments: String,
        agent: Option<SessionId>,
    ) -> Result<commands::CommandOutcome, Fault> {
        Ok(P::run_command(&name, &arguments, agent.as_deref())?)
    }
}

/// The operator's configuration; the host has parsed it before.
pub(crate) fn parsed(config: &str) -> Value {
    serde_json::from_str(config).unwrap_or(Value::Null)
}
