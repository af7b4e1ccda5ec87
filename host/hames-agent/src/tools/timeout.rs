//! A limit on the time one call may take, as its tool declares it (R-TMO).

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use hames_types::event::NamedCode;
use hames_types::fault::Fault;
use hames_types::port::listener::{Decide, Next};
use hames_types::port::seam::{Execute, ExecuteAsk};
use hames_types::signal::{SignalReason, Trigger};
use hames_types::tool::ToolOutcome;

/// Longest time a timer runs, in milliseconds: about 24 days, the most that timers of every host can count (R-TMO-3).
pub const MAX_TIMER_MS: f64 = 2_147_483_647.0;

/// Listens at `tools/execute` and raises a call's signal when its time is over.
///
/// Cooperative: the body is waited for (R-TMO-3). If its own deadline came first the result says so, whatever the
/// body answered; if the caller's signal came first, this keeps out of the way (R-TMO-2).
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolTimeouts;

#[async_trait]
impl Decide<Execute> for ToolTimeouts {
    async fn decide(&self, ask: &ExecuteAsk, next: Next<'_, Execute>) -> Result<ToolOutcome, Fault> {
        let Some(budget_ms) = ask.timeout_ms else {
            return next.run().await;
        };
        let deadline = Trigger::new();
        let mut expired = false;
        let mut work = pin!(next.run_with(ask.signal.fused(&deadline.signal())));
        let mut timer = pin!(tokio::time::sleep(duration(budget_ms)));
        let answer = poll_fn(|context| {
            // The work first: what is done in time is in time.
            if let Poll::Ready(answer) = work.as_mut().poll(context) {
                return Poll::Ready(answer);
            }
            if expired || ask.signal.is_raised() || timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            expired = true;
            deadline.raise(SignalReason::Deadline);
            // The signal is raised: whoever waits for it inside has to be asked once more.
            work.as_mut().poll(context)
        })
        .await?;
        Ok(if expired { timed_out(budget_ms) } else { answer })
    }
}

fn duration(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms.clamp(0.0, MAX_TIMER_MS) / 1000.0).unwrap_or(Duration::MAX)
}

fn timed_out(budget_ms: f64) -> ToolOutcome {
    let code = NamedCode::new("ToolTimeoutError", "TOOL_TIMEOUT");
    ToolOutcome::error(&format!("tool call timed out after {budget_ms}ms"), Some(code))
}
