//! Where do a component's bytes lie? Read from somewhere and shared, or in the program itself.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A component, as bytes. A clone is the same bytes.
#[derive(Clone, PartialEq, Eq)]
pub enum ComponentBytes {
    /// Read at run time.
    Shared(Arc<[u8]>),
    /// A part of the program: as long as nobody looks at them they take no memory.
    Embedded(&'static [u8]),
}

impl Deref for ComponentBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Embedded(bytes) => bytes,
        }
    }
}

impl From<Arc<[u8]>> for ComponentBytes {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self::Shared(bytes)
    }
}

impl From<Vec<u8>> for ComponentBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Shared(bytes.into())
    }
}

impl fmt::Debug for ComponentBytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "a component of {} bytes", self.len())
    }
}
