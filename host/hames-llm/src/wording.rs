//! Texts of ours that a model sees where a provider takes no empty one.

/// Stands for a tool's answer that holds no text.
pub(crate) const NO_OUTPUT: &str = "(no output)";

/// Stands for a message that holds nothing the provider takes.
pub(crate) const EMPTY_MESSAGE: &str = "(empty message)";
