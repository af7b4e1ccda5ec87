//! What must a provider get back beside an answer's blocks? Signatures and sealed thoughts, by the block they belong to.
//!
//! They travel as the answer's replay state: opaque to everybody else, shown to nobody but the adapter that made it, and
//! dropped by the loop when the answer was rewritten. Here it is dropped as well if it doesn't fit the answer.

use hames_types::content::Content;
use hames_types::json::{Json, JsonMap};

use crate::blocks::BlockNo;

/// One thing kept.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Keepsake {
    /// The block's place in the answer.
    pub(crate) at: u64,
    /// Whether it stands in front of that block instead of belonging to it.
    pub(crate) before: bool,
    /// What it is, in the provider's words.
    pub(crate) fields: JsonMap,
}

/// Everything kept of one answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Keepsakes(Vec<Keepsake>);

impl Keepsakes {
    /// Keeps something that belongs to `block`.
    pub(crate) fn of_block(&mut self, block: BlockNo, fields: JsonMap) {
        self.0.push(Keepsake {
            at: block.get(),
            before: false,
            fields,
        });
    }

    /// Keeps something that has no block, in front of the block that will have number `at`.
    pub(crate) fn before(&mut self, at: usize, fields: JsonMap) {
        self.0.push(Keepsake {
            at: at as u64,
            before: true,
            fields,
        });
    }

    /// As replay state; `maker` names the protocol and `blocks` the answer's length.
    pub(crate) fn into_state(self, maker: &str, blocks: usize) -> Option<Json> {
        if self.0.is_empty() {
            return None;
        }
        let kept = self.0.into_iter().map(|keepsake| {
            let mut fields = keepsake.fields;
            fields.insert("at".to_owned(), Json::from(keepsake.at));
            if keepsake.before {
                fields.insert("before".to_owned(), Json::Bool(true));
            }
            Json::Object(fields)
        });
        Some(serde_json::json!({ "maker": maker, "blocks": blocks, "kept": kept.collect::<Vec<_>>() }))
    }

    /// What `maker` kept of an answer; nothing if it isn't this answer's.
    pub(crate) fn read(state: Option<&Json>, maker: &str, content: &Content) -> Self {
        let fits = |state: &&Json| {
            state.get("maker").and_then(Json::as_str) == Some(maker)
                && state.get("blocks").and_then(Json::as_u64) == Some(content.len() as u64)
        };
        let kept = state.filter(fits).and_then(|state| state.get("kept")?.as_array());
        Self(kept.into_iter().flatten().filter_map(keepsake).collect())
    }

    /// Whether there is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What belongs to the block at `at`.
    pub(crate) fn at(&self, at: usize) -> Option<&JsonMap> {
        let mut kept = self.0.iter();
        let found = kept.find(|keepsake| keepsake.at == at as u64 && !keepsake.before);
        found.map(|keepsake| &keepsake.fields)
    }

    /// What stands in front of the block at `at`.
    pub(crate) fn in_front(&self, at: usize) -> impl Iterator<Item = &JsonMap> {
        let kept = self
            .0
            .iter()
            .filter(move |keepsake| keepsake.at == at as u64 && keepsake.before);
        kept.map(|keepsake| &keepsake.fields)
    }
}

fn keepsake(value: &Json) -> Option<Keepsake> {
    let mut fields = value.as_object()?.clone();
    Some(Keepsake {
        at: fields.shift_remove("at")?.as_u64()?,
        before: fields.shift_remove("before") == Some(Json::Bool(true)),
        fields,
    })
}
