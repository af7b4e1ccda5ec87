//! How do the seams around a model call cross: request, step result, failure?

use std::sync::Arc;

use hames_types::decision::RequestErrorDecision;
use hames_types::json::Json;
use hames_types::message::{Message, Provenance};
use hames_types::port::seam::{
    CallRequest, RequestAsk, RequestError, RequestErrorAsk, StepResult, StepResultAsk,
};
use hames_types::request::CallConfig;

use super::asks::value;
use super::{Around, Viewer, crosses};
use crate::bindings::exports::hames::plugin as ask;
use crate::bindings::hames::plugin::content as wit_content;
use crate::bindings::hames::plugin::decisions as wit;
use crate::bindings::hames::plugin::events as wit_events;
use crate::convert::content::{admit_message, message};
use crate::convert::events::{admit_config, config};
use crate::convert::fault::{failure, fault};
use crate::convert::{Admit, Refused, Shown};

impl Around for CallRequest {
    crosses!(on_request, request, Request, RequestAsk => wit_events::CallConfig);

    fn ask(ask: &RequestAsk, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAsk> {
        Ok(ask::on_request::RequestAsk {
            agent: ask.at.agent.to_string(),
            turn: ask.at.turn.get(),
            step: ask.at.step.get(),
            config: config(&ask.config)?,
            extra: None,
        })
    }

    fn show(answer: &CallConfig, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAnswer> {
        config(answer)
    }

    fn admit<'a>(
        mut admit: Admit<'a>,
        _ask: &'a RequestAsk,
        _rest: Option<&'a CallConfig>,
        answer: Self::WitAnswer,
    ) -> Result<CallConfig, Refused> {
        admit_config(&mut admit, answer)
    }

    fn record(answer: &CallConfig) -> Json {
        value(answer)
    }
}

impl Around for StepResult {
    crosses!(on_step_result, step_result, StepResult, StepResultAsk => wit_content::Message);

    fn ask(ask: &StepResultAsk, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAsk> {
        Ok(ask::on_step_result::StepResultAsk {
            agent: ask.at.agent.to_string(),
            turn: ask.at.turn.get(),
            step: ask.at.step.get(),
            message: message(&ask.message)?,
            extra: None,
        })
    }

    fn show(answer: &Message, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAnswer> {
        message(answer)
    }

    fn admit<'a>(
        admit: Admit<'a>,
        ask: &'a StepResultAsk,
        rest: Option<&'a Message>,
        answer: Self::WitAnswer,
    ) -> Result<Message, Refused> {
        let contents = std::iter::once(&ask.message)
            .chain(rest)
            .map(|it| &it.content)
            .collect();
        let mut admit = admit.recognising(Shown {
            contexts: Vec::new(),
            contents,
        });
        let mut answer = admit_message(&mut admit, answer)?;
        let base = rest.unwrap_or(&ask.message);
        // What the adapter needs belongs to the very content it said.
        if let Some(state) = base.replay_state()
            && answer.content == base.content
            && let Some(provenance) = &answer.provenance
        {
            answer.provenance = Some(Arc::new(Provenance {
                replay_state: Some(state.clone()),
                ..Provenance::clone(provenance)
            }));
        }
        Ok(answer)
    }

    fn record(answer: &Message) -> Json {
        value(answer)
    }
}

impl Around for RequestError {
    crosses!(on_request_error, request_error, RequestError, RequestErrorAsk => wit::RequestErrorDecision);

    fn ask(ask: &RequestErrorAsk, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAsk> {
        Ok(ask::on_request_error::RequestErrorAsk {
            agent: ask.at.agent.to_string(),
            turn: ask.at.turn.get(),
            step: ask.at.step.get(),
            error: fault(&ask.error)?,
            failure: failure(&ask.failure)?,
            prior: ask.prior.iter().map(failure).collect::<wasmtime::Result<_>>()?,
            extra: None,
        })
    }

    fn show(answer: &RequestErrorDecision, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAnswer> {
        Ok(match answer {
            RequestErrorDecision::Fail(_) => wit::RequestErrorDecision::Fail,
            RequestErrorDecision::Retry(_) => wit::RequestErrorDecision::Retry,
        })
    }

    fn admit<'a>(
        _admit: Admit<'a>,
        _ask: &'a RequestErrorAsk,
        _rest: Option<&'a RequestErrorDecision>,
        answer: Self::WitAnswer,
    ) -> Result<RequestErrorDecision, Refused> {
        Ok(match answer {
            wit::RequestErrorDecision::Fail => RequestErrorDecision::FAIL,
            wit::RequestErrorDecision::Retry => RequestErrorDecision::RETRY,
        })
    }

    fn record(answer: &RequestErrorDecision) -> Json {
        value(answer)
    }
}
