//! How does one call go? A fresh instance, a deadline that covers everything, and every way of failing told apart.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use hames_types::signal::Signal;
use wasmtime::component::{Instance, InstancePre, ResourceTableError};
use wasmtime::{PoolConcurrencyLimitError, Store, Trap, UpdateDeadline};
use wasmtime_wasi::I32Exit;

use crate::engine::Engine;
use crate::error::{CallError, Limit, Opaque};
use crate::limits::MAX_RESOURCES;
use crate::state::{Call, State};
use crate::who::Who;

/// Guest code that runs in an instance of its own.
pub(crate) type Work<'a, T> = Pin<Box<dyn Future<Output = wasmtime::Result<T>> + Send + 'a>>;

/// Where calls are made: all that a call needs of a loaded plugin.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) engine: Engine,
    pub(crate) pre: InstancePre<State>,
    pub(crate) who: Arc<Who>,
}

/// Raised inside the guest when its time is over.
#[derive(Debug, thiserror::Error)]
#[error("the call's time is over")]
struct TimeIsOver;

impl Site {
    /// Makes a call and waits for it. `limit` covers everything: the wait for a place, the guest, the host's waits.
    ///
    /// Dropping the future drops the call and frees all it had.
    ///
    /// # Errors
    /// [`CallError`]; the guest's own errors are in the work's value.
    pub(crate) async fn call<T: Send>(
        &self,
        limit: Duration,
        signal: &Signal,
        begin: impl FnOnce(Instant) -> Call + Send,
        work: impl for<'a> FnOnce(&'a mut Store<State>, &'a Instance) -> Work<'a, T> + Send,
    ) -> Result<T, CallError> {
        let ends = Instant::now() + limit;
        let Ok(place) = tokio::time::timeout(limit, self.engine.place()).await else {
            return Err(CallError::Busy);
        };
        let _place = place.ok_or(CallError::Busy)?;
        let grace = self.who.limits.grace;
        let call = self.enter(begin(ends), work);
        let guarded = or_dropped(signal, grace, call);
        match tokio::time::timeout(ends.saturating_duration_since(Instant::now()), guarded).await {
            Ok(Some(Err(CallError::Deadline { .. }))) | Err(_) => Err(CallError::Deadline { limit }),
            Ok(Some(done)) => done,
            Ok(None) => Err(CallError::Dropped { grace }),
        }
    }

    /// Makes a call without waiting: a guest that waits in the host is dropped.
    ///
    /// # Errors
    /// As [`Site::call`]; [`CallError::Busy`] if no place is free, [`CallError::Deadline`] if the guest waits.
    pub(crate) fn call_now<T: Send>(
        &self,
        limit: Duration,
        begin: impl FnOnce(Instant) -> Call + Send,
        work: impl for<'a> FnOnce(&'a mut Store<State>, &'a Instance) -> Work<'a, T> + Send,
    ) -> Result<T, CallError> {
        let _place = self.engine.try_place().ok_or(CallError::Busy)?;
        let mut call = begin(Instant::now() + limit);
        call.is_synchronous = true;
        let mut call = pin!(self.enter(call, work));
        match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Err(CallError::Deadline { .. })) | Poll::Pending => {
                Err(CallError::Deadline { limit })
            }
            Poll::Ready(done) => done,
        }
    }

    async fn enter<T: Send>(
        &self,
        call: Call,
        work: impl for<'a> FnOnce(&'a mut Store<State>, &'a Instance) -> Work<'a, T> + Send,
    ) -> Result<T, CallError> {
        let mut store = self
            .store(call)
            .map_err(|error| CallError::Broken(Opaque::new(error)))?;
        let done = match self.pre.instantiate_async(&mut store).await {
            Ok(instance) => work(&mut store, &instance).await,
            Err(error) => Err(error),
        };
        // Whatever happened, the store is dropped with everything in it: after an error it is dead anyway.
        done.map_err(|error| explain(error, store.data()))
    }

    fn store(&self, call: Call) -> wasmtime::Result<Store<State>> {
        let is_synchronous = call.is_synchronous;
        let mut store = Store::new(self.engine.wasm(), State::new(Arc::clone(&self.who), call)?);
        store.limiter(|state| &mut state.meter);
        store.set_hostcall_fuel(self.who.limits.crossing);
        store.set_max_component_handles(MAX_RESOURCES);
        // Set before instantiation, which is guest code, too.
        store.set_epoch_deadline(1);
        let stretch = self.who.limits.stretch;
        let mut began = Instant::now();
        store.epoch_deadline_callback(move |context| {
            let now = Instant::now();
            if now >= context.data().call.deadline {
                return Err(TimeIsOver.into());
            }
            if is_synchronous || now.saturating_duration_since(began) < stretch {
                return Ok(UpdateDeadline::Continue(1));
            }
            began = now;
            Ok(UpdateDeadline::Yield(1))
        });
        Ok(store)
    }
}

/// Waits for the work; once the signal is raised, no longer than the grace.
async fn or_dropped<T>(signal: &Signal, grace: Duration, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    if let Some(done) = signal.unless_raised_first(work.as_mut()).await {
        return Some(done);
    }
    tokio::time::timeout(grace, work).await.ok()
}

/// Waits for work that may go on after the signal.
trait UnlessRaisedFirst {
    async fn unless_raised_first<F: Future + Unpin>(&self, work: F) -> Option<F::Output>;
}

impl UnlessRaisedFirst for Signal {
    async fn unless_raised_first<F: Future + Unpin>(&self, mut work: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            done = &mut work => Some(done),
            () = self.raised() => None,
        }
    }
}

/// Why the guest stopped.
fn explain(error: wasmtime::Error, state: &State) -> CallError {
    if error.is::<TimeIsOver>() {
        return CallError::Deadline {
            limit: Duration::ZERO,
        };
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return CallError::Busy;
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return CallError::Exit(exit.0);
    }
    if matches!(
        error.downcast_ref::<ResourceTableError>(),
        Some(ResourceTableError::Full)
    ) {
        return CallError::Limit(Limit::Resources);
    }
    if let Some(limit) = limit_by_text(&error) {
        return CallError::Limit(limit);
    }
    if matches!(error.downcast_ref::<Trap>(), Some(Trap::StackOverflow)) {
        return CallError::Limit(Limit::Stack);
    }
    if let Some(limit) = state.meter.refused {
        return CallError::Limit(limit);
    }
    if streams_are_full(state) {
        return CallError::Limit(Limit::Streams);
    }
    match error.downcast_ref::<Trap>() {
        Some(trap) => CallError::Trap {
            reason: trap.to_string(),
            said: last_words(state),
        },
        None => CallError::Broken(Opaque::new(error)),
    }
}

/// Wasmtime has no types for these; the hostile suite notices if it words them otherwise.
fn limit_by_text(error: &wasmtime::Error) -> Option<Limit> {
    error.chain().find_map(|cause| {
        let text = cause.to_string();
        if text.contains("fuel allocated for hostcalls has been exhausted") {
            Some(Limit::Crossing)
        } else if text.contains("store handle limit exceeded") {
            Some(Limit::Resources)
        } else {
            None
        }
    })
}

fn streams_are_full(state: &State) -> bool {
    let limit = state.who.limits.stream_bytes;
    state
        .streams
        .as_ref()
        .is_some_and(|streams| streams.out.contents().len() >= limit || streams.err.contents().len() >= limit)
}

/// The last line on standard error, where a panic tells its reason.
fn last_words(state: &State) -> Option<String> {
    let written = state.streams.as_ref()?.err.contents();
    let text = String::from_utf8_lossy(&written);
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(
        line.chars()
            .take(300)
            .collect::<String>()
            .escape_debug()
            .to_string(),
    )
}
