//! Serves `agent`: the verbs of the calling agent, each with its own grant.

use std::sync::Arc;

use hames_types::decision::HookContext;
use hames_types::fault::Fault;
use hames_types::json::Extra;
use hames_types::message::MessageSource;
use hames_types::port::plugin::AgentVerbs;
use hames_types::turn::CancelCause;

use crate::bindings::hames::plugin::agent::{AgentError, ContentBlock, Context, Host, Json};
use crate::bindings::hames::plugin::content as wit;
use crate::convert::content::{admit_blocks, admit_context, admit_source};
use crate::convert::json::parse;
use crate::convert::{Admit, Refused};
use crate::error::Limit;
use crate::state::State;

impl Host for State {
    fn send(
        &mut self,
        content: Vec<ContentBlock>,
        source: Option<wit::MessageSource>,
        contexts: Vec<Context>,
    ) -> wasmtime::Result<Result<(), AgentError>> {
        Ok(self.verb("send", self.who.grant.agent.send).and_then(|agent| {
            let said = self.said(content, source, contexts)?;
            agent.send(said.0, said.1, said.2).map_err(|fault| refuse(&fault))
        }))
    }

    fn steer(
        &mut self,
        content: Vec<ContentBlock>,
        source: Option<wit::MessageSource>,
        contexts: Vec<Context>,
    ) -> wasmtime::Result<Result<(), AgentError>> {
        Ok(self.verb("steer", self.who.grant.agent.steer).and_then(|agent| {
            let said = self.said(content, source, contexts)?;
            agent
                .steer(said.0, said.1, said.2)
                .map_err(|fault| refuse(&fault))
        }))
    }

    fn inject(
        &mut self,
        content: Vec<ContentBlock>,
        source: Option<wit::MessageSource>,
        meta: Option<Json>,
    ) -> wasmtime::Result<Result<(), AgentError>> {
        Ok(self
            .verb("inject", self.who.grant.agent.inject)
            .and_then(|agent| {
                let mut admit = self.admit();
                let meta = meta.map(|meta| parse(&mut admit, &meta)).transpose()?;
                let (content, source, _) = self.said(content, source, Vec::new())?;
                let context = HookContext {
                    content,
                    source,
                    placement: None,
                    meta,
                    extra: Extra::NONE,
                };
                agent.inject(context).map_err(|fault| refuse(&fault))
            }))
    }

    fn cancel(&mut self) -> wasmtime::Result<Result<(), AgentError>> {
        Ok(self
            .verb("cancel", self.who.grant.agent.cancel)
            .map(|agent| agent.cancel(CancelCause::User)))
    }
}

impl State {
    /// The calling agent, if the verb is granted and the call's budget allows it.
    fn verb(&mut self, verb: &str, granted: bool) -> Result<Arc<dyn AgentVerbs>, AgentError> {
        if !granted {
            return Err(AgentError::Denied(format!(
                "`{verb}` is not granted to this plugin"
            )));
        }
        let agent = self.call.agent.clone().ok_or(AgentError::NoAgent)?;
        if !self.meter.verbs.take(1) {
            return Err(AgentError::Limit("verbs of one call".to_owned()));
        }
        Ok(agent)
    }

    fn admit(&self) -> Admit<'_> {
        Admit::new(&self.who, self.who.limits.output, Limit::Output)
    }

    fn said(
        &self,
        content: Vec<ContentBlock>,
        source: Option<wit::MessageSource>,
        contexts: Vec<Context>,
    ) -> Result<(hames_types::content::Content, MessageSource, Vec<HookContext>), AgentError> {
        let mut admit = self.admit();
        let content = admit_blocks(&mut admit, content).map_err(|refused| refused.inside("content"))?;
        let source = match source {
            Some(source) => admit_source(&mut admit, source).map_err(|refused| refused.inside("source"))?,
            None => MessageSource::plugin(self.who.id.as_str()),
        };
        let contexts = contexts
            .into_iter()
            .map(|context| admit_context(&mut admit, context).map_err(|refused| refused.inside("contexts")))
            .collect::<Result<_, _>>()?;
        Ok((content, source, contexts))
    }
}

impl From<Refused> for AgentError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Limit(_) => Self::Limit("bytes of what one verb says".to_owned()),
            Refused::At { .. } => Self::Refused(refused.to_string()),
        }
    }
}

fn refuse(fault: &Fault) -> AgentError {
    AgentError::Refused(fault.chain())
}
