//! Which events form the history, and in which order (R-SURF).
//!
//! One transition serves live appends, seeds and folds: `check` looks, `commit` changes.

use std::collections::HashSet;
use std::sync::Arc;

use hames_types::event::{Event, EventBody, EventData, Placement, SurfaceOp, is_surface_kind};
use hames_types::id::Seq;
use hames_types::json::{Json, to_json};

use crate::error::SurfaceFault;

/// The history's nodes in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surface {
    nodes: Vec<Seq>,
    replace_generation: u64,
}

/// A transition that was found to be legal and only needs to be made.
#[derive(Debug)]
pub(crate) enum Change {
    None,
    Push,
    Splice { from: usize, to: usize },
}

/// One replacement of a fold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The event that replaced.
    pub seq: Seq,
    /// The first node named.
    pub start: Seq,
    /// The last node named.
    pub end: Seq,
    /// Everything it took the place of, in the order of the surface.
    pub shadowed: Vec<Seq>,
}

impl Surface {
    /// The nodes in the order of the history.
    #[must_use]
    pub fn nodes(&self) -> &[Seq] {
        &self.nodes
    }

    /// How many replacements there were (R-SURF-5).
    #[must_use]
    pub fn replace_generation(&self) -> u64 {
        self.replace_generation
    }

    /// Looks whether an event may stand at `seq`.
    pub(crate) fn check(
        &self,
        placement: Option<&Placement>,
        data: &EventData,
        seq: Seq,
        events: &[Arc<Event>],
    ) -> Result<Change, SurfaceFault> {
        let Some(placement) = placement else {
            return if is_surface_kind(data.kind()) {
                Err(SurfaceFault::MarkerMissing)
            } else {
                Ok(Change::None)
            };
        };
        if !is_surface_kind(data.kind()) {
            let found = format!("{:?}", placement.op);
            return Err(SurfaceFault::MarkerForbidden {
                field: "surfaceOp",
                found,
            });
        }
        check_sources(data.kind(), placement, seq)?;
        let SurfaceOp::Replace { start, end } = placement.op else {
            return Ok(Change::Push);
        };
        let find = |name, seq| {
            self.nodes
                .iter()
                .position(|node| *node == seq)
                .ok_or(SurfaceFault::NotOnSurface { end: name, seq })
        };
        let (from, to) = (find("start", start)?, find("end", end)?);
        let Some(shadowed) = self.nodes.get(from..=to).filter(|range| !range.is_empty()) else {
            return Err(SurfaceFault::Reversed { start, end });
        };
        let named: HashSet<Seq> = placement.sources.iter().flatten().copied().collect();
        if let Some(missing) = shadowed.iter().find(|node| !named.contains(node)) {
            return Err(SurfaceFault::NotShadowed { missing: *missing });
        }
        check_rewrite(data, shadowed, events)?;
        Ok(Change::Splice { from, to })
    }

    /// Makes the transition for the event at `seq`.
    pub(crate) fn commit(&mut self, change: Change, seq: Seq) {
        match change {
            Change::None => {}
            Change::Push => self.nodes.push(seq),
            Change::Splice { from, to } => {
                self.nodes.splice(from..=to, [seq]);
                self.replace_generation += 1;
            }
        }
    }

    /// Folds a whole log from scratch (R-SURF-10).
    ///
    /// # Errors
    /// The first event that doesn't fit, with its sequence number.
    pub fn fold(events: &[Arc<Event>]) -> Result<(Self, Vec<Replacement>), (Seq, SurfaceFault)> {
        let (mut surface, mut replacements) = (Self::default(), Vec::new());
        for event in events {
            let change = surface
                .check(event.placement.as_deref(), &event.data, event.seq, events)
                .map_err(|fault| (event.seq, fault))?;
            if let (Change::Splice { from, to }, Some(placement)) = (&change, &event.placement)
                && let SurfaceOp::Replace { start, end } = placement.op
            {
                let shadowed = surface.nodes.get(*from..=*to).unwrap_or_default().to_vec();
                replacements.push(Replacement {
                    seq: event.seq,
                    start,
                    end,
                    shadowed,
                });
            }
            surface.commit(change, event.seq);
        }
        Ok((surface, replacements))
    }
}

/// Provenance: unique, earlier than the event, and empty only where "nothing" is a fact (R-SURF-6).
fn check_sources(kind: &str, placement: &Placement, seq: Seq) -> Result<(), SurfaceFault> {
    let Some(sources) = &placement.sources else {
        return Ok(());
    };
    let bad = |at: usize, expected, found: Seq| SurfaceFault::BadSources {
        path: format!("sourceEventSeqs[{at}]"),
        expected,
        found: found.to_string(),
    };
    if sources.is_empty() && kind != "assistant/message" {
        return Err(SurfaceFault::BadSources {
            path: "sourceEventSeqs".to_owned(),
            expected: "absent or not empty; only an `assistant/message` can be made from nothing",
            found: "an empty list".to_owned(),
        });
    }
    // Sources nearly always ascend; then order proves uniqueness and nothing is allocated.
    let ascending = sources.windows(2).all(|pair| matches!(pair, [a, b] if a < b));
    let mut seen = HashSet::new();
    for (at, source) in sources.iter().enumerate() {
        if *source >= seq {
            return Err(bad(at, "earlier than the event itself", *source));
        }
        if !ascending && !seen.insert(*source) {
            return Err(bad(at, "named only once", *source));
        }
    }
    Ok(())
}

/// A `tool/result` that replaces rewrites one result's content and nothing else (R-SURF-8).
fn check_rewrite(data: &EventData, shadowed: &[Seq], events: &[Arc<Event>]) -> Result<(), SurfaceFault> {
    if data.kind() != "tool/result" {
        return Ok(());
    }
    let [target] = shadowed else {
        return Err(SurfaceFault::RewriteTarget {
            found: format!("{} nodes", shadowed.len()),
        });
    };
    let Some(old) = events
        .get(target.index())
        .filter(|event| event.kind() == "tool/result")
    else {
        let kind = events.get(target.index()).map_or("nothing", |event| event.kind());
        return Err(SurfaceFault::RewriteTarget {
            found: format!("a `{kind}`"),
        });
    };
    let differing = match (old.data.body(), data.body()) {
        (Ok(EventBody::ToolResult(old)), Ok(EventBody::ToolResult(new))) => {
            let mut aligned = old.clone();
            aligned.content = new.content.clone();
            if aligned == *new {
                None
            } else {
                differing_field(&to_json(old), &to_json(new))
            }
        }
        _ => differing_field(&to_json(&old.data), &to_json(data)),
    };
    match differing {
        Some(field) => Err(SurfaceFault::RewriteField {
            target: *target,
            field,
        }),
        None => Ok(()),
    }
}

type Encoded = Result<Json, serde_json::Error>;

/// The first field beside `content` in which two payloads differ.
fn differing_field(old: &Encoded, new: &Encoded) -> Option<String> {
    let (Ok(old), Ok(new)) = (old, new) else {
        return Some("?".to_owned());
    };
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return (old != new).then(|| "data".to_owned());
    };
    let differs = |key: &&String| key.as_str() != "content" && old.get(*key) != new.get(*key);
    old.keys().chain(new.keys()).find(differs).cloned()
}
