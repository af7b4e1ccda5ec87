//! Which global tools an agent is let see.

use hames_types::fault::Fault;
use smol_str::SmolStr;

/// A filter over the global tools of one agent. It holds for tools registered later, too: one that only denies lets
/// them in, one that allows doesn't (R-REG-3).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restriction {
    allow: Option<Vec<SmolStr>>,
    deny: Option<Vec<SmolStr>>,
}

impl Restriction {
    /// Only these are seen.
    #[must_use]
    pub fn allow(names: Vec<SmolStr>) -> Self {
        Self {
            allow: Some(names),
            deny: None,
        }
    }

    /// These aren't seen.
    #[must_use]
    pub fn deny(names: Vec<SmolStr>) -> Self {
        Self {
            allow: None,
            deny: Some(names),
        }
    }

    /// This, and these aren't seen.
    #[must_use]
    pub fn and_deny(mut self, names: Vec<SmolStr>) -> Self {
        self.deny.get_or_insert_default().extend(names);
        self
    }

    pub(super) fn admits(&self, name: &str) -> bool {
        let allowed = self.allow.as_ref().is_none_or(|names| has(names, name));
        let denied = self.deny.as_ref().is_some_and(|names| has(names, name));
        allowed && !denied
    }

    /// R-REG-2: says something, and only about tools that are global now.
    pub(super) fn check(&self, known: &[SmolStr]) -> Result<(), Fault> {
        if self.allow.is_none() && self.deny.is_none() {
            return Err(refusal("it neither allows nor denies anything".to_owned()));
        }
        let mut named = self.allow.iter().chain(&self.deny).flatten();
        match named.find(|name| !known.contains(name)) {
            None => Ok(()),
            Some(name) => Err(refusal(format!(
                "`{name}` is no tool of all agents; those are: {}",
                known.join(", ")
            ))),
        }
    }
}

fn has(names: &[SmolStr], name: &str) -> bool {
    names.iter().any(|known| known == name)
}

fn refusal(problem: String) -> Fault {
    Fault::host(
        "RegistryError",
        "INVALID_RESTRICTION",
        format!("the tool restriction can't hold: {problem}"),
    )
}
