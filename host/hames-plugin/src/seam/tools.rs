//! How do the seams around a tool call cross: before, around, behind?

use std::pin::pin;
use std::time::Duration;

use async_trait::async_trait;
use hames_types::decision::{Denial, PostAccept, PostBlock, PostToolDecision, PreToolDecision, Question};
use hames_types::fault::Fault;
use hames_types::json::{Extra, Json};
use hames_types::port::listener::Next;
use hames_types::port::seam::{Execute, ExecuteAsk, PostExecute, PostExecuteAsk, PreExecute, PreExecuteAsk};
use hames_types::signal::{SignalReason, Trigger};
use hames_types::tool::ToolOutcome;

use super::asks::value;
use super::{Around, Viewer, crosses, merge};
use crate::bindings::exports::hames::plugin as ask;
use crate::bindings::hames::plugin::decisions as wit;
use crate::bindings::hames::plugin::invocation as wit_invocation;
use crate::convert::call::{admit_outcome, call, outcome};
use crate::convert::content::{admit_blocks, admit_contexts, blocks, contexts};
use crate::convert::{Admit, Refused, Shown};

impl Around for PreExecute {
    crosses!(on_pre_execute, pre_execute, PreExecute, PreExecuteAsk => wit::PreToolDecision);

    fn ask(ask: &PreExecuteAsk, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAsk> {
        Ok(ask::on_pre_execute::PreExecuteAsk {
            call: call(&ask.call)?,
            extra: None,
        })
    }

    fn show(answer: &PreToolDecision, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAnswer> {
        Ok(match answer {
            PreToolDecision::Allow(_) => wit::PreToolDecision::Allow,
            PreToolDecision::Deny(denial) => wit::PreToolDecision::Deny(denial.reason.to_string()),
            PreToolDecision::Ask(question) => {
                wit::PreToolDecision::Ask(question.reason.as_ref().map(ToString::to_string))
            }
        })
    }

    fn admit<'a>(
        mut admit: Admit<'a>,
        _ask: &'a PreExecuteAsk,
        _rest: Option<&'a PreToolDecision>,
        answer: Self::WitAnswer,
    ) -> Result<PreToolDecision, Refused> {
        Ok(match answer {
            wit::PreToolDecision::Allow => PreToolDecision::ALLOW,
            wit::PreToolDecision::Deny(reason) => {
                admit.charge(reason.len())?;
                PreToolDecision::Deny(Denial {
                    reason: reason.into(),
                    extra: Extra::NONE,
                })
            }
            wit::PreToolDecision::Ask(reason) => {
                admit.charge(reason.as_ref().map_or(0, String::len))?;
                PreToolDecision::Ask(Question {
                    reason: reason.map(Into::into),
                    extra: Extra::NONE,
                })
            }
        })
    }

    fn is_strictest(answer: &PreToolDecision) -> bool {
        matches!(answer, PreToolDecision::Deny(_))
    }

    fn stricter(own: PreToolDecision, rest: PreToolDecision) -> PreToolDecision {
        merge::pre_execute(own, rest)
    }

    fn record(answer: &PreToolDecision) -> Json {
        value(answer)
    }
}

#[async_trait]
impl Around for Execute {
    crosses!(on_execute, execute, Execute, ExecuteAsk => wit_invocation::ToolOutcome);

    fn ask(ask: &ExecuteAsk, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAsk> {
        Ok(ask::on_execute::ExecuteAsk {
            call: call(&ask.call)?,
            timeout_ms: ask.timeout_ms,
            extra: None,
        })
    }

    fn show(answer: &ToolOutcome, viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAnswer> {
        outcome(answer, viewer.reader, viewer.owns_tool)
    }

    fn admit<'a>(
        admit: Admit<'a>,
        _ask: &'a ExecuteAsk,
        rest: Option<&'a ToolOutcome>,
        answer: Self::WitAnswer,
    ) -> Result<ToolOutcome, Refused> {
        let mut admit = admit.recognising(shown(rest));
        admit_outcome(&mut admit, answer, rest)
    }

    fn record(answer: &ToolOutcome) -> Json {
        super::asks::outcome(answer)
    }

    async fn run(
        next: Next<'_, Self>,
        ask: &ExecuteAsk,
        deadline: Option<Duration>,
    ) -> Result<ToolOutcome, Fault> {
        let Some(deadline) = deadline else {
            return next.run().await;
        };
        let trigger = Trigger::new();
        // The caller's own signal goes with it: whoever runs the body fuses the two (R-TOOL-2).
        let mut rest = pin!(next.run_with(ask.signal.fused(&trigger.signal())));
        tokio::select! {
            biased;
            answer = &mut rest => return answer,
            () = tokio::time::sleep(deadline) => {}
        }
        trigger.raise(SignalReason::Deadline);
        // What was started is awaited (R-TOOL-3).
        rest.await
    }
}

fn shown(outcome: Option<&ToolOutcome>) -> Shown<'_> {
    Shown {
        contexts: outcome.into_iter().flat_map(|it| &it.contexts).collect(),
        contents: outcome.into_iter().map(|it| &it.content).collect(),
    }
}

impl Around for PostExecute {
    crosses!(on_post_execute, post_execute, PostExecute, PostExecuteAsk => wit::PostToolDecision);

    fn ask(ask: &PostExecuteAsk, viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAsk> {
        Ok(ask::on_post_execute::PostExecuteAsk {
            call: call(&ask.call)?,
            outcome: outcome(&ask.outcome, viewer.reader, viewer.owns_tool)?,
            extra: None,
        })
    }

    fn show(answer: &PostToolDecision, viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAnswer> {
        Ok(match answer {
            PostToolDecision::Accept(accept) => wit::PostToolDecision::Accept(wit::PostAccept {
                content: accept.content.as_deref().map(blocks).transpose()?,
                additional_contexts: accept
                    .additional_contexts
                    .as_deref()
                    .map(|found| contexts(found, viewer.reader))
                    .transpose()?,
            }),
            PostToolDecision::Block(block) => wit::PostToolDecision::Block(wit::PostBlock {
                feedback: blocks(&block.feedback)?,
                additional_contexts: block
                    .additional_contexts
                    .as_deref()
                    .map(|found| contexts(found, viewer.reader))
                    .transpose()?,
            }),
        })
    }

    fn admit<'a>(
        admit: Admit<'a>,
        ask: &'a PostExecuteAsk,
        rest: Option<&'a PostToolDecision>,
        answer: Self::WitAnswer,
    ) -> Result<PostToolDecision, Refused> {
        let mut known = shown(Some(&ask.outcome));
        match rest {
            Some(PostToolDecision::Accept(accept)) => {
                known.contexts.extend(accept.additional_contexts.iter().flatten());
                known.contents.extend(&accept.content);
            }
            Some(PostToolDecision::Block(block)) => {
                known.contexts.extend(block.additional_contexts.iter().flatten());
                known.contents.push(&block.feedback);
            }
            None => {}
        }
        let mut admit = admit.recognising(known);
        let (content, contexts, is_block) = match answer {
            wit::PostToolDecision::Accept(accept) => (accept.content, accept.additional_contexts, false),
            wit::PostToolDecision::Block(block) => (Some(block.feedback), block.additional_contexts, true),
        };
        let content = content
            .map(|content| admit_blocks(&mut admit, content))
            .transpose()
            .map_err(|refused| refused.inside(if is_block { "feedback" } else { "content" }))?;
        let additional_contexts = contexts
            .map(|found| admit_contexts(&mut admit, found))
            .transpose()
            .map_err(|refused| refused.inside("additional-contexts"))?;
        Ok(if is_block {
            PostToolDecision::Block(PostBlock {
                feedback: content.unwrap_or_default(),
                additional_contexts,
                extra: Extra::NONE,
            })
        } else {
            PostToolDecision::Accept(PostAccept {
                content,
                additional_contexts,
                extra: Extra::NONE,
            })
        })
    }

    fn is_strictest(answer: &PostToolDecision) -> bool {
        matches!(answer, PostToolDecision::Block(_))
    }

    fn stricter(own: PostToolDecision, rest: PostToolDecision) -> PostToolDecision {
        merge::post_execute(own, rest)
    }

    fn record(answer: &PostToolDecision) -> Json {
        value(answer)
    }
}
