//! How do a person and an agent talk? Lines go in while answers come out.
//!
//! * A line is a prompt; while a turn runs it steers that turn.
//! * Ctrl-C cancels the running turn; with nothing to cancel, or a second time, it leaves. So does Ctrl-D.
//! * A plugin's command runs beside all that; Ctrl-C ends it as well.
//! * A call that needs a person's word is asked about in place: the next line is the answer.

mod editor;
mod page;

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use hames_agent::{Agent, SendOptions};
use hames_log::Place;
use hames_plugin::Plugin;
use hames_types::content::Content;
use hames_types::decision::ApprovalOutcome;
use hames_types::fault::Fault;
use hames_types::port::contribution::{CommandOutcome, Commands};
use hames_types::port::listener::{Decide, Next};
use hames_types::port::seam::{Approval, ApprovalAsk};
use hames_types::turn::{AgentStatus, CancelCause};
use tokio::sync::{mpsc, oneshot};

use crate::compose::{Host, Setup};
use crate::drive::{self, Outcome, Seen, Stops};
use crate::exit::Exit;
use crate::output::{Output, Tone, visible};
use crate::view::{TextView, Watch};

use editor::{Keys, Typed};
use page::Page;

/// A question that waits for the person's next line.
struct Question {
    tool: String,
    answer: oneshot::Sender<ApprovalOutcome>,
}

/// Passes questions on to the conversation.
struct Asker(mpsc::UnboundedSender<Question>);

#[async_trait]
impl Decide<Approval> for Asker {
    async fn decide(&self, ask: &ApprovalAsk, next: Next<'_, Approval>) -> Result<ApprovalOutcome, Fault> {
        let (answer, answered) = oneshot::channel();
        let tool = ask.tool.to_string();
        if self.0.send(Question { tool, answer }).is_err() {
            return next.run().await;
        }
        Ok(match ask.signal.unless_raised(answered).await {
            Some(answered) => answered.unwrap_or(ApprovalOutcome::Rejected),
            None => ApprovalOutcome::Cancelled,
        })
    }
}

/// What a moment of the conversation leads to.
enum Then {
    GoOn,
    Leave(Exit),
}

/// A plugin's command that runs. Dropping it ends it.
type Running = Pin<Box<dyn Future<Output = Result<CommandOutcome, Fault>> + Send>>;

/// What comes of the running command; nothing ever while there is none.
async fn command_ended(running: &mut Option<Running>) -> Result<CommandOutcome, Fault> {
    match running {
        Some(command) => command.await,
        None => std::future::pending().await,
    }
}

/// A conversation that goes on.
struct Chat<'a> {
    agent: &'a Agent,
    view: TextView<Page>,
    watch: Watch,
    commands: Vec<Arc<dyn Commands>>,
    questions: VecDeque<Question>,
    running: Option<Running>,
    /// Whether the running turn was cancelled, or Ctrl-C was pressed with nothing to cancel.
    is_interrupted: bool,
    began: std::time::Instant,
}

/// Talks until the person leaves. The host isn't closed yet then.
///
/// # Errors
/// If there is no terminal, or it is gone.
pub async fn talk(host: &Host, setup: &Setup, agent: &Agent, output: &Output) -> anyhow::Result<Exit> {
    let mut stops = Stops::listen()?;
    let mut seen = drive::follow(host, agent.id());
    let (to, mut asked) = mpsc::unbounded_channel();
    host.listeners
        .add::<Approval>(None, Place::Last, Arc::new(Asker(to)));
    let (mut keys, printer) = Keys::read(setup.place.data.join("history"))?;
    let mut chat = Chat {
        agent,
        view: TextView::new(Page::new(printer, output.clone()), output.verbosity() > 0),
        watch: Watch::new(Arc::clone(host.tools()), host.window_tokens),
        commands: host.plugins.iter().filter_map(Plugin::commands).collect(),
        questions: VecDeque::new(),
        running: None,
        is_interrupted: false,
        began: std::time::Instant::now(),
    };
    chat.say(
        Tone::Dim,
        "type a prompt; a line while it runs steers; Ctrl-C cancels, twice leaves; Ctrl-D leaves",
    )?;
    loop {
        let then = tokio::select! {
            typed = keys.next() => {
                let then = chat.typed(typed)?;
                if matches!(then, Then::GoOn) {
                    keys.go_on();
                }
                then
            }
            ended = command_ended(&mut chat.running) => chat.command_done(ended)?,
            Some(what) = seen.recv() => chat.seen(&what)?,
            Some(question) = asked.recv() => chat.ask(question)?,
            // Between two lines the terminal sends Ctrl-C as a signal.
            exit = stops.next() => if exit == Exit::Interrupted { chat.interrupt()? } else { Then::Leave(exit) },
        };
        if let Then::Leave(exit) = then {
            return Ok(exit);
        }
    }
}

impl Chat<'_> {
    fn say(&mut self, tone: Tone, text: &str) -> io::Result<()> {
        self.view.paper().say(tone, text)
    }

    fn typed(&mut self, typed: Typed) -> anyhow::Result<Then> {
        match typed {
            Typed::Line(line) => self.line(&line),
            Typed::Interrupt => Ok(self.interrupt()?),
            Typed::End => Ok(Then::Leave(Exit::Done)),
            Typed::Broken(problem) => Err(anyhow::anyhow!("the terminal can't be read: {problem}")),
        }
    }

    fn line(&mut self, line: &str) -> anyhow::Result<Then> {
        self.is_interrupted = false;
        self.questions.retain(|question| !question.answer.is_closed());
        if let Some(question) = self.questions.pop_front() {
            let answer = if drive::is_yes(line) {
                ApprovalOutcome::AllowedOnce
            } else {
                ApprovalOutcome::Rejected
            };
            if question.answer.send(answer).is_err() {
                self.say(Tone::Dim, "(the question was withdrawn meanwhile)")?;
            }
            return Ok(Then::GoOn);
        }
        let text = line.trim();
        match text {
            "" => return Ok(Then::GoOn),
            "/quit" | "/exit" => return Ok(Then::Leave(Exit::Done)),
            "/help" => return self.help(),
            _ => {}
        }
        if let Some(command) = text.strip_prefix('/') {
            return self.command(command);
        }
        let content = Content::text(text);
        if self.agent.status() == AgentStatus::Running {
            self.agent.steer(content, SendOptions::default())?;
            self.say(Tone::Dim, "(the turn is told)")?;
        } else {
            self.agent.send(content, SendOptions::default())?;
        }
        Ok(Then::GoOn)
    }

    fn help(&mut self) -> anyhow::Result<Then> {
        self.say(Tone::Plain, "/quit leaves")?;
        let offers: Vec<_> = self
            .commands
            .iter()
            .flat_map(|commands| commands.commands())
            .collect();
        for offer in offers {
            let hint = offer.argument_hint.unwrap_or_default();
            let line = format!("/{} {hint}  {}", offer.name, offer.description);
            self.say(Tone::Plain, &visible(&line))?;
        }
        Ok(Then::GoOn)
    }

    /// Begins a plugin's command. It is bounded by the plugin's limits.
    fn command(&mut self, line: &str) -> anyhow::Result<Then> {
        let (name, arguments) = line.split_once(' ').unwrap_or((line, ""));
        let offers =
            |commands: &&Arc<dyn Commands>| commands.commands().iter().any(|offer| offer.name == name);
        let Some(commands) = self.commands.iter().find(offers).cloned() else {
            self.say(Tone::Warning, "there is no such command; /help lists them")?;
            return Ok(Then::GoOn);
        };
        if self.running.is_some() {
            self.say(Tone::Warning, "another command still runs; Ctrl-C ends it")?;
            return Ok(Then::GoOn);
        }
        let (name, arguments, agent) = (name.to_owned(), arguments.to_owned(), self.agent.id().clone());
        self.running = Some(Box::pin(async move {
            commands.run(&name, &arguments, Some(&agent)).await
        }));
        Ok(Then::GoOn)
    }

    fn command_done(&mut self, ended: Result<CommandOutcome, Fault>) -> anyhow::Result<Then> {
        self.running = None;
        match ended {
            Ok(CommandOutcome::Show(text)) => self.say(Tone::Plain, &visible(&text))?,
            Ok(CommandOutcome::Prompt(content)) => self.agent.send(content, SendOptions::default())?,
            Err(fault) => self.say(Tone::Bad, &visible(&fault.chain()))?,
        }
        Ok(Then::GoOn)
    }

    fn interrupt(&mut self) -> io::Result<Then> {
        if self.is_interrupted {
            return Ok(Then::Leave(Exit::Done));
        }
        self.is_interrupted = true;
        let has_ended_command = self.running.take().is_some();
        if self.agent.status() == AgentStatus::Running {
            self.agent.cancel(CancelCause::User);
            self.say(Tone::Warning, "cancelled; Ctrl-C again leaves")?;
        } else if has_ended_command {
            self.say(Tone::Warning, "the command is cancelled; Ctrl-C again leaves")?;
        } else {
            self.say(Tone::Dim, "Ctrl-C again leaves")?;
        }
        Ok(Then::GoOn)
    }

    fn ask(&mut self, question: Question) -> io::Result<Then> {
        let line = format!("allow this call of {} once? type y or n", visible(&question.tool));
        self.questions.push_back(question);
        self.say(Tone::Strong, &line)?;
        Ok(Then::GoOn)
    }

    fn seen(&mut self, what: &Seen) -> io::Result<Then> {
        match what {
            Seen::Event(event) => {
                match event.kind() {
                    "turn/start" => self.began = std::time::Instant::now(),
                    "turn/end" => {
                        self.watch.event(event, &mut self.view)?;
                        self.turn_ended()?;
                        return Ok(Then::GoOn);
                    }
                    _ => {}
                }
                self.watch.event(event, &mut self.view)?;
            }
            Seen::Trouble(error) if self.watch.tally.reason.is_some() => {
                let line = format!("! {}", visible(&error.error.chain()));
                self.say(Tone::Warning, &line)?;
            }
            // A turn's own failure is told at its end.
            Seen::Trouble(_) => {}
        }
        Ok(Then::GoOn)
    }

    fn turn_ended(&mut self) -> io::Result<()> {
        let outcome = Outcome {
            tally: self.watch.tally.clone(),
            stopped: None,
            took: self.began.elapsed(),
            trouble: None,
        };
        if let Some(problem) = drive::problem(&outcome) {
            self.say(Tone::Bad, &format!("✗ {problem}"))?;
        }
        let line = drive::summary(&outcome);
        self.say(Tone::Dim, &line)
    }
}
