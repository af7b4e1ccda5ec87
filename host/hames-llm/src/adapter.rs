//! The adapters of wire protocols as one type: what they share is everything but the protocol.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use hames_types::fault::Fault;
use hames_types::id::{ModelId, ProviderId};
use hames_types::port::llm::{ChunkStream, Llm, ModelInfo};
use hames_types::request::Request;
use hames_types::signal::Signal;
use smol_str::SmolStr;

use crate::ConfigError;
use crate::call::{Protocol, start};
use crate::chat::{self, ChatConfig};
use crate::gemini::{self, GeminiConfig};
use crate::http::Http;
use crate::key::{ApiKey, KeySource};
use crate::messages::{self, MessagesConfig};
use crate::responses::{self, ResponsesConfig};

/// A model known beforehand. Requests may name others.
#[derive(Debug, Clone, Copy)]
pub struct KnownModel {
    /// Its id.
    pub id: &'static str,
    /// How much it holds.
    pub context_tokens: u64,
}

/// An adapter for one server.
pub struct Adapter {
    protocol: Arc<dyn Protocol>,
    key: Arc<ApiKey>,
    http: Http,
}

impl Adapter {
    /// Chat completions, as most servers speak them.
    ///
    /// # Errors
    /// [`ConfigError::BaseUrl`].
    pub fn chat(config: ChatConfig, http: Http) -> Result<Self, ConfigError> {
        let key = config.key.clone();
        Ok(Self::of(chat::protocol(config)?, key, http))
    }

    /// Anthropic's messages.
    ///
    /// # Errors
    /// [`ConfigError::BaseUrl`].
    pub fn messages(config: MessagesConfig, http: Http) -> Result<Self, ConfigError> {
        let key = config.key.clone();
        Ok(Self::of(messages::protocol(config)?, key, http))
    }

    /// OpenAI's responses.
    ///
    /// # Errors
    /// [`ConfigError::BaseUrl`].
    pub fn responses(config: ResponsesConfig, http: Http) -> Result<Self, ConfigError> {
        let key = config.key.clone();
        Ok(Self::of(responses::protocol(config)?, key, http))
    }

    /// Google's Gemini.
    ///
    /// # Errors
    /// [`ConfigError::BaseUrl`].
    pub fn gemini(config: GeminiConfig, http: Http) -> Result<Self, ConfigError> {
        let key = config.key.clone();
        Ok(Self::of(gemini::protocol(config)?, key, http))
    }

    fn of(protocol: impl Protocol, key: KeySource, http: Http) -> Self {
        Self {
            protocol: Arc::new(protocol),
            key: Arc::new(ApiKey::new(key)),
            http,
        }
    }
}

impl fmt::Debug for Adapter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Adapter")
            .field("name", &self.protocol.name())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Llm for Adapter {
    fn stream(&self, request: Request, signal: Signal) -> ChunkStream {
        start(
            Arc::clone(&self.protocol),
            self.http.clone(),
            Arc::clone(&self.key),
            request,
            signal,
        )
    }

    fn provider_name(&self, _: &ProviderId) -> Option<SmolStr> {
        Some(SmolStr::new_static(self.protocol.name()))
    }

    async fn models(&self, provider: &ProviderId) -> Result<Vec<ModelInfo>, Fault> {
        let info = |model: &KnownModel| ModelInfo {
            provider: provider.clone(),
            id: ModelId::new(model.id),
            name: SmolStr::new_static(model.id),
            description: None,
        };
        Ok(self.protocol.models().iter().map(info).collect())
    }

    async fn context_window_tokens(&self, _: &ProviderId, model: &ModelId) -> Result<Option<u64>, Fault> {
        let mut known = self.protocol.models().iter();
        Ok(known
            .find(|known| known.id == model.as_str())
            .map(|known| known.context_tokens))
    }
}
