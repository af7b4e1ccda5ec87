//! `hames chat`: a conversation in a new session, on a terminal.

use hames_types::id::SessionId;
use hames_types::port::clock::Clock;

use super::Context;
use super::run::start;
use crate::chat::talk;
use crate::compose::{Host, Setup};
use crate::drive;
use crate::exit::{Ended, Exit};
use crate::output::Tone;
use crate::outside::{SystemClock, session_id};

/// Arguments of `chat`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The new session's id; made from the time if absent
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

/// Talks.
///
/// # Errors
/// If there is no terminal, it can't begin, or the session can't be saved.
pub async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    needs_terminal(context)?;
    let setup = Setup::read(context)?;
    let host = Host::start(&setup, context).await?;
    let id = args
        .session
        .map_or_else(|| session_id(SystemClock.now_ms()), SessionId::new);
    match start(&host, &setup, id).await {
        Ok(agent) => converse(host, &setup, &agent, context).await,
        Err(error) => {
            host.close().await?;
            Err(error)
        }
    }
}

/// A conversation, and its orderly end.
pub(super) async fn converse(
    host: Host,
    setup: &Setup,
    agent: &hames_agent::Agent,
    context: &Context,
) -> anyhow::Result<Exit> {
    let output = &context.output;
    let talked = talk(&host, setup, agent, output).await;
    let store = host.shelf.path().map(ToOwned::to_owned);
    host.close().await?;
    for line in drive::whereabouts(agent.id(), store.as_deref()) {
        output.note(output.paint_note(Tone::Dim, line));
    }
    talked
}

/// Refuses to talk where nobody can be heard.
pub(super) fn needs_terminal(context: &Context) -> anyhow::Result<()> {
    if context.output.is_interactive() && context.output.is_terminal() {
        return Ok(());
    }
    let problem =
        "a conversation needs a terminal and no `--json`; use `hames run` or `hames resume ID \"…\"` instead";
    Err(anyhow::Error::new(Ended(Exit::Usage)).context(problem))
}
