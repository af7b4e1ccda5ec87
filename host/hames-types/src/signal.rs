//! The wish that something stop: raised once, seen by everyone who holds the signal.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use crate::turn::InterruptReason;

/// Why a signal was raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalReason {
    /// The turn is interrupted.
    Interrupt(InterruptReason),
    /// A deadline passed.
    Deadline,
    /// Whoever held the trigger has no more use for the work.
    Withdrawn,
}

#[derive(Debug, Default)]
struct State {
    reason: OnceLock<SignalReason>,
    raised: event_listener::Event,
}

/// The raising side.
#[derive(Debug, Clone, Default)]
pub struct Trigger(Arc<State>);

impl Trigger {
    /// Not raised.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The seeing side.
    #[must_use]
    pub fn signal(&self) -> Signal {
        Signal {
            states: Arc::from([Arc::clone(&self.0)]),
        }
    }

    /// Raises it; the first reason stays. Says whether this was the first.
    pub fn raise(&self, reason: SignalReason) -> bool {
        let first = self.0.reason.set(reason).is_ok();
        if first {
            self.0.raised.notify(usize::MAX);
        }
        first
    }
}

/// The seeing side. A clone sees the same.
#[derive(Debug, Clone)]
pub struct Signal {
    states: Arc<[Arc<State>]>,
}

impl Signal {
    /// One that is never raised.
    #[must_use]
    pub fn never() -> Self {
        Self {
            states: Arc::from([]),
        }
    }

    /// Raised as soon as either is.
    #[must_use]
    pub fn fused(&self, other: &Self) -> Self {
        let mut states: Vec<Arc<State>> = self.states.to_vec();
        for state in other.states.iter() {
            if !states.iter().any(|known| Arc::ptr_eq(known, state)) {
                states.push(Arc::clone(state));
            }
        }
        Self {
            states: states.into(),
        }
    }

    /// Whether it has been raised.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.reason().is_some()
    }

    /// Why it was raised. Of several fused signals the first in the order of fusing answers.
    #[must_use]
    pub fn reason(&self) -> Option<SignalReason> {
        self.states.iter().find_map(|state| state.reason.get().copied())
    }

    /// The interruption it stands for (R-CANC-5); a deadline is none.
    #[must_use]
    pub fn interruption(&self) -> Option<InterruptReason> {
        self.states.iter().find_map(|state| match state.reason.get() {
            Some(SignalReason::Interrupt(reason)) => Some(*reason),
            Some(SignalReason::Deadline | SignalReason::Withdrawn) | None => None,
        })
    }

    /// Completes when it is raised; never for [`Signal::never`]. Dropping it leaves nothing behind.
    pub async fn raised(&self) {
        if self.is_raised() {
            return;
        }
        let mut listeners: Vec<_> = self.states.iter().map(|state| state.raised.listen()).collect();
        // Raised between the look above and the listening: the listeners would never hear of it.
        if self.is_raised() {
            return;
        }
        poll_fn(|context| {
            for listener in &mut listeners {
                if pin!(listener).poll(context).is_ready() {
                    return Poll::Ready(());
                }
            }
            Poll::Pending
        })
        .await;
    }

    /// Runs `work` until it is done or the signal is raised; `None` if the signal came first, and the work is dropped.
    pub async fn unless_raised<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        if self.is_raised() {
            return None;
        }
        let mut work = pin!(work);
        let mut raised = pin!(self.raised());
        poll_fn(|context| {
            if let Poll::Ready(value) = work.as_mut().poll(context) {
                return Poll::Ready(Some(value));
            }
            raised.as_mut().poll(context).map(|()| None)
        })
        .await
    }
}
