//! OpenAI-compatible chat completions: one protocol, many dialects.

use hames_types::failure::LlmFailure;
use hames_types::request::{Purpose, Request};
use smol_str::{SmolStr, format_smolstr};

use crate::ConfigError;
use crate::adapter::KnownModel;
use crate::call::{Decode, Protocol};
use crate::http::{Outgoing, check_base_url};
use crate::key::{KeySource, Secret};
use crate::limits::Limits;
use crate::names::Names;
use crate::status::ErrorDialect;

mod decode;
pub mod dialect;
mod encode;
mod wire;

pub(crate) use decode::ChatDecoder;
pub use dialect::Dialect;

/// One route's settings.
#[derive(Debug, Clone)]
pub struct ChatConfig {
    /// How the server speaks.
    pub dialect: &'static Dialect,
    /// What stands in front of `/chat/completions`; absent: the dialect's own.
    pub base_url: Option<String>,
    /// The key.
    pub key: KeySource,
    /// Whether the model thinks first; absent: the provider's default.
    pub thinking: Option<bool>,
    /// How hard it thinks, in the provider's words; absent: the provider's default.
    pub reasoning_effort: Option<SmolStr>,
}

impl ChatConfig {
    /// A dialect at its own address with its own defaults.
    #[must_use]
    pub fn new(dialect: &'static Dialect, key: KeySource) -> Self {
        Self {
            dialect,
            base_url: None,
            key,
            thinking: None,
            reasoning_effort: None,
        }
    }
}

pub(crate) fn protocol(config: ChatConfig) -> Result<impl Protocol, ConfigError> {
    let base_url = config
        .base_url
        .unwrap_or_else(|| config.dialect.base_url.to_owned());
    check_base_url(&base_url)?;
    Ok(Wire {
        dialect: config.dialect,
        url: format!("{base_url}/chat/completions"),
        thinking: config.thinking,
        reasoning_effort: config.reasoning_effort,
    })
}

/// What encoding needs of the settings.
#[derive(Debug)]
struct Wire {
    dialect: &'static Dialect,
    url: String,
    thinking: Option<bool>,
    reasoning_effort: Option<SmolStr>,
}

impl Protocol for Wire {
    fn encode(&self, request: &Request, limits: Limits) -> Result<(Outgoing, Box<dyn Decode>), LlmFailure> {
        let names = Names::of(request, &self.dialect.tool_names);
        let body = encode::body(request, self, &names)?;
        let mut outgoing = Outgoing::json(self.url.clone(), body);
        if let Some(session) = &request.session_id {
            outgoing.header("x-hames-session-id", session.as_str());
        }
        if request.purpose == Some(Purpose::Compaction) {
            outgoing.header("x-hames-compact", "1");
        }
        Ok((outgoing, Box::new(ChatDecoder::new(self.dialect, names, limits))))
    }

    fn authorize(&self, outgoing: &mut Outgoing, key: &Secret) -> bool {
        outgoing.secret_header("authorization", &format_smolstr!("Bearer {}", key.expose()))
    }

    fn errors(&self) -> ErrorDialect {
        ErrorDialect {
            wording: self.dialect.wording,
            request_id_headers: self.dialect.request_id_headers,
        }
    }

    fn name(&self) -> &'static str {
        self.dialect.name
    }

    fn models(&self) -> &'static [KnownModel] {
        self.dialect.models
    }
}
