//! In which order the model sees its tools (R-SYS-5).

use std::cmp::Ordering;
use std::collections::HashMap;

use hames_types::request::ToolSchema;
use smol_str::SmolStr;

use super::PromptError;

/// Stands in a tool order for every tool the order doesn't list.
pub const UNLISTED_TOOLS: &str = "<unlisted-tools>";

/// The order of tools: by name, or as an operator listed them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOrder(Option<Vec<SmolStr>>);

/// Why a list can't be a tool order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolOrderError {
    /// A name stands in it twice.
    #[error("the tool order lists `{0}` twice; list it once")]
    Duplicate(SmolStr),
    /// The marker is missing.
    #[error("the tool order lacks `{UNLISTED_TOOLS}`, which says where all other tools go; add it once")]
    NoMarker,
}

impl ToolOrder {
    /// As listed; [`UNLISTED_TOOLS`] stands exactly once and receives the rest by name.
    ///
    /// # Errors
    /// [`ToolOrderError`].
    pub fn listed(names: Vec<SmolStr>) -> Result<Self, ToolOrderError> {
        for (at, name) in names.iter().enumerate() {
            if names.iter().take(at).any(|earlier| earlier == name) {
                return Err(ToolOrderError::Duplicate(name.clone()));
            }
        }
        if !names.iter().any(|name| name == UNLISTED_TOOLS) {
            return Err(ToolOrderError::NoMarker);
        }
        Ok(Self(Some(names)))
    }

    /// Sorts `tools`. `known` names every tool the order may list, shown now or not.
    pub(super) fn sort(
        &self,
        mut tools: Vec<ToolSchema>,
        known: impl FnOnce() -> Vec<SmolStr>,
    ) -> Result<Vec<ToolSchema>, PromptError> {
        if tools.iter().any(|tool| tool.name == UNLISTED_TOOLS) {
            return Err(PromptError::ReservedTool);
        }
        // Equal names are kept, in the order they came.
        tools.sort_by(|a, b| by_code_units(&a.name, &b.name));
        let Some(names) = &self.0 else {
            return Ok(tools);
        };
        check_known(names, known())?;
        let places: HashMap<&str, usize> = names
            .iter()
            .enumerate()
            .map(|(at, name)| (name.as_str(), at))
            .collect();
        let rest = places.get(UNLISTED_TOOLS).copied().unwrap_or(names.len());
        tools.sort_by_key(|tool| places.get(tool.name.as_str()).copied().unwrap_or(rest));
        Ok(tools)
    }
}

fn check_known(names: &[SmolStr], mut known: Vec<SmolStr>) -> Result<(), PromptError> {
    let unknown = names
        .iter()
        .find(|name| *name != UNLISTED_TOOLS && !known.contains(name));
    let Some(name) = unknown else {
        return Ok(());
    };
    known.sort_by(|a, b| by_code_units(a, b));
    known.dedup();
    Err(PromptError::UnknownTool {
        name: name.clone(),
        known: if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        },
    })
}

/// The order of UTF-16 code units, which is the contract's; it differs from that of bytes above U+FFFF.
fn by_code_units(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}
