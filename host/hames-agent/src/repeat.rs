//! Tells a model that it makes the same call again and again (R-GUARD). It reminds and never vetoes.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use async_trait::async_trait;
use hames_log::Place;
use hames_types::content::Content;
use hames_types::decision::{HookContext, PostToolDecision, PromptDecision};
use hames_types::fault::Fault;
use hames_types::id::SessionId;
use hames_types::json::Json;
use hames_types::message::MessageSource;
use hames_types::port::listener::{Decide, Next, Observe};
use hames_types::port::notice::AgentDisposed;
use hames_types::port::seam::{PostExecute, PostExecuteAsk, PromptAsk, PromptSubmit};
use parking_lot::Mutex;
use smol_str::SmolStr;

use crate::listeners::Listeners;

/// Under which name the reminders stand in the log.
pub const REPEAT_GUARD: &str = "repeat-guard";

/// When and about which tools to remind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatConfig {
    /// At how many calls in a row; the first reminds gently, the others in detail.
    pub thresholds: Vec<u32>,
    /// How much of the arguments a detailed reminder shows, in characters.
    pub preview_chars: usize,
    /// Which tools count; `*` stands for any text.
    pub include: Vec<SmolStr>,
    /// Which don't, even if included. They are transparent: neither counted nor resetting the count.
    pub exclude: Vec<SmolStr>,
}

impl Default for RepeatConfig {
    fn default() -> Self {
        Self {
            thresholds: vec![3, 5, 8],
            preview_chars: 500,
            include: vec!["*".into()],
            exclude: Vec::new(),
        }
    }
}

/// Why a configuration can't hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RepeatConfigError {
    /// It would never remind.
    #[error("the repeat guard has no thresholds; give it at least one")]
    NoThreshold,
    /// One call isn't a repetition.
    #[error("the repeat guard has the threshold {0}; a threshold is at least 2")]
    TooLow(u32),
    /// One stands in it twice.
    #[error("the repeat guard has the threshold {0} twice; list it once")]
    Duplicate(u32),
    /// A reminder without a preview says nothing.
    #[error("the repeat guard's preview has no characters; give it at least 1")]
    NoPreview,
}

/// Counts equal calls in a row for each agent.
#[derive(Debug)]
pub struct RepeatGuard {
    config: RepeatConfig,
    chains: Mutex<HashMap<SessionId, Chain>>,
}

#[derive(Debug)]
struct Chain {
    key: String,
    count: u32,
}

impl RepeatGuard {
    /// A guard of that configuration; the order of its thresholds doesn't matter.
    ///
    /// # Errors
    /// [`RepeatConfigError`].
    pub fn new(mut config: RepeatConfig) -> Result<Self, RepeatConfigError> {
        config.thresholds.sort_unstable();
        match config.thresholds.first() {
            None => return Err(RepeatConfigError::NoThreshold),
            Some(first) if *first < 2 => return Err(RepeatConfigError::TooLow(*first)),
            Some(_) => {}
        }
        let mut pairs = config.thresholds.iter().zip(config.thresholds.iter().skip(1));
        if let Some((twice, _)) = pairs.find(|(a, b)| a == b) {
            return Err(RepeatConfigError::Duplicate(*twice));
        }
        if config.preview_chars == 0 {
            return Err(RepeatConfigError::NoPreview);
        }
        Ok(Self {
            config,
            chains: Mutex::default(),
        })
    }

    /// Listens to all agents: to results, to prompts (a new one begins a new count) and to the end of agents.
    pub fn install(self, listeners: &Listeners) -> Arc<Self> {
        let guard = Arc::new(self);
        listeners.add::<PostExecute>(None, Place::Last, Arc::clone(&guard) as _);
        listeners.add::<PromptSubmit>(None, Place::Last, Arc::clone(&guard) as _);
        listeners.add::<AgentDisposed>(None, Place::Last, Arc::clone(&guard) as _);
        guard
    }

    fn is_tracked(&self, tool: &str) -> bool {
        let any = |patterns: &[SmolStr]| patterns.iter().any(|pattern| matches(pattern, tool));
        any(&self.config.include) && !any(&self.config.exclude)
    }

    /// Counts a call; a reminder if it is due.
    fn count(&self, ask: &PostExecuteAsk) -> Option<HookContext> {
        let agent = ask.call.agent.as_ref()?;
        let tool = &ask.call.name;
        if !self.is_tracked(tool) {
            return None;
        }
        let mut arguments = String::new();
        put_canonical(&ask.call.arguments, &mut arguments);
        let count = {
            let key = format!("{tool}\n{arguments}");
            let mut chains = self.chains.lock();
            match chains.get_mut(agent) {
                Some(chain) if chain.key == key => {
                    chain.count = chain.count.saturating_add(1);
                    chain.count
                }
                Some(_) | None => {
                    chains.insert(agent.clone(), Chain { key, count: 1 });
                    1
                }
            }
        };
        let place = self.config.thresholds.iter().position(|at| *at == count)?;
        let text = match place {
            0 => format!(
                "The last {count} calls of `{tool}` had the same arguments. If the result doesn't help, try something else."
            ),
            _ => format!(
                "`{tool}` was called {count} times in a row with the same arguments: {}\n\
                 Its result won't change. Use what it said, try another way, or tell the user what is in the way.",
                self.preview(&arguments)
            ),
        };
        Some(HookContext::new(
            Content::text(text),
            MessageSource::plugin(REPEAT_GUARD),
        ))
    }

    fn preview(&self, arguments: &str) -> String {
        let limit = self.config.preview_chars;
        let shown: String = arguments.chars().take(limit).collect();
        match arguments.chars().count().saturating_sub(limit) {
            0 => shown,
            rest => format!("{shown}… ({rest} more characters)"),
        }
    }
}

#[async_trait]
impl Decide<PostExecute> for RepeatGuard {
    async fn decide(
        &self,
        ask: &PostExecuteAsk,
        next: Next<'_, PostExecute>,
    ) -> Result<PostToolDecision, Fault> {
        let reminder = self.count(ask);
        let mut decision = next.run().await?;
        if let Some(reminder) = reminder {
            let contexts = match &mut decision {
                PostToolDecision::Accept(accept) => &mut accept.additional_contexts,
                PostToolDecision::Block(block) => &mut block.additional_contexts,
            };
            contexts.get_or_insert_default().insert(0, reminder);
        }
        Ok(decision)
    }
}

#[async_trait]
impl Decide<PromptSubmit> for RepeatGuard {
    async fn decide(&self, ask: &PromptAsk, next: Next<'_, PromptSubmit>) -> Result<PromptDecision, Fault> {
        self.chains.lock().remove(&ask.agent);
        next.run().await
    }
}

impl Observe<AgentDisposed> for RepeatGuard {
    fn observe(&self, notice: &AgentDisposed) -> Result<(), Fault> {
        self.chains.lock().remove(&notice.agent);
        Ok(())
    }
}

/// Whether a name fits a pattern in which `*` stands for any text and everything else for itself.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, mut pattern)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut rest) = name.strip_prefix(head) else {
        return false;
    };
    while let Some((piece, behind)) = pattern.split_once('*') {
        let Some(at) = rest.find(piece) else {
            return false;
        };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
        pattern = behind;
    }
    rest.ends_with(pattern)
}

/// The same text for the same value: keys sorted at every depth, numbers by value.
fn put_canonical(value: &Json, out: &mut String) {
    match value {
        Json::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, value)) in fields.into_iter().enumerate() {
                put_comma(at, out);
                put_text(&Json::from(key.as_str()), out);
                out.push(':');
                put_canonical(value, out);
            }
            out.push('}');
        }
        Json::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                put_comma(at, out);
                put_canonical(item, out);
            }
            out.push(']');
        }
        Json::Number(number) if !number.is_i64() && !number.is_u64() => match number.as_f64() {
            Some(float) if float.is_finite() => put_text(&float, out),
            _ => put_text(number, out),
        },
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => put_text(value, out),
    }
}

fn put_comma(at: usize, out: &mut String) {
    if at > 0 {
        out.push(',');
    }
}

fn put_text(value: &impl std::fmt::Display, out: &mut String) {
    // Writing to a string doesn't fail.
    write!(out, "{value}").unwrap_or(());
}
