//! What codes do failures of model calls have, and how is one made?

use std::fmt;

use hames_types::failure::LlmFailure;
use smol_str::SmolStr;

/// The codes an adapter may answer with beside `HTTP_<status>` and a provider's own finish reasons in capitals.
pub mod code {
    /// The key is missing, wrong or not entitled.
    pub const AUTH: &str = "AUTH";
    /// Money or allowance is used up; waiting a moment doesn't help.
    pub const QUOTA: &str = "QUOTA";
    /// Too many requests; waiting helps.
    pub const RATE_LIMIT: &str = "RATE_LIMIT";
    /// The request is more than the model can hold.
    pub const CONTEXT_WINDOW_EXCEEDED: &str = "CONTEXT_WINDOW_EXCEEDED";
    /// The provider refuses the request as it is.
    pub const INVALID_REQUEST: &str = "INVALID_REQUEST";
    /// The provider failed.
    pub const SERVER: &str = "SERVER";
    /// The provider reported an error inside the stream whose code it didn't give.
    pub const PROVIDER_ERROR: &str = "PROVIDER_ERROR";
    /// The connection couldn't be made or broke.
    pub const TRANSPORT: &str = "TRANSPORT";
    /// Nothing came for too long.
    pub const TIMEOUT: &str = "TIMEOUT";
    /// The caller ended the call.
    pub const ABORTED: &str = "ABORTED";
    /// The answer has no body.
    pub const EMPTY_RESPONSE: &str = "EMPTY_RESPONSE";
    /// The stream ended before the answer did.
    pub const STREAM_CLOSED: &str = "STREAM_CLOSED";
    /// The answer isn't what the protocol says.
    pub const MALFORMED_RESPONSE: &str = "MALFORMED_RESPONSE";
    /// The provider refused to answer for its policy's sake.
    pub const CONTENT_FILTER: &str = "CONTENT_FILTER";
}

/// A failure of `code`.
pub(crate) fn failure(code: &'static str, message: impl fmt::Display) -> LlmFailure {
    LlmFailure::new(SmolStr::new_static(code), SmolStr::new(message.to_string()))
}

/// The answer isn't what the protocol says.
pub(crate) fn malformed(message: impl fmt::Display) -> LlmFailure {
    failure(code::MALFORMED_RESPONSE, message)
}

/// The stream ended too early.
pub(crate) fn closed(missing: &str) -> LlmFailure {
    failure(
        code::STREAM_CLOSED,
        format_args!("the provider's stream ended without {missing}"),
    )
}
