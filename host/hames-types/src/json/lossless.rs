//! Would a JSON value read the same everywhere? (R-JSON-1)

use super::{Json, shortened};

/// Deepest nesting of arrays and objects accepted anywhere.
///
/// Bounds the recursion of every walk over a value, so hostile nesting is an error and never a stack overflow.
/// It is the depth at which `serde_json` stops parsing, so nothing parsed is refused for depth later.
pub const MAX_JSON_DEPTH: usize = 127;

/// Why a value isn't lossless JSON (R-JSON-1).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not lossless JSON at `{}`: {reason}", shortened(.path))]
pub struct NotLossless {
    /// Where, as a path from the root (`data.list[2].n`).
    pub path: String,
    /// What is wrong there.
    pub reason: LossReason,
}

impl NotLossless {
    pub(crate) fn in_field(mut self, field: &str) -> Self {
        let joint = if self.path.is_empty() || self.path.starts_with(['[', '.']) {
            ""
        } else {
            "."
        };
        self.path = format!("{field}{joint}{}", self.path);
        self
    }
}

/// The ways in which a value can fail to be lossless.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LossReason {
    /// Negative zero: it doesn't survive the usual implementations.
    #[error("negative zero (`{}`)", shortened(.0))]
    NegativeZero(String),
    /// A number outside what a 64-bit float can hold.
    #[error("a number that is not finite (`{}`)", shortened(.0))]
    NotFinite(String),
    /// Nested deeper than [`MAX_JSON_DEPTH`].
    #[error("nested deeper than {MAX_JSON_DEPTH}")]
    TooDeep,
}

/// Checks that a value is lossless JSON (R-JSON-1). `root` names the value in the error's path.
///
/// # Errors
/// [`NotLossless`] with the path of the first offending place.
pub fn check_lossless(value: &Json, root: &str) -> Result<(), NotLossless> {
    check_at(value, root, 0)
}

/// As [`check_lossless`], for a value that will stand inside `depth` arrays and objects.
pub(crate) fn check_at(value: &Json, root: &str, depth: usize) -> Result<(), NotLossless> {
    walk(value, depth).map_err(|(mut steps, reason)| {
        steps.reverse();
        NotLossless {
            path: format!("{root}{}", steps.concat()),
            reason,
        }
    })
}

fn walk(value: &Json, depth: usize) -> Result<(), (Vec<String>, LossReason)> {
    if depth > MAX_JSON_DEPTH {
        return Err((Vec::new(), LossReason::TooDeep));
    }
    match value {
        Json::Null | Json::Bool(_) | Json::String(_) => Ok(()),
        Json::Number(number) => check_number(number).map_err(|reason| (Vec::new(), reason)),
        Json::Array(items) => items.iter().enumerate().try_for_each(|(at, item)| {
            walk(item, depth + 1).map_err(|(mut steps, reason)| {
                steps.push(format!("[{at}]"));
                (steps, reason)
            })
        }),
        Json::Object(fields) => fields.iter().try_for_each(|(key, item)| {
            walk(item, depth + 1).map_err(|(mut steps, reason)| {
                steps.push(format!(".{key}"));
                (steps, reason)
            })
        }),
    }
}

/// Whether something may stand inside `depth` arrays and objects at all.
pub(crate) fn check_depth(depth: usize) -> Result<(), NotLossless> {
    if depth > MAX_JSON_DEPTH {
        return Err(NotLossless {
            path: String::new(),
            reason: LossReason::TooDeep,
        });
    }
    Ok(())
}

pub(super) fn check_number(number: &serde_json::Number) -> Result<(), LossReason> {
    let text = number.as_str();
    // Plain integers, the common case, need no parsing.
    if text.len() <= 15 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(());
    }
    match text.parse::<f64>() {
        Ok(value) if !value.is_finite() => Err(LossReason::NotFinite(text.to_owned())),
        Ok(value) if value == 0.0 && text.starts_with('-') => Err(LossReason::NegativeZero(text.to_owned())),
        Ok(_) => Ok(()),
        Err(_) => Err(LossReason::NotFinite(text.to_owned())),
    }
}
