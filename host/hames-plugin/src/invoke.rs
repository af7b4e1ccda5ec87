//! How does one call go? A fresh instance, a deadline that covers everything, and every way of failing told apart.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use hames_types::signal::Signal;
use tokio::sync::oneshot;
use wasmtime::component::{Instance, InstancePre, ResourceTableError};
use wasmtime::{PoolConcurrencyLimitError, Store, Trap, UpdateDeadline};
use wasmtime_wasi::I32Exit;

use crate::engine::{Engine, Fuel};
use crate::error::{CallError, Limit, Opaque};
use crate::limits::{MAX_NESTED, MAX_RESOURCES};
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

/// How long a call may take, and what ends it earlier.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) limit: Duration,
    pub(crate) signal: &'a Signal,
}

/// What a guest may ask of whoever calls it.
pub(crate) struct Aside<Q, F> {
    /// Where the question arrives.
    pub(crate) asked: Option<oneshot::Receiver<Q>>,
    /// Answers it.
    pub(crate) serve: F,
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
        let nobody = Aside::<Infallible, _> {
            asked: None,
            serve: |never: Infallible| async move { match never {} },
        };
        self.call_around(Terms { limit, signal }, begin, work, nobody)
            .await
    }

    /// Makes a call that may once ask for something of whoever makes it. While that is served the guest is suspended
    /// and computes nothing: neither its time nor its grace goes on.
    ///
    /// # Errors
    /// As [`Site::call`].
    pub(crate) async fn call_around<T: Send, Q: Send, W: Future<Output = ()> + Send>(
        &self,
        terms: Terms<'_>,
        begin: impl FnOnce(Instant) -> Call + Send,
        work: impl for<'a> FnOnce(&'a mut Store<State>, &'a Instance) -> Work<'a, T> + Send,
        aside: Aside<Q, impl FnOnce(Q) -> W + Send>,
    ) -> Result<T, CallError> {
        let Terms { limit, signal } = terms;
        let grace = self.who.limits.grace;
        let mut ends = Instant::now() + limit;
        let place = within(ends, self.engine.place()).await.flatten();
        // Declared before the call, so that the pool has its slot back before another call gets the place.
        let mut place = place.ok_or(CallError::Busy)?;
        let call = self.enter(begin(ends), work);
        let mut call = pin!(call);
        let stopped = |stop: Stop| match stop {
            Stop::Deadline => CallError::Deadline { limit },
            Stop::Dropped => CallError::Dropped { grace },
        };
        let first = watch(call.as_mut(), signal, grace, ends, aside.asked).await;
        let question = match first.map_err(stopped)? {
            Either::Done(done) => return done.map_err(|error| error.named(limit)),
            Either::Asked(question) => question,
        };
        if within(ends, place.step_aside()).await != Some(true) {
            return Err(CallError::Busy);
        }
        let begun = Instant::now();
        (aside.serve)(question).await;
        ends += begun.elapsed();
        place.go_on();
        match watch(call, signal, grace, ends, None::<oneshot::Receiver<Q>>)
            .await
            .map_err(stopped)?
        {
            Either::Done(done) => done.map_err(|error| error.named(limit)),
            Either::Asked(_) => Err(CallError::Busy),
        }
    }

    /// Makes a call without waiting: a guest that waits in the host is dropped.
    ///
    /// # Errors
    /// As [`Site::call`]; [`CallError::Busy`] if no place is free, [`CallError::Deadline`] if the guest waits,
    /// [`Limit::Nested`] if it lies in too many others.
    pub(crate) fn call_now<T: Send>(
        &self,
        limit: Duration,
        begin: impl FnOnce(Instant) -> Call + Send,
        work: impl for<'a> FnOnce(&'a mut Store<State>, &'a Instance) -> Work<'a, T> + Send,
    ) -> Result<T, CallError> {
        let nested = Nested::enter(self.who.limits.nested);
        let _nested = nested.ok_or(CallError::Limit(Limit::Nested))?;
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
        let store = &mut store.0;
        let done = match self.pre.instantiate_async(&mut *store).await {
            Ok(instance) => work(store, &instance).await,
            Err(error) => Err(error),
        };
        // Whatever happened, the store is dropped with everything in it: after an error it is dead anyway.
        done.map_err(|error| {
            trace(&error, store.data());
            explain(error, store.data())
        })
    }

    fn store(&self, call: Call) -> wasmtime::Result<Metered> {
        let is_synchronous = call.is_synchronous;
        let mut store = Store::new(self.engine.wasm(), State::new(Arc::clone(&self.who), call)?);
        store.limiter(|state| &mut state.meter);
        store.set_hostcall_fuel(self.who.limits.crossing);
        store.set_max_component_handles(MAX_RESOURCES);
        // Set before instantiation, which is guest code, too.
        if self.engine.fuel() == Fuel::Counted {
            store.set_fuel(self.who.limits.fuel.unwrap_or(u64::MAX))?;
        }
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
        Ok(Metered(store))
    }
}

/// The store of one call. When it goes, whether the call came to its end or is dropped on the way, the fuel it used is
/// written to where whoever called looks for it.
struct Metered(Store<State>);

impl Drop for Metered {
    fn drop(&mut self) {
        let Ok(left) = self.0.get_fuel() else { return };
        let state = self.0.data();
        if let Some(spent) = &state.call.spent {
            let given = state.who.limits.fuel.unwrap_or(u64::MAX);
            spent.get_or_init(|| given.saturating_sub(left));
        }
    }
}

thread_local! {
    /// How many synchronous calls are under way on this thread, one inside the other.
    static NESTED: Cell<usize> = const { Cell::new(0) };
}

/// One synchronous call inside others.
struct Nested;

/// Whether a synchronous call is under way on this thread: what is called now was brought about by a plugin.
pub(crate) fn is_nested() -> bool {
    NESTED.get() > 0
}

impl Nested {
    fn enter(limit: usize) -> Option<Self> {
        let depth = NESTED.get();
        if depth > limit.min(MAX_NESTED) {
            return None;
        }
        NESTED.set(depth + 1);
        Some(Self)
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        NESTED.set(NESTED.get().saturating_sub(1));
    }
}

/// How a watched call went on.
enum Either<T, Q> {
    Done(T),
    Asked(Q),
}

/// Why a watched call may not go on.
enum Stop {
    Deadline,
    Dropped,
}

async fn within<T>(ends: Instant, work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout_at(ends.into(), work).await.ok()
}

/// Waits for the call until it asks for something; once the signal is raised, no longer than the grace.
async fn watch<T, Q>(
    mut call: Pin<&mut (impl Future<Output = T> + Send)>,
    signal: &Signal,
    grace: Duration,
    ends: Instant,
    asked: Option<oneshot::Receiver<Q>>,
) -> Result<Either<T, Q>, Stop> {
    let step = async {
        let Some(asked) = asked else {
            return Either::Done(call.as_mut().await);
        };
        let mut asked = Some(asked);
        poll_fn(|context| {
            // The call first: it is what asks.
            if let Poll::Ready(done) = call.as_mut().poll(context) {
                return Poll::Ready(Either::Done(done));
            }
            match asked.as_mut().map(|asked| pin!(asked).poll(context)) {
                Some(Poll::Ready(Ok(question))) => Poll::Ready(Either::Asked(question)),
                Some(Poll::Ready(Err(_))) => {
                    // Nothing will be asked any more; the call goes on.
                    asked = None;
                    Poll::Pending
                }
                Some(Poll::Pending) | None => Poll::Pending,
            }
        })
        .await
    };
    match within(ends, or_dropped(signal, grace, step)).await {
        Some(Some(step)) => Ok(step),
        Some(None) => Err(Stop::Dropped),
        None => Err(Stop::Deadline),
    }
}

/// Waits for the work; once the signal is raised, no longer than the grace.
async fn or_dropped<T>(signal: &Signal, grace: Duration, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let first = tokio::select! {
        biased;
        done = &mut work => Some(done),
        () = signal.raised() => None,
    };
    match first {
        Some(done) => Some(done),
        None => tokio::time::timeout(grace, work).await.ok(),
    }
}

/// Most of a failure's causes and of its last words that is traced, in characters.
const MAX_TRACED: usize = 4_000;

/// Tells whoever listens to diagnostics all that is known of a failure; the caller's error has it in a line.
fn trace(error: &wasmtime::Error, state: &State) {
    if !tracing::enabled!(target: "plugin", tracing::Level::WARN) {
        return;
    }
    let bounded = |text: &str| text.chars().take(MAX_TRACED).collect::<String>();
    let causes = bounded(&format!("{error:#}"));
    let written = state.streams.as_ref();
    let said = written.map(|streams| bounded(&String::from_utf8_lossy(&streams.err.contents())));
    // Debug formatting escapes what could forge a line.
    tracing::warn!(target: "plugin", plugin = %state.who.id, ?causes, stderr = ?said.unwrap_or_default(), "a call failed");
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
    if matches!(error.downcast_ref::<Trap>(), Some(Trap::OutOfFuel)) {
        return CallError::Limit(Limit::Fuel);
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
