//! Anthropic's messages: thinking that must come back signed, tools, caching.

use hames_types::failure::LlmFailure;
use hames_types::request::Request;

use crate::ConfigError;
use crate::adapter::KnownModel;
use crate::call::{Decode, Protocol};
use crate::classify::ANTHROPIC;
use crate::http::{Outgoing, check_base_url};
use crate::key::{KeySource, Secret};
use crate::limits::Limits;
use crate::names::{COMMON_RULE, Names};
use crate::status::ErrorDialect;

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub(crate) use decode::Decoder;

/// The version of the protocol that is spoken.
const VERSION: &str = "2023-06-01";
/// Names the protocol in replay state.
const MAKER: &str = "anthropic-messages";

/// One route's settings.
#[derive(Debug, Clone)]
pub struct MessagesConfig {
    /// What stands in front of `/v1/messages`.
    pub base_url: String,
    /// The key.
    pub key: KeySource,
    /// Most tokens of an answer where a request names none: the protocol demands a number.
    pub default_max_tokens: u64,
    /// How many tokens the model may think; absent: it doesn't.
    pub thinking_tokens: Option<u64>,
    /// Whether the provider is asked to cache the request's beginning.
    pub cache: bool,
}

impl MessagesConfig {
    /// Anthropic itself: 8192 tokens an answer, no thinking, caching.
    #[must_use]
    pub fn new(key: KeySource) -> Self {
        Self {
            base_url: "https://api.anthropic.com".to_owned(),
            key,
            default_max_tokens: 8192,
            thinking_tokens: None,
            cache: true,
        }
    }
}

pub(crate) fn protocol(config: MessagesConfig) -> Result<impl Protocol, ConfigError> {
    check_base_url(&config.base_url)?;
    Ok(Messages(config))
}

struct Messages(MessagesConfig);

impl Protocol for Messages {
    fn encode(&self, request: &Request, limits: Limits) -> Result<(Outgoing, Box<dyn Decode>), LlmFailure> {
        let names = Names::of(request, &COMMON_RULE);
        let body = encode::body(request, &self.0, &names)?;
        let mut outgoing = Outgoing::json(format!("{}/v1/messages", self.0.base_url), body);
        outgoing.header("anthropic-version", VERSION);
        Ok((outgoing, Box::new(Decoder::new(names, limits))))
    }

    fn authorize(&self, outgoing: &mut Outgoing, key: &Secret) -> bool {
        outgoing.secret_header("x-api-key", key.expose())
    }

    fn errors(&self) -> ErrorDialect {
        ErrorDialect {
            wording: &ANTHROPIC,
            request_id_headers: &["request-id", "x-request-id"],
        }
    }

    fn name(&self) -> &'static str {
        "Anthropic"
    }

    fn models(&self) -> &'static [KnownModel] {
        &[]
    }
}
