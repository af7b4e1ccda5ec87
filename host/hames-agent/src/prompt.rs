//! What the system prompt of the next request is made of: sections, variables, tools (R-SYS).

mod order;
mod render;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use hames_log::{ListenerId, Place};
use hames_types::fault::Fault;
use hames_types::id::{ModelId, ProviderId, SessionId};
use hames_types::json::Extra;
use hames_types::port::contribution::{PromptFor, PromptPart};
use hames_types::port::seam::{AssembleAsk, PromptAssemble};
use hames_types::prompt::{PromptAssembly, PromptSection, PromptVariable};
use hames_types::request::ToolSchema;
use hames_types::scope::ScopeKey;
use hames_types::signal::Signal;
use smol_str::SmolStr;

use crate::layers::{Changes, EntryId, Layers, OnChange};
use crate::listeners::Listeners;
use crate::scope::Scope;

pub use order::{ToolOrder, ToolOrderError, UNLISTED_TOOLS};
pub use render::render;

/// The section that says what the model is.
pub const IDENTITY_SECTION: &str = "harness:identity";

/// The section the operator words.
pub const PERSONA_SECTION: &str = "deployment:persona";

/// What the model is told it is if nobody says otherwise.
pub const DEFAULT_IDENTITY: &str = "You are an agent that works through the tools it is given.";

/// For whom and for which request a prompt is assembled.
#[derive(Debug, Clone, Copy)]
pub struct PromptContext<'a> {
    /// The agent; none for an assembly outside of one.
    pub agent: Option<&'a SessionId>,
    /// Its scope.
    pub scope: Option<ScopeKey>,
    /// The provider the request would go to.
    pub provider: Option<&'a ProviderId>,
    /// The model.
    pub model: Option<&'a ModelId>,
    /// The session's folder.
    pub cwd: Option<&'a str>,
    /// The turn's.
    pub signal: &'a Signal,
}

impl<'a> PromptContext<'a> {
    /// The same, as parts outside of the loop see it.
    #[must_use]
    pub const fn request(&self) -> PromptFor<'a> {
        PromptFor {
            agent: self.agent,
            provider: self.provider,
            model: self.model,
            cwd: self.cwd,
        }
    }
}

type TextOf = dyn Fn(&PromptContext<'_>) -> Result<SmolStr, Fault> + Send + Sync;
type ValueOf = dyn Fn(&PromptContext<'_>) -> Result<Option<SmolStr>, Fault> + Send + Sync;

/// A piece of the system prompt.
pub struct Section {
    name: SmolStr,
    order: f64,
    text: Text,
}

enum Text {
    Fixed(SmolStr),
    Made(Box<TextOf>),
}

impl Section {
    /// A section with one text. Lower `order` stands earlier.
    #[must_use]
    pub fn fixed(name: impl Into<SmolStr>, order: f64, text: impl Into<SmolStr>) -> Self {
        Self {
            name: name.into(),
            order,
            text: Text::Fixed(text.into()),
        }
    }

    /// A section whose text is made for each assembly. An empty text leaves the section out.
    #[must_use]
    pub fn made(
        name: impl Into<SmolStr>,
        order: f64,
        text: impl Fn(&PromptContext<'_>) -> Result<SmolStr, Fault> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            order,
            text: Text::Made(Box::new(text)),
        }
    }

    fn evaluate(&self, context: &PromptContext<'_>) -> Result<SmolStr, Fault> {
        match &self.text {
            Text::Fixed(text) => Ok(text.clone()),
            Text::Made(make) => make(context),
        }
    }
}

/// Who says which tools the model sees.
pub trait ToolProvider: Send + Sync {
    /// The tools that `context` sees.
    ///
    /// # Errors
    /// A fault fails the assembly.
    fn tools(&self, context: &PromptContext<'_>) -> Result<Vec<ToolSchema>, Fault>;

    /// The names a tool order may list, restricted away or not (R-REG-7).
    fn known_names(&self, context: &PromptContext<'_>) -> Vec<SmolStr>;
}

/// Why a prompt can't be assembled or rendered. It fails the turn before its step opens (R-SYS-9).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PromptError {
    /// A section's order isn't a number to sort by.
    #[error("section `{section}` has the order {order}; give it a finite one")]
    Order {
        /// The section.
        section: SmolStr,
        /// Its order.
        order: f64,
    },
    /// A variable's name is outside the grammar.
    #[error("`{name}` can't name a prompt variable; use a lower-case letter, then letters, digits and `_`")]
    VariableName {
        /// The name.
        name: SmolStr,
    },
    /// The configured tool order lists a tool nobody has.
    #[error("the tool order lists `{name}`, which is no tool; known are: {known}")]
    UnknownTool {
        /// The name listed.
        name: SmolStr,
        /// The tools there are.
        known: String,
    },
    /// A tool bears the name that stands for the unlisted ones.
    #[error("a tool is called `{UNLISTED_TOOLS}`, which is reserved for the tool order; rename it")]
    ReservedTool,
    /// A group in braces isn't a variable.
    #[error("section `{section}` contains `{group}`, which names no variable; write `{{{{name}}}}`")]
    Malformed {
        /// The section.
        section: SmolStr,
        /// The group, shortened.
        group: String,
    },
    /// A group names a variable nobody registered.
    #[error("section `{section}` names the variable `{name}`, which nobody registered")]
    UnknownVariable {
        /// The section.
        section: SmolStr,
        /// The variable.
        name: SmolStr,
    },
    /// A group names a variable that has no value now.
    #[error("section `{section}` names the variable `{name}`, which has no value here")]
    NoValue {
        /// The section.
        section: SmolStr,
        /// The variable.
        name: SmolStr,
    },
}

impl From<PromptError> for Fault {
    fn from(error: PromptError) -> Self {
        Self::plain(error.to_string()).with_name("PromptError")
    }
}

/// What an operator words.
#[derive(Debug, Clone)]
pub struct PromptConfig {
    /// What the model is.
    pub identity: SmolStr,
    /// Who it is here; empty leaves it out.
    pub persona: SmolStr,
    /// In which order the model sees its tools.
    pub tool_order: ToolOrder,
}

impl Default for PromptConfig {
    fn default() -> Self {
        Self {
            identity: DEFAULT_IDENTITY.into(),
            persona: SmolStr::default(),
            tool_order: ToolOrder::default(),
        }
    }
}

/// Names one registration in [`Prompts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptEntry(Table, EntryId);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    Sections,
    Variables,
    Tools,
}

/// The registry of everything a system prompt is made of, for all agents.
pub struct Prompts {
    sections: Layers<Section>,
    variables: Layers<ValueOf>,
    tools: Layers<dyn ToolProvider>,
    order: ToolOrder,
    changes: Changes,
}

impl Prompts {
    /// With the built-in sections (identity at −100, persona at 0) and the variables `provider`, `model` and `cwd`.
    ///
    /// # Errors
    /// None with the built-in names, which differ; the error exists because registering has one.
    pub fn new(config: PromptConfig) -> Result<Self, Fault> {
        let prompts = Self {
            sections: Layers::new("prompt section"),
            variables: Layers::new("prompt variable"),
            tools: Layers::new("tool provider"),
            order: config.tool_order,
            changes: Changes::default(),
        };
        prompts.section(None, Section::fixed(IDENTITY_SECTION, -100.0, config.identity))?;
        prompts.section(None, Section::fixed(PERSONA_SECTION, 0.0, config.persona))?;
        prompts.variable(None, "provider", |context| {
            Ok(context.provider.map(|provider| provider.as_str().into()))
        })?;
        prompts.variable(None, "model", |context| {
            Ok(context.model.map(|model| model.as_str().into()))
        })?;
        prompts.variable(None, "cwd", |context| Ok(context.cwd.map(SmolStr::from)))?;
        Ok(prompts)
    }

    /// Registers a section, for all agents or for one; there it replaces the global one of its name (R-SYS-2).
    ///
    /// # Errors
    /// If the order isn't finite, the layer has the name, the scope has ended or a change listener refuses.
    pub fn section(&self, scope: Option<&Scope>, section: Section) -> Result<PromptEntry, Fault> {
        if !section.order.is_finite() {
            return Err(PromptError::Order {
                section: section.name,
                order: section.order,
            }
            .into());
        }
        let id = self
            .sections
            .insert(scope, Some(section.name.clone()), Arc::new(section))?;
        self.announce(PromptEntry(Table::Sections, id))
    }

    /// Registers a variable, for all agents or for one. `None` says that it has no value now (R-SYS-3).
    ///
    /// # Errors
    /// If the name is outside `[a-z][a-z0-9_]*`, the layer has it, the scope has ended or a change listener refuses.
    pub fn variable(
        &self,
        scope: Option<&Scope>,
        name: impl Into<SmolStr>,
        value: impl Fn(&PromptContext<'_>) -> Result<Option<SmolStr>, Fault> + Send + Sync + 'static,
    ) -> Result<PromptEntry, Fault> {
        let name = name.into();
        if !render::is_variable_name(&name) {
            return Err(PromptError::VariableName { name }.into());
        }
        let id = self.variables.insert(scope, Some(name), Arc::new(value))?;
        self.announce(PromptEntry(Table::Variables, id))
    }

    /// Registers everything a part adds, for all agents or for one.
    ///
    /// # Errors
    /// As [`Prompts::section`] and [`Prompts::variable`]; what was registered before the error is taken back.
    pub fn part(&self, scope: Option<&Scope>, part: &Arc<dyn PromptPart>) -> Result<Vec<PromptEntry>, Fault> {
        let mut entries = Vec::new();
        let registered = self.part_into(scope, part, &mut entries);
        if registered.is_err() {
            for entry in entries.drain(..) {
                self.unregister(entry);
            }
        }
        registered.map(|()| entries)
    }

    fn part_into(
        &self,
        scope: Option<&Scope>,
        part: &Arc<dyn PromptPart>,
        entries: &mut Vec<PromptEntry>,
    ) -> Result<(), Fault> {
        for offer in part.sections() {
            let section = match offer.text {
                Some(text) => Section::fixed(offer.name, offer.order, text),
                None => {
                    let (part, name) = (Arc::clone(part), offer.name.clone());
                    Section::made(offer.name, offer.order, move |context| {
                        part.section_text(&name, context.request())
                    })
                }
            };
            entries.push(self.section(scope, section)?);
        }
        for name in part.variables() {
            let (part, asked) = (Arc::clone(part), name.clone());
            let value = move |context: &PromptContext<'_>| part.variable(&asked, context.request());
            entries.push(self.variable(scope, name, value)?);
        }
        Ok(())
    }

    /// Registers a provider of tools, for all agents or for one.
    ///
    /// # Errors
    /// If the scope has ended or a change listener refuses.
    pub fn tools(
        &self,
        scope: Option<&Scope>,
        provider: Arc<dyn ToolProvider>,
    ) -> Result<PromptEntry, Fault> {
        let id = self.tools.insert(scope, None, provider)?;
        self.announce(PromptEntry(Table::Tools, id))
    }

    fn announce(&self, entry: PromptEntry) -> Result<PromptEntry, Fault> {
        self.changes.announce(|| {
            self.take(entry);
        })?;
        Ok(entry)
    }

    fn take(&self, PromptEntry(table, id): PromptEntry) -> bool {
        match table {
            Table::Sections => self.sections.remove(id),
            Table::Variables => self.variables.remove(id),
            Table::Tools => self.tools.remove(id),
        }
    }

    /// Takes a registration back. Nothing happens if it is gone already.
    pub fn unregister(&self, entry: PromptEntry) {
        if self.take(entry) {
            self.changes.announce_removal();
        }
    }

    /// Takes back everything of a scope.
    pub fn end_scope(&self, scope: ScopeKey) {
        let sections = self.sections.end_scope(scope);
        let variables = self.variables.end_scope(scope);
        let tools = self.tools.end_scope(scope);
        if sections || variables || tools {
            self.changes.announce_removal();
        }
    }

    /// Adds a listener for changes.
    pub fn on_change(&self, listener: Arc<dyn OnChange>) -> ListenerId {
        self.changes.0.add(None, Place::Last, listener)
    }

    /// Takes a listener for changes back.
    pub fn remove_on_change(&self, id: ListenerId) {
        self.changes.0.remove(id);
    }

    /// Assembles a prompt and asks the listeners of `system-prompt/assemble`, whose answer counts as it is (R-SYS-6).
    ///
    /// Dropping the future leaves nothing behind.
    ///
    /// # Errors
    /// [`PromptError`] or the fault of a provider or a listener; each fails the turn.
    pub async fn assemble(
        &self,
        listeners: &Listeners,
        context: PromptContext<'_>,
    ) -> Result<PromptAssembly, Fault> {
        let assembly = self.collect(&context)?;
        if !listeners.any::<PromptAssemble>() {
            return Ok(assembly);
        }
        let ask = AssembleAsk {
            agent: context.agent.cloned(),
            assembly,
            signal: context.signal.clone(),
        };
        let assembly = ask.assembly.clone();
        listeners
            .decide::<PromptAssemble, _, _>(context.scope, &ask, |_| std::future::ready(Ok(assembly)))
            .await
    }

    fn collect(&self, context: &PromptContext<'_>) -> Result<PromptAssembly, Fault> {
        Ok(PromptAssembly {
            sections: self.collect_sections(context)?,
            variables: self.collect_variables(context)?,
            tools: self.collect_tools(context)?,
            extra: Extra::NONE,
        })
    }

    fn collect_sections(&self, context: &PromptContext<'_>) -> Result<Vec<PromptSection>, Fault> {
        let mut sections: Vec<Arc<Section>> = values(self.sections.snapshot(None));
        if let Some(scope) = context.scope {
            for (_, scoped) in self.sections.snapshot(Some(scope)) {
                match sections.iter_mut().find(|global| global.name == scoped.name) {
                    Some(global) => *global = scoped,
                    None => sections.push(scoped),
                }
            }
        }
        // Stable: equal orders keep the order of registration.
        sections.sort_by(|a, b| a.order.total_cmp(&b.order));
        sections
            .iter()
            .map(|section| {
                Ok(PromptSection {
                    name: section.name.clone(),
                    text: section.evaluate(context)?,
                    extra: Extra::NONE,
                })
            })
            .collect()
    }

    fn collect_variables(&self, context: &PromptContext<'_>) -> Result<Vec<PromptVariable>, Fault> {
        let mut variables: Vec<PromptVariable> = Vec::new();
        for layer in std::iter::once(None).chain(context.scope.map(Some)) {
            for (name, value) in self.variables.walk(layer) {
                let value = value(context)?;
                let name = name.unwrap_or_default();
                match variables.iter_mut().find(|known| known.name == name) {
                    Some(known) => known.value = value,
                    None => variables.push(PromptVariable {
                        name,
                        value,
                        extra: Extra::NONE,
                    }),
                }
            }
        }
        Ok(variables)
    }

    fn collect_tools(&self, context: &PromptContext<'_>) -> Result<Vec<ToolSchema>, Fault> {
        // The list of providers is taken before any of them is asked (R-SYS-4).
        let mut providers: Vec<Arc<dyn ToolProvider>> = values(self.tools.snapshot(None));
        if let Some(scope) = context.scope {
            providers.extend(values(self.tools.snapshot(Some(scope))));
        }
        let mut tools = Vec::new();
        for provider in &providers {
            tools.extend(provider.tools(context)?);
        }
        let known = || {
            providers
                .iter()
                .flat_map(|provider| provider.known_names(context))
                .collect()
        };
        Ok(self.order.sort(tools, known)?)
    }
}

fn values<T: ?Sized>(entries: Vec<(Option<SmolStr>, Arc<T>)>) -> Vec<Arc<T>> {
    entries.into_iter().map(|(_, value)| value).collect()
}
