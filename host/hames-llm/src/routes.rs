//! Which adapter serves a route? Every request finds its adapter here, and no adapter sees another's replay state.

use std::collections::HashMap;
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
use crate::fail::{code, failure};
use crate::items::just;

#[cfg(test)]
mod tests;

/// Adapters by the routes they serve (R-LLM).
#[derive(Clone, Default)]
pub struct Routes {
    adapters: HashMap<ProviderId, Arc<dyn Llm>>,
}

impl fmt::Debug for Routes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.adapters.keys()).finish()
    }
}

impl Routes {
    /// No routes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets `adapter` serve `routes`: all of them or, on an error, none (R-LLM-1).
    ///
    /// # Errors
    /// [`ConfigError::NoRoute`] and [`ConfigError::RouteTaken`].
    pub fn add(&mut self, routes: &[ProviderId], adapter: &Arc<dyn Llm>) -> Result<(), ConfigError> {
        if routes.is_empty() || routes.iter().any(|route| route.as_str().is_empty()) {
            return Err(ConfigError::NoRoute);
        }
        let mut wanted = self.adapters.clone();
        for route in routes {
            if wanted.insert(route.clone(), Arc::clone(adapter)).is_some() {
                return Err(ConfigError::RouteTaken(route.to_string()));
            }
        }
        self.adapters = wanted;
        Ok(())
    }

    fn adapter(&self, route: &ProviderId) -> Result<&Arc<dyn Llm>, Fault> {
        self.adapters.get(route).ok_or_else(|| {
            Fault::llm(failure(
                code::NO_ADAPTER,
                format_args!("no adapter serves the route `{route}`; add it to the configuration"),
            ))
        })
    }

    /// The request with the replay state of other adapters' answers taken out (R-LLM-5).
    fn without_foreign_state(&self, mut request: Request, target: &Arc<dyn Llm>) -> Request {
        request.messages = request
            .messages
            .without_replay_state(|provenance| self.serves(target, &provenance.provider));
        request
    }

    fn serves(&self, adapter: &Arc<dyn Llm>, route: &ProviderId) -> bool {
        self.adapters
            .get(route)
            .is_some_and(|other| Arc::ptr_eq(other, adapter))
    }
}

#[async_trait]
impl Llm for Routes {
    fn stream(&self, request: Request, signal: Signal) -> ChunkStream {
        match self.adapter(&request.config.provider) {
            Ok(adapter) => adapter.stream(self.without_foreign_state(request, adapter), signal),
            Err(fault) => just(Err(fault)),
        }
    }

    fn provider_name(&self, provider: &ProviderId) -> Option<SmolStr> {
        self.adapters.get(provider)?.provider_name(provider)
    }

    async fn models(&self, provider: &ProviderId) -> Result<Vec<ModelInfo>, Fault> {
        self.adapter(provider)?.models(provider).await
    }

    async fn context_window_tokens(
        &self,
        provider: &ProviderId,
        model: &ModelId,
    ) -> Result<Option<u64>, Fault> {
        self.adapter(provider)?
            .context_window_tokens(provider, model)
            .await
    }
}
