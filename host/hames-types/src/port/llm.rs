//! The model: one attempt, a stream of chunks.

use std::pin::Pin;

use async_trait::async_trait;
use futures_core::Stream;
use smol_str::SmolStr;

use crate::chunk::StreamChunk;
use crate::fault::Fault;
use crate::id::{ModelId, ProviderId};
use crate::request::Request;
use crate::signal::Signal;

/// A model's answer, piece by piece. An error is the last item; the consumer stops there.
///
/// Dropping the stream ends the call: the adapter releases what it holds without being asked.
pub type ChunkStream = Pin<Box<dyn Stream<Item = Result<StreamChunk, Fault>> + Send>>;

/// An adapter for one or more provider routes.
///
/// It makes **one attempt per call**; who tries again is a policy's decision. It reports a failure either as an
/// error item made of an [`LlmFailure`](crate::failure::LlmFailure) ([`Fault::llm`]) or in band, as a finish chunk
/// of kind `error` or `aborted`; the loop treats both alike (R-STRM-3). It follows the stream's grammar (R-GRAM):
/// block indices in opening order, deltas only into open blocks, usage at most once and before the finish, one
/// finish at the end.
#[async_trait]
pub trait Llm: Send + Sync {
    /// Begins one call. Nothing is sent before the stream is polled. Once `signal` is raised the stream ends soon,
    /// with an `ABORTED` failure.
    fn stream(&self, request: Request, signal: Signal) -> ChunkStream;

    /// How a route is called in selectors (R-TYPE-4). `None`: its id is its name.
    fn provider_name(&self, provider: &ProviderId) -> Option<SmolStr> {
        let _ = provider;
        None
    }

    /// The models known for a route. Advisory: a request may name others (R-LLM-3).
    ///
    /// # Errors
    /// Whatever kept the adapter from finding out.
    async fn models(&self, provider: &ProviderId) -> Result<Vec<ModelInfo>, Fault> {
        let _ = provider;
        Ok(Vec::new())
    }

    /// How much a model can hold, request and answer together, in tokens; `None` if unknown.
    ///
    /// # Errors
    /// Whatever kept the adapter from finding out.
    async fn context_window_tokens(
        &self,
        provider: &ProviderId,
        model: &ModelId,
    ) -> Result<Option<u64>, Fault> {
        let _ = (provider, model);
        Ok(None)
    }
}

/// A model in a catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// The route that owns the entry.
    pub provider: ProviderId,
    /// The id a request names.
    pub id: ModelId,
    /// The name a person reads.
    pub name: SmolStr,
    /// What tells it from similar ones.
    pub description: Option<SmolStr>,
}
