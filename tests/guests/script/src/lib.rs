//! What scripted tools and scripted listeners have in common: their values, and what they ask of the agent.

pub mod ops;
pub mod surface;
pub mod values;
pub mod written;
