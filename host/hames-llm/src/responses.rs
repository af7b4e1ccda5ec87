//! OpenAI's responses: items instead of messages, thoughts that come sealed and go back sealed.

use hames_types::failure::LlmFailure;
use hames_types::request::Request;
use smol_str::{SmolStr, format_smolstr};

use crate::ConfigError;
use crate::adapter::KnownModel;
use crate::call::{Decode, Protocol};
use crate::classify::ANY;
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

/// Names the protocol in replay state.
const MAKER: &str = "openai-responses";

/// One route's settings.
#[derive(Debug, Clone)]
pub struct ResponsesConfig {
    /// What stands in front of `/responses`.
    pub base_url: String,
    /// The key.
    pub key: KeySource,
    /// How hard the model thinks, in the provider's words; absent: the provider's default.
    pub reasoning_effort: Option<SmolStr>,
    /// Whether thoughts are asked for sealed, so that they can go back.
    pub sealed_thoughts: bool,
}

impl ResponsesConfig {
    /// OpenAI itself.
    #[must_use]
    pub fn new(key: KeySource) -> Self {
        Self {
            base_url: "https://api.openai.com/v1".to_owned(),
            key,
            reasoning_effort: None,
            sealed_thoughts: true,
        }
    }
}

pub(crate) fn protocol(config: ResponsesConfig) -> Result<impl Protocol, ConfigError> {
    check_base_url(&config.base_url)?;
    Ok(Responses(config))
}

struct Responses(ResponsesConfig);

impl Protocol for Responses {
    fn encode(&self, request: &Request, limits: Limits) -> Result<(Outgoing, Box<dyn Decode>), LlmFailure> {
        let names = Names::of(request, &COMMON_RULE);
        let body = encode::body(request, &self.0, &names)?;
        let outgoing = Outgoing::json(format!("{}/responses", self.0.base_url), body);
        Ok((outgoing, Box::new(Decoder::new(names, limits))))
    }

    fn authorize(&self, outgoing: &mut Outgoing, key: &Secret) -> bool {
        outgoing.secret_header("authorization", &format_smolstr!("Bearer {}", key.expose()))
    }

    fn errors(&self) -> ErrorDialect {
        ErrorDialect {
            wording: &ANY,
            request_id_headers: &["x-request-id"],
        }
    }

    fn name(&self) -> &'static str {
        "OpenAI Responses"
    }

    fn models(&self) -> &'static [KnownModel] {
        &[]
    }
}
