//! How do the seams around a prompt cross: submit, prefix, assembly?

use hames_types::decision::{PromptAllow, PromptBlock, PromptDecision};
use hames_types::json::{Extra, Json};
use hames_types::message::History;
use hames_types::port::seam::{
    AssembleAsk, PrefixAsk, PromptAsk, PromptAssemble, PromptSubmit, SessionPrefix,
};
use hames_types::prompt::{PromptAssembly, PromptSection, PromptVariable};

use super::asks::value;
use super::{Around, Viewer, crosses, merge};
use crate::bindings::exports::hames::plugin as ask;
use crate::bindings::hames::plugin::content as wit_content;
use crate::bindings::hames::plugin::decisions as wit;
use crate::convert::content::{
    admit_blocks, admit_contexts, admit_message, blocks, contexts, message, source,
};
use crate::convert::events::{admit_tool_schema, tool_schema};
use crate::convert::{Admit, Refused, Shown};

impl Around for PromptSubmit {
    crosses!(on_prompt_submit, prompt_submit, PromptSubmit, PromptAsk => wit::PromptDecision);

    fn ask(ask: &PromptAsk, viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAsk> {
        Ok(ask::on_prompt_submit::PromptAsk {
            agent: ask.agent.to_string(),
            content: blocks(&ask.content)?,
            source: source(&ask.source)?,
            contexts: contexts(&ask.contexts, viewer.reader)?,
            extra: None,
        })
    }

    fn show(answer: &PromptDecision, viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAnswer> {
        Ok(match answer {
            PromptDecision::Allow(allow) => wit::PromptDecision::Allow(wit::PromptAllow {
                content: allow.content.as_deref().map(blocks).transpose()?,
                additional_contexts: allow
                    .additional_contexts
                    .as_deref()
                    .map(|found| contexts(found, viewer.reader))
                    .transpose()?,
            }),
            PromptDecision::Block(block) => wit::PromptDecision::Block(block.reason.to_string()),
        })
    }

    fn admit<'a>(
        admit: Admit<'a>,
        ask: &'a PromptAsk,
        rest: Option<&'a PromptDecision>,
        answer: Self::WitAnswer,
    ) -> Result<PromptDecision, Refused> {
        let mut shown = Shown {
            contexts: ask.contexts.iter().collect(),
            contents: vec![&ask.content],
        };
        if let Some(PromptDecision::Allow(allow)) = rest {
            shown.contexts.extend(allow.additional_contexts.iter().flatten());
            shown.contents.extend(&allow.content);
        }
        let mut admit = admit.recognising(shown);
        Ok(match answer {
            wit::PromptDecision::Allow(allow) => PromptDecision::Allow(PromptAllow {
                content: allow
                    .content
                    .map(|content| admit_blocks(&mut admit, content))
                    .transpose()
                    .map_err(|refused| refused.inside("content"))?,
                additional_contexts: allow
                    .additional_contexts
                    .map(|found| admit_contexts(&mut admit, found))
                    .transpose()
                    .map_err(|refused| refused.inside("additional-contexts"))?,
                extra: Extra::NONE,
            }),
            wit::PromptDecision::Block(reason) => {
                admit.charge(reason.len())?;
                PromptDecision::Block(PromptBlock {
                    reason: reason.into(),
                    extra: Extra::NONE,
                })
            }
        })
    }

    fn is_strictest(answer: &PromptDecision) -> bool {
        matches!(answer, PromptDecision::Block(_))
    }

    fn stricter(own: PromptDecision, rest: PromptDecision) -> PromptDecision {
        merge::prompt(own, rest)
    }

    fn record(answer: &PromptDecision) -> Json {
        value(answer)
    }
}

impl Around for SessionPrefix {
    crosses!(on_session_prefix, session_prefix, SessionPrefix, PrefixAsk => Vec<wit_content::Message>);

    fn ask(ask: &PrefixAsk, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAsk> {
        Ok(ask::on_session_prefix::PrefixAsk {
            agent: ask.agent.to_string(),
            extra: None,
        })
    }

    fn show(answer: &History, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAnswer> {
        answer.iter().map(|found| message(found)).collect()
    }

    fn admit<'a>(
        admit: Admit<'a>,
        _ask: &'a PrefixAsk,
        rest: Option<&'a History>,
        answer: Self::WitAnswer,
    ) -> Result<History, Refused> {
        let messages = rest.into_iter().flat_map(History::iter);
        let contents = messages.map(|found| &found.content).collect();
        let mut admit = admit.recognising(Shown {
            contexts: Vec::new(),
            contents,
        });
        let known: Vec<_> = rest.into_iter().flat_map(History::iter).collect();
        answer
            .into_iter()
            .enumerate()
            .map(|(at, found)| {
                // Handed back as it was shown, it keeps what wasn't shown of it.
                let same = known
                    .iter()
                    .find(|known| message(known).is_ok_and(|shown| shown == found));
                if let Some(same) = same {
                    return Ok(std::sync::Arc::clone(same));
                }
                admit_message(&mut admit, found)
                    .map(std::sync::Arc::new)
                    .map_err(|refused| refused.inside(&format!("[{at}]")))
            })
            .collect()
    }

    fn record(answer: &History) -> Json {
        value(answer)
    }
}

impl Around for PromptAssemble {
    crosses!(on_prompt_assemble, prompt_assemble, PromptAssemble, AssembleAsk => wit::PromptAssembly);

    fn ask(ask: &AssembleAsk, viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAsk> {
        Ok(ask::on_prompt_assemble::AssembleAsk {
            agent: ask.agent.as_ref().map(ToString::to_string),
            assembly: Self::show(&ask.assembly, viewer)?,
            extra: None,
        })
    }

    fn show(answer: &PromptAssembly, _viewer: Viewer<'_>) -> wasmtime::Result<Self::WitAnswer> {
        Ok(wit::PromptAssembly {
            sections: answer
                .sections
                .iter()
                .map(|section| wit::PromptSection {
                    name: section.name.to_string(),
                    text: section.text.to_string(),
                })
                .collect(),
            variables: answer
                .variables
                .iter()
                .map(|variable| wit::PromptVariable {
                    name: variable.name.to_string(),
                    value: variable.value.as_ref().map(ToString::to_string),
                })
                .collect(),
            tools: answer
                .tools
                .iter()
                .map(tool_schema)
                .collect::<wasmtime::Result<_>>()?,
        })
    }

    fn admit<'a>(
        mut admit: Admit<'a>,
        _ask: &'a AssembleAsk,
        _rest: Option<&'a PromptAssembly>,
        answer: Self::WitAnswer,
    ) -> Result<PromptAssembly, Refused> {
        let mut assembly = PromptAssembly {
            sections: Vec::with_capacity(answer.sections.len()),
            variables: Vec::with_capacity(answer.variables.len()),
            tools: Vec::with_capacity(answer.tools.len()),
            extra: Extra::NONE,
        };
        for section in answer.sections {
            admit.charge(section.name.len() + section.text.len() + 32)?;
            assembly.sections.push(PromptSection {
                name: section.name.into(),
                text: section.text.into(),
                extra: Extra::NONE,
            });
        }
        for variable in answer.variables {
            admit.charge(variable.name.len() + variable.value.as_ref().map_or(0, String::len) + 32)?;
            assembly.variables.push(PromptVariable {
                name: variable.name.into(),
                value: variable.value.map(Into::into),
                extra: Extra::NONE,
            });
        }
        for (at, tool) in answer.tools.into_iter().enumerate() {
            let tool = admit_tool_schema(&mut admit, tool)
                .map_err(|refused| refused.inside(&format!("tools[{at}]")))?;
            assembly.tools.push(tool);
        }
        Ok(assembly)
    }

    fn record(answer: &PromptAssembly) -> Json {
        value(answer)
    }
}
