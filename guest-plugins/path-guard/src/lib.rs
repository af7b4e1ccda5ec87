//! A decision listener: denies every call that names a path of a forbidden pattern.
//!
//! It judges what a call says, before the call runs. What a tool reaches beyond what its arguments name (a search
//! through a folder, a link) is for the tool's own grant to bound.

mod path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use hames_sdk::config;
use hames_sdk::prelude::*;
use hames_sdk::serde::Deserialize;
use hames_sdk::serde_json;

/// The arguments that are paths in most tools.
const USUAL: &[&str] = &[
    "path",
    "paths",
    "file",
    "files",
    "file_path",
    "filename",
    "dir",
    "directory",
    "folder",
    "cwd",
    "root",
    "from",
    "to",
    "source",
    "destination",
    "target",
];

/// How deep arguments are looked through; the host accepts none that are deeper.
const DEEPEST: usize = 128;

#[derive(Deserialize)]
#[serde(crate = "hames_sdk::serde")]
struct Config {
    #[serde(default)]
    deny: Vec<String>,
    reason: Option<String>,
    arguments: Option<Vec<String>>,
    tools: Option<Vec<String>>,
}

struct PathGuard;

#[plugin(manifest = "../manifest.json")]
impl Plugin for PathGuard {
    /// A pattern that is none is an error now, not at the first call.
    fn start(_config: Value) -> Result<(), Error> {
        patterns(&config::read()?).map(drop)
    }

    fn on_pre_execute(ask: PreExecuteAsk, next: Next<PreExecute>) -> Decision<PreExecute> {
        let config: Config = config::read()?;
        if config
            .tools
            .as_ref()
            .is_some_and(|tools| !tools.contains(&ask.call.name))
        {
            return next.run();
        }
        let patterns = patterns(&config)?;
        // A text that isn't JSON names no argument.
        let arguments = serde_json::from_str(&ask.call.arguments).unwrap_or(Value::Null);
        match forbidden(&config, &patterns, None, &arguments, 0) {
            Some((path, at)) => Ok(PreToolDecision::Deny(refusal(&config, &path, at))),
            None => next.run(),
        }
    }
}

fn refusal(config: &Config, path: &str, at: usize) -> String {
    let pattern = config.deny.get(at).map(String::as_str).unwrap_or_default();
    let reason = config
        .reason
        .as_deref()
        .unwrap_or("work without it, or ask the user for what is in it");
    format!("`{path}` matches `{pattern}`, which is out of bounds; {reason}")
}

fn patterns(config: &Config) -> Result<GlobSet, Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in &config.deny {
        let everywhere = if pattern.contains('/') {
            pattern.clone()
        } else {
            format!("**/{pattern}")
        };
        let glob = GlobBuilder::new(everywhere.trim_start_matches("./").trim_start_matches('/'))
            .literal_separator(true)
            .build();
        set.add(glob.map_err(|error| {
            Error::new(format!(
                "`deny` has `{pattern}`, which is no pattern: {}",
                error.kind()
            ))
        })?);
    }
    Ok(set.build()?)
}

/// The first path in the arguments that a pattern matches, and the pattern's number.
fn forbidden(
    config: &Config,
    patterns: &GlobSet,
    name: Option<&str>,
    value: &Value,
    depth: usize,
) -> Option<(String, usize)> {
    if depth > DEEPEST {
        return None;
    }
    match value {
        Value::String(text) if name.is_some_and(|name| is_path(config, name)) => {
            let at = path::spellings(text)
                .iter()
                .find_map(|path| patterns.matches(path).first().copied())?;
            Some((text.clone(), at))
        }
        Value::Array(items) => items
            .iter()
            .find_map(|item| forbidden(config, patterns, name, item, depth + 1)),
        Value::Object(fields) => fields
            .iter()
            .find_map(|(name, value)| forbidden(config, patterns, Some(name), value, depth + 1)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn is_path(config: &Config, name: &str) -> bool {
    match &config.arguments {
        Some(names) => names.iter().any(|known| known == name),
        None => USUAL.contains(&name),
    }
}
