//! The names and numbers that must not be confused with each other.

use std::fmt;

use serde::{Serialize, Serializer};
use smol_str::SmolStr;

use crate::json::{DecodeError, FromJson, Json};

macro_rules! text_id {
    ($( $(#[$meta:meta])* $name:ident, )*) => { $(
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(SmolStr);

        impl $name {
            /// Names it. Any text is allowed; places with a narrower grammar check it themselves.
            #[must_use]
            pub fn new(text: impl Into<SmolStr>) -> Self {
                Self(text.into())
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, "{}({:?})", stringify!($name), self.as_str())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl FromJson for $name {
            fn from_json(value: Json) -> Result<Self, DecodeError> {
                SmolStr::from_json(value).map(Self)
            }
        }
    )* };
}

text_id! {
    /// One session, and the live agent that owns it: both have this one identity.
    SessionId,
    /// Correlates a tool call with its result. The provider chooses it.
    CallId,
    /// One plugin, as the operator named it.
    PluginId,
    /// A provider route: which adapter serves a request.
    ProviderId,
    /// A model of a provider.
    ModelId,
}

macro_rules! counter {
    ($( $(#[$meta:meta])* $name:ident from $first:literal, )*) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u64);

        impl $name {
            /// The first of its count.
            pub const FIRST: Self = Self($first);

            /// From the number in a log.
            #[must_use]
            pub const fn new(number: u64) -> Self {
                Self(number)
            }

            /// The number.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }

            /// The one after this.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(out)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u64(self.0)
            }
        }

        impl FromJson for $name {
            fn from_json(value: Json) -> Result<Self, DecodeError> {
                u64::from_json(value).map(Self)
            }
        }
    )* };
}

counter! {
    /// Position of an event in its session's log; contiguous from 0.
    Seq from 0,
    /// Number of a turn in its session; contiguous from 1.
    TurnNo from 1,
    /// Number of a step in its turn; contiguous from 1, failed attempts counted.
    StepNo from 1,
}

impl Seq {
    /// The sequence number of the event at `index`.
    #[must_use]
    pub const fn at(index: usize) -> Self {
        Self(index as u64)
    }

    /// The index of the event in its log.
    #[must_use]
    pub fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}
