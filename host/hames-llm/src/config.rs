//! What can be wrong with an adapter's configuration? Providers' failures are not here: they are `LlmFailure`s.

use std::time::Duration;

/// Why an adapter can't be built.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A wait no timer can be set to.
    #[error("`{name}` must be above zero and at most 2147483647 ms, found {wait:?}")]
    Wait {
        /// Which.
        name: &'static str,
        /// What it was.
        wait: Duration,
    },
    /// A base URL that is none.
    #[error("`base_url` must be an http or https URL, found {found:?}")]
    BaseUrl {
        /// What it was.
        found: String,
    },
    /// A proxy that can't be used.
    #[error("the proxy for {what} can't be used; give it as http://host:port")]
    Proxy {
        /// Which.
        what: &'static str,
        /// Why.
        source: reqwest::Error,
    },
    /// The client can't be built.
    #[error("the HTTP client can't be built")]
    Client(#[from] reqwest::Error),
    /// A file of answers or records that can't be read as such.
    #[error("{what} can't be read: {problem}")]
    Script {
        /// Which.
        what: String,
        /// Why.
        problem: String,
    },
}
