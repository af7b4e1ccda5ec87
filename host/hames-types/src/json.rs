//! What counts as lossless JSON, and how a value becomes a typed record.
//!
//! Decoding takes a value apart: known fields are taken out of the object one by one and whatever is left is
//! kept in [`Extra`]. So an unknown field of a known record survives a round trip, which serde's derive can't do
//! without buffering. Numbers keep their text (`1.50` stays `1.50`, 64-bit integers stay exact).

use std::borrow::Cow;
use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};
use smol_str::SmolStr;

mod lossless;

use lossless::check_number;
pub(crate) use lossless::{check_at, check_depth};

pub use lossless::{LossReason, MAX_JSON_DEPTH, NotLossless, check_lossless};

/// Any JSON value. Object key order is kept, numbers keep their text.
pub type Json = serde_json::Value;

/// A JSON object.
pub type JsonMap = serde_json::Map<String, Json>;

/// Largest integer that every JSON implementation keeps exact (2^53 - 1); sequence numbers and times end here.
pub const MAX_SAFE_INTEGER: u64 = 9_007_199_254_740_991;

/// Why a value isn't what its tag says: names the sum, the kind and the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(Box<DecodeFault>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct DecodeFault {
    sum: Option<&'static str>,
    kind: Option<String>,
    path: String,
    problem: String,
}

impl DecodeError {
    /// A field that must be there and isn't.
    #[must_use]
    pub fn missing(field: &str) -> Self {
        Self::at(field, "is missing".to_owned())
    }

    /// A value of the wrong shape.
    #[must_use]
    pub fn expected(what: &str, found: &Json) -> Self {
        Self::at("", format!("must be {what}, found {}", describe(found)))
    }

    /// Any other refusal of a value, in words that complete "`field` …".
    #[must_use]
    pub fn refused(problem: impl Into<String>) -> Self {
        Self::at("", problem.into())
    }

    fn at(path: &str, problem: String) -> Self {
        Self(Box::new(DecodeFault {
            sum: None,
            kind: None,
            path: path.to_owned(),
            problem,
        }))
    }

    /// The sum whose value was refused (`content block`), if the fault lies inside one.
    #[must_use]
    pub fn sum(&self) -> Option<&'static str> {
        self.0.sum
    }

    /// The kind inside that sum (`text`).
    #[must_use]
    pub fn kind(&self) -> Option<&str> {
        self.0.kind.as_deref()
    }

    /// The field or path at fault, seen from the value that was decoded.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// The same fault seen from the value that holds the faulty one in `field`.
    #[must_use]
    pub fn inside(self, field: &str) -> Self {
        self.in_field(field)
    }

    pub(crate) fn in_field(mut self, field: &str) -> Self {
        let path = &mut self.0.path;
        let joint = if path.is_empty() || path.starts_with('[') {
            ""
        } else {
            "."
        };
        *path = format!("{field}{joint}{path}");
        self
    }

    pub(crate) fn in_kind(mut self, sum: &'static str, kind: &str) -> Self {
        // The innermost sum is the one at fault; outer ones only lengthen the path.
        if self.0.sum.is_none() {
            self.0.sum = Some(sum);
            self.0.kind = Some(kind.to_owned());
        }
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DecodeFault {
            sum,
            kind,
            path,
            problem,
        } = &*self.0;
        if let (Some(sum), Some(kind)) = (sum, kind) {
            write!(out, "bad {sum} `{}`: ", shortened(kind))?;
        }
        if path.is_empty() {
            write!(out, "the value {problem}")
        } else {
            write!(out, "`{}` {problem}", shortened(path))
        }
    }
}

impl std::error::Error for DecodeError {}

/// Most characters of foreign text that an error repeats.
const SHOWN_CHARS: usize = 120;

/// Text from outside as an error shows it: whole if it is short, else its beginning.
#[must_use]
pub fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}

/// What a value is, in a word or two, for error messages. Never prints more than a short piece of it.
#[must_use]
pub fn describe(value: &Json) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(flag) => flag.to_string(),
        Json::Number(number) => {
            format!("the number {}", shortened(number.as_str()))
        }
        Json::String(text) => {
            format!("the string {:?}", shortened(text))
        }
        Json::Array(items) => format!("a list of {}", items.len()),
        Json::Object(_) => "an object".to_owned(),
    }
}

/// Typed value from JSON.
pub trait FromJson: Sized {
    /// Takes the value apart.
    ///
    /// # Errors
    /// [`DecodeError`] naming the field at fault.
    fn from_json(value: Json) -> Result<Self, DecodeError>;

    /// Checks the untyped JSON inside a typed value (R-JSON-1); what is typed can only be too deep.
    ///
    /// # Errors
    /// [`NotLossless`] with the path of the first offending place.
    fn check_lossless(&self) -> Result<(), NotLossless> {
        self.check_lossless_at(0)
    }

    /// The same for a value that will stand inside `depth` arrays and objects.
    ///
    /// # Errors
    /// [`NotLossless`] with the path of the first offending place.
    fn check_lossless_at(&self, depth: usize) -> Result<(), NotLossless> {
        check_depth(depth)
    }
}

/// A typed record that lives in a JSON object, perhaps beside a tag.
pub trait Fields: Sized {
    /// Takes the known fields and keeps the rest.
    ///
    /// # Errors
    /// [`DecodeError`] naming the field at fault.
    fn from_fields(fields: JsonMap) -> Result<Self, DecodeError>;

    /// Writes known fields, then the kept ones.
    ///
    /// # Errors
    /// Whatever the serializer reports.
    fn put_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;

    /// As [`FromJson::check_lossless_at`].
    ///
    /// # Errors
    /// [`NotLossless`] with the path of the first offending place.
    fn check_fields(&self, depth: usize) -> Result<(), NotLossless>;
}

impl<T: Fields> Fields for Box<T> {
    fn from_fields(fields: JsonMap) -> Result<Self, DecodeError> {
        T::from_fields(fields).map(Box::new)
    }

    fn put_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        (**self).put_fields(map)
    }

    fn check_fields(&self, depth: usize) -> Result<(), NotLossless> {
        (**self).check_fields(depth)
    }
}

impl<T: FromJson> FromJson for Box<T> {
    fn from_json(value: Json) -> Result<Self, DecodeError> {
        T::from_json(value).map(Box::new)
    }

    fn check_lossless_at(&self, depth: usize) -> Result<(), NotLossless> {
        (**self).check_lossless_at(depth)
    }
}

impl<T: FromJson> FromJson for std::sync::Arc<T> {
    fn from_json(value: Json) -> Result<Self, DecodeError> {
        T::from_json(value).map(Self::new)
    }

    fn check_lossless_at(&self, depth: usize) -> Result<(), NotLossless> {
        (**self).check_lossless_at(depth)
    }
}

/// One field of a record: required, or optional by being an `Option`.
pub(crate) trait Field: Sized {
    fn take(fields: &mut JsonMap, key: &'static str) -> Result<Self, DecodeError>;
    fn put<M: SerializeMap>(&self, map: &mut M, key: &'static str) -> Result<(), M::Error>;
    fn check(&self, key: &'static str, depth: usize) -> Result<(), NotLossless>;
}

impl<T: FromJson + Serialize> Field for T {
    fn take(fields: &mut JsonMap, key: &'static str) -> Result<Self, DecodeError> {
        let value = fields
            .shift_remove(key)
            .ok_or_else(|| DecodeError::missing(key))?;
        T::from_json(value).map_err(|fault| fault.in_field(key))
    }

    fn put<M: SerializeMap>(&self, map: &mut M, key: &'static str) -> Result<(), M::Error> {
        map.serialize_entry(key, self)
    }

    fn check(&self, key: &'static str, depth: usize) -> Result<(), NotLossless> {
        self.check_lossless_at(depth).map_err(|fault| fault.in_field(key))
    }
}

impl<T: FromJson + Serialize> Field for Option<T> {
    fn take(fields: &mut JsonMap, key: &'static str) -> Result<Self, DecodeError> {
        let Some(value) = fields.shift_remove(key) else {
            return Ok(None);
        };
        T::from_json(value).map(Some).map_err(|fault| fault.in_field(key))
    }

    fn put<M: SerializeMap>(&self, map: &mut M, key: &'static str) -> Result<(), M::Error> {
        // A missing optional is absent, never null (R-JSON-4).
        match self {
            Some(value) => map.serialize_entry(key, value),
            None => Ok(()),
        }
    }

    fn check(&self, key: &'static str, depth: usize) -> Result<(), NotLossless> {
        self.as_ref().map_or(Ok(()), |value| {
            value
                .check_lossless_at(depth)
                .map_err(|fault| fault.in_field(key))
        })
    }
}

/// Fields of a known record that this version doesn't know, kept as they came.
#[derive(Clone, Default, PartialEq)]
pub struct Extra(Option<Box<JsonMap>>);

impl Extra {
    /// No unknown fields: what every locally built value has.
    pub const NONE: Self = Self(None);

    pub(crate) fn rest(fields: JsonMap) -> Self {
        Self((!fields.is_empty()).then(|| Box::new(fields)))
    }

    /// The same with one more field, for a field that a record passes on without having it itself.
    #[must_use]
    pub fn with(self, key: &str, value: Json) -> Self {
        let mut fields = self.0.unwrap_or_default();
        fields.insert(key.to_owned(), value);
        Self(Some(fields))
    }

    /// Whether nothing unknown came along.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The unknown fields in the order they came.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0
            .iter()
            .flat_map(|fields| fields.iter().map(|(key, value)| (key.as_str(), value)))
    }

    pub(crate) fn check(&self, depth: usize) -> Result<(), NotLossless> {
        self.iter()
            .try_for_each(|(key, value)| check_at(value, key, depth))
    }

    pub(crate) fn put<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.iter()
            .try_for_each(|(key, value)| map.serialize_entry(key, value))
    }
}

impl fmt::Debug for Extra {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_map().entries(self.iter()).finish()
    }
}

/// Declares a record: a struct whose fields have JSON names, with unknown fields kept in `extra`.
macro_rules! record {
    (
        $(#[$meta:meta])*
        $name:ident { $( $(#[$field_meta:meta])* $field:ident: $ty:ty = $key:literal, )* }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $( $(#[$field_meta])* pub $field: $ty, )*
            /// Unknown fields, kept as they came.
            pub extra: $crate::json::Extra,
        }

        impl $crate::json::Fields for $name {
            fn from_fields(fields: $crate::json::JsonMap) -> Result<Self, $crate::json::DecodeError> {
                #[allow(unused_mut, clippy::allow_attributes, reason = "a record may have no fields of its own")]
                let mut fields = fields;
                Ok(Self {
                    $( $field: $crate::json::Field::take(&mut fields, $key)?, )*
                    extra: $crate::json::Extra::rest(fields),
                })
            }

            fn put_fields<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                $( $crate::json::Field::put(&self.$field, map, $key)?; )*
                self.extra.put(map)
            }

            fn check_fields(&self, depth: usize) -> Result<(), $crate::json::NotLossless> {
                $crate::json::check_depth(depth)?;
                $( $crate::json::Field::check(&self.$field, $key, depth + 1)?; )*
                self.extra.check(depth + 1)
            }
        }

        impl $crate::json::FromJson for $name {
            fn from_json(value: $crate::json::Json) -> Result<Self, $crate::json::DecodeError> {
                $crate::json::object(value).and_then($crate::json::Fields::from_fields)
            }

            fn check_lossless_at(&self, depth: usize) -> Result<(), $crate::json::NotLossless> {
                $crate::json::Fields::check_fields(self, depth)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serde::Serializer::serialize_map(serializer, None)?;
                $crate::json::Fields::put_fields(self, &mut map)?;
                serde::ser::SerializeMap::end(map)
            }
        }
    };
}
pub(crate) use record;

/// Declares a closed set of words, written as JSON strings.
macro_rules! words {
    (
        $(#[$meta:meta])*
        $name:ident ($label:literal) { $( $(#[$arm_meta:meta])* $arm:ident = $word:literal, )* }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $( $(#[$arm_meta])* $arm, )* }

        impl $name {
            /// The word as it stands in JSON.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$arm => $word, )* }
            }

            /// The word's meaning, if it is one of the set.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $( $word => Some(Self::$arm), )* _ => None }
            }
        }

        impl $crate::json::FromJson for $name {
            fn from_json(value: $crate::json::Json) -> Result<Self, $crate::json::DecodeError> {
                value.as_str().and_then(Self::from_word).ok_or_else(|| {
                    $crate::json::DecodeError::expected(concat!("one of the words of ", $label), &value)
                })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;

/// The object inside a value.
pub(crate) fn object(value: Json) -> Result<JsonMap, DecodeError> {
    match value {
        Json::Object(fields) => Ok(fields),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Err(DecodeError::expected("an object", &value))
        }
    }
}

/// The typed form of a value that is encoded for the log or the wire; total for every type of this crate.
///
/// # Errors
/// None of this crate's types fails to encode; the error exists because serde's traits have one.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<Json, serde_json::Error> {
    serde_json::to_value(value)
}

impl FromJson for Json {
    fn from_json(value: Json) -> Result<Self, DecodeError> {
        Ok(value)
    }

    fn check_lossless_at(&self, depth: usize) -> Result<(), NotLossless> {
        check_at(self, "", depth)
    }
}

impl FromJson for JsonMap {
    fn from_json(value: Json) -> Result<Self, DecodeError> {
        object(value)
    }

    fn check_lossless_at(&self, depth: usize) -> Result<(), NotLossless> {
        self.iter()
            .try_for_each(|(key, value)| check_at(value, key, depth + 1))
    }
}

impl FromJson for String {
    fn from_json(value: Json) -> Result<Self, DecodeError> {
        match value {
            Json::String(text) => Ok(text),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
                Err(DecodeError::expected("a string", &value))
            }
        }
    }
}

impl FromJson for SmolStr {
    fn from_json(value: Json) -> Result<Self, DecodeError> {
        String::from_json(value).map(Self::from)
    }
}

impl FromJson for bool {
    fn from_json(value: Json) -> Result<Self, DecodeError> {
        value
            .as_bool()
            .ok_or_else(|| DecodeError::expected("a boolean", &value))
    }
}

impl FromJson for u64 {
    fn from_json(value: Json) -> Result<Self, DecodeError> {
        match value.as_u64() {
            Some(number) if number <= MAX_SAFE_INTEGER => Ok(number),
            _ => Err(DecodeError::expected("an integer from 0 to 2^53 - 1", &value)),
        }
    }
}

impl FromJson for serde_json::Number {
    fn from_json(value: Json) -> Result<Self, DecodeError> {
        match value {
            Json::Number(number) => Ok(number),
            Json::Null | Json::Bool(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
                Err(DecodeError::expected("a number", &value))
            }
        }
    }

    fn check_lossless_at(&self, _: usize) -> Result<(), NotLossless> {
        check_number(self).map_err(|reason| NotLossless {
            path: String::new(),
            reason,
        })
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(value: Json) -> Result<Self, DecodeError> {
        let Json::Array(items) = value else {
            return Err(DecodeError::expected("a list", &value));
        };
        items
            .into_iter()
            .enumerate()
            .map(|(at, item)| T::from_json(item).map_err(|fault| fault.in_field(&format!("[{at}]"))))
            .collect()
    }

    fn check_lossless_at(&self, depth: usize) -> Result<(), NotLossless> {
        check_items(self, depth)
    }
}

/// Checks the items of a list that `depth` arrays and objects stand around.
pub(crate) fn check_items<'a, T: FromJson + 'a>(
    items: impl IntoIterator<Item = &'a T>,
    depth: usize,
) -> Result<(), NotLossless> {
    check_depth(depth)?;
    items.into_iter().enumerate().try_for_each(|(at, item)| {
        item.check_lossless_at(depth + 1)
            .map_err(|fault| fault.in_field(&format!("[{at}]")))
    })
}

/// Serializes a record that carries its tag beside its fields.
pub(crate) fn tagged<S: Serializer, F: Fields>(
    serializer: S,
    tag: &'static str,
    kind: &str,
    fields: &F,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry(tag, kind)?;
    fields.put_fields(&mut map)?;
    map.end()
}
