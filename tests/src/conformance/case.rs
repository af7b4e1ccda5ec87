//! What does a runner get to see of one recorded case?

use std::path::Path;

use anyhow::Context;
use hames_types::json::Json;

use super::load::File;
use super::value;

/// Where tools and listeners run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Everything in native code.
    #[default]
    Native,
    /// Scripted tools are guests in the sandbox.
    Tools,
    /// Scripted listeners are guests in the sandbox.
    Listeners,
}

impl Mode {
    /// The mode of that name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "native" => Some(Self::Native),
            "tools" => Some(Self::Tools),
            "listeners" => Some(Self::Listeners),
            _ => None,
        }
    }
}

/// One recorded case.
#[derive(Debug)]
pub struct Case<'a> {
    /// File, list and name: what a person searches for.
    pub label: String,
    /// The case, its markers decoded. For a file that is one case, the whole file.
    pub value: Json,
    /// The whole file the case stands in, as it was read: lists that cases refer to by name are there.
    pub document: &'a Json,
    /// The file on disk.
    pub path: &'a Path,
    /// Where tools and listeners run.
    pub mode: Mode,
}

impl<'a> Case<'a> {
    pub(crate) fn new(file: &'a File, label: String, value: &Json, mode: Mode) -> Self {
        Self {
            label,
            value: value::decode(value),
            document: &file.document,
            path: &file.path,
            mode,
        }
    }

    /// A field of the case; null if it is absent.
    #[must_use]
    pub fn field(&self, key: &str) -> &Json {
        self.value.get(key).unwrap_or(&Json::Null)
    }

    /// A field of the case, if it is there.
    #[must_use]
    pub fn optional(&self, key: &str) -> Option<&Json> {
        self.value.get(key)
    }

    /// A text of the case.
    ///
    /// # Errors
    /// If there is none under that key.
    pub fn text(&self, key: &str) -> anyhow::Result<&str> {
        self.field(key)
            .as_str()
            .with_context(|| format!("the case has no text `{key}`"))
    }

    /// A list of the case.
    ///
    /// # Errors
    /// If there is none under that key.
    pub fn list(&self, key: &str) -> anyhow::Result<&[Json]> {
        self.field(key)
            .as_array()
            .map(Vec::as_slice)
            .with_context(|| format!("the case has no list `{key}`"))
    }
}
