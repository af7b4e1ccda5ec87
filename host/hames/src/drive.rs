//! How does one prompt come to its end, whatever happens meanwhile?
//!
//! Whoever interrupts (the keyboard, a signal, a reader that is gone) cancels the turn; the turn is then closed and
//! stored like any other. Only a second interruption ends the process without waiting for that.

mod ask;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hames_agent::{Agent, SendOptions};
use hames_log::Place;
use hames_types::content::Content;
use hames_types::event::Event;
use hames_types::fault::Fault;
use hames_types::id::SessionId;
use hames_types::port::listener::Observe;
use hames_types::port::notice::{AgentError, SessionEvent};
use hames_types::turn::{CancelCause, TurnEndReason};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::compose::{Host, Setup};
use crate::exit::Exit;
use crate::output::{Output, Tone, visible};
use crate::view::{Tally, View, Watch};

pub use ask::Keyboard;
pub(crate) use ask::is_yes;

/// Code of a conversation that is longer than the model can take.
const OVERFLOW: &str = "CONTEXT_WINDOW_EXCEEDED";

/// Something that happened to a session.
pub enum Seen {
    /// An event was appended.
    Event(Arc<Event>),
    /// Something failed.
    Trouble(AgentError),
}

/// Listens to one session and passes on what happens, in order.
struct Ear {
    session: SessionId,
    to: mpsc::UnboundedSender<Seen>,
}

impl Observe<SessionEvent> for Ear {
    fn observe(&self, notice: &SessionEvent) -> Result<(), Fault> {
        if notice.session == self.session {
            // Whoever has stopped looking needs to be told nothing.
            drop(self.to.send(Seen::Event(Arc::clone(&notice.event))));
        }
        Ok(())
    }
}

impl Observe<AgentError> for Ear {
    fn observe(&self, notice: &AgentError) -> Result<(), Fault> {
        if notice.agent == self.session {
            drop(self.to.send(Seen::Trouble(notice.clone())));
        }
        Ok(())
    }
}

/// Follows a session from now on. The queue isn't bounded: it holds what the log holds anyway.
#[must_use]
pub fn follow(host: &Host, session: &SessionId) -> mpsc::UnboundedReceiver<Seen> {
    let (to, seen) = mpsc::unbounded_channel();
    let ear = Arc::new(Ear {
        session: session.clone(),
        to,
    });
    host.sessions
        .on_event()
        .add(None, Place::Last, Arc::clone(&ear) as _);
    host.listeners.add::<AgentError>(None, Place::Last, ear);
    seen
}

/// Who asks the process to stop.
pub struct Stops {
    interrupt: Signal,
    terminate: Signal,
}

impl Stops {
    /// Listens to SIGINT and SIGTERM from now on.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for either.
    pub async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
        }
    }
}

/// What became of a prompt.
pub struct Outcome {
    /// What the turn came to.
    pub tally: Tally,
    /// Who stopped it, if somebody did.
    pub stopped: Option<Exit>,
    /// How long it took.
    pub took: Duration,
    /// What couldn't be stored on the way.
    pub trouble: Option<String>,
}

impl Outcome {
    /// The code for it.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match (&self.tally.reason, self.stopped) {
            (_, Some(stopped)) => stopped,
            (Some(TurnEndReason::Completed(_)), None) => Exit::Done,
            (Some(TurnEndReason::Aborted(_) | TurnEndReason::Disposed(_)), None) => Exit::Interrupted,
            (Some(TurnEndReason::MaxTokens(_)), None) => Exit::MaxTokens,
            (Some(TurnEndReason::Rejected(_)), None) => Exit::Rejected,
            (Some(TurnEndReason::Error(end)), None)
                if end
                    .failure
                    .as_ref()
                    .is_some_and(|failure| failure.code == OVERFLOW) =>
            {
                Exit::ContextOverflow
            }
            (
                Some(TurnEndReason::Error(_) | TurnEndReason::Interrupted(_) | TurnEndReason::Other(_))
                | None,
                None,
            ) => Exit::Failed,
        }
    }
}

/// Sends a prompt and shows what comes of it until nothing is left to do.
///
/// # Errors
/// If the agent takes no prompt. Whatever happens later is the outcome's.
pub async fn prompt(host: &Host, agent: &Agent, text: &str, view: &mut dyn View) -> anyhow::Result<Outcome> {
    let began = Instant::now();
    let mut stops = Stops::listen()?;
    let mut seen = follow(host, agent.id());
    let mut watch = Watch::new(Arc::clone(host.tools()), host.window_tokens);
    let (mut stopped, mut trouble) = (None, None);
    agent.send(Content::text(text), SendOptions::default())?;
    let mut idle = std::pin::pin!(agent.when_idle());
    let mut is_idle = false;
    while !is_idle {
        let shown = tokio::select! {
            biased;
            Some(what) = seen.recv() => show(&what, &mut watch, view, &mut trouble),
            exit = stops.next() => {
                if stopped.is_some() {
                    break;
                }
                stopped = Some(exit);
                agent.cancel(CancelCause::User);
                Ok(())
            }
            () = &mut idle => {
                is_idle = true;
                let mut shown = Ok(());
                while let Ok(what) = seen.try_recv() {
                    shown = shown.and(show(&what, &mut watch, view, &mut trouble));
                }
                shown
            }
        };
        if shown.is_err() && stopped.is_none() {
            stopped = Some(Exit::ClosedPipe);
            agent.cancel(CancelCause::User);
        }
    }
    Ok(Outcome {
        tally: watch.tally,
        stopped,
        took: began.elapsed(),
        trouble,
    })
}

fn show(what: &Seen, watch: &mut Watch, view: &mut dyn View, trouble: &mut Option<String>) -> io::Result<()> {
    match what {
        Seen::Event(event) => watch.event(event, view),
        Seen::Trouble(error) => {
            *trouble = Some(error.error.chain());
            // A turn's own failure is told at its end.
            if watch.tally.reason.is_some() {
                view.trouble(error)
            } else {
                Ok(())
            }
        }
    }
}

/// Tells where a session is, before its first event.
///
/// # Errors
/// If nobody reads.
pub fn announce(output: &Output, host: &Host, setup: &Setup, agent: &Agent, resumed: bool) -> io::Result<()> {
    if output.is_json() {
        let store = host.shelf.path().map(|path| path.display().to_string());
        let folder = setup.place.folder.display().to_string();
        return output.json(&json!({
            "type": "session", "id": agent.id(), "folder": folder, "store": store, "resumed": resumed,
        }));
    }
    Ok(())
}

/// Tells how a turn ended, and where its session is: in a store, in none, or (without any) not saved to its end.
///
/// # Errors
/// If nobody reads.
pub fn conclude(
    output: &Output,
    outcome: &Outcome,
    session: &SessionId,
    store: Option<Option<&std::path::Path>>,
) -> io::Result<Exit> {
    let exit = outcome.exit();
    if output.is_json() {
        let Tally {
            reason,
            usage,
            context_tokens,
            window_tokens,
            ..
        } = &outcome.tally;
        let ms = u64::try_from(outcome.took.as_millis()).unwrap_or(u64::MAX);
        let input = usage.total_tokens().saturating_sub(usage.output_tokens);
        output.json(&json!({
            "type": "end", "exit": exit.name(), "reason": reason, "ms": ms, "session": session,
            "tokens": {"input": input, "output": usage.output_tokens, "total": usage.total_tokens()},
            "context": {"tokens": context_tokens, "window": window_tokens},
        }))?;
        return Ok(exit);
    }
    if let Some(problem) = problem(outcome) {
        output.note(format_args!("{} {problem}", output.paint_note(Tone::Bad, "✗")));
    }
    output.note(output.paint_note(Tone::Dim, summary(outcome)));
    let place = store.map(|store| whereabouts(session, store));
    for line in place.unwrap_or_default() {
        output.note(output.paint_note(Tone::Dim, line));
    }
    Ok(exit)
}

/// How a turn ended, what it took and what it used, in a line.
#[must_use]
pub fn summary(outcome: &Outcome) -> String {
    let Tally {
        usage,
        steps,
        context_tokens,
        window_tokens,
        ..
    } = &outcome.tally;
    let calls = match steps {
        1 => "1 model call".to_owned(),
        steps => format!("{steps} model calls"),
    };
    let context = match window_tokens {
        Some(window) if *context_tokens > 0 => {
            let percent = context_tokens.saturating_mul(100) / (*window).max(1);
            format!(", {percent} % of the context's {window}")
        }
        Some(_) | None => String::new(),
    };
    format!(
        "{} in {:.1} s: {calls}, {} tokens in, {} out{context}",
        outcome.exit().name().to_lowercase().replace('_', " "),
        outcome.took.as_secs_f64(),
        usage.total_tokens().saturating_sub(usage.output_tokens),
        usage.output_tokens
    )
}

/// Where a session is, and how to look at it and go on.
#[must_use]
pub fn whereabouts(session: &SessionId, store: Option<&std::path::Path>) -> Vec<String> {
    let Some(store) = store else {
        return vec![format!(
            "session {session}, which isn't kept (`store.kind` is `memory`)"
        )];
    };
    vec![
        format!("session {session} in {}", store.display()),
        format!("look at it: hames sessions show {session}    go on: hames resume {session} \"…\""),
    ]
}

/// Why a turn didn't complete, and what to do.
#[must_use]
pub fn problem(outcome: &Outcome) -> Option<String> {
    match &outcome.tally.reason {
        Some(TurnEndReason::Error(end)) => Some(match (&end.failure, &end.message) {
            (Some(failure), _) if failure.code == OVERFLOW => format!(
                "the conversation is longer than the model can take: {}\n  begin a new session with what matters, fork \
                 this one before it grew (`hames sessions fork`), or name a model with a larger context",
                visible(&failure.message)
            ),
            (Some(failure), _) => format!(
                "the model call failed: {} [{}]",
                visible(&failure.message),
                failure.code
            ),
            (None, message) => {
                let message = message.as_deref().unwrap_or("the turn failed");
                let code = end
                    .code
                    .as_ref()
                    .map(|code| format!(" [{code}]"))
                    .unwrap_or_default();
                format!("{}{code}", visible(message))
            }
        }),
        Some(TurnEndReason::MaxTokens(_)) => {
            Some("the model ran into its output limit; its answer is cut off".to_owned())
        }
        Some(TurnEndReason::Aborted(_)) => {
            Some("the turn was cancelled; what was done so far is saved".to_owned())
        }
        None => Some(match &outcome.trouble {
            Some(trouble) => format!("the turn couldn't run to its end: {}", visible(trouble)),
            None => "the turn didn't run to its end".to_owned(),
        }),
        Some(
            TurnEndReason::Completed(_)
            | TurnEndReason::Disposed(_)
            | TurnEndReason::Rejected(_)
            | TurnEndReason::Interrupted(_)
            | TurnEndReason::Other(_),
        ) => None,
    }
}
