//! `hames resume ID [PROMPT]`: closes what was interrupted, and goes on.
//!
//! Without a prompt it goes on as a conversation on a terminal; elsewhere the interrupted turn is closed and that is all. The lines of `--json` are those of
//! [`crate::view`]; without a prompt there is the one of type `session`.

use hames_agent::AgentOptions;
use hames_log::header::fold_header;
use hames_types::id::SessionId;

use super::Context;
use super::chat::converse;
use super::run::{one_prompt, prompt_text};
use crate::compose::{Host, Setup, options};
use crate::config::Origin;
use crate::drive;
use crate::exit::Exit;

/// Arguments of `resume`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's id
    id: String,
    /// What to do next; `-` reads it from standard input
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,
}

/// Resumes it.
///
/// # Errors
/// If there is no such session, or it can't be saved.
pub async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let text = if args.prompt.is_empty() {
        None
    } else {
        Some(prompt_text(&args.prompt)?)
    };
    let setup = Setup::read(context)?;
    let host = Host::start(&setup, context).await?;
    let id = SessionId::new(args.id);
    let resumed = match target(&host, &setup, &id).await {
        Ok(options) => host
            .agents
            .resume(&id, options, None)
            .await
            .map_err(anyhow::Error::from),
        Err(error) => Err(error),
    };
    let agent = match resumed {
        Ok(agent) => agent,
        Err(error) => {
            host.close().await?;
            return Err(error);
        }
    };
    let output = &context.output;
    drive::announce(output, &host, &setup, &agent, true)?;
    if let Some(text) = text {
        return one_prompt(host, &agent, &text, output).await;
    }
    if !output.is_json() && output.is_interactive() && output.is_terminal() {
        return converse(host, &setup, &agent, context).await;
    }
    host.close().await?;
    if !output.is_json() {
        output.note(format_args!(
            "session {id} is closed in order; go on with: hames resume {id} \"…\""
        ));
    }
    Ok(Exit::Done)
}

/// Which model it asks: the one it asked last if that is still reached in the same way, unless a flag says otherwise.
pub(super) async fn target(host: &Host, setup: &Setup, id: &SessionId) -> anyhow::Result<AgentOptions> {
    let configured = options(&setup.config);
    let by_flag = ["model.provider", "model.model"].iter().any(|key| {
        setup
            .sources
            .settings
            .get(key)
            .is_some_and(|setting| setting.origin == Origin::Flag)
    });
    if by_flag {
        return Ok(configured);
    }
    let stored = host.shelf.store().load(id).await?;
    let Ok(Some(header)) = fold_header(&stored.events) else {
        return Ok(configured);
    };
    let (provider, model) = (&header.config.provider, &header.config.model);
    if configured.provider.as_ref() == Some(provider) {
        return Ok(AgentOptions {
            provider: Some(provider.clone()),
            model: Some(model.clone()),
        });
    }
    Ok(configured)
}
