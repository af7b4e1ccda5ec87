//! What does a component say about itself? The custom section `hames:manifest`, read without running the component.

use std::collections::HashSet;

use hames_types::kinds::{KindDeclaration, Sum};
use serde::Deserialize;
use serde_json::Value;
use smol_str::SmolStr;

use crate::grant::Capability;
use crate::limits::MAX_MANIFEST;

/// Name of the custom section.
pub const SECTION: &str = "hames:manifest";

/// A component's own account of itself. A claim: what it wants is granted by the operator or not at all.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    /// The plugin's id; empty if the component has no manifest.
    pub id: SmolStr,
    /// Its version, for people.
    pub version: SmolStr,
    /// What it wants and why.
    pub wants: Vec<Want>,
    /// The kinds it declares.
    pub kinds: Vec<KindDeclaration>,
    /// The kinds of session events it observes.
    pub events: HashSet<SmolStr>,
    /// JSON Schema of its configuration.
    pub config: Option<Value>,
}

/// One capability and the reason a person reads before granting it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// The capability.
    pub grant: Capability,
    /// Why.
    pub reason: SmolStr,
}

/// Why a manifest is refused.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Too large.
    #[error("the manifest has {found} bytes; at most {MAX_MANIFEST} are read")]
    TooLarge {
        /// Its size.
        found: usize,
    },
    /// There are two, and they could contradict each other.
    #[error("the component has more than one `{SECTION}` section; pack it again")]
    Several,
    /// It isn't what a manifest is.
    #[error("the manifest can't be read")]
    Shape(#[source] serde_json::Error),
    /// A field's value is refused.
    #[error("the manifest's {field} {problem}")]
    Field {
        /// Which.
        field: String,
        /// What is wrong with it.
        problem: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Raw {
    id: String,
    version: String,
    #[serde(default)]
    wants: Vec<RawWant>,
    #[serde(default)]
    kinds: Vec<RawKind>,
    #[serde(default)]
    events: Vec<String>,
    config: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWant {
    grant: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawKind {
    sum: String,
    tag: String,
    schema: Value,
    #[serde(default)]
    out_of_band: bool,
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// [`ManifestError`] naming what is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        if bytes.len() > MAX_MANIFEST {
            return Err(ManifestError::TooLarge { found: bytes.len() });
        }
        let raw: Raw = serde_json::from_slice(bytes).map_err(ManifestError::Shape)?;
        if !is_id(&raw.id) {
            let problem = format!(
                "`{}` must be 1 to 64 of a-z, 0-9 and `-`, a letter first",
                shown(&raw.id)
            );
            return Err(field("id", problem));
        }
        if raw.version.is_empty() || raw.version.len() > 64 {
            return Err(field("version", "must have 1 to 64 bytes".to_owned()));
        }
        let wants = raw
            .wants
            .into_iter()
            .enumerate()
            .map(|(at, want)| read_want(at, want));
        let kinds = raw
            .kinds
            .into_iter()
            .enumerate()
            .map(|(at, kind)| read_kind(at, kind));
        Ok(Self {
            wants: wants.collect::<Result<_, _>>()?,
            kinds: kinds.collect::<Result<_, _>>()?,
            events: raw.events.into_iter().map(SmolStr::from).collect(),
            id: raw.id.into(),
            version: raw.version.into(),
            config: raw.config,
        })
    }

    /// The capabilities it wants.
    #[must_use]
    pub fn wanted(&self) -> Vec<Capability> {
        self.wants.iter().map(|want| want.grant).collect()
    }
}

fn read_want(at: usize, want: RawWant) -> Result<Want, ManifestError> {
    let Some(grant) = Capability::from_word(&want.grant) else {
        let known: Vec<&str> = Capability::ALL.iter().map(|known| known.as_str()).collect();
        let problem = format!("`{}` is none of {}", shown(&want.grant), known.join(", "));
        return Err(field(&format!("wants[{at}].grant"), problem));
    };
    Ok(Want {
        grant,
        reason: want.reason.into(),
    })
}

fn read_kind(at: usize, kind: RawKind) -> Result<KindDeclaration, ManifestError> {
    let Some(sum) = Sum::ALL.into_iter().find(|sum| sum.label() == kind.sum) else {
        let known: Vec<&str> = Sum::ALL.iter().map(|known| known.label()).collect();
        let problem = format!("`{}` is none of {}", shown(&kind.sum), known.join(", "));
        return Err(field(&format!("kinds[{at}].sum"), problem));
    };
    Ok(KindDeclaration {
        sum,
        tag: kind.tag.into(),
        schema: kind.schema,
        out_of_band: kind.out_of_band,
    })
}

fn field(name: &str, problem: String) -> ManifestError {
    ManifestError::Field {
        field: name.to_owned(),
        problem,
    }
}

fn is_id(id: &str) -> bool {
    id.len() <= 64
        && id.starts_with(|first: char| first.is_ascii_lowercase())
        && id
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

/// A short, printable piece of a stranger's text.
pub(crate) fn shown(text: &str) -> String {
    let head: String = text.chars().take(60).collect();
    head.escape_debug().to_string()
}
