//! An event before it is in a log: typed, or as it came from outside.

use hames_types::event::{EventBody, EventData, Placement, SurfaceOp, check_payload, is_surface_kind};
use hames_types::id::Seq;
use hames_types::json::{Json, JsonMap, MAX_SAFE_INTEGER, check_lossless, describe, shortened};

use crate::error::{AppendError, Problem, SurfaceFault};

/// What is to be appended. Sequence number and time are the log's to give.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The payload.
    pub data: EventData,
    /// Where it enters the surface; present exactly on surface kinds.
    pub placement: Option<Box<Placement>>,
}

impl Draft {
    /// An event that isn't part of the history.
    #[must_use]
    pub fn log_only(body: EventBody) -> Self {
        Self {
            data: EventData::Typed(body),
            placement: None,
        }
    }

    /// An event at the history's tail, its provenance not recorded.
    #[must_use]
    pub fn message(body: EventBody) -> Self {
        Self::placed(body, SurfaceOp::Append, None)
    }

    /// An event at the history's tail, made from `sources`.
    #[must_use]
    pub fn message_from(body: EventBody, sources: Vec<Seq>) -> Self {
        Self::placed(body, SurfaceOp::Append, Some(sources.into()))
    }

    /// An event anywhere on the surface.
    #[must_use]
    pub fn placed(body: EventBody, op: SurfaceOp, sources: Option<Box<[Seq]>>) -> Self {
        Self {
            data: EventData::Typed(body),
            placement: Some(Box::new(Placement { op, sources })),
        }
    }

    /// Reads an event from outside: kind, payload, and the two metadata fields if they are there.
    ///
    /// The payload may be anything; whether it fits its kind is asked where it matters (architecture §4).
    ///
    /// # Errors
    /// [`AppendError`] for what isn't lossless, for vocabulary that is gone, and for metadata of the wrong shape.
    pub fn read(
        kind: &str,
        data: Json,
        surface_op: Option<Json>,
        sources: Option<Json>,
    ) -> Result<Self, AppendError> {
        let refuse = |problem: Problem| AppendError::new(kind, problem);
        check_payload(&data).map_err(|fault| refuse(fault.into()))?;
        check_legacy_raw(kind, &data).map_err(|what| refuse(Problem::Legacy(what)))?;
        for (name, value) in [("surfaceOp", &surface_op), ("sourceEventSeqs", &sources)] {
            if let Some(value) = value {
                check_lossless(value, name).map_err(|fault| refuse(fault.into()))?;
            }
        }
        let placement = read_placement(kind, surface_op, sources).map_err(|fault| refuse(fault.into()))?;
        Ok(Self {
            data: EventData::read(kind, data),
            placement,
        })
    }
}

/// Vocabulary that is gone (R-LOG-2); looks at the payload as it came, since `fallback` has no typed form.
fn check_legacy_raw(kind: &str, data: &Json) -> Result<(), &'static str> {
    match kind {
        "request/header-delta" => Err("`request/header-delta`"),
        "request/header" if data.get("reason").and_then(Json::as_str) == Some("fallback") => {
            Err("a `request/header` with reason `fallback`")
        }
        _ => Ok(()),
    }
}

pub(crate) fn read_placement(
    kind: &str,
    surface_op: Option<Json>,
    sources: Option<Json>,
) -> Result<Option<Box<Placement>>, SurfaceFault> {
    if !is_surface_kind(kind) {
        return match (surface_op, sources) {
            (Some(op), _) => Err(SurfaceFault::MarkerForbidden {
                field: "surfaceOp",
                found: describe(&op),
            }),
            (None, Some(sources)) => Err(SurfaceFault::MarkerForbidden {
                field: "sourceEventSeqs",
                found: describe(&sources),
            }),
            (None, None) => Ok(None),
        };
    }
    let op = surface_op.ok_or(SurfaceFault::MarkerMissing).and_then(read_op)?;
    let sources = sources.map(read_sources).transpose()?;
    Ok(Some(Box::new(Placement { op, sources })))
}

fn read_op(value: Json) -> Result<SurfaceOp, SurfaceFault> {
    const SHAPE: &str = "\"append\" or {\"op\":\"replace\",\"start\",\"end\"}";
    let bad = |path: &str, expected: &'static str, found: String| SurfaceFault::BadMarker {
        path: path.to_owned(),
        expected,
        found,
    };
    match value {
        Json::String(word) if word == "append" => Ok(SurfaceOp::Append),
        Json::Object(fields) => {
            if let Some(key) = fields
                .keys()
                .find(|key| !matches!(key.as_str(), "op" | "start" | "end"))
            {
                return Err(bad(
                    &format!("surfaceOp.{}", shortened(key)),
                    "absent",
                    "it".to_owned(),
                ));
            }
            match fields.get("op").and_then(Json::as_str) {
                Some("replace") => {}
                _ => {
                    let found = fields.get("op").map_or_else(|| "nothing".to_owned(), describe);
                    return Err(bad("surfaceOp.op", "\"replace\"", found));
                }
            }
            let end_of = |name: &'static str| read_end(&fields, name);
            Ok(SurfaceOp::Replace {
                start: end_of("start")?,
                end: end_of("end")?,
            })
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Err(bad("surfaceOp", SHAPE, describe(&value)))
        }
    }
}

fn read_end(fields: &JsonMap, name: &'static str) -> Result<Seq, SurfaceFault> {
    let value = fields.get(name);
    value.and_then(as_seq).ok_or_else(|| SurfaceFault::BadMarker {
        path: format!("surfaceOp.{name}"),
        expected: "an event's sequence number",
        found: value.map_or_else(|| "nothing".to_owned(), describe),
    })
}

fn read_sources(value: Json) -> Result<Box<[Seq]>, SurfaceFault> {
    let Json::Array(items) = value else {
        return Err(SurfaceFault::BadSources {
            path: "sourceEventSeqs".to_owned(),
            expected: "a list of sequence numbers",
            found: describe(&value),
        });
    };
    items
        .iter()
        .enumerate()
        .map(|(at, item)| {
            as_seq(item).ok_or_else(|| SurfaceFault::BadSources {
                path: format!("sourceEventSeqs[{at}]"),
                expected: "an event's sequence number",
                found: describe(item),
            })
        })
        .collect()
}

fn as_seq(value: &Json) -> Option<Seq> {
    value
        .as_u64()
        .filter(|number| *number <= MAX_SAFE_INTEGER)
        .map(Seq::new)
}
