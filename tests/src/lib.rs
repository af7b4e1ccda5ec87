//! What the tests of the whole share: the conformance runner.
//!
//! The package holds no part of the product. It reads recorded data, runs the real crates on it and compares.

pub mod conformance;
pub mod crash;
