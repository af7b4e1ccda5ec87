//! Tries a failed model call again if waiting may help (R-RETRY). A listener of the loop like any other.

mod config;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hames_log::{Draft, ListenerId, Place, Sessions};
use hames_types::decision::RequestErrorDecision;
use hames_types::event::EventBody;
use hames_types::failure::LlmFailure;
use hames_types::fault::Fault;
use hames_types::json::{Json, to_json};
use hames_types::port::listener::{Decide, Next};
use hames_types::port::seam::{RequestError, RequestErrorAsk};
use hames_types::signal::{SignalReason, Trigger};
use serde_json::Number;

use crate::listeners::Listeners;

pub use config::{MAX_DELAY_MS, RetryConfig, RetryConfigError};

/// The event that says that a call will be tried again.
pub const RETRY_KIND: &str = "llm/retry";

/// Draws a number from 0 to 1, either included. Handed in, so that a test knows it and the policy stays a function.
pub type Draw = Box<dyn Fn() -> f64 + Send + Sync>;

/// The policy.
pub struct Retry {
    config: RetryConfig,
    sessions: Sessions,
    draw: Draw,
    /// Raised when the policy goes: every wait ends.
    gone: Trigger,
}

impl Retry {
    /// A policy that records what it does in the logs of `sessions`.
    ///
    /// # Errors
    /// [`RetryConfigError`].
    pub fn new(config: RetryConfig, sessions: Sessions, draw: Draw) -> Result<Self, RetryConfigError> {
        config.check()?;
        Ok(Self {
            config,
            sessions,
            draw,
            gone: Trigger::new(),
        })
    }

    /// Listens to all agents, innermost: whoever was there before may answer first.
    pub fn install(self, listeners: &Listeners) -> Installed {
        let policy = Arc::new(self);
        let listener = listeners.add::<RequestError>(None, Place::Last, Arc::clone(&policy) as _);
        Installed { policy, listener }
    }

    /// How long to wait before the next try; `None` leaves the decision to others.
    ///
    /// Only failures of the policy's own codes count, so a budget of another policy is independent (R-RETRY-2).
    fn delay(&self, failure: &LlmFailure, prior: &[LlmFailure]) -> Option<Attempt> {
        let mine = |failure: &LlmFailure| self.config.retryable_codes.contains(&failure.code);
        if !mine(failure) {
            return None;
        }
        let retries = u32::try_from(prior.iter().filter(|failure| mine(failure)).count()).unwrap_or(u32::MAX);
        if retries >= self.config.max_transient_retries {
            return None;
        }
        let number = retries + 1;
        match failure.retry_after_ms() {
            // A provider that wants more patience than there is gets none of it.
            Some(wait_ms) if wait_ms > self.config.max_delay_ms => None,
            Some(delay_ms) => Some(Attempt { number, delay_ms }),
            None => Some(Attempt {
                number,
                delay_ms: self.config.delay_ms(number, (self.draw)()),
            }),
        }
    }

    fn record(&self, ask: &RequestErrorAsk, attempt: &Attempt) -> Result<(), Fault> {
        let fault = |problem: String| Fault::plain(format!("the retry can't be recorded: {problem}"));
        let session = self.sessions.get(&ask.at.agent);
        let session = session.ok_or_else(|| fault(format!("session `{}` is gone", ask.at.agent)))?;
        let failure = to_json(&ask.failure).map_err(|error| fault(error.to_string()))?;
        let data = serde_json::json!({
            "turn": ask.at.turn,
            "step": ask.at.step,
            "retry": attempt.number,
            "maxRetries": self.config.max_transient_retries,
            "delayMs": number_of(attempt.delay_ms),
            "failure": failure,
        });
        let body = EventBody::decode(RETRY_KIND, data).map_err(|error| fault(error.to_string()))?;
        session
            .append(Draft::log_only(body))
            .map_err(|error| Fault::of("RetryError", "RETRY_NOT_RECORDED", &error))?;
        Ok(())
    }
}

/// One more try.
struct Attempt {
    /// The how-manieth.
    number: u32,
    delay_ms: f64,
}

#[async_trait]
impl Decide<RequestError> for Retry {
    async fn decide(
        &self,
        ask: &RequestErrorAsk,
        next: Next<'_, RequestError>,
    ) -> Result<RequestErrorDecision, Fault> {
        let gone = self.gone.signal();
        if gone.is_raised() {
            // A dispatch that began before the policy went still asks it (R-RETRY-7).
            return Ok(RequestErrorDecision::FAIL);
        }
        let Some(attempt) = self.delay(&ask.failure, &ask.prior) else {
            return next.run().await;
        };
        let given_up = ask.at.signal.fused(&gone);
        if given_up.is_raised() {
            return Ok(RequestErrorDecision::FAIL);
        }
        self.record(ask, &attempt)?;
        let wait = tokio::time::sleep(Duration::from_secs_f64(attempt.delay_ms / 1000.0));
        Ok(match given_up.unless_raised(wait).await {
            Some(()) => RequestErrorDecision::RETRY,
            None => RequestErrorDecision::FAIL,
        })
    }
}

/// A policy that listens.
pub struct Installed {
    policy: Arc<Retry>,
    listener: ListenerId,
}

impl Installed {
    /// Takes the policy away. Whoever waits for another try has failed.
    pub fn remove(&self, listeners: &Listeners) {
        listeners.remove::<RequestError>(self.listener);
        self.policy.gone.raise(SignalReason::Withdrawn);
    }
}

/// A number as people write it: whole if it is.
fn number_of(value: f64) -> Json {
    if value.fract() == 0.0
        && let Ok(whole) = format!("{value:.0}").parse::<u64>()
    {
        return Json::from(whole);
    }
    Number::from_f64(value).map_or(Json::Null, Json::Number)
}
