//! A scripted answerer of approval requests: one answer each, the last one repeats.

use std::sync::Arc;

use async_trait::async_trait;
use hames_agent::approval::Approver;
use hames_types::decision::ApprovalOutcome;
use hames_types::fault::Fault;
use hames_types::json::Json;
use hames_types::port::seam::ApprovalAsk;
use hames_types::scope::ScopeKey;
use serde_json::json;

use super::ops;
use super::world::World;

/// Answers as the script says.
pub(super) struct ScriptApprover {
    pub(super) world: Arc<World>,
    pub(super) answers: Vec<Json>,
}

#[async_trait]
impl Approver for ScriptApprover {
    async fn request(&self, _: Option<ScopeKey>, ask: ApprovalAsk) -> Result<ApprovalOutcome, Fault> {
        let mut entry = json!({ "kind": "approval-request", "tool": ask.tool.as_str() });
        if let Some(fields) = entry.as_object_mut() {
            if let Some(call_id) = &ask.call_id {
                fields.insert("callId".to_owned(), json!(call_id.as_str()));
            }
            if let Some(reason) = &ask.reason {
                fields.insert("reason".to_owned(), json!(reason.as_str()));
            }
        }
        self.world.note(entry);
        let asked = self.world.count("approval");
        let answer = self
            .answers
            .get(asked)
            .or(self.answers.last())
            .cloned()
            .unwrap_or(Json::Null);
        ops::pause(&self.world, &answer).await?;
        if answer.get("untilAbort").is_some() {
            ask.signal.raised().await;
        }
        let word = answer.get("outcome").and_then(Json::as_str).unwrap_or_default();
        ApprovalOutcome::from_word(word).ok_or_else(|| Fault::plain("the script names no outcome"))
    }
}
