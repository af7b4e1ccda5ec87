//! Who answers when a call needs a person's word.

use async_trait::async_trait;
use hames_types::decision::ApprovalOutcome;
use hames_types::fault::Fault;
use hames_types::port::seam::ApprovalAsk;
use hames_types::scope::ScopeKey;

/// Answers for a person.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Asks, and waits for the answer or until `ask.signal` is raised. `scope` is the asking agent's.
    ///
    /// # Errors
    /// A fault ends the call with an error; nothing runs.
    async fn request(&self, scope: Option<ScopeKey>, ask: ApprovalAsk) -> Result<ApprovalOutcome, Fault>;
}
