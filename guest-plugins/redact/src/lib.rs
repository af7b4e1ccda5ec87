//! A listener that changes an answer: secrets in a result are replaced before anything keeps it.
//!
//! A result passes `on-post-execute` before it is logged, so what is replaced there is in no log, no request and no
//! screen. Changing what is accepted takes full authority at that point; without it the operator is told at load.
//!
//! The patterns are regular expressions of the operator's configuration, over a few that are always meant. Each block
//! is looked at by itself: a secret cut in two by a block's end isn't found. What a tool keeps for itself (its `meta`) isn't
//! looked at either: it is the tool's alone.

use hames_sdk::config;
use hames_sdk::content::ContentBlock;
use hames_sdk::prelude::*;
use hames_sdk::serde::Deserialize;
use hames_sdk::serde_json;
use regex_lite::{NoExpand, Regex};

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
    fn compiled(&self) -> Result<Vec<Regex>, Error> {
        let own = self.patterns.iter().map(String::as_str);
        let all = ALWAYS.iter().copied().chain(own);
        all.map(|pattern| {
            Regex::new(pattern).map_err(|error| Error::new(format!("the pattern `{pattern}`: {error}")))
        })
        .collect()
    }
}

struct Redact;

#[plugin(manifest = "../manifest.json")]
impl Plugin for Redact {
    /// A pattern that is none keeps the plugin from loading, instead of failing the first call.
    fn start(config: Value) -> Result<(), Error> {
        let settings: Settings = serde_json::from_value(config)?;
        settings.compiled().map(drop)
    }

    fn on_post_execute(ask: PostExecuteAsk, next: Next<PostExecute>) -> Decision<PostExecute> {
        let settings: Settings = config::read()?;
        let patterns = settings.compiled()?;
        let mut decision = next.run()?;
        match &mut decision {
            PostToolDecision::Accept(accept) => {
                // Whoever is inside may have replaced the content; if not, it is what the tool said.
                let is_replaced = accept.content.is_some();
                let mut content = accept.content.take().unwrap_or(ask.outcome.content);
                let found = redact(&mut content, &patterns, &settings.replacement);
                accept.content = (found || is_replaced).then_some(content);
            }
            PostToolDecision::Block(block) => {
                redact(&mut block.feedback, &patterns, &settings.replacement);
            }
        }
        Ok(decision)
    }
}

/// Replaces what the patterns find in text; whether there was any.
fn redact(content: &mut [ContentBlock], patterns: &[Regex], replacement: &str) -> bool {
    let mut found = false;
    for block in content {
        let ContentBlock::Text(block) = block else {
            continue;
        };
        for pattern in patterns {
            if pattern.is_match(&block.text) {
                block.text = pattern
                    .replace_all(&block.text, NoExpand(replacement))
                    .into_owned();
                found = true;
            }
        }
    }
    found
}
