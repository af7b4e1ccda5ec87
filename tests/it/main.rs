//! Tests of the whole, in one binary: each module links the library once.

mod conformance;
