//! `hames run "…"`: one prompt in a new session, to its end.
//!
//! The answer goes to standard output as it comes, what tools do to standard error. The exit code says how the turn
//! ended (see [`crate::exit`]). The lines of `--json` are those of [`crate::view`].

use std::io::{self, Read};
use std::sync::Arc;

use anyhow::Context as _;
use hames_agent::{Agent, StartOptions};
use hames_log::SessionMeta;
use hames_types::id::SessionId;
use hames_types::port::clock::Clock;

use super::Context;
use crate::compose::{Host, Setup, options};
use crate::config::Provider;
use crate::drive::{self, Keyboard};
use crate::exit::{Ended, Exit};
use crate::output::{Output, Tone};
use crate::outside::{SystemClock, session_id};
use crate::view::{JsonView, Terminal, TextView, View};

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do; `-` reads it from standard input
    #[arg(required = true, value_name = "PROMPT")]
    prompt: Vec<String>,
    /// The new session's id; made from the time if absent
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

/// Runs it.
///
/// # Errors
/// If it can't begin, or the session can't be saved.
pub async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let text = prompt_text(&args.prompt)?;
    let setup = Setup::read(context)?;
    let output = &context.output;
    if is_demonstration(&setup) && !output.is_json() {
        output.note(output.paint_note(
            Tone::Dim,
            "no hames.toml found: a scripted model demonstrates what hames does (host/hames/README.md tells how to \
             name a real one)",
        ));
    }
    let host = Host::start(&setup, context).await?;
    let id = args
        .session
        .map_or_else(|| session_id(SystemClock.now_ms()), SessionId::new);
    let agent = match start(&host, &setup, id).await {
        Ok(agent) => agent,
        Err(error) => {
            host.close().await?;
            return Err(error);
        }
    };
    drive::announce(output, &host, &setup, &agent, false)?;
    one_prompt(host, &agent, &text, output).await
}

/// Whether the built-in script answers because nobody said who should.
fn is_demonstration(setup: &Setup) -> bool {
    let model = &setup.config.model;
    setup.sources.is_demo && model.provider == Provider::Scripted && model.script.is_none()
}

/// Starts an agent in a new session.
pub(super) async fn start(host: &Host, setup: &Setup, id: SessionId) -> anyhow::Result<Arc<Agent>> {
    let start = StartOptions {
        id: Some(id),
        options: options(&setup.config),
        meta: SessionMeta {
            cwd: setup.place.folder.to_str().map(Into::into),
            ..SessionMeta::default()
        },
        ..StartOptions::default()
    };
    Ok(host.agents.start(start).await?)
}

/// Runs one prompt of an agent, saves and tells.
///
/// # Errors
/// If the session can't be saved.
pub(super) async fn one_prompt(
    host: Host,
    agent: &Agent,
    text: &str,
    output: &Output,
) -> anyhow::Result<Exit> {
    Keyboard::install(output, &host.listeners);
    let mut view: Box<dyn View> = if output.is_json() {
        Box::new(JsonView(output.clone()))
    } else {
        Box::new(TextView::new(
            Terminal::new(output.clone()),
            output.verbosity() > 0,
        ))
    };
    let outcome = drive::prompt(&host, agent, text, view.as_mut()).await;
    let store = host.shelf.path().map(ToOwned::to_owned);
    let closed = host.close().await;
    let outcome = outcome?;
    let told = drive::conclude(
        output,
        &outcome,
        agent.id(),
        closed.is_ok().then_some(store.as_deref()),
    );
    closed.with_context(|| format!("session {} isn't saved to its end", agent.id()))?;
    Ok(told.unwrap_or(Exit::ClosedPipe))
}

/// The prompt, from the arguments or from standard input.
pub(super) fn prompt_text(words: &[String]) -> anyhow::Result<String> {
    let text = match words {
        [dash] if dash == "-" => {
            let mut text = String::new();
            io::stdin()
                .lock()
                .take(MAX_PROMPT)
                .read_to_string(&mut text)
                .context("the prompt can't be read from standard input")?;
            text
        }
        words => words.join(" "),
    };
    if text.trim().is_empty() {
        return Err(anyhow::Error::new(Ended(Exit::Usage)).context("the prompt is empty; say what to do"));
    }
    Ok(text)
}

/// Most bytes of a prompt from standard input: far more than any model takes.
const MAX_PROMPT: u64 = 16 << 20;
