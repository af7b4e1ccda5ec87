//! Who asks, and about what? The same few things of every ask.

use hames_types::id::SessionId;
use hames_types::json::{Json, to_json};
use hames_types::port::seam::{
    AssembleAsk, ContinuationAsk, ExecuteAsk, PostExecuteAsk, PreExecuteAsk, PrefixAsk, PromptAsk,
    RequestAsk, RequestErrorAsk, StepAsk, StepResultAsk, TurnAsk,
};
use hames_types::signal::Signal;
use hames_types::tool::{ToolCall, ToolOutcome};
use serde::Serialize;
use serde_json::json;

use super::Ask;

/// A value of the vocabulary as JSON; all of them have one.
pub(crate) fn value<T: Serialize + ?Sized>(value: &T) -> Json {
    to_json(value).unwrap_or(Json::Null)
}

/// An outcome as JSON.
pub(super) fn outcome(outcome: &ToolOutcome) -> Json {
    json!({
        "content": value(&outcome.content),
        "isError": outcome.is_error,
        "error": value(&outcome.error),
        "contexts": value(&outcome.contexts),
        "meta": outcome.meta,
    })
}

pub(super) fn about_call(call: &ToolCall) -> Json {
    let mut about = json!({ "callId": call.call_id, "tool": call.name });
    if let (Some((turn, step)), Json::Object(fields)) = (call.at, &mut about) {
        fields.insert("turn".to_owned(), turn.get().into());
        fields.insert("step".to_owned(), step.get().into());
    }
    about
}

pub(super) fn whole_call(call: &ToolCall) -> Json {
    json!({
        "call": about_call(call),
        "arguments": *call.arguments,
        "agent": call.agent,
        "parent": call.parent,
    })
}

fn about_step(step: &StepAsk) -> Json {
    json!({ "turn": step.turn.get(), "step": step.step.get() })
}

fn about_turn(turn: &TurnAsk) -> Json {
    json!({ "turn": turn.turn.get() })
}

impl Ask for PromptAsk {
    fn agent(&self) -> Option<&SessionId> {
        Some(&self.agent)
    }

    fn signal(&self) -> &Signal {
        &self.signal
    }

    fn about(&self) -> Json {
        json!({ "source": self.source.kind() })
    }

    fn whole(&self) -> Json {
        json!({
            "content": value(&self.content),
            "source": value(&self.source),
            "contexts": value(&self.contexts),
        })
    }
}

impl Ask for PrefixAsk {
    fn agent(&self) -> Option<&SessionId> {
        Some(&self.agent)
    }

    fn signal(&self) -> &Signal {
        &self.signal
    }

    fn about(&self) -> Json {
        json!({})
    }

    fn whole(&self) -> Json {
        json!({ "agent": self.agent })
    }
}

impl Ask for AssembleAsk {
    fn agent(&self) -> Option<&SessionId> {
        self.agent.as_ref()
    }

    fn signal(&self) -> &Signal {
        &self.signal
    }

    fn about(&self) -> Json {
        json!({ "sections": self.assembly.sections.len(), "tools": self.assembly.tools.len() })
    }

    fn whole(&self) -> Json {
        value(&self.assembly)
    }
}

impl Ask for StepAsk {
    fn agent(&self) -> Option<&SessionId> {
        Some(&self.agent)
    }

    fn signal(&self) -> &Signal {
        &self.signal
    }

    fn about(&self) -> Json {
        about_step(self)
    }

    fn whole(&self) -> Json {
        about_step(self)
    }
}

impl Ask for RequestAsk {
    fn agent(&self) -> Option<&SessionId> {
        Some(&self.at.agent)
    }

    fn signal(&self) -> &Signal {
        &self.at.signal
    }

    fn about(&self) -> Json {
        about_step(&self.at)
    }

    fn whole(&self) -> Json {
        json!({ "at": about_step(&self.at), "config": value(&self.config) })
    }
}

impl Ask for StepResultAsk {
    fn agent(&self) -> Option<&SessionId> {
        Some(&self.at.agent)
    }

    fn signal(&self) -> &Signal {
        &self.at.signal
    }

    fn about(&self) -> Json {
        about_step(&self.at)
    }

    fn whole(&self) -> Json {
        json!({ "at": about_step(&self.at), "message": value(&self.message) })
    }
}

impl Ask for PreExecuteAsk {
    fn agent(&self) -> Option<&SessionId> {
        self.call.agent.as_ref()
    }

    fn signal(&self) -> &Signal {
        &self.signal
    }

    fn tool(&self) -> Option<&str> {
        Some(&self.call.name)
    }

    fn about(&self) -> Json {
        about_call(&self.call)
    }

    fn whole(&self) -> Json {
        whole_call(&self.call)
    }
}

impl Ask for ExecuteAsk {
    fn agent(&self) -> Option<&SessionId> {
        self.call.agent.as_ref()
    }

    fn signal(&self) -> &Signal {
        &self.signal
    }

    fn tool(&self) -> Option<&str> {
        Some(&self.call.name)
    }

    fn about(&self) -> Json {
        about_call(&self.call)
    }

    fn whole(&self) -> Json {
        json!({ "call": whole_call(&self.call), "timeoutMs": self.timeout_ms })
    }
}

impl Ask for PostExecuteAsk {
    fn agent(&self) -> Option<&SessionId> {
        self.call.agent.as_ref()
    }

    fn signal(&self) -> &Signal {
        &self.signal
    }

    fn tool(&self) -> Option<&str> {
        Some(&self.call.name)
    }

    fn about(&self) -> Json {
        about_call(&self.call)
    }

    fn whole(&self) -> Json {
        json!({ "call": whole_call(&self.call), "outcome": outcome(&self.outcome) })
    }
}

impl Ask for RequestErrorAsk {
    fn agent(&self) -> Option<&SessionId> {
        Some(&self.at.agent)
    }

    fn signal(&self) -> &Signal {
        &self.at.signal
    }

    fn about(&self) -> Json {
        about_step(&self.at)
    }

    fn whole(&self) -> Json {
        json!({
            "at": about_step(&self.at),
            "error": self.error.chain(),
            "failure": value(&self.failure),
            "prior": value(&self.prior),
        })
    }
}

impl Ask for TurnAsk {
    fn agent(&self) -> Option<&SessionId> {
        Some(&self.agent)
    }

    fn signal(&self) -> &Signal {
        &self.signal
    }

    fn about(&self) -> Json {
        about_turn(self)
    }

    fn whole(&self) -> Json {
        about_turn(self)
    }
}

impl Ask for ContinuationAsk {
    fn agent(&self) -> Option<&SessionId> {
        Some(&self.at.agent)
    }

    fn signal(&self) -> &Signal {
        &self.at.signal
    }

    fn about(&self) -> Json {
        about_turn(&self.at)
    }

    fn whole(&self) -> Json {
        json!({
            "at": about_turn(&self.at),
            "default": value(&self.default),
            "stopHookActive": self.stop_hook_active,
        })
    }
}
