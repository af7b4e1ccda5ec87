//! How is a session's header read fast, when ten thousand of them are listed?

use hames_types::header::{HeaderFields, LOG_VERSION, SessionHeader};
use hames_types::id::SessionId;
use hames_types::json::{Extra, MAX_SAFE_INTEGER};
use serde::Deserialize;
use serde_json::Number;
use smol_str::SmolStr;

use crate::record::present;

/// A header without unknown fields, as this program writes it; anything else takes the careful way.
pub(super) fn plain(text: &str) -> Option<SessionHeader> {
    let read: HeaderIn = serde_json::from_str(text).ok()?;
    let safe = |number: Option<u64>| number.is_none_or(|number| number <= MAX_SAFE_INTEGER);
    if read.version != LOG_VERSION || !safe(read.seed_length) || !safe(read.delegation_depth) {
        return None;
    }
    let header = SessionHeader {
        id: SessionId::new(read.id),
        fields: HeaderFields {
            created_at_ms: Number::from(read.created_at),
            cwd: read.cwd,
            parent_session: read.parent_session.map(SessionId::new),
            seed_length: read.seed_length,
            delegation_depth: read.delegation_depth,
            extra: Extra::NONE,
        },
    };
    header.check().is_ok().then_some(header)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct HeaderIn {
    version: u64,
    id: SmolStr,
    created_at: u64,
    #[serde(default, deserialize_with = "present")]
    cwd: Option<SmolStr>,
    #[serde(default, deserialize_with = "present")]
    parent_session: Option<SmolStr>,
    #[serde(default, deserialize_with = "present")]
    seed_length: Option<u64>,
    #[serde(default, deserialize_with = "present")]
    delegation_depth: Option<u64>,
}
