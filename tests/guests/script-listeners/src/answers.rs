//! How do a seam's questions and answers look in a script?

use hames_sdk::bindings::imports::hames::plugin::content::Message;
use hames_sdk::bindings::imports::hames::plugin::events::{CallConfig, NamedCode};
use hames_sdk::error::Error;
use hames_sdk::plugin::{
    ContinuationAsk, ExecuteAsk, PostExecuteAsk, PreExecuteAsk, PrefixAsk, PromptAsk, RequestAsk,
    RequestErrorAsk, StepResultAsk,
};
use hames_sdk::seam::{
    CallRequest, ContinuationDecision, ContinueReason, Decision, Execute, Next, PostAccept, PostBlock,
    PostExecute, PostToolDecision, PreExecute, PreToolDecision, PromptAllow, PromptDecision, PromptSubmit,
    RequestError, RequestErrorDecision, Seam, SessionPrefix, StepResult, TurnContinuation,
};
use hames_sdk::serde_json::{Value, json};
use hames_sdk::tool::ToolOutcome;
use script::values::{self, text};
use script::written::{self, Fields};

use crate::behaviour::Invocation;
use crate::facts::{of_agent, of_call, of_step, of_turn, with};

/// A seam in a script's words.
pub trait Spoken: Seam {
    fn agent(ask: &Self::Ask) -> Option<&str>;
    fn facts(ask: &Self::Ask) -> Value;
    fn read(value: &Value) -> Result<Self::Answer, Error>;
    fn write(answer: &Self::Answer) -> Value;
    /// Whether `retryUpTo` answers this question.
    fn retries(_ask: &Self::Ask, _limit: u64) -> bool {
        false
    }
}

/// Answers, or asks the rest of the chain and alters what it says.
///
/// # Errors
/// The script's own, and those of the rest.
pub fn around<S: Spoken>(ask: S::Ask, next: Next<'_, S>) -> Decision<S> {
    let Some(invocation) = Invocation::of(S::agent(&ask), &S::facts(&ask), true)? else {
        return next.run();
    };
    invocation.begin()?;
    let does = &invocation.does;
    if let Some(answer) = does.get("return") {
        return S::read(answer);
    }
    if does["retryUpTo"]
        .as_u64()
        .is_some_and(|limit| S::retries(&ask, limit))
    {
        return S::read(&json!({ "action": "retry" }));
    }
    let answer = next.run()?;
    invocation.finish()?;
    match altered(does, || S::write(&answer)) {
        Some(altered) => S::read(&altered),
        None => Ok(answer),
    }
}

/// What a script makes of the answer of the rest of the chain.
fn altered(does: &Value, answer: impl FnOnce() -> Value) -> Option<Value> {
    if let Some(changes) = does["merge"].as_object() {
        let mut fields = answer();
        for (key, value) in changes {
            fields[key] = value.clone();
        }
        return Some(fields);
    }
    if let Some(contexts) = does["addContexts"].as_array() {
        let mut fields = answer();
        let mut all = fields["additionalContexts"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        all.extend(contexts.iter().cloned());
        fields["additionalContexts"] = Value::Array(all);
        return Some(fields);
    }
    let mut all = does["prependMessages"].as_array()?.clone();
    all.extend(answer().as_array().cloned().unwrap_or_default());
    Some(Value::Array(all))
}

fn unknown<T>(value: &Value) -> Result<T, Error> {
    Err(Error::new(format!(
        "the script's answer is none of this seam: {value}"
    )))
}

impl Spoken for PromptSubmit {
    fn agent(ask: &PromptAsk) -> Option<&str> {
        Some(&ask.agent)
    }

    fn facts(ask: &PromptAsk) -> Value {
        with(of_agent(&ask.agent), "source", written::source_kind(&ask.source))
    }

    fn read(value: &Value) -> Result<PromptDecision, Error> {
        match value["kind"].as_str() {
            Some("allow") => Ok(PromptDecision::Allow(PromptAllow {
                content: value.get("content").map(values::blocks),
                additional_contexts: value.get("additionalContexts").map(values::contexts),
            })),
            Some("block") => Ok(PromptDecision::Block(text(value, "reason"))),
            Some(_) | None => unknown(value),
        }
    }

    fn write(answer: &PromptDecision) -> Value {
        match answer {
            PromptDecision::Allow(allow) => Fields::default()
                .with("kind", "allow")
                .and("content", allow.content.as_deref().map(written::blocks))
                .and(
                    "additionalContexts",
                    allow.additional_contexts.as_deref().map(written::contexts),
                )
                .object(),
            PromptDecision::Block(reason) => json!({ "kind": "block", "reason": reason }),
        }
    }
}

impl Spoken for SessionPrefix {
    fn agent(ask: &PrefixAsk) -> Option<&str> {
        Some(&ask.agent)
    }

    fn facts(ask: &PrefixAsk) -> Value {
        of_agent(&ask.agent)
    }

    fn read(value: &Value) -> Result<Vec<Message>, Error> {
        Ok(value
            .as_array()
            .into_iter()
            .flatten()
            .map(values::message)
            .collect())
    }

    fn write(answer: &Vec<Message>) -> Value {
        answer.iter().map(written::message).collect()
    }
}

impl Spoken for CallRequest {
    fn agent(ask: &RequestAsk) -> Option<&str> {
        Some(&ask.agent)
    }

    fn facts(ask: &RequestAsk) -> Value {
        of_step(&ask.agent, ask.turn, ask.step)
    }

    fn read(value: &Value) -> Result<CallConfig, Error> {
        let stop = value["stop"].as_array().map(|stops| {
            let words = stops.iter().filter_map(Value::as_str);
            words.map(str::to_owned).collect()
        });
        Ok(CallConfig {
            provider: text(value, "provider"),
            model: text(value, "model"),
            temperature: value.get("temperature").map(Value::to_string),
            max_tokens: value["maxTokens"].as_u64(),
            stop,
            extra: values::extra(value, &["provider", "model", "temperature", "maxTokens", "stop"]),
        })
    }

    fn write(answer: &CallConfig) -> Value {
        Fields::default()
            .with("provider", answer.provider.clone())
            .with("model", answer.model.clone())
            .and("temperature", answer.temperature.as_deref().map(written::parsed))
            .and("maxTokens", answer.max_tokens)
            .and("stop", answer.stop.clone())
            .extra(answer.extra.as_ref())
            .object()
    }
}

impl Spoken for StepResult {
    fn agent(ask: &StepResultAsk) -> Option<&str> {
        Some(&ask.agent)
    }

    fn facts(ask: &StepResultAsk) -> Value {
        of_step(&ask.agent, ask.turn, ask.step)
    }

    fn read(value: &Value) -> Result<Message, Error> {
        Ok(values::message(value))
    }

    fn write(answer: &Message) -> Value {
        written::message(answer)
    }
}

impl Spoken for PreExecute {
    fn agent(ask: &PreExecuteAsk) -> Option<&str> {
        ask.call.agent.as_deref()
    }

    fn facts(ask: &PreExecuteAsk) -> Value {
        of_call(&ask.call)
    }

    fn read(value: &Value) -> Result<PreToolDecision, Error> {
        match value["kind"].as_str() {
            Some("allow") => Ok(PreToolDecision::Allow),
            Some("deny") => Ok(PreToolDecision::Deny(text(value, "reason"))),
            Some("ask") => Ok(PreToolDecision::Ask(value["reason"].as_str().map(str::to_owned))),
            Some(_) | None => unknown(value),
        }
    }

    fn write(answer: &PreToolDecision) -> Value {
        match answer {
            PreToolDecision::Allow => json!({ "kind": "allow" }),
            PreToolDecision::Deny(reason) => json!({ "kind": "deny", "reason": reason }),
            PreToolDecision::Ask(reason) => Fields::default()
                .with("kind", "ask")
                .and("reason", reason.clone())
                .object(),
        }
    }
}

impl Spoken for Execute {
    fn agent(ask: &ExecuteAsk) -> Option<&str> {
        ask.call.agent.as_deref()
    }

    fn facts(ask: &ExecuteAsk) -> Value {
        of_call(&ask.call)
    }

    fn read(value: &Value) -> Result<ToolOutcome, Error> {
        let error = &value["error"];
        Ok(ToolOutcome {
            content: values::blocks(&value["content"]),
            is_error: value["isError"] == true,
            error: error.is_object().then(|| NamedCode {
                name: text(error, "name"),
                code: text(error, "code"),
                extra: values::extra(error, &["name", "code"]),
            }),
            contexts: values::contexts(&value["additionalContexts"]),
            meta: value.get("meta").map(Value::to_string),
        })
    }

    fn write(answer: &ToolOutcome) -> Value {
        let error = answer.error.as_ref().map(|error| {
            Fields::default()
                .with("name", error.name.clone())
                .with("code", error.code.clone())
                .extra(error.extra.as_ref())
                .object()
        });
        let contexts = (!answer.contexts.is_empty()).then(|| written::contexts(&answer.contexts));
        Fields::default()
            .with("content", written::blocks(&answer.content))
            .with("isError", answer.is_error)
            .and("error", error)
            .and("additionalContexts", contexts)
            .and("meta", answer.meta.as_deref().map(written::parsed))
            .object()
    }
}

impl Spoken for PostExecute {
    fn agent(ask: &PostExecuteAsk) -> Option<&str> {
        ask.call.agent.as_deref()
    }

    fn facts(ask: &PostExecuteAsk) -> Value {
        of_call(&ask.call)
    }

    fn read(value: &Value) -> Result<PostToolDecision, Error> {
        let additional_contexts = value.get("additionalContexts").map(values::contexts);
        match value["kind"].as_str() {
            Some("accept") => Ok(PostToolDecision::Accept(PostAccept {
                content: value.get("content").map(values::blocks),
                additional_contexts,
            })),
            Some("block") => Ok(PostToolDecision::Block(PostBlock {
                feedback: values::blocks(&value["feedback"]),
                additional_contexts,
            })),
            Some(_) | None => unknown(value),
        }
    }

    fn write(answer: &PostToolDecision) -> Value {
        let (fields, contexts) = match answer {
            PostToolDecision::Accept(accept) => (
                Fields::default()
                    .with("kind", "accept")
                    .and("content", accept.content.as_deref().map(written::blocks)),
                &accept.additional_contexts,
            ),
            PostToolDecision::Block(block) => (
                Fields::default()
                    .with("kind", "block")
                    .with("feedback", written::blocks(&block.feedback)),
                &block.additional_contexts,
            ),
        };
        fields
            .and("additionalContexts", contexts.as_deref().map(written::contexts))
            .object()
    }
}

impl Spoken for RequestError {
    fn agent(ask: &RequestErrorAsk) -> Option<&str> {
        Some(&ask.agent)
    }

    fn facts(ask: &RequestErrorAsk) -> Value {
        let facts = of_step(&ask.agent, ask.turn, ask.step);
        with(facts, "code", ask.failure.code.clone())
    }

    fn read(value: &Value) -> Result<RequestErrorDecision, Error> {
        match value["action"].as_str() {
            Some("fail") => Ok(RequestErrorDecision::Fail),
            Some("retry") => Ok(RequestErrorDecision::Retry),
            Some(_) | None => unknown(value),
        }
    }

    fn write(answer: &RequestErrorDecision) -> Value {
        json!({ "action": match answer {
            RequestErrorDecision::Fail => "fail",
            RequestErrorDecision::Retry => "retry",
        } })
    }

    fn retries(ask: &RequestErrorAsk, limit: u64) -> bool {
        (ask.prior.len() as u64) < limit
    }
}

impl Spoken for TurnContinuation {
    fn agent(ask: &ContinuationAsk) -> Option<&str> {
        Some(&ask.agent)
    }

    fn facts(ask: &ContinuationAsk) -> Value {
        of_turn(&ask.agent, ask.turn)
    }

    fn read(value: &Value) -> Result<ContinuationDecision, Error> {
        let reason = &value["reason"];
        match value["action"].as_str() {
            Some("stop") => Ok(ContinuationDecision::Stop),
            Some("continue") => Ok(ContinuationDecision::Continue(reason.is_object().then(|| {
                ContinueReason {
                    content: values::blocks(&reason["content"]),
                    source: values::source(&reason["source"]),
                }
            }))),
            Some(_) | None => unknown(value),
        }
    }

    fn write(answer: &ContinuationDecision) -> Value {
        match answer {
            ContinuationDecision::Stop => json!({ "action": "stop" }),
            ContinuationDecision::Continue(reason) => Fields::default()
                .with("action", "continue")
                .and(
                    "reason",
                    reason.as_ref().map(|reason| {
                        json!({
                            "content": written::blocks(&reason.content),
                            "source": written::source(&reason.source),
                        })
                    }),
                )
                .object(),
        }
    }
}
