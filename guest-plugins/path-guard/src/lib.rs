//! A decision listener: denies every call that names a path of a forbidden pattern.
//!
//! It judges what a call says, before the call runs. What a tool reaches beyond what its arguments name (a search
//! through a folder, a link) is for the tool's own grant to bound.

mod path;

use hames_sdk::config;
use hames_sdk::prelude::*;
use hames_sdk::serde::Deserialize;
use hames_sdk::serde_json;
use path_patterns::{Malformed, Patterns};

/// The arguments that are paths in most tools, besides those whose names end in `ENDINGS`; without `_`, `-` and capitals.
const USUAL: &[&str] = &[
    "cwd",
    "dest",
    "destination",
    "from",
    "root",
    "source",
    "src",
    "target",
    "to",
    "uri",
];

/// What the name of an argument that is a path ends in: `file_path`, `oldPath`, `output-dir`.
const ENDINGS: &[&str] = &[
    "dir",
    "directories",
    "directory",
    "dirs",
    "file",
    "filename",
    "filenames",
    "files",
    "folder",
    "folders",
    "path",
    "pathname",
    "paths",
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
        let config: Config = config::read()?;
        Patterns::new(&config.deny).map(drop).map_err(malformed)
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
        // A text that isn't JSON names no argument.
        let arguments = serde_json::from_str(&ask.call.arguments).unwrap_or(Value::Null);
        let mut named = Vec::new();
        collect(&config, None, &arguments, 0, &mut named);
        match forbidden(&config.deny, &named).map_err(malformed)? {
            Some((path, pattern)) => Ok(PreToolDecision::Deny(refusal(&config, path, pattern))),
            None => next.run(),
        }
    }
}

fn refusal(config: &Config, path: &str, pattern: &str) -> String {
    let reason = config
        .reason
        .as_deref()
        .unwrap_or("work without it, or ask the user for what is in it");
    format!("`{path}` matches `{pattern}`, which is out of bounds; {reason}")
}

fn malformed(wrong: Malformed) -> Error {
    Error::new(format!(
        "`deny` has `{}`, which is no pattern: {}",
        wrong.pattern,
        wrong.problem.kind()
    ))
}

/// The first of these texts that a pattern covers, and the pattern.
///
/// Patterns cost more to make ready than to match, and no instance outlives its call: a call that names no path pays
/// for none, and only an absolute path for those that match anywhere.
fn forbidden<'a>(deny: &'a [String], named: &[&'a str]) -> Result<Option<(&'a str, &'a str)>, Malformed> {
    let (mut relative, mut anywhere) = (None, None);
    for text in named {
        for spelling in path::spellings(text) {
            let patterns = match (spelling.is_relative, &relative, &anywhere) {
                (true, Some(ready), _) | (false, _, Some(ready)) => ready,
                (true, None, _) => relative.insert(Patterns::new(deny)?),
                (false, _, None) => anywhere.insert(Patterns::anywhere(deny)?),
            };
            if let Some(at) = patterns.covering(&spelling.parts) {
                return Ok(Some((text, deny.get(at).map_or("", String::as_str))));
            }
        }
    }
    Ok(None)
}

/// Collects the texts in the arguments that are paths.
fn collect<'a>(
    config: &Config,
    name: Option<&str>,
    value: &'a Value,
    depth: usize,
    named: &mut Vec<&'a str>,
) {
    if depth > DEEPEST {
        return;
    }
    let is_path = name.is_some_and(|name| is_path(config, name));
    match value {
        Value::String(text) if is_path => named.push(text),
        Value::Array(items) => {
            for item in items {
                collect(config, name, item, depth + 1, named);
            }
        }
        Value::Object(fields) => {
            for (field, value) in fields {
                // Files by their names: `"files": { "a.txt": … }`.
                if is_path {
                    named.push(field);
                }
                collect(config, Some(field), value, depth + 1, named);
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_path(config: &Config, name: &str) -> bool {
    if let Some(names) = &config.arguments {
        return names.iter().any(|known| known == name);
    }
    let letters = name.chars().filter(|letter| !matches!(letter, '_' | '-'));
    let plain: String = letters.flat_map(char::to_lowercase).collect();
    USUAL.contains(&plain.as_str()) || ENDINGS.iter().any(|ending| plain.ends_with(ending))
}
