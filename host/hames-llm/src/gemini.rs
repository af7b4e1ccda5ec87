//! Google's Gemini: contents and parts, signatures on thoughts and calls, no marker at the end.

use hames_types::failure::LlmFailure;
use hames_types::request::Request;
use smol_str::SmolStr;

use crate::ConfigError;
use crate::adapter::KnownModel;
use crate::call::{Decode, Protocol};
use crate::classify::GEMINI;
use crate::http::{Outgoing, check_base_url};
use crate::key::{KeySource, Secret};
use crate::limits::Limits;
use crate::names::{NameRule, Names};
use crate::status::ErrorDialect;

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub(crate) use decode::Decoder;

/// Names the protocol in replay state.
const MAKER: &str = "gemini";

const TOOL_NAMES: NameRule = NameRule {
    max_len: 63,
    also: &['.', ':'],
    letter_first: true,
};

/// One route's settings.
#[derive(Debug, Clone)]
pub struct GeminiConfig {
    /// What stands in front of the version.
    pub base_url: String,
    /// The version of the protocol, as it stands in the address.
    pub version: SmolStr,
    /// The key.
    pub key: KeySource,
    /// How many tokens the model may think; absent: the provider's default.
    pub thinking_tokens: Option<u64>,
}

impl GeminiConfig {
    /// Google itself, version `v1beta`: the one that knows system instructions and tools.
    #[must_use]
    pub fn new(key: KeySource) -> Self {
        Self {
            base_url: "https://generativelanguage.googleapis.com".to_owned(),
            version: SmolStr::new_static("v1beta"),
            key,
            thinking_tokens: None,
        }
    }
}

pub(crate) fn protocol(config: GeminiConfig) -> Result<impl Protocol, ConfigError> {
    check_base_url(&config.base_url)?;
    Ok(Gemini(config))
}

struct Gemini(GeminiConfig);

impl Protocol for Gemini {
    fn encode(&self, request: &Request, limits: Limits) -> Result<(Outgoing, Box<dyn Decode>), LlmFailure> {
        let names = Names::of(request, &TOOL_NAMES);
        let body = encode::body(request, &self.0, &names)?;
        let GeminiConfig {
            base_url, version, ..
        } = &self.0;
        let model = in_path(request.config.model.as_str());
        let url = format!("{base_url}/{version}/models/{model}:streamGenerateContent?alt=sse");
        // Calls have no ids there; ours must be unique in the conversation.
        let round = request.messages.len();
        Ok((
            Outgoing::json(url, body),
            Box::new(Decoder::new(names, round, limits)),
        ))
    }

    fn authorize(&self, outgoing: &mut Outgoing, key: &Secret) -> bool {
        outgoing.secret_header("x-goog-api-key", key.expose())
    }

    fn errors(&self) -> ErrorDialect {
        ErrorDialect {
            wording: &GEMINI,
            request_id_headers: &["x-request-id"],
        }
    }

    fn name(&self) -> &'static str {
        "Gemini"
    }

    fn models(&self) -> &'static [KnownModel] {
        &[]
    }
}

/// A model's name as part of an address; whatever could mean something else there is escaped.
fn in_path(model: &str) -> String {
    let model = model.strip_prefix("models/").unwrap_or(model);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let escape = |byte: u8| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    model.bytes().map(escape).collect()
}
