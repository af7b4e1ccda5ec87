//! Can a plugin's JSON Schema be afforded? Bounds the work it may cause, then compiles it.
//!
//! A schema comes from a plugin nobody reviewed, and it is run by the host, outside of any deadline of the plugin's.
//! Size alone bounds nothing: forty definitions that each refer twice to the next ask for a million million checks.
//! So references are followed once, before the schema is used, and what they unfold to is counted.

use std::collections::HashSet;

use jsonschema::{PatternOptions, Validator};

use crate::json::{Json, JsonMap, check_lossless};

/// Largest JSON Schema of a declared kind, in bytes of its compact text.
///
/// A schema describes one small payload; the shipped ones are under 2 KiB.
pub const MAX_SCHEMA_BYTES: usize = 64 * 1024;

/// Memory a pattern of a declared schema may take when compiled, in bytes.
///
/// Patterns run on the linear-time engine; this bounds what `a{1000}{1000}` could ask for.
pub const MAX_PATTERN_BYTES: usize = 1024 * 1024;

/// Most patterns in one schema; with [`MAX_PATTERN_BYTES`] they bound its memory at 32 MiB.
pub const MAX_PATTERNS: usize = 32;

/// Most objects and lists that a schema may unfold to when every reference is followed.
///
/// It bounds the work per value of a payload. A schema of the largest size without references has about as many.
pub const MAX_UNFOLDED: usize = 20_000;

/// Deepest nesting of a schema with its references followed; bounds the recursion of walks over it.
pub const MAX_UNFOLDED_DEPTH: usize = 128;

/// Compiles a schema that can be afforded.
pub(super) fn compile(schema: &Json) -> Result<Validator, String> {
    check_lossless(schema, "schema").map_err(|fault| fault.to_string())?;
    let size = schema.to_string().len();
    if size > MAX_SCHEMA_BYTES {
        return Err(format!("it has {size} bytes; the limit is {MAX_SCHEMA_BYTES}"));
    }
    let mut unfolding = Unfolding {
        root: schema,
        open: HashSet::new(),
        nodes: 0,
        patterns: HashSet::new(),
    };
    unfolding.walk(schema)?;
    jsonschema::options()
        .offline()
        .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN_BYTES))
        .build(schema)
        .map_err(|fault| fault.to_string())
}

/// A walk over a schema that follows its references.
///
/// Every object counts as a schema, also where it is a mere value: that only overestimates.
struct Unfolding<'a> {
    root: &'a Json,
    /// The nodes around the current one, by address.
    open: HashSet<*const Json>,
    nodes: usize,
    /// Where patterns stand, by address: one that is referred to often is compiled once.
    patterns: HashSet<*const Json>,
}

impl<'a> Unfolding<'a> {
    fn walk(&mut self, node: &'a Json) -> Result<(), String> {
        if !node.is_object() && !node.is_array() {
            return Ok(());
        }
        self.nodes += 1;
        if self.nodes > MAX_UNFOLDED {
            return Err(format!(
                "its references unfold to more than {MAX_UNFOLDED} objects and lists"
            ));
        }
        if self.open.len() >= MAX_UNFOLDED_DEPTH {
            return Err(format!(
                "with its references followed it nests deeper than {MAX_UNFOLDED_DEPTH}"
            ));
        }
        if !self.open.insert(std::ptr::from_ref(node)) {
            return Err("it refers to itself; leave the recursive part open (`{}`)".to_owned());
        }
        match node {
            Json::Object(fields) => self.walk_object(fields)?,
            Json::Array(items) => items.iter().try_for_each(|item| self.walk(item))?,
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
        self.open.remove(&std::ptr::from_ref(node));
        Ok(())
    }

    fn walk_object(&mut self, fields: &'a JsonMap) -> Result<(), String> {
        for (key, value) in fields {
            match (key.as_str(), value) {
                ("$ref", Json::String(reference)) => {
                    let target = self.target(reference)?;
                    self.walk(target)?;
                }
                ("$dynamicRef" | "$recursiveRef", Json::String(_)) => {
                    return Err(format!("it uses `{key}`; refer with `$ref`"));
                }
                ("$id" | "id", Json::String(_)) if self.open.len() > 1 => {
                    return Err(format!(
                        "it sets `{key}` below its top, which changes what references mean"
                    ));
                }
                ("pattern", Json::String(_)) => self.count_pattern(value)?,
                ("patternProperties", Json::Object(patterns)) => {
                    patterns
                        .values()
                        .try_for_each(|value| self.count_pattern(value))?;
                }
                _ => {}
            }
            self.walk(value)?;
        }
        Ok(())
    }

    fn count_pattern(&mut self, at: &Json) -> Result<(), String> {
        self.patterns.insert(std::ptr::from_ref(at));
        if self.patterns.len() > MAX_PATTERNS {
            return Err(format!("it has more than {MAX_PATTERNS} patterns"));
        }
        Ok(())
    }

    fn target(&self, reference: &str) -> Result<&'a Json, String> {
        reference
            .strip_prefix('#')
            .and_then(|pointer| self.root.pointer(pointer))
            .ok_or_else(|| {
                let shown: String = reference.chars().take(80).collect();
                format!("`$ref` to {shown:?}, which is no place in it; refer as `#/$defs/name`")
            })
    }
}
