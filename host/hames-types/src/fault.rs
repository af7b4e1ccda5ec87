//! An error that crosses a port: facts, causes, and the contexts deferred before it happened.

use std::fmt;
use std::sync::Arc;

use smol_str::SmolStr;

use crate::decision::HookContext;
use crate::failure::LlmFailure;

/// Whose error it is; decides whether its code is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultOrigin {
    /// Raised by hames or by a part that keeps its contract: name and code are facts.
    Host,
    /// Anything else: its code is a claim.
    Foreign,
    /// Not an error at all (a thrown string, a record with a message).
    NotAnError,
}

/// An error on its way through the ports. A clone is the same error ([`Fault::is`]).
#[derive(Clone)]
pub struct Fault(Arc<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    origin: FaultOrigin,
    name: SmolStr,
    message: String,
    code: Option<SmolStr>,
    failure: Option<LlmFailure>,
    members: Vec<Fault>,
    cause: Option<Fault>,
    contexts: Vec<HookContext>,
}

/// Code of an error that brought none that could be believed.
pub const UNKNOWN_CODE: &str = "UNKNOWN";

impl Fault {
    fn build(origin: FaultOrigin, name: SmolStr, message: String) -> Self {
        Self(Arc::new(Inner {
            origin,
            name,
            message,
            code: None,
            failure: None,
            members: Vec::new(),
            cause: None,
            contexts: Vec::new(),
        }))
    }

    /// An error of hames itself, with a stable code.
    #[must_use]
    pub fn host(name: impl Into<SmolStr>, code: impl Into<SmolStr>, message: impl Into<String>) -> Self {
        Self::build(FaultOrigin::Host, name.into(), message.into()).with_code(code)
    }

    /// An error of hames itself that nobody needs to tell from others by a code.
    #[must_use]
    pub fn plain(message: impl Into<String>) -> Self {
        Self::build(FaultOrigin::Host, SmolStr::new_static("Error"), message.into())
    }

    /// An error of somebody else's.
    #[must_use]
    pub fn foreign(message: impl Into<String>) -> Self {
        Self::build(FaultOrigin::Foreign, SmolStr::new_static("Error"), message.into())
    }

    /// Something that was raised and isn't an error; `text` is what it says.
    #[must_use]
    pub fn not_an_error(text: impl Into<String>) -> Self {
        Self::build(FaultOrigin::NotAnError, SmolStr::new_static("Error"), text.into())
            .with_code(UNKNOWN_CODE)
    }

    /// What a panic of somebody's code said, as an error of the host: it costs that somebody's work and nothing else.
    #[must_use]
    pub fn panicked(panic: &(dyn std::any::Any + Send)) -> Self {
        let said = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "it didn't say why".to_owned());
        Self::host(
            "PanicError",
            "PANIC",
            format!("a listener, tool or adapter panicked: {said}"),
        )
    }

    /// A model call's failure.
    #[must_use]
    pub fn llm(failure: LlmFailure) -> Self {
        let message = failure.message.to_string();
        let mut inner = Inner::clone(&Self::host("LlmError", failure.code.clone(), message).0);
        inner.failure = Some(failure);
        Self(Arc::new(inner))
    }

    fn change(self, edit: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.0);
        edit(&mut inner);
        Self(Arc::new(inner))
    }

    /// The same with a code.
    #[must_use]
    pub fn with_code(self, code: impl Into<SmolStr>) -> Self {
        self.change(|inner| inner.code = Some(code.into()))
    }

    /// The same with a class name.
    #[must_use]
    pub fn with_name(self, name: impl Into<SmolStr>) -> Self {
        self.change(|inner| inner.name = name.into())
    }

    /// The same with what caused it.
    #[must_use]
    pub fn with_cause(self, cause: Self) -> Self {
        self.change(|inner| inner.cause = Some(cause))
    }

    /// The same as a gathering of several.
    #[must_use]
    pub fn with_members(self, members: Vec<Self>) -> Self {
        self.change(|inner| inner.members = members)
    }

    /// The same with contexts deferred before it happened.
    #[must_use]
    pub fn with_contexts(self, contexts: Vec<HookContext>) -> Self {
        self.change(|inner| inner.contexts = contexts)
    }

    /// A host error made of any Rust error and its sources.
    #[must_use]
    pub fn of(name: &'static str, code: &'static str, error: &dyn std::error::Error) -> Self {
        let fault = Self::host(name, code, error.to_string());
        match error.source() {
            Some(source) => fault.with_cause(Self::of_source(source)),
            None => fault,
        }
    }

    fn of_source(error: &dyn std::error::Error) -> Self {
        let fault = Self::foreign(error.to_string());
        match error.source() {
            Some(source) => fault.with_cause(Self::of_source(source)),
            None => fault,
        }
    }

    /// Whether the two are one and the same error, not merely alike.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whose it is.
    #[must_use]
    pub fn origin(&self) -> FaultOrigin {
        self.0.origin
    }

    /// Its class.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What it says, without causes.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Its code, believed or not.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// Its code if the origin makes it a fact.
    #[must_use]
    pub fn trusted_code(&self) -> Option<&str> {
        self.code().filter(|_| self.0.origin == FaultOrigin::Host)
    }

    /// The facts of a model call's failure, if it is one.
    #[must_use]
    pub fn failure(&self) -> Option<&LlmFailure> {
        self.0.failure.as_ref()
    }

    /// What caused it.
    #[must_use]
    pub fn cause(&self) -> Option<&Self> {
        self.0.cause.as_ref()
    }

    /// What it gathers.
    #[must_use]
    pub fn members(&self) -> &[Self] {
        &self.0.members
    }

    /// Contexts deferred before it happened; they still reach the model.
    #[must_use]
    pub fn contexts(&self) -> &[HookContext] {
        &self.0.contexts
    }

    /// The error and its causes in one line (R-FAIL-8).
    #[must_use]
    pub fn chain(&self) -> String {
        self.render(0)
    }

    fn render(&self, depth: usize) -> String {
        // A chain is owned data and ends; the bound only keeps a hostile one from being a long read.
        if depth >= MAX_CHAIN {
            return "<more causes>".to_owned();
        }
        let mut text = if self.0.message.is_empty() {
            self.0.name.to_string()
        } else {
            self.0.message.clone()
        };
        if !self.0.members.is_empty() {
            let members: Vec<String> = self
                .0
                .members
                .iter()
                .map(|member| member.render(depth + 1))
                .collect();
            text = format!("{text} [{}]", members.join("; "));
        }
        if let Some(cause) = &self.0.cause {
            let cause = cause.render(depth + 1);
            // A cause that says the same again adds nothing.
            if cause != text {
                text = format!("{text}: {cause}");
            }
        }
        text
    }
}

/// Longest chain of causes rendered.
const MAX_CHAIN: usize = 32;

impl fmt::Debug for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.message)
    }
}

impl std::error::Error for Fault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.as_ref().map(|cause| cause as _)
    }
}
