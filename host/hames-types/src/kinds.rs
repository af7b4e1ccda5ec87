//! Who may extend the open sums: the table of core kinds and the registry of declared ones.
//!
//! A plugin declares a kind (which sum, the tag, a JSON Schema of its payload); the registry checks what a guest
//! produces against it. What is read from a stored log is never checked here: it was accepted once.

use std::collections::HashMap;
use std::fmt;

use jsonschema::Validator;
use smol_str::SmolStr;

use crate::chunk::FinishReason;
use crate::content::ContentBlock;
use crate::event::EventBody;
use crate::id::PluginId;
use crate::json::{Json, NotLossless, check_lossless, shortened};
use crate::message::MessageSource;
use crate::open::OpenSum;
use crate::turn::{TurnEndReason, TurnTrigger};

mod schema;

pub use schema::{MAX_PATTERN_BYTES, MAX_PATTERNS, MAX_SCHEMA_BYTES, MAX_UNFOLDED, MAX_UNFOLDED_DEPTH};

/// The six sums that plugins may extend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sum {
    /// [`ContentBlock`].
    ContentBlock,
    /// [`MessageSource`].
    MessageSource,
    /// [`FinishReason`].
    FinishReason,
    /// [`TurnTrigger`].
    TurnTrigger,
    /// [`TurnEndReason`].
    TurnEndReason,
    /// [`EventBody`].
    SessionEvent,
}

impl Sum {
    /// All six.
    pub const ALL: [Self; 6] = [
        Self::ContentBlock,
        Self::MessageSource,
        Self::FinishReason,
        Self::TurnTrigger,
        Self::TurnEndReason,
        Self::SessionEvent,
    ];

    /// What the sum is called in errors and declarations.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::ContentBlock => ContentBlock::LABEL,
            Self::MessageSource => MessageSource::LABEL,
            Self::FinishReason => FinishReason::LABEL,
            Self::TurnTrigger => TurnTrigger::LABEL,
            Self::TurnEndReason => TurnEndReason::LABEL,
            Self::SessionEvent => EventBody::LABEL,
        }
    }

    /// Its core kinds.
    #[must_use]
    pub const fn core_kinds(self) -> &'static [&'static str] {
        match self {
            Self::ContentBlock => ContentBlock::KINDS,
            Self::MessageSource => MessageSource::KINDS,
            Self::FinishReason => FinishReason::KINDS,
            Self::TurnTrigger => TurnTrigger::KINDS,
            Self::TurnEndReason => TurnEndReason::KINDS,
            Self::SessionEvent => EventBody::KINDS,
        }
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.label())
    }
}

/// A kind as its owner declares it.
#[derive(Debug, Clone)]
pub struct KindDeclaration {
    /// Which sum it extends.
    pub sum: Sum,
    /// Its tag: `plugin-id:word` for plugins, a bare word for the shipped parts.
    pub tag: SmolStr,
    /// JSON Schema of the fields beside the tag (for session events: of `data`).
    pub schema: Json,
    /// For session events: whether it may be appended while no turn is open.
    pub out_of_band: bool,
}

/// Why a declaration is refused.
#[derive(Debug, thiserror::Error)]
pub enum DeclareError {
    /// The tag is the core's.
    #[error(
        "`{owner}` declares the {sum} `{tag}`, which is a kind of the core; choose a tag of the form `{owner}:word`"
    )]
    Core {
        /// Who declares it.
        owner: PluginId,
        /// Which sum.
        sum: Sum,
        /// The tag.
        tag: SmolStr,
    },
    /// The tag isn't the owner's to declare.
    #[error(
        "`{owner}` declares the {sum} `{tag}`; its tags have the form `{owner}:word`, with a word of a-z, 0-9, `-`, `_` and `/`"
    )]
    Grammar {
        /// Who declares it.
        owner: PluginId,
        /// Which sum.
        sum: Sum,
        /// The tag.
        tag: SmolStr,
    },
    /// Two owners want the same tag.
    #[error("`{owner}` and `{other}` both declare the {sum} `{tag}`; only one of them can be loaded")]
    Taken {
        /// Who declares it now.
        owner: PluginId,
        /// Who declared it before.
        other: PluginId,
        /// Which sum.
        sum: Sum,
        /// The tag.
        tag: SmolStr,
    },
    /// The schema can't be used.
    #[error("`{owner}` declares the {sum} `{tag}` with a schema that can't be used: {problem}")]
    Schema {
        /// Who declares it.
        owner: PluginId,
        /// Which sum.
        sum: Sum,
        /// The tag.
        tag: SmolStr,
        /// What is wrong with it.
        problem: String,
    },
}

/// Why a produced payload is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum KindError {
    /// Nobody declared the kind.
    #[error("nobody declared the {sum} `{}`; a plugin declares its kinds in its manifest", shortened(.tag))]
    Undeclared {
        /// Which sum.
        sum: Sum,
        /// The tag.
        tag: SmolStr,
    },
    /// Somebody else's kind.
    #[error("the {sum} `{tag}` belongs to `{owner}`, not to `{producer}`")]
    NotOwner {
        /// Which sum.
        sum: Sum,
        /// The tag.
        tag: SmolStr,
        /// Who declared it.
        owner: PluginId,
        /// Who produced one.
        producer: PluginId,
    },
    /// The payload doesn't fit its schema.
    #[error("bad {sum} `{tag}` at `{path}`: {problem}")]
    Payload {
        /// Which sum.
        sum: Sum,
        /// The tag.
        tag: SmolStr,
        /// JSON pointer into the payload.
        path: String,
        /// What is wrong there.
        problem: String,
    },
    /// The payload isn't lossless JSON.
    #[error("bad {sum} `{tag}`: {fault}")]
    NotLossless {
        /// Which sum.
        sum: Sum,
        /// The tag.
        tag: SmolStr,
        /// Where and why.
        fault: NotLossless,
    },
}

/// A declared kind, ready to check payloads.
#[derive(Debug)]
struct Declared {
    owner: PluginId,
    validator: Validator,
    out_of_band: bool,
}

/// The declared kinds of one process. Changed when plugins are loaded and unloaded.
#[derive(Debug, Default)]
pub struct KindRegistry {
    kinds: HashMap<(Sum, SmolStr), Declared>,
}

impl KindRegistry {
    /// Nothing declared.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares a plugin's kind.
    ///
    /// # Errors
    /// [`DeclareError`]; the registry is unchanged then.
    pub fn declare(&mut self, owner: &PluginId, kind: KindDeclaration) -> Result<(), DeclareError> {
        let word = kind
            .tag
            .strip_prefix(owner.as_str())
            .and_then(|rest| rest.strip_prefix(':'));
        if !word.is_some_and(is_word) && !kind.sum.core_kinds().contains(&kind.tag.as_str()) {
            return Err(DeclareError::Grammar {
                owner: owner.clone(),
                sum: kind.sum,
                tag: kind.tag,
            });
        }
        self.insert(owner, kind)
    }

    /// Declares a kind with a bare tag, for the parts hames ships (`llm/retry`, `approval/asked`, …).
    ///
    /// # Errors
    /// [`DeclareError`]; the registry is unchanged then.
    pub fn declare_shipped(&mut self, owner: &PluginId, kind: KindDeclaration) -> Result<(), DeclareError> {
        if !is_word(&kind.tag) {
            return Err(DeclareError::Grammar {
                owner: owner.clone(),
                sum: kind.sum,
                tag: kind.tag,
            });
        }
        self.insert(owner, kind)
    }

    fn insert(&mut self, owner: &PluginId, kind: KindDeclaration) -> Result<(), DeclareError> {
        let KindDeclaration {
            sum,
            tag,
            schema,
            out_of_band,
        } = kind;
        if sum.core_kinds().contains(&tag.as_str()) {
            return Err(DeclareError::Core {
                owner: owner.clone(),
                sum,
                tag,
            });
        }
        if let Some(declared) = self.kinds.get(&(sum, tag.clone())) {
            let other = declared.owner.clone();
            return Err(DeclareError::Taken {
                owner: owner.clone(),
                other,
                sum,
                tag,
            });
        }
        let validator = schema::compile(&schema).map_err(|problem| DeclareError::Schema {
            owner: owner.clone(),
            sum,
            tag: tag.clone(),
            problem,
        })?;
        self.kinds.insert(
            (sum, tag),
            Declared {
                owner: owner.clone(),
                validator,
                out_of_band,
            },
        );
        Ok(())
    }

    /// Takes back everything an owner declared, when its plugin is unloaded or couldn't be loaded.
    pub fn withdraw(&mut self, owner: &PluginId) {
        self.kinds.retain(|_, declared| declared.owner != *owner);
    }

    /// Checks a payload that `producer` made. Core kinds aren't asked here; their types check them.
    ///
    /// # Errors
    /// [`KindError`] naming sum, kind and place.
    pub fn check(&self, producer: &PluginId, sum: Sum, tag: &str, payload: &Json) -> Result<(), KindError> {
        let tag = SmolStr::from(tag);
        let Some(declared) = self.kinds.get(&(sum, tag.clone())) else {
            return Err(KindError::Undeclared { sum, tag });
        };
        if declared.owner != *producer {
            let (owner, producer) = (declared.owner.clone(), producer.clone());
            return Err(KindError::NotOwner {
                sum,
                tag,
                owner,
                producer,
            });
        }
        if let Err(fault) = check_lossless(payload, "payload") {
            return Err(KindError::NotLossless { sum, tag, fault });
        }
        declared
            .validator
            .validate(payload)
            .map_err(|fault| KindError::Payload {
                sum,
                tag,
                path: fault.instance_path().to_string(),
                problem: fault.masked().to_string(),
            })
    }

    /// Who declared a kind.
    #[must_use]
    pub fn owner(&self, sum: Sum, tag: &str) -> Option<&PluginId> {
        self.kinds.get(&(sum, tag.into())).map(|declared| &declared.owner)
    }

    /// Whether an event of this kind may be appended while no turn is open.
    #[must_use]
    pub fn is_out_of_band(&self, tag: &str) -> bool {
        self.kinds
            .get(&(Sum::SessionEvent, tag.into()))
            .is_some_and(|declared| declared.out_of_band)
    }
}

/// The grammar of a kind's word: starts with a letter, then letters, digits, `-`, `_`, `/`; at most 64 bytes.
fn is_word(word: &str) -> bool {
    word.len() <= 64
        && word.starts_with(|first: char| first.is_ascii_lowercase())
        && word
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'/'))
}

#[cfg(test)]
mod tests;
