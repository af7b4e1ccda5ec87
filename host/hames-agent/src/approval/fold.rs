//! What a log says of the policy, and what the model was last told of it.

use std::sync::Arc;

use hames_types::event::{Event, EventBody};
use hames_types::id::Seq;
use hames_types::json::Json;

use super::{ApprovalPolicy, POLICY};

const OPEN: &str = "<approval-policy>";
const CLOSE: &str = "</approval-policy>";

/// The part of the system prompt that tells a policy: for the model and, after a restart, for us.
pub(super) fn marker(policy: ApprovalPolicy) -> String {
    format!("{OPEN}{}{CLOSE}", policy.as_str())
}

/// The policy that the last marker of a system prompt tells.
fn read_marker(system: &str) -> Option<ApprovalPolicy> {
    let (_, behind) = system.rsplit_once(OPEN)?;
    let (word, _) = behind.split_once(CLOSE)?;
    ApprovalPolicy::from_word(word)
}

/// Follows one session's log; every event is looked at once.
#[derive(Debug, Default)]
pub(super) struct Fold {
    seen: usize,
    policy: Option<(Seq, ApprovalPolicy)>,
    header: Option<(Seq, Option<ApprovalPolicy>)>,
    told: Option<ApprovalPolicy>,
}

/// What changed since the model was last told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) now: ApprovalPolicy,
    /// Whether it was changed in this session, not by a new configuration.
    pub(super) by_user: bool,
}

impl Fold {
    pub(super) fn follow(&mut self, events: &[Arc<Event>]) {
        for event in events.get(self.seen..).unwrap_or_default() {
            match event.body() {
                Some(EventBody::Other(other)) if other.kind() == POLICY => {
                    let word = other.data().get("policy").and_then(Json::as_str);
                    let policy = word.and_then(ApprovalPolicy::from_word);
                    self.policy = policy.map(|policy| (event.seq, policy)).or(self.policy);
                }
                Some(EventBody::RequestHeader(header)) => {
                    let told = header.header.system.as_deref().and_then(read_marker);
                    self.header = Some((event.seq, told));
                }
                _ => {}
            }
        }
        self.seen = events.len();
    }

    /// The policy in force (R-APPR-3).
    pub(super) fn policy(&self, configured: ApprovalPolicy) -> ApprovalPolicy {
        self.policy.map_or(configured, |(_, policy)| policy)
    }

    /// Takes note that the model is told now. A change since it was last told is given once; who was never told has
    /// nothing to be corrected (R-APPR-5).
    pub(super) fn tell(&mut self, configured: ApprovalPolicy) -> Option<Change> {
        let now = self.policy(configured);
        let logged = self.header.and_then(|(_, told)| told);
        let told = self.told.replace(now).or(logged)?;
        let after_header = match (self.policy, self.header) {
            (Some((policy, _)), Some((header, _))) => policy > header,
            (Some(_), None) => true,
            (None, _) => false,
        };
        (told != now).then_some(Change {
            now,
            by_user: after_header,
        })
    }
}
