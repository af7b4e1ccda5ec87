//! What a plugin adds beside tools and listeners: pieces of the system prompt, and commands for a person.

use async_trait::async_trait;
use smol_str::SmolStr;

use crate::content::Content;
use crate::fault::Fault;
use crate::id::{ModelId, ProviderId, SessionId};

/// For which request a piece of the system prompt is made.
#[derive(Debug, Clone, Copy, Default)]
pub struct PromptFor<'a> {
    /// The agent; none for an assembly outside of one.
    pub agent: Option<&'a SessionId>,
    /// The provider the request would go to.
    pub provider: Option<&'a ProviderId>,
    /// The model.
    pub model: Option<&'a ModelId>,
    /// The session's folder.
    pub cwd: Option<&'a str>,
}

/// A section that is offered.
#[derive(Debug, Clone, PartialEq)]
pub struct SectionOffer {
    /// Its name, unique among all sections.
    pub name: SmolStr,
    /// Where it stands: ascending, finite.
    pub order: f64,
    /// Its text, if that never changes.
    pub text: Option<SmolStr>,
}

/// Pieces of the system prompt (R-SYS).
pub trait PromptPart: Send + Sync {
    /// The sections. The same for as long as they are registered.
    fn sections(&self) -> Vec<SectionOffer>;

    /// A section's text now; an empty one leaves it out.
    ///
    /// # Errors
    /// A fault fails the turn.
    fn section_text(&self, name: &str, request: PromptFor<'_>) -> Result<SmolStr, Fault>;

    /// The names of the variables. The same for as long as they are registered.
    fn variables(&self) -> Vec<SmolStr>;

    /// A variable's value now, if it has one.
    ///
    /// # Errors
    /// A fault fails the turn.
    fn variable(&self, name: &str, request: PromptFor<'_>) -> Result<Option<SmolStr>, Fault>;
}

/// A command that is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOffer {
    /// Its name, unique in its plugin.
    pub name: SmolStr,
    /// One line.
    pub description: SmolStr,
    /// What may follow the name, for people.
    pub argument_hint: Option<SmolStr>,
}

/// What a command comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum CommandOutcome {
    /// A text for the person; the model doesn't see it.
    Show(SmolStr),
    /// A prompt, sent as if the person had written it; its source is the plugin.
    Prompt(Content),
}

/// What a person may call by name, without the model.
#[async_trait]
pub trait Commands: Send + Sync {
    /// The commands. The same for as long as they are registered.
    fn commands(&self) -> Vec<CommandOffer>;

    /// Runs one. `arguments` is what followed the name, verbatim. Dropping the future ends the command.
    ///
    /// # Errors
    /// Why it came to nothing, for the person.
    async fn run(
        &self,
        name: &str,
        arguments: &str,
        agent: Option<&SessionId>,
    ) -> Result<CommandOutcome, Fault>;
}
