//! How an agent's status moves and who waits for it.

use hames_types::content::Content;
use hames_types::fault::Fault;
use hames_types::id::{StepNo, TurnNo};
use hames_types::port::notice::{AgentError, StatusChanged};
use hames_types::signal::SignalReason;
use hames_types::turn::{AgentStatus, InterruptReason};
use tokio::sync::oneshot;

use super::Agent;

impl Agent {
    /// Resolves when nothing runs and nothing is queued, or when the agent is gone (R-IDLE-1). At once if that is so
    /// already. Dropping it waits for nothing.
    pub async fn when_idle(&self) {
        let (settled, idle) = oneshot::channel();
        {
            let mut state = self.state.lock();
            match state.status.now {
                AgentStatus::Disposed if state.status.driver_done => return,
                AgentStatus::Disposed => state.gone_waiters.push(settled),
                AgentStatus::Idle if !state.has_work() => return,
                AgentStatus::Idle | AgentStatus::Running => state.idle_waiters.push(settled),
            }
        }
        // A dropped sender means the agent itself is gone, which is as idle as it gets.
        drop(idle.await);
        if self.status() == AgentStatus::Disposed {
            self.when_driver_done().await;
        }
    }

    /// Resolves when the driver has ended.
    pub(crate) async fn when_driver_done(&self) {
        let (settled, gone) = oneshot::channel();
        {
            let mut state = self.state.lock();
            if state.status.driver_done {
                return;
            }
            state.gone_waiters.push(settled);
        }
        drop(gone.await);
    }

    /// Moves the status. Nothing leaves `disposed` and nothing is told twice (R-IDLE-2).
    pub(crate) fn set_status(&self, next: AgentStatus) {
        let (waiters, told) = {
            let mut state = self.state.lock();
            if state.status.now == AgentStatus::Disposed {
                return;
            }
            let waiters = if next == AgentStatus::Idle {
                std::mem::take(&mut state.idle_waiters)
            } else {
                Vec::new()
            };
            let told = state.status.now != next && state.status.published;
            state.status.now = next;
            (waiters, told)
        };
        release(waiters);
        if told {
            self.tell_status(next);
        }
    }

    /// Marks the agent as going away: nothing further is accepted and the running turn is interrupted (R-LIFE-6).
    /// Says whether this was the first time.
    pub(crate) fn begin_disposal(&self) -> bool {
        let (waiters, owner, told) = {
            let mut state = self.state.lock();
            if state.status.now == AgentStatus::Disposed {
                return false;
            }
            state.status.now = AgentStatus::Disposed;
            state.inbox.clear();
            (
                std::mem::take(&mut state.idle_waiters),
                state.owner.clone(),
                state.status.published,
            )
        };
        release(waiters);
        if let Some(owner) = owner {
            owner.raise(SignalReason::Interrupt(InterruptReason::Disposed));
        }
        if told {
            self.tell_status(AgentStatus::Disposed);
        }
        self.wake.notify_one();
        true
    }

    fn tell_status(&self, status: AgentStatus) {
        let agent = || self.id().clone();
        self.services
            .listeners
            .tell(Some(self.scope_key()), || StatusChanged {
                agent: agent(),
                status,
            });
    }

    /// Begins the agent's end and doesn't wait for it: nothing is accepted any more, the running turn is interrupted
    /// and closes as `disposed`. Nothing happens the second time.
    pub fn dispose(&self) {
        self.begin_disposal();
    }

    /// Resolves when the agent is gone: its driver has ended, observers were told, its scope is unwound.
    pub async fn when_disposed(&self) {
        let (settled, gone) = oneshot::channel();
        {
            let mut state = self.state.lock();
            if state.status.gone {
                return;
            }
            state.end_waiters.push(settled);
        }
        drop(gone.await);
    }

    /// Says that nothing is left of the agent.
    pub(crate) fn gone(&self) {
        let waiters = {
            let mut state = self.state.lock();
            state.status.gone = true;
            std::mem::take(&mut state.end_waiters)
        };
        release(waiters);
    }

    /// Says that the driver has ended.
    pub(crate) fn driver_done(&self) {
        let waiters = {
            let mut state = self.state.lock();
            state.status.driver_done = true;
            std::mem::take(&mut state.gone_waiters)
        };
        release(waiters);
    }

    /// Tells that something of a turn failed, and what was lost with it.
    pub(crate) fn report(&self, turn: TurnNo, step: StepNo, error: Fault, lost: Option<Content>) {
        tracing::warn!(agent = %self.id(), turn = turn.get(), step = step.get(), error = %error.chain(), "a turn had a failure");
        let agent = || self.id().clone();
        self.services
            .listeners
            .tell(Some(self.scope_key()), || AgentError {
                agent: agent(),
                turn,
                step,
                error,
                lost,
            });
    }
}

/// Waiters come before observers: an observer that fails can't keep them waiting.
fn release(waiters: Vec<oneshot::Sender<()>>) {
    for waiter in waiters {
        // A waiter that gave up needs no answer.
        waiter.send(()).unwrap_or(());
    }
}
