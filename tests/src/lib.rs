//! What the tests of the whole share: the conformance runner, and a rig of the real stack that follows the dice.
//!
//! The package holds no part of the product. It reads recorded data, runs the real crates on it and compares.

pub mod conformance;
pub mod crash;
pub mod rig;
