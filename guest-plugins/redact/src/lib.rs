//! A listener that changes an answer: secrets in a result are replaced before anything keeps it.
//!
//! A result passes `on-post-execute` before it is logged, so what is replaced there is in no log, no request and no
//! screen. Changing what is accepted takes full authority at that point; without it the operator is told at load.
//!
//! The patterns are regular expressions of the operator's configuration, over a few that are always meant. They are
//! looked for in everything of an answer that a model or a person may see: `content` says where that is. What a tool
//! keeps for itself (its `meta`) isn't looked at: it is the tool's alone. Nor are contexts that a tool adds to its
//! answer: a decision can't change them.

mod content;

use hames_sdk::config;
use hames_sdk::prelude::*;
use hames_sdk::serde::Deserialize;
use hames_sdk::serde_json;
use regex_lite::Regex;

use content::Secrets;

/// Keys of well-known shape.
const ALWAYS: &[&str] = &[
    r"\bsk-[A-Za-z0-9_-]{16,}",
    r"\bgh[pousr]_[A-Za-z0-9]{36,}",
    r"\bAKIA[0-9A-Z]{16}\b",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----",
];

#[derive(Deserialize)]
#[serde(crate = "hames_sdk::serde", default)]
struct Settings {
    /// What else is a secret.
    patterns: Vec<String>,
    /// What stands in its place.
    replacement: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            patterns: Vec::new(),
            replacement: "[redacted]".to_owned(),
        }
    }
}

impl Settings {
    fn secrets(self) -> Result<Secrets, Error> {
        let own = self.patterns.iter().map(String::as_str);
        let all = ALWAYS.iter().copied().chain(own);
        let patterns: Result<Vec<Regex>, Error> = all
            .map(|pattern| {
                Regex::new(pattern).map_err(|error| Error::new(format!("the pattern `{pattern}`: {error}")))
            })
            .collect();
        Ok(Secrets {
            patterns: patterns?,
            replacement: self.replacement,
        })
    }
}

struct Redact;

#[plugin(manifest = "../manifest.json")]
impl Plugin for Redact {
    /// A pattern that is none keeps the plugin from loading, instead of failing the first call.
    fn start(config: Value) -> Result<(), Error> {
        let settings: Settings = serde_json::from_value(config)?;
        settings.secrets().map(drop)
    }

    fn on_post_execute(ask: PostExecuteAsk, next: Next<PostExecute>) -> Decision<PostExecute> {
        let settings: Settings = config::read()?;
        let secrets = settings.secrets()?;
        let mut decision = next.run()?;
        match &mut decision {
            PostToolDecision::Accept(accept) => {
                // Whoever is inside may have replaced the content; if not, it is what the tool said.
                let is_replaced = accept.content.is_some();
                let mut content = accept.content.take().unwrap_or(ask.outcome.content);
                let found = secrets.redact(&mut content);
                accept.content = (found || is_replaced).then_some(content);
                for context in accept.additional_contexts.iter_mut().flatten() {
                    secrets.redact(&mut context.content);
                }
            }
            PostToolDecision::Block(block) => {
                secrets.redact(&mut block.feedback);
                for context in block.additional_contexts.iter_mut().flatten() {
                    secrets.redact(&mut context.content);
                }
            }
        }
        Ok(decision)
    }
}
