//! What a session says of itself beside its events (§3.4 of the behaviour rules).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Number;
use smol_str::SmolStr;

use crate::id::SessionId;
use crate::json::{DecodeError, Extra, FromJson, Json, check_lossless, describe, record, shortened};

/// Format version of the log. Any other is refused, without migration (R-PER-6).
pub const LOG_VERSION: u64 = 0;

record! {
    /// Fields of a session's header beside its version and id.
    HeaderFields {
        /// When it was created, milliseconds of the Unix epoch, as it was written.
        created_at_ms: Number = "createdAt",
        /// The folder it works in; an absolute path.
        cwd: Option<SmolStr> = "cwd",
        /// The session it was forked from.
        parent_session: Option<SessionId> = "parentSession",
        /// How many events it inherited.
        seed_length: Option<u64> = "seedLength",
        /// How deep in a chain of delegations it is; absent is 0.
        delegation_depth: Option<u64> = "delegationDepth",
    }
}

/// A session's header: detached, validated, never changed (R-EVT-4).
#[derive(Debug, Clone, PartialEq)]
pub struct SessionHeader {
    /// The session.
    pub id: SessionId,
    /// Everything else.
    pub fields: HeaderFields,
}

/// Why a header is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum HeaderError {
    /// Its shape is wrong.
    #[error("bad session header: {0}")]
    Shape(DecodeError),
    /// It isn't lossless JSON.
    #[error("bad session header: {0}")]
    NotLossless(#[from] crate::json::NotLossless),
    /// It belongs to another session.
    #[error("the header's id `{}` is not the session's id `{}`", shortened(.found.as_str()), shortened(.expected.as_str()))]
    OtherId {
        /// The session's.
        expected: SessionId,
        /// The header's.
        found: SessionId,
    },
    /// It has a version this program doesn't read.
    #[error("`version` must be {LOG_VERSION}, the one this program reads; found {0}")]
    Version(String),
    /// Its folder isn't an absolute path.
    #[error("`cwd` must be an absolute path, found {:?}", shortened(.0))]
    RelativeCwd(SmolStr),
}

impl SessionHeader {
    /// A header with nothing but its time.
    #[must_use]
    pub fn new(id: SessionId, created_at_ms: u64) -> Self {
        Self {
            id,
            fields: HeaderFields {
                created_at_ms: Number::from(created_at_ms),
                cwd: None,
                parent_session: None,
                seed_length: None,
                delegation_depth: None,
                extra: Extra::NONE,
            },
        }
    }

    /// Reads a header from outside.
    ///
    /// # Errors
    /// [`HeaderError`] by what is wrong: loss, shape, version, path.
    pub fn read(value: Json) -> Result<Self, HeaderError> {
        check_lossless(&value, "header")?;
        let mut fields = crate::json::object(value).map_err(HeaderError::Shape)?;
        match fields.shift_remove("version") {
            Some(version) if version.as_u64() == Some(LOG_VERSION) => {}
            Some(version) => return Err(HeaderError::Version(describe(&version))),
            None => return Err(HeaderError::Shape(DecodeError::missing("version"))),
        }
        let id = fields
            .shift_remove("id")
            .ok_or_else(|| HeaderError::Shape(DecodeError::missing("id")))?;
        let header = Self {
            id: SessionId::from_json(id).map_err(|fault| HeaderError::Shape(fault.in_field("id")))?,
            fields: HeaderFields::from_json(Json::Object(fields)).map_err(HeaderError::Shape)?,
        };
        header.check()?;
        Ok(header)
    }

    /// Checks what types can't: the folder is absolute.
    ///
    /// # Errors
    /// [`HeaderError::RelativeCwd`].
    pub fn check(&self) -> Result<(), HeaderError> {
        match &self.fields.cwd {
            Some(cwd) if !std::path::Path::new(cwd.as_str()).is_absolute() => {
                Err(HeaderError::RelativeCwd(cwd.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Reads a header that must be `id`'s.
    ///
    /// # Errors
    /// As [`SessionHeader::read`], and [`HeaderError::OtherId`].
    pub fn read_for(id: &SessionId, value: Json) -> Result<Self, HeaderError> {
        let header = Self::read(value)?;
        if header.id != *id {
            return Err(HeaderError::OtherId {
                expected: id.clone(),
                found: header.id,
            });
        }
        Ok(header)
    }

    /// How deep in a chain of delegations the session is.
    #[must_use]
    pub fn delegation_depth(&self) -> u64 {
        self.fields.delegation_depth.unwrap_or(0)
    }
}

impl Serialize for SessionHeader {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", &LOG_VERSION)?;
        map.serialize_entry("id", &self.id)?;
        crate::json::Fields::put_fields(&self.fields, &mut map)?;
        map.end()
    }
}
