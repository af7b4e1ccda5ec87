//! What does a plugin add to the system prompt, and which commands does it offer? Asked once at load, then used.

use std::sync::Arc;

use async_trait::async_trait;
use hames_types::fault::Fault;
use hames_types::id::SessionId;
use hames_types::port::contribution::{
    CommandOffer, CommandOutcome, Commands, PromptFor, PromptPart, SectionOffer,
};
use hames_types::signal::Signal;
use smol_str::SmolStr;

use crate::bindings::exports::hames::plugin::commands as wit_commands;
use crate::bindings::exports::hames::plugin::prompt as wit_prompt;
use crate::convert::Admit;
use crate::convert::content::admit_blocks;
use crate::error::{CallError, Limit, LoadProblem};
use crate::limits::{MAX_COMMANDS, MAX_LINE, MAX_SECTION, MAX_SECTIONS};
use crate::manifest::shown;
use crate::plugin::{Loaded, Plugin};
use crate::state::Call;
use crate::tool::admit_fault;

/// What a plugin offers, as it said at load.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Offers {
    sections: Vec<SectionOffer>,
    variables: Vec<SmolStr>,
    commands: Vec<CommandOffer>,
}

/// Asks a plugin what it offers, with nothing but the configuration in reach.
///
/// # Errors
/// [`LoadProblem`] if it fails, refuses, or offers what isn't to be had.
pub(crate) async fn ask(loaded: &Loaded) -> Result<Offers, LoadProblem> {
    let mut offers = Offers::default();
    if let Some(indices) = &loaded.exports.prompt {
        (offers.sections, offers.variables) = ask_prompt(loaded, Arc::clone(indices)).await?;
    }
    if let Some(indices) = &loaded.exports.commands {
        offers.commands = ask_commands(loaded, Arc::clone(indices)).await?;
    }
    Ok(offers)
}

async fn ask_prompt(
    loaded: &Loaded,
    indices: Arc<wit_prompt::GuestIndices>,
) -> Result<(Vec<SectionOffer>, Vec<SmolStr>), LoadProblem> {
    let who = &loaded.site.who;
    let config = who.config.clone();
    let answer = loaded
        .site
        .call(
            who.limits.list,
            &Signal::never(),
            Call::inert,
            move |store, instance| {
                Box::pin(async move {
                    let prompt = indices.load(&mut *store, instance)?;
                    let sections = prompt.call_sections(&mut *store, &config).await?;
                    let variables = prompt.call_variables(store, &config).await?;
                    Ok((sections, variables))
                })
            },
        )
        .await
        .map_err(|source| LoadProblem::Call {
            function: "sections",
            source,
        })?;
    let refused = |function: &'static str| {
        move |fault| LoadProblem::Refused {
            function,
            fault: admit_fault(loaded, fault),
        }
    };
    let sections = answer.0.map_err(refused("sections"))?;
    let variables = answer.1.map_err(refused("variables"))?;
    bound("prompt sections", sections.len(), MAX_SECTIONS)?;
    bound("prompt variables", variables.len(), MAX_SECTIONS)?;
    let sections = sections.into_iter().map(section).collect::<Result<_, _>>()?;
    for name in &variables {
        line("prompt variable", name)?;
    }
    Ok((sections, variables.into_iter().map(SmolStr::from).collect()))
}

fn section(section: wit_prompt::SectionDefinition) -> Result<SectionOffer, LoadProblem> {
    line("prompt section", &section.name)?;
    if !section.order.is_finite() {
        return Err(offer(
            "prompt section",
            &section.name,
            "has an order that is no number",
        ));
    }
    if section.text.as_ref().is_some_and(|text| text.len() > MAX_SECTION) {
        return Err(offer(
            "prompt section",
            &section.name,
            "has more text than 64 KiB",
        ));
    }
    Ok(SectionOffer {
        name: section.name.into(),
        order: section.order,
        text: section.text.map(Into::into),
    })
}

async fn ask_commands(
    loaded: &Loaded,
    indices: Arc<wit_commands::GuestIndices>,
) -> Result<Vec<CommandOffer>, LoadProblem> {
    let who = &loaded.site.who;
    let config = who.config.clone();
    let answer = loaded
        .site
        .call(
            who.limits.list,
            &Signal::never(),
            Call::inert,
            move |store, instance| {
                Box::pin(async move {
                    let commands = indices.load(&mut *store, instance)?;
                    commands.call_list(store, &config).await
                })
            },
        )
        .await
        .map_err(|source| LoadProblem::Call {
            function: "list",
            source,
        })?;
    let commands = answer.map_err(|fault| LoadProblem::Refused {
        function: "list",
        fault: admit_fault(loaded, fault),
    })?;
    bound("commands", commands.len(), MAX_COMMANDS)?;
    let mut known: Vec<CommandOffer> = Vec::with_capacity(commands.len());
    for command in commands {
        let name = &command.name;
        let is_name = (1..=64).contains(&name.len())
            && name
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'));
        if !is_name {
            return Err(offer("command", name, "must be 1 to 64 of `a-z 0-9 - _`"));
        }
        if known.iter().any(|other| other.name == name.as_str()) {
            return Err(offer("command", name, "is listed twice"));
        }
        line("command's description", &command.description)?;
        known.push(CommandOffer {
            name: command.name.into(),
            description: command.description.into(),
            argument_hint: command.argument_hint.map(Into::into),
        });
    }
    Ok(known)
}

fn bound(what: &'static str, found: usize, limit: usize) -> Result<(), LoadProblem> {
    if found <= limit {
        return Ok(());
    }
    Err(LoadProblem::Bounds {
        what,
        found: found as u64,
        limit: limit as u64,
    })
}

fn line(what: &'static str, text: &str) -> Result<(), LoadProblem> {
    if text.len() <= MAX_LINE && !text.is_empty() && !text.contains('\n') {
        return Ok(());
    }
    Err(offer(what, text, "must be one line of at most 1 KiB"))
}

fn offer(what: &'static str, name: &str, problem: &'static str) -> LoadProblem {
    LoadProblem::Offer {
        what,
        name: shown(name),
        problem,
    }
}

impl Plugin {
    /// What it adds to the system prompt, if it adds anything.
    #[must_use]
    pub fn prompt(&self) -> Option<Arc<dyn PromptPart>> {
        let is_there = self.look(|loaded| loaded.exports.prompt.is_some());
        is_there.then(|| Arc::new(ComponentPrompt(self.clone())) as Arc<dyn PromptPart>)
    }

    /// Its commands, if it has any.
    #[must_use]
    pub fn commands(&self) -> Option<Arc<dyn Commands>> {
        let is_there = self.look(|loaded| loaded.exports.commands.is_some());
        is_there.then(|| Arc::new(ComponentCommands(self.clone())) as Arc<dyn Commands>)
    }
}

/// A plugin's pieces of the system prompt. After a reload its calls go to the new component.
struct ComponentPrompt(Plugin);

fn wit_ask(request: PromptFor<'_>) -> wit_prompt::PromptAsk {
    wit_prompt::PromptAsk {
        agent: request.agent.map(ToString::to_string),
        provider: request.provider.map(ToString::to_string),
        model: request.model.map(ToString::to_string),
        cwd: request.cwd.map(str::to_owned),
        extra: None,
    }
}

fn gone(interface: &str) -> CallError {
    CallError::Answer {
        place: "exports".to_owned(),
        problem: format!("no longer hold `{interface}`"),
    }
}

impl PromptPart for ComponentPrompt {
    fn sections(&self) -> Vec<SectionOffer> {
        self.0.look(|loaded| loaded.offers.sections.clone())
    }

    fn section_text(&self, name: &str, request: PromptFor<'_>) -> Result<SmolStr, Fault> {
        let loaded = self.0.current();
        let (asked, name) = (wit_ask(request), name.to_owned());
        let text = call_prompt(&loaded, request, move |prompt, store| {
            Box::pin(async move { prompt.call_section_text(store, &name, &asked).await })
        })?;
        bounded_text(&loaded, text)
    }

    fn variables(&self) -> Vec<SmolStr> {
        self.0.look(|loaded| loaded.offers.variables.clone())
    }

    fn variable(&self, name: &str, request: PromptFor<'_>) -> Result<Option<SmolStr>, Fault> {
        let loaded = self.0.current();
        let (asked, name) = (wit_ask(request), name.to_owned());
        let value = call_prompt(&loaded, request, move |prompt, store| {
            Box::pin(async move { prompt.call_variable_value(store, &name, &asked).await })
        })?;
        value.map(|value| bounded_text(&loaded, value)).transpose()
    }
}

fn bounded_text(loaded: &Loaded, text: String) -> Result<SmolStr, Fault> {
    if text.len() > MAX_SECTION {
        return Err(CallError::Limit(Limit::Output).into_fault(&loaded.site.who.id));
    }
    Ok(text.into())
}

/// A guest's answer, or the fault it gave instead.
type Said<T> = Result<T, crate::bindings::hames::plugin::types::Fault>;

fn call_prompt<T: Send + 'static>(
    loaded: &Loaded,
    request: PromptFor<'_>,
    ask: impl for<'a> FnOnce(
        wit_prompt::Guest,
        &'a mut wasmtime::Store<crate::state::State>,
    ) -> crate::invoke::Work<'a, Said<T>>
    + Send,
) -> Result<T, Fault> {
    let who = &loaded.site.who;
    let fault = |error: CallError| error.into_fault(&who.id);
    let indices = loaded.exports.prompt.clone();
    let indices = indices.ok_or_else(|| fault(gone("hames:plugin/prompt@0.1.0")))?;
    loaded
        .site
        .call_now(
            who.limits.observe,
            |ends| Call::reaching(who, request.agent, Signal::never(), ends),
            move |store, instance| {
                let prompt = indices.load(&mut *store, instance);
                match prompt {
                    Ok(prompt) => ask(prompt, store),
                    Err(error) => Box::pin(std::future::ready(Err(error))),
                }
            },
        )
        .map_err(fault)?
        .map_err(|said| admit_fault(loaded, said))
}

/// A plugin's commands. After a reload its calls go to the new component.
struct ComponentCommands(Plugin);

#[async_trait]
impl Commands for ComponentCommands {
    fn commands(&self) -> Vec<CommandOffer> {
        self.0.look(|loaded| loaded.offers.commands.clone())
    }

    async fn run(
        &self,
        name: &str,
        arguments: &str,
        agent: Option<&SessionId>,
    ) -> Result<CommandOutcome, Fault> {
        let loaded = self.0.current();
        let who = &loaded.site.who;
        let fault = |error: CallError| error.into_fault(&who.id);
        let indices = loaded.exports.commands.clone();
        let indices = indices.ok_or_else(|| fault(gone("hames:plugin/commands@0.1.0")))?;
        let (name, arguments) = (name.to_owned(), arguments.to_owned());
        let id = agent.map(ToString::to_string);
        let answer = loaded
            .site
            .call(
                who.limits.call,
                &Signal::never(),
                |ends| Call::reaching(who, agent, Signal::never(), ends),
                move |store, instance| {
                    Box::pin(async move {
                        let commands = indices.load(&mut *store, instance)?;
                        commands.call_run(store, &name, &arguments, id.as_ref()).await
                    })
                },
            )
            .await
            .map_err(fault)?;
        let mut admit = Admit::new(who, who.limits.output, Limit::Output);
        match answer.map_err(|said| admit_fault(&loaded, said))? {
            wit_commands::CommandOutcome::Show(text) => {
                admit
                    .charge(text.len())
                    .map_err(|refused| fault(refused.into()))?;
                Ok(CommandOutcome::Show(text.into()))
            }
            wit_commands::CommandOutcome::Prompt(content) => admit_blocks(&mut admit, content)
                .map(CommandOutcome::Prompt)
                .map_err(|refused| fault(refused.into())),
            wit_commands::CommandOutcome::Other(other) => {
                let kind = shown(&other.kind);
                Err(Fault::foreign(format!(
                    "the command came to `{kind}`, which this host doesn't know; use a newer one"
                )))
            }
        }
    }
}
