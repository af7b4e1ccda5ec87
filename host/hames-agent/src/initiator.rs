//! On whose behalf the current work runs: attribution inside this process, never authority (R-LIFE-13).

use std::future::Future;

use hames_types::id::SessionId;

tokio::task_local! {
    static INITIATOR: Option<SessionId>;
}

/// The agent on whose behalf the caller runs, if any.
#[must_use]
pub fn current() -> Option<SessionId> {
    INITIATOR.try_with(Clone::clone).ok().flatten()
}

/// Runs `work` on behalf of `agent`, or of nobody; what was before is restored behind it.
pub async fn on_behalf_of<T>(agent: Option<SessionId>, work: impl Future<Output = T>) -> T {
    INITIATOR.scope(agent, work).await
}
