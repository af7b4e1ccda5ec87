//! Who answers a question while one prompt runs? The person at the keyboard.

use std::io::{self, BufRead};
use std::sync::Arc;

use async_trait::async_trait;
use hames_agent::listeners::Listeners;
use hames_log::Place;
use hames_types::decision::ApprovalOutcome;
use hames_types::fault::Fault;
use hames_types::port::listener::{Decide, Next};
use hames_types::port::seam::{Approval, ApprovalAsk};

use crate::output::{Output, Tone};

/// Reads answers from the keyboard. Where nobody sits at one, nobody is asked and the question is a denial at once.
pub struct Keyboard(Output);

impl Keyboard {
    /// Answers for all agents, if somebody can.
    pub fn install(output: &Output, listeners: &Listeners) {
        if output.is_interactive() {
            listeners.add::<Approval>(None, Place::Last, Arc::new(Self(output.clone())));
        }
    }
}

#[async_trait]
impl Decide<Approval> for Keyboard {
    async fn decide(&self, ask: &ApprovalAsk, _: Next<'_, Approval>) -> Result<ApprovalOutcome, Fault> {
        let question = format!("allow this call of {} once? [y/N]", ask.tool);
        self.0.note(self.0.paint_note(Tone::Strong, question));
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            io::stdin().lock().read_line(&mut line).map(|_| line)
        });
        Ok(match ask.signal.unless_raised(line).await {
            Some(Ok(Ok(line))) if is_yes(&line) => ApprovalOutcome::AllowedOnce,
            Some(_) => ApprovalOutcome::Rejected,
            None => ApprovalOutcome::Cancelled,
        })
    }
}

/// Whether a line says yes.
#[must_use]
pub(crate) fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}
