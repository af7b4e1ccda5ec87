//! Which adapter serves a request, and whose failure a failure is (R-LLM).

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::Stream;
use hames_types::chunk::StreamChunk;
use hames_types::failure::LlmFailure;
use hames_types::fault::{Fault, UNKNOWN_CODE};
use hames_types::id::{ModelId, ProviderId};
use hames_types::port::llm::{ChunkStream, Llm, ModelInfo};
use hames_types::port::seam::{LlmStream, StreamAsk};
use hames_types::request::Request;
use parking_lot::{Mutex, RwLock};
use smol_str::SmolStr;

use crate::listeners::Listeners;

/// The routes of a process.
#[derive(Default)]
pub struct Router {
    routes: RwLock<HashMap<ProviderId, Route>>,
}

#[derive(Clone)]
struct Route {
    adapter: Arc<dyn Llm>,
    name: SmolStr,
}

/// A route as a selector shows it (R-TYPE-4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderInfo {
    /// What a request names.
    pub id: ProviderId,
    /// What a person reads.
    pub name: SmolStr,
}

/// What can be wrong with an adapter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouterError {
    /// It serves nothing, or something without a name.
    #[error("an adapter must serve at least one provider, and each needs an id and a name")]
    InvalidAdapter,
    /// A route is taken.
    #[error("provider `{0}` is served by another adapter already")]
    DuplicateAdapter(ProviderId),
    /// Nobody serves the provider.
    #[error("no adapter serves the provider `{0}`; configure one or choose another provider")]
    NoAdapter(ProviderId),
    /// The adapter's catalogue makes no sense.
    #[error("the model catalogue of provider `{provider}` is invalid: {problem}")]
    InvalidCatalog {
        /// The route.
        provider: ProviderId,
        /// What is wrong.
        problem: String,
    },
    /// The adapter's idea of a model's capacity makes no sense.
    #[error("the context window of model `{model}` of provider `{provider}` must be above zero")]
    InvalidModelContext {
        /// The route.
        provider: ProviderId,
        /// The model.
        model: ModelId,
    },
}

impl RouterError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidAdapter => "INVALID_ADAPTER",
            Self::DuplicateAdapter(_) => "DUPLICATE_ADAPTER",
            Self::NoAdapter(_) => "NO_ADAPTER",
            Self::InvalidCatalog { .. } => "INVALID_CATALOG",
            Self::InvalidModelContext { .. } => "INVALID_MODEL_CONTEXT",
        }
    }
}

impl From<RouterError> for Fault {
    fn from(error: RouterError) -> Self {
        Self::host("LlmError", error.code(), error.to_string())
    }
}

impl Router {
    /// Without routes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers an adapter for all of `providers` or for none (R-LLM-1).
    ///
    /// # Errors
    /// [`RouterError::InvalidAdapter`], [`RouterError::DuplicateAdapter`].
    pub fn register(&self, providers: &[ProviderId], adapter: Arc<dyn Llm>) -> Result<(), RouterError> {
        let mut added = HashMap::new();
        for provider in providers {
            let name = adapter
                .provider_name(provider)
                .unwrap_or_else(|| provider.as_str().into());
            if provider.as_str().is_empty() || name.is_empty() {
                return Err(RouterError::InvalidAdapter);
            }
            let route = Route {
                adapter: Arc::clone(&adapter),
                name,
            };
            if added.insert(provider.clone(), route).is_some() {
                return Err(RouterError::DuplicateAdapter(provider.clone()));
            }
        }
        if added.is_empty() {
            return Err(RouterError::InvalidAdapter);
        }
        let mut routes = self.routes.write();
        if let Some(taken) = added.keys().find(|provider| routes.contains_key(*provider)) {
            return Err(RouterError::DuplicateAdapter(taken.clone()));
        }
        routes.extend(added);
        Ok(())
    }

    /// Takes every route of an adapter back.
    pub fn unregister(&self, adapter: &Arc<dyn Llm>) {
        self.routes
            .write()
            .retain(|_, route| !Arc::ptr_eq(&route.adapter, adapter));
    }

    /// The routes, in the order of their ids.
    #[must_use]
    pub fn providers(&self) -> Vec<ProviderInfo> {
        let mut providers: Vec<_> = self
            .routes
            .read()
            .iter()
            .map(|(id, route)| ProviderInfo {
                id: id.clone(),
                name: route.name.clone(),
            })
            .collect();
        providers.sort_by(|a, b| a.id.cmp(&b.id));
        providers
    }

    fn adapter(&self, provider: &ProviderId) -> Result<Arc<dyn Llm>, RouterError> {
        let routes = self.routes.read();
        let route = routes
            .get(provider)
            .ok_or_else(|| RouterError::NoAdapter(provider.clone()))?;
        Ok(Arc::clone(&route.adapter))
    }

    /// The models a route knows of. Advisory: a request may name others (R-LLM-3).
    ///
    /// # Errors
    /// [`RouterError::NoAdapter`], [`RouterError::InvalidCatalog`], or the adapter's own.
    pub async fn models(&self, provider: &ProviderId) -> Result<Vec<ModelInfo>, Fault> {
        let models = self.adapter(provider)?.models(provider).await?;
        let mut seen = std::collections::HashSet::new();
        for model in &models {
            let problem = if model.provider != *provider {
                "it lists a model of another provider"
            } else if model.id.as_str().is_empty() || model.name.is_empty() {
                "it lists a model without id or name"
            } else if !seen.insert(&model.id) {
                "it lists a model twice"
            } else {
                continue;
            };
            let (provider, problem) = (provider.clone(), problem.to_owned());
            return Err(RouterError::InvalidCatalog { provider, problem }.into());
        }
        Ok(models)
    }

    /// How much a model can hold, in tokens; `None` if the adapter doesn't know.
    ///
    /// # Errors
    /// [`RouterError::NoAdapter`], [`RouterError::InvalidModelContext`], or the adapter's own.
    pub async fn context_window_tokens(
        &self,
        provider: &ProviderId,
        model: &ModelId,
    ) -> Result<Option<u64>, Fault> {
        match self
            .adapter(provider)?
            .context_window_tokens(provider, model)
            .await?
        {
            Some(0) => {
                let (provider, model) = (provider.clone(), model.clone());
                Err(RouterError::InvalidModelContext { provider, model }.into())
            }
            tokens => Ok(tokens),
        }
    }

    /// Begins a model call through the listeners of `llm/stream` (R-LLM-4).
    ///
    /// # Errors
    /// The fault of a listener. The adapter's own failures come as the last item of the stream.
    pub async fn stream(&self, listeners: &Listeners, ask: StreamAsk) -> Result<Call, Fault> {
        let boundary = Boundary::default();
        let stream = listeners
            .decide::<LlmStream, _, _>(None, &ask, |passed| {
                std::future::ready(self.dispatch(&ask, passed, &boundary))
            })
            .await?;
        Ok(Call { stream, boundary })
    }

    /// The innermost part of a call: the adapter.
    fn dispatch(
        &self,
        ask: &StreamAsk,
        passed: Option<Request>,
        boundary: &Boundary,
    ) -> Result<ChunkStream, Fault> {
        if ask.from_loop && passed.is_some() {
            return Err(Fault::plain(
                "a request of the loop is bound to its log and can't be re-routed",
            ));
        }
        let request = passed.unwrap_or_else(|| ask.request.clone());
        let stream = match self.prepare(request) {
            Ok((adapter, request)) => adapter.stream(request, ask.signal.clone()),
            Err(error) => failed(error.into()),
        };
        Ok(Box::pin(Watched {
            stream,
            boundary: boundary.clone(),
            done: false,
        }))
    }

    fn prepare(&self, mut request: Request) -> Result<(Arc<dyn Llm>, Request), RouterError> {
        let adapter = self.adapter(&request.config.provider)?;
        // Replay state is private to the adapter instance that made it (R-LLM-5).
        request.messages = request.messages.without_replay_state(|provenance| {
            self.adapter(&provenance.provider)
                .is_ok_and(|owner| Arc::ptr_eq(&owner, &adapter))
        });
        Ok((adapter, request))
    }
}

fn failed(fault: Fault) -> ChunkStream {
    Box::pin(futures_util::stream::once(std::future::ready(Err(fault))))
}

/// One model call under way.
pub struct Call {
    /// Its chunks.
    pub stream: ChunkStream,
    boundary: Boundary,
}

impl Call {
    /// Whether `fault` came out of this call's adapter, and not out of a listener around it (R-LLM-9).
    #[must_use]
    pub fn is_adapters(&self, fault: &Fault) -> bool {
        self.boundary
            .0
            .lock()
            .as_ref()
            .is_some_and(|raised| raised.is(fault))
    }
}

/// Remembers the failure that crossed the adapter's boundary, by identity.
#[derive(Clone, Default)]
struct Boundary(Arc<Mutex<Option<Fault>>>);

/// An adapter's stream, watched for its failure.
struct Watched {
    stream: ChunkStream,
    boundary: Boundary,
    done: bool,
}

impl Stream for Watched {
    type Item = Result<StreamChunk, Fault>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.done {
            return Poll::Ready(None);
        }
        let item = std::task::ready!(self.stream.as_mut().poll_next(context));
        if let Some(Err(fault)) = &item {
            self.done = true;
            *self.boundary.0.lock() = Some(fault.clone());
        }
        Poll::Ready(item)
    }
}

/// The facts of an adapter's failure, as far as they can be believed (R-LLM-8).
#[must_use]
pub fn failure_of(fault: &Fault) -> LlmFailure {
    let code = fault.trusted_code().unwrap_or(UNKNOWN_CODE);
    if let Some(failure) = fault.failure()
        && failure.validate().is_ok()
        && failure.code == code
    {
        return failure.clone();
    }
    let message = if fault.message().is_empty() {
        "the model call failed without saying why"
    } else {
        fault.message()
    };
    LlmFailure::new(code, message)
}
