//! The open sums: one arm per core kind and an `Other` arm that loses nothing.
//!
//! Decoding is tag-first: the tag picks the arm, the arm decodes its body, and a fault names sum, kind and field.
//! A tag that is known can never end in `Other`: [`Opaque`] belongs to one sum and its only constructor checks.

use std::fmt;
use std::marker::PhantomData;

use serde::ser::SerializeMap;
use smol_str::SmolStr;

use crate::json::{DecodeError, Json, JsonMap};

/// A sum that plugins may extend (the seed's six maps).
pub trait OpenSum {
    /// What the sum is called in errors and in a kind's declaration (`content block`).
    const LABEL: &'static str;
    /// The core kinds, in the order of the seed.
    const KINDS: &'static [&'static str];
}

/// A value of a kind this host doesn't know, with everything it carried.
pub struct Opaque<S> {
    inner: Box<OpaqueInner>,
    sum: PhantomData<fn() -> S>,
}

#[derive(Clone, PartialEq)]
struct OpaqueInner {
    kind: SmolStr,
    fields: JsonMap,
}

impl<S: OpenSum> Opaque<S> {
    /// Keeps `fields` under an unknown `kind`.
    ///
    /// # Errors
    /// If the kind is one of the sum's own: a known kind has its arm and its checks.
    pub fn new(kind: impl Into<SmolStr>, fields: JsonMap) -> Result<Self, DecodeError> {
        let kind = kind.into();
        if S::KINDS.contains(&kind.as_str()) {
            return Err(
                DecodeError::refused("is a kind of the core and can't be carried as an unknown one")
                    .in_kind(S::LABEL, &kind),
            );
        }
        Ok(Self {
            inner: Box::new(OpaqueInner { kind, fields }),
            sum: PhantomData,
        })
    }
}

impl<S> Opaque<S> {
    /// The kind's tag.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.inner.kind
    }

    /// Every field beside the tag, as it came.
    #[must_use]
    pub fn fields(&self) -> &JsonMap {
        &self.inner.fields
    }

    pub(crate) fn put_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.inner
            .fields
            .iter()
            .try_for_each(|(key, value)| map.serialize_entry(key, value))
    }
}

impl<S> Clone for Opaque<S> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            sum: PhantomData,
        }
    }
}

impl<S> PartialEq for Opaque<S> {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl<S> fmt::Debug for Opaque<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Opaque")
            .field("kind", &self.inner.kind)
            .field("fields", &self.inner.fields)
            .finish()
    }
}

/// Takes the tag out of an object.
pub(crate) fn take_tag(
    value: Json,
    sum: &'static str,
    tag: &'static str,
) -> Result<(String, JsonMap), DecodeError> {
    let mut fields = crate::json::object(value).map_err(|fault| fault.in_kind(sum, "?"))?;
    match fields.shift_remove(tag) {
        Some(Json::String(kind)) => Ok((kind, fields)),
        Some(other) => Err(DecodeError::expected("a string", &other)
            .in_field(tag)
            .in_kind(sum, "?")),
        None => Err(DecodeError::missing(tag).in_kind(sum, "?")),
    }
}

/// Declares an open sum whose tag stands beside its fields.
macro_rules! open_sum {
    (
        $(#[$meta:meta])*
        $name:ident ($label:literal, $tag:literal) {
            $( $(#[$arm_meta:meta])* $arm:ident($ty:ty) = $kind:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name {
            $( $(#[$arm_meta])* $arm($ty), )*
            /// A kind the core doesn't know, kept whole.
            Other($crate::open::Opaque<$name>),
        }

        impl $crate::open::OpenSum for $name {
            const LABEL: &'static str = $label;
            const KINDS: &'static [&'static str] = &[$($kind),*];
        }

        impl $name {
            /// The tag of this value.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self { $( Self::$arm(_) => $kind, )* Self::Other(opaque) => opaque.kind() }
            }

            /// A value of a kind the core doesn't know.
            ///
            /// # Errors
            /// If the kind is one of the core's.
            pub fn other(
                kind: impl Into<smol_str::SmolStr>,
                fields: $crate::json::JsonMap,
            ) -> Result<Self, $crate::json::DecodeError> {
                $crate::open::Opaque::new(kind, fields).map(Self::Other)
            }
        }

        impl $crate::json::FromJson for $name {
            fn from_json(value: $crate::json::Json) -> Result<Self, $crate::json::DecodeError> {
                let (kind, fields) = $crate::open::take_tag(value, $label, $tag)?;
                match kind.as_str() {
                    $( $kind => <$ty as $crate::json::Fields>::from_fields(fields)
                        .map(Self::$arm)
                        .map_err(|fault| fault.in_kind($label, $kind)), )*
                    _ => Self::other(kind, fields),
                }
            }

            fn check_lossless_at(&self, depth: usize) -> Result<(), $crate::json::NotLossless> {
                match self {
                    $( Self::$arm(body) => $crate::json::Fields::check_fields(body, depth), )*
                    Self::Other(opaque) => $crate::json::FromJson::check_lossless_at(opaque.fields(), depth),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $( Self::$arm(body) => $crate::json::tagged(serializer, $tag, $kind, body), )*
                    Self::Other(opaque) => {
                        let mut map = serde::Serializer::serialize_map(serializer, None)?;
                        serde::ser::SerializeMap::serialize_entry(&mut map, $tag, opaque.kind())?;
                        opaque.put_fields(&mut map)?;
                        serde::ser::SerializeMap::end(map)
                    }
                }
            }
        }
    };
}
pub(crate) use open_sum;

/// Declares a closed sum whose tag stands beside its fields: an unknown tag is an error.
macro_rules! closed_sum {
    (
        $(#[$meta:meta])*
        $name:ident ($label:literal, $tag:literal) {
            $( $(#[$arm_meta:meta])* $arm:ident($ty:ty) = $kind:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name { $( $(#[$arm_meta])* $arm($ty), )* }

        impl $name {
            /// The tags, in the order of the arms.
            pub const KINDS: &'static [&'static str] = &[$($kind),*];

            /// The tag of this value.
            #[must_use]
            pub const fn kind(&self) -> &'static str {
                match self { $( Self::$arm(_) => $kind, )* }
            }
        }

        impl $crate::json::FromJson for $name {
            fn from_json(value: $crate::json::Json) -> Result<Self, $crate::json::DecodeError> {
                let (kind, fields) = $crate::open::take_tag(value, $label, $tag)?;
                match kind.as_str() {
                    $( $kind => <$ty as $crate::json::Fields>::from_fields(fields)
                        .map(Self::$arm)
                        .map_err(|fault| fault.in_kind($label, $kind)), )*
                    _ => Err($crate::open::unknown_kind(&kind, $label, $tag)),
                }
            }

            fn check_lossless_at(&self, depth: usize) -> Result<(), $crate::json::NotLossless> {
                match self { $( Self::$arm(body) => $crate::json::Fields::check_fields(body, depth), )* }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $( Self::$arm(body) => $crate::json::tagged(serializer, $tag, $kind, body), )* }
            }
        }
    };
}
pub(crate) use closed_sum;

/// The refusal of a tag that a closed sum doesn't have.
pub(crate) fn unknown_kind(kind: &str, sum: &'static str, tag: &str) -> DecodeError {
    DecodeError::refused("is not a kind of this sum; the set is closed")
        .in_field(tag)
        .in_kind(sum, kind)
}
