//! How do values cross? To the guest: total. From the guest: checked, counted, and refused with a place and a reason.

pub(crate) mod call;
pub(crate) mod content;
pub(crate) mod events;
pub(crate) mod fault;
pub(crate) mod json;
pub(crate) mod tool;

use hames_types::content::Content;
use hames_types::decision::HookContext;
use hames_types::id::PluginId;
use hames_types::json::Json;
use hames_types::kinds::{KindRegistry, Sum};

use crate::error::{CallError, Limit};
use crate::grant::Speak;
use crate::who::Who;

/// Why a value from a guest is refused.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Over a limit.
    Limit(Limit),
    /// Malformed, undeclared or not allowed.
    At {
        /// Where, from the answer's root.
        place: String,
        /// What is wrong there.
        problem: String,
    },
}

impl Refused {
    pub(crate) fn at(place: &str, problem: impl Into<String>) -> Self {
        Self::At {
            place: place.to_owned(),
            problem: problem.into(),
        }
    }

    /// The same seen from the value that holds it in `outer`.
    pub(crate) fn inside(self, outer: &str) -> Self {
        match self {
            Self::At { place, problem } => Self::At {
                place: if place.is_empty() || place.starts_with('[') {
                    format!("{outer}{place}")
                } else {
                    format!("{outer}.{place}")
                },
                problem,
            },
            Self::Limit(limit) => Self::Limit(limit),
        }
    }
}

impl From<Refused> for CallError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Limit(limit) => Self::Limit(limit),
            Refused::At { place, problem } => Self::Answer { place, problem },
        }
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Limit(limit) => write!(out, "over the limit {}", limit.code()),
            Self::At { place, problem } => write!(out, "`{place}` {problem}"),
        }
    }
}

/// Admits what one guest hands over: as whom it may speak, which kinds are its own, how many bytes are left.
pub(crate) struct Admit<'a> {
    id: &'a PluginId,
    speak: &'a Speak,
    kinds: &'a parking_lot::RwLock<KindRegistry>,
    bytes: usize,
    max: Limit,
    shown: Shown<'a>,
}

/// What a guest was shown. Handed back unchanged it is what it was, whoever's it is.
#[derive(Debug, Default)]
pub(crate) struct Shown<'a> {
    pub(crate) contexts: Vec<&'a HookContext>,
    pub(crate) contents: Vec<&'a Content>,
}

impl<'a> Admit<'a> {
    /// At most `bytes` in all; over it is `limit`.
    pub(crate) fn new(who: &'a Who, bytes: usize, limit: Limit) -> Self {
        Self {
            id: &who.id,
            speak: &who.grant.speak,
            kinds: &who.services.kinds,
            bytes,
            max: limit,
            shown: Shown::default(),
        }
    }

    /// Recognises what the guest was shown.
    pub(crate) fn recognising(mut self, shown: Shown<'a>) -> Self {
        self.shown = shown;
        self
    }

    /// What the guest was shown.
    pub(crate) const fn shown(&self) -> &Shown<'a> {
        &self.shown
    }

    /// Whose values these are.
    pub(crate) fn owner(&self) -> &'a str {
        self.id.as_str()
    }

    /// Counts bytes.
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), Refused> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or(Refused::Limit(self.max))?;
        Ok(())
    }

    /// Bytes that are left.
    pub(crate) const fn left(&self) -> usize {
        self.bytes
    }

    /// A kind that isn't the core's must be this plugin's, and fit.
    pub(crate) fn check_kind(&self, sum: Sum, tag: &str, payload: &Json) -> Result<(), Refused> {
        self.kinds
            .read()
            .check(self.id, sum, tag, payload)
            .map_err(|fault| Refused::at("", fault.to_string()))
    }

    /// Whether this plugin may speak as a person.
    pub(crate) const fn may_speak_as_user(&self) -> bool {
        self.speak.as_user
    }

    /// Whether it may speak under that name.
    pub(crate) fn may_speak_as(&self, plugin: &str) -> bool {
        plugin == self.id.as_str()
            || self.speak.as_any_plugin
            || self.speak.as_plugins.iter().any(|name| name == plugin)
    }
}
