//! Who answers when a call needs a person's word, under which policy, and how that is recorded (R-APPR).

mod fold;
mod service;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use hames_types::decision::ApprovalOutcome;
use hames_types::fault::Fault;
use hames_types::kinds::{KindDeclaration, Sum};
use hames_types::port::seam::ApprovalAsk;
use hames_types::scope::ScopeKey;
use serde_json::json;

pub use service::ApprovalService;

/// `data`: `id`, `toolName`, `callId?`, `reason?`. Somebody is about to be asked.
pub const ASKED: &str = "approval/asked";

/// `data`: `id`, `outcome`. The one answer to a question.
pub const DECIDED: &str = "approval/decided";

/// `data`: `policy`. From here on this policy holds.
pub const POLICY: &str = "approval/policy";

/// Under which name notices about the policy stand in the log.
pub const APPROVAL_SOURCE: &str = "user-approval";

/// The section that tells the model of the policy, and its order.
pub const APPROVAL_SECTION: (&str, f64) = ("approval:policy", 115.0);

/// Answers for a person.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Asks, and waits for the answer or until `ask.signal` is raised. `scope` is the asking agent's.
    ///
    /// # Errors
    /// A fault ends the call with an error; nothing runs.
    async fn request(&self, scope: Option<ScopeKey>, ask: ApprovalAsk) -> Result<ApprovalOutcome, Fault>;
}

/// Whether anybody is asked at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApprovalPolicy {
    /// Listeners of `approval/request` are asked.
    #[default]
    Ask,
    /// Nobody is asked: every question is rejected.
    Never,
}

impl ApprovalPolicy {
    /// The word as it stands in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Never => "never",
        }
    }

    /// The policy of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Ask, Self::Never]
            .into_iter()
            .find(|policy| policy.as_str() == word)
    }
}

/// The session events this part writes, for the registry of kinds.
#[must_use]
pub fn kinds() -> Vec<KindDeclaration> {
    let text = json!({"type": "string"});
    let declare = |tag: &str, properties, required: &[&str], out_of_band| KindDeclaration {
        sum: Sum::SessionEvent,
        tag: tag.into(),
        schema: json!({"type": "object", "properties": properties, "required": required}),
        out_of_band,
    };
    let outcomes = ["allowed-once", "rejected", "cancelled", "unavailable"];
    vec![
        declare(
            ASKED,
            json!({"id": text, "toolName": text, "callId": text, "reason": text}),
            &["id", "toolName"],
            false,
        ),
        declare(
            DECIDED,
            json!({"id": text, "outcome": {"enum": outcomes}}),
            &["id", "outcome"],
            false,
        ),
        declare(
            POLICY,
            json!({"policy": {"enum": ["ask", "never"]}}),
            &["policy"],
            true,
        ),
    ]
}
