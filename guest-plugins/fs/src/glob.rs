//! The tool `glob`: files by name.

use globset::{GlobBuilder, GlobMatcher};
use hames_sdk::prelude::*;
use hames_sdk::tool::{ExecutionClass, GenericView, ToolView};

use crate::fault::coded;
use crate::place;
use crate::walk;

/// Most paths of one answer.
const MAX_PATHS: usize = 500;

/// Finds files by name. `*` and `?` stay within one name, `**` goes through folders, `{a,b}` is either. A pattern
/// without `/` is looked for at every depth. Files that version control ignores are left out.
#[arguments]
pub struct Glob {
    /// The pattern, such as `*.rs` or `src/**/test_*.py`, relative to `path`.
    pattern: String,
    /// The folder to look in, relative to the root; the root itself if absent.
    #[serde(default)]
    path: Option<String>,
    /// Whether to look at ignored files, too.
    #[serde(default)]
    ignored: bool,
}

impl Tool for Glob {
    const EXECUTION: ExecutionClass = ExecutionClass::Parallel;

    fn run(self, call: &Call) -> Answer {
        let place = place::find(self.path.as_deref().unwrap_or("."))?;
        place.metadata()?;
        let wanted = matcher(&self.pattern)?;
        let (mut paths, mut has_more) = (Vec::new(), false);
        let ended = walk::files(call, &place, self.ignored, |entry, shown| {
            let below = entry.path().strip_prefix(&place.path).unwrap_or(entry.path());
            if wanted.is_match(below) {
                if paths.len() == MAX_PATHS {
                    has_more = true;
                    return Ok(false);
                }
                paths.push(shown.to_owned());
            }
            Ok(true)
        })?;
        if paths.is_empty() {
            return Ok(format!("{}(no file matches)", ended.hint()).into());
        }
        let mut text = paths.join("\n");
        text.push('\n');
        if has_more {
            text.push_str("(the first 500; narrow `pattern` or `path` for the others)");
        }
        text.push_str(ended.hint());
        Ok(text.into())
    }

    fn view(&self) -> Option<ToolView> {
        Some(ToolView::Generic(GenericView {
            title: format!("glob {}", self.pattern),
            body: self.path.clone(),
        }))
    }
}

/// What matches a pattern.
///
/// # Errors
/// If it is none.
pub fn matcher(pattern: &str) -> Result<GlobMatcher, Error> {
    let everywhere = if pattern.contains('/') {
        pattern.to_owned()
    } else {
        format!("**/{pattern}")
    };
    let built = GlobBuilder::new(&everywhere).literal_separator(true).build();
    let glob = built.map_err(|error| {
        coded(
            "FILE_PATTERN",
            format!("`{pattern}` is no pattern: {}; correct it", error.kind()),
        )
    })?;
    Ok(glob.compile_matcher())
}
