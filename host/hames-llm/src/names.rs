//! Which tool names may a provider see, and which tool did it mean? Names outside its limits are exchanged both ways.

use std::collections::HashMap;

use hames_types::content::ContentBlock;
use hames_types::request::Request;
use smol_str::{SmolStr, format_smolstr};

#[cfg(test)]
mod tests;

/// The names a provider takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameRule {
    /// Most characters.
    pub(crate) max_len: usize,
    /// Characters beside letters, digits, `_` and `-`.
    pub(crate) also: &'static [char],
    /// Whether the first must be a letter or `_`.
    pub(crate) letter_first: bool,
}

/// The rule most providers share.
pub(crate) const COMMON_RULE: NameRule = NameRule {
    max_len: 64,
    also: &[],
    letter_first: false,
};

impl NameRule {
    fn allows(&self, name: &str) -> bool {
        // An empty name is a model's mistake on record, not a tool's name; it goes back as it came.
        name.len() <= self.max_len
            && name.chars().all(|letter| self.takes(letter))
            && !(self.letter_first
                && name.starts_with(|first: char| first.is_ascii_digit() || !self.begins(first)))
    }

    fn takes(&self, letter: char) -> bool {
        letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-') || self.also.contains(&letter)
    }

    fn begins(&self, letter: char) -> bool {
        letter.is_ascii_alphabetic() || letter == '_'
    }

    /// A name the provider takes. It depends on `name` and `salt` alone, so that every request says the same.
    fn replacement(&self, name: &str, salt: u32) -> SmolStr {
        let mut base: String = name
            .chars()
            .map(|letter| if self.takes(letter) { letter } else { '_' })
            .collect();
        if self.letter_first && !base.starts_with(|first| self.begins(first)) {
            base.insert(0, '_');
        }
        base.truncate(self.max_len.saturating_sub(9));
        format_smolstr!("{base}_{:08x}", fingerprint(name, salt))
    }
}

/// FNV-1a. Only has to tell names of one request apart; a clash is found and salted.
fn fingerprint(name: &str, salt: u32) -> u32 {
    name.bytes().fold(0x811c_9dc5 ^ salt, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// The exchanges of one request. Names that are fine don't appear.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    to_wire: HashMap<SmolStr, SmolStr>,
    from_wire: HashMap<SmolStr, SmolStr>,
}

impl Names {
    /// The exchanges that `rule` makes necessary for the tools and past calls of `request`.
    pub(crate) fn of(request: &Request, rule: &NameRule) -> Self {
        let tools = request
            .tools
            .iter()
            .flat_map(|tools| tools.iter())
            .map(|tool| &tool.name);
        let calls = request
            .messages
            .iter()
            .flat_map(|message| message.content.iter())
            .filter_map(called);
        let mut names = Self::default();
        let odd: Vec<&SmolStr> = tools
            .clone()
            .chain(calls)
            .filter(|name| !rule.allows(name))
            .collect();
        if odd.is_empty() {
            return names;
        }
        for name in odd {
            if names.to_wire.contains_key(name) {
                continue;
            }
            let free = |wire: &SmolStr| {
                !names.from_wire.contains_key(wire) && !tools.clone().any(|tool| tool == wire)
            };
            let wire = (0..)
                .map(|salt| rule.replacement(name, salt))
                .find(free)
                .unwrap_or_default();
            names.to_wire.insert(name.clone(), wire.clone());
            names.from_wire.insert(wire, name.clone());
        }
        names
    }

    /// The name the provider sees.
    pub(crate) fn wire<'a>(&'a self, name: &'a str) -> &'a str {
        self.to_wire.get(name).map_or(name, SmolStr::as_str)
    }

    /// The tool the provider means.
    pub(crate) fn ours(&self, wire: &str) -> SmolStr {
        self.from_wire
            .get(wire)
            .cloned()
            .unwrap_or_else(|| SmolStr::new(wire))
    }
}

fn called(block: &ContentBlock) -> Option<&SmolStr> {
    match block {
        ContentBlock::ToolCall(call) => Some(&call.name),
        ContentBlock::Text(_)
        | ContentBlock::Reasoning(_)
        | ContentBlock::ToolResult(_)
        | ContentBlock::Other(_) => None,
    }
}
