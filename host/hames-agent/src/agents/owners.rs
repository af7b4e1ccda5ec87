//! Who started whom in this process: attribution and a bond of life, never authority (R-LIFE-7, R-LIFE-14).
//!
//! It is not the durable lineage of sessions: a fork's parent is in its header, whoever started it.

use std::sync::Arc;

use super::Agents;
use crate::agent::Agent;

impl Agents {
    /// Whether `owner` started `agent`, or started whoever did.
    #[must_use]
    pub fn is_owned_by(&self, agent: &Agent, owner: &Agent) -> bool {
        let live = self.live();
        let mut creator = agent.creator();
        // A creator is always older than what it created, so the chain ends.
        while let Some(key) = creator {
            if key == owner.scope_key() {
                return true;
            }
            creator = live
                .iter()
                .find(|candidate| candidate.scope_key() == key)
                .and_then(|found| found.creator());
        }
        false
    }

    /// The live agents that no live agent started, in no particular order.
    #[must_use]
    pub fn roots(&self) -> Vec<Arc<Agent>> {
        let live = self.live();
        let is_live = |key| live.iter().any(|candidate| candidate.scope_key() == key);
        live.iter()
            .filter(|agent| !agent.creator().is_some_and(is_live))
            .cloned()
            .collect()
    }

    /// Ends what `agent` started and waits for it; an agent doesn't outlive its creator.
    pub(super) async fn end_owned(&self, agent: &Agent) {
        let key = Some(agent.scope_key());
        let owned: Vec<_> = self
            .live()
            .into_iter()
            .filter(|candidate| candidate.creator() == key)
            .collect();
        for child in &owned {
            child.dispose();
        }
        for child in &owned {
            child.when_disposed().await;
        }
    }
}
