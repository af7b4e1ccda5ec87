//! When is a turn made durable while it runs (R-CKPT)? Before a request leaves, before a tool's body runs, after each
//! step. The loop itself sees to the end of the turn.

use std::sync::Arc;

use async_trait::async_trait;
use hames_log::Sessions;
use hames_log::error::FlushError;
use hames_types::event::NamedCode;
use hames_types::fault::Fault;
use hames_types::id::SessionId;
use hames_types::port::listener::{Consult, Decide, Next};
use hames_types::port::llm::ChunkStream;
use hames_types::port::seam::{Execute, ExecuteAsk, LlmStream, PostStep, StepAsk, StreamAsk};
use hames_types::tool::ToolOutcome;

/// A listener at `llm/stream`, `tools/execute` and `agent/post-step` that flushes the session concerned.
///
/// Register it outermost, so that nothing that has an effect runs before what led to it is durable.
#[derive(Clone)]
pub struct Checkpoint {
    sessions: Sessions,
}

impl Checkpoint {
    /// For the sessions of a registry.
    #[must_use]
    pub fn new(sessions: Sessions) -> Arc<Self> {
        Arc::new(Self { sessions })
    }

    /// Flushes a live session; one that is unknown or detached has nothing to lose here.
    async fn flush(&self, id: &SessionId) -> Result<(), Fault> {
        let Some(session) = self.sessions.get(id) else {
            return Ok(());
        };
        match self.sessions.flush(&session).await {
            Ok(()) | Err(FlushError::NotLive(_)) => Ok(()),
            Err(FlushError::Failed(fault)) => Err(fault),
        }
    }
}

#[async_trait]
impl Decide<LlmStream> for Checkpoint {
    async fn decide(&self, ask: &StreamAsk, next: Next<'_, LlmStream>) -> Result<ChunkStream, Fault> {
        if let Some(id) = &ask.request.session_id {
            self.flush(id).await?;
        }
        next.run().await
    }
}

#[async_trait]
impl Decide<Execute> for Checkpoint {
    async fn decide(&self, ask: &ExecuteAsk, next: Next<'_, Execute>) -> Result<ToolOutcome, Fault> {
        let call = &ask.call;
        if let (Some(id), None) = (&call.agent, &call.parent) {
            self.flush(id).await?;
            if ask.signal.is_raised() {
                // The body didn't run, and the log must not say that it might have.
                let code = NamedCode::new("AbortError", "ABORTED_BEFORE_DISPATCH");
                return Ok(ToolOutcome::error(
                    "tool call aborted before dispatch",
                    Some(code),
                ));
            }
        }
        next.run().await
    }
}

#[async_trait]
impl Consult<PostStep> for Checkpoint {
    async fn consult(&self, ask: &StepAsk) -> Result<Option<()>, Fault> {
        self.flush(&ask.agent).await?;
        Ok(None)
    }
}
