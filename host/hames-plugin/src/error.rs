//! What went wrong while loading or calling, and whose fault is it? One arm per thing to do about it.

use std::time::Duration;

use hames_types::fault::Fault;
use hames_types::id::PluginId;
use hames_types::kinds::DeclareError;
use smol_str::SmolStr;

use crate::grant::Capability;
use crate::manifest::ManifestError;
use crate::point::Point;

/// Why a plugin isn't loaded.
#[derive(Debug, thiserror::Error)]
#[error("the plugin `{plugin}` is not loaded: {problem}")]
pub struct LoadError {
    /// Which.
    pub plugin: PluginId,
    /// Why.
    #[source]
    pub problem: Box<LoadProblem>,
}

/// What keeps a component from being a plugin of this host.
#[derive(Debug, thiserror::Error)]
pub enum LoadProblem {
    /// The file is too large.
    #[error("the component has {found} bytes; the limit `component` is {limit}")]
    TooLarge {
        /// Its size in bytes.
        found: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The operator pinned another file.
    #[error(
        "the component's digest is sha256:{found}, but sha256:{pinned} is pinned; pin the new one if you trust it"
    )]
    Digest {
        /// The file's.
        found: String,
        /// The operator's.
        pinned: String,
    },
    /// It isn't a component.
    #[error("the file is not a WebAssembly component: {problem}")]
    Malformed {
        /// What the parser said.
        problem: String,
    },
    /// A part of it is beyond what is compiled.
    #[error("the component has {found} {what}; at most {limit} are accepted")]
    Bounds {
        /// What there is too much of.
        what: &'static str,
        /// How much.
        found: u64,
        /// How much is accepted.
        limit: u64,
    },
    /// Its manifest is refused.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// It is another plugin than configured.
    #[error("the component says it is `{found}`; configure it under that id")]
    OtherId {
        /// The manifest's.
        found: SmolStr,
    },
    /// The configuration doesn't fit the manifest's schema.
    #[error("its configuration is refused at `{path}`: {problem}")]
    Config {
        /// JSON pointer.
        path: String,
        /// What is wrong there.
        problem: String,
    },
    /// It imports what this host doesn't have.
    #[error("it imports `{interface}`, which this host doesn't offer; {advice}")]
    UnknownImport {
        /// The import.
        interface: String,
        /// What to do.
        advice: &'static str,
    },
    /// It imports what its own manifest doesn't ask for.
    #[error(
        "it imports `{interface}`, but its manifest doesn't want `{capability}`; its author adds that to `wants`"
    )]
    NotWanted {
        /// The import.
        interface: String,
        /// What it needs.
        capability: Capability,
    },
    /// It imports what the operator didn't grant.
    #[error(
        "it imports `{interface}`, which needs the grant `{capability}`; grant it to this plugin if you trust it with that"
    )]
    NotGranted {
        /// The import.
        interface: String,
        /// What it needs.
        capability: Capability,
    },
    /// Something granted isn't there or isn't usable.
    #[error("the grant `{capability}` can't be used: {problem}")]
    Grant {
        /// Which.
        capability: Capability,
        /// Why.
        problem: String,
    },
    /// Its imports are of another shape than this host's.
    #[error("its imports don't fit this host; rebuild it against hames:plugin@0.1.0")]
    Imports(#[source] Opaque),
    /// Its exports are of another shape.
    #[error("its export `{interface}` doesn't fit this host; rebuild it against hames:plugin@0.1.0")]
    Exports {
        /// The interface.
        interface: &'static str,
        /// Which item, expected and found.
        #[source]
        source: Opaque,
    },
    /// It exports nothing this host calls.
    #[error(
        "it exports no interface of hames:plugin@0.1.0; a plugin exports `tools`, `plugin`, a seam or an observer"
    )]
    NothingExported,
    /// It listens where only full authority makes sense, and doesn't have it.
    #[error(
        "it listens at `{point}`, where answers have no order to restrict by; that needs full authority there: its manifest wants `authority`, and you grant it for `{point}` if you trust its answers"
    )]
    Authority {
        /// Where.
        point: Point,
    },
    /// It wants to be told events and doesn't say which.
    #[error("it observes session events, but its manifest has no `events`; its author lists the kinds there")]
    NoFilter,
    /// It can't be compiled.
    #[error("it can't be compiled")]
    Compile(#[source] Opaque),
    /// The compiler failed on it.
    #[error("the compiler gave up on it in an unplanned way: {message}")]
    Panicked {
        /// What it said.
        message: String,
    },
    /// It took too long.
    #[error("inspecting and compiling it took longer than {} ms, the limit `load`", .limit.as_millis())]
    TooSlow {
        /// The limit.
        limit: Duration,
    },
    /// A kind it declares is refused.
    #[error(transparent)]
    Kind(#[from] DeclareError),
    /// A call made while loading failed.
    #[error("its `{function}` failed")]
    Call {
        /// Which function.
        function: &'static str,
        /// Why.
        #[source]
        source: CallError,
    },
    /// The plugin itself refused to start or to list.
    #[error("its `{function}` refused")]
    Refused {
        /// Which function.
        function: &'static str,
        /// What it said.
        #[source]
        fault: Fault,
    },
    /// A tool's definition is refused.
    #[error("its tool `{tool}` {problem}")]
    Tool {
        /// Which.
        tool: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A section, a variable or a command it offers is refused.
    #[error("its {what} `{name}` {problem}")]
    Offer {
        /// What it is.
        what: &'static str,
        /// Its name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A reload may not change this.
    #[error("a reload can't change its {what}; unload it and load it anew")]
    Changed {
        /// What differs.
        what: &'static str,
    },
}

impl LoadProblem {
    /// The stable code of the problem.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "PLUGIN_TOO_LARGE",
            Self::Digest { .. } => "PLUGIN_DIGEST",
            Self::Malformed { .. } => "PLUGIN_MALFORMED",
            Self::Bounds { .. } => "PLUGIN_BOUNDS",
            Self::Manifest(_) => "PLUGIN_MANIFEST",
            Self::OtherId { .. } => "PLUGIN_OTHER_ID",
            Self::Config { .. } => "PLUGIN_CONFIG",
            Self::UnknownImport { .. } => "PLUGIN_UNKNOWN_IMPORT",
            Self::NotWanted { .. } => "PLUGIN_NOT_WANTED",
            Self::NotGranted { .. } => "PLUGIN_NOT_GRANTED",
            Self::Grant { .. } => "PLUGIN_GRANT",
            Self::Imports(_) => "PLUGIN_IMPORTS",
            Self::Exports { .. } => "PLUGIN_EXPORTS",
            Self::NothingExported => "PLUGIN_NOTHING_EXPORTED",
            Self::Authority { .. } => "PLUGIN_AUTHORITY",
            Self::NoFilter => "PLUGIN_NO_FILTER",
            Self::Compile(_) => "PLUGIN_COMPILE",
            Self::Panicked { .. } => "PLUGIN_PANICKED",
            Self::TooSlow { .. } => "PLUGIN_TOO_SLOW",
            Self::Kind(_) => "PLUGIN_KIND",
            Self::Call { source, .. } => source.code(),
            Self::Refused { .. } => "PLUGIN_REFUSED",
            Self::Tool { .. } => "PLUGIN_TOOL",
            Self::Offer { .. } => "PLUGIN_OFFER",
            Self::Changed { .. } => "PLUGIN_CHANGED",
        }
    }
}

/// A limit of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Linear memory.
    Memory,
    /// Table elements.
    Tables,
    /// Depth of calls.
    Stack,
    /// Bytes in one crossing.
    Crossing,
    /// Bytes of the result.
    Output,
    /// Contexts.
    Contexts,
    /// Bytes on standard output or standard error.
    Streams,
    /// Resources held.
    Resources,
    /// Fuel.
    Fuel,
    /// Synchronous calls inside one another.
    Nested,
}

impl Limit {
    /// The stable code of the error.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Memory => "PLUGIN_LIMIT_MEMORY",
            Self::Tables => "PLUGIN_LIMIT_TABLES",
            Self::Stack => "PLUGIN_LIMIT_STACK",
            Self::Crossing => "PLUGIN_LIMIT_CROSSING",
            Self::Output => "PLUGIN_LIMIT_OUTPUT",
            Self::Contexts => "PLUGIN_LIMIT_CONTEXTS",
            Self::Streams => "PLUGIN_LIMIT_STREAMS",
            Self::Resources => "PLUGIN_LIMIT_RESOURCES",
            Self::Fuel => "PLUGIN_LIMIT_FUEL",
            Self::Nested => "PLUGIN_LIMIT_NESTED",
        }
    }

    const fn what(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Tables => "table elements",
            Self::Stack => "call depth",
            Self::Crossing => "bytes in one crossing to the host",
            Self::Output => "bytes of its result",
            Self::Contexts => "contexts",
            Self::Streams => "bytes on its standard streams",
            Self::Resources => "resources",
            Self::Fuel => "fuel",
            Self::Nested => "calls inside one another",
        }
    }
}

/// Why a call into a component failed. The component's own errors are values and not here.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// It trapped.
    #[error("it trapped ({reason}){}", .said.as_deref().map(|said| format!(": {said}")).unwrap_or_default())]
    Trap {
        /// What the machine says.
        reason: String,
        /// The last it wrote to standard error.
        said: Option<String>,
    },
    /// It used too much.
    #[error("it used more than its limit of {}", .0.what())]
    Limit(Limit),
    /// It took too long.
    #[error("it took longer than {} ms", .limit.as_millis())]
    Deadline {
        /// The limit.
        limit: Duration,
    },
    /// It was asked to stop and didn't.
    #[error("it was asked to stop, went on for {} ms and was dropped", .grace.as_millis())]
    Dropped {
        /// How long it was waited for.
        grace: Duration,
    },
    /// It ended its program, which a plugin can't.
    #[error("it ended its program with status {0}")]
    Exit(i32),
    /// There was no place for the call in time.
    #[error("too many plugin calls are in flight")]
    Busy,
    /// What it handed over isn't what its type says.
    #[error("it broke the component model's rules")]
    Broken(#[source] Opaque),
    /// What it answered is refused.
    #[error("its answer is refused: `{place}` {problem}")]
    Answer {
        /// Where.
        place: String,
        /// Why.
        problem: String,
    },
}

impl CallError {
    /// The same; a deadline seen from inside the guest gets its limit's name.
    pub(crate) fn named(self, limit: Duration) -> Self {
        if matches!(self, Self::Deadline { .. }) {
            return Self::Deadline { limit };
        }
        self
    }

    /// The stable code of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Trap { .. } => "PLUGIN_TRAP",
            Self::Limit(limit) => limit.code(),
            Self::Deadline { .. } => "PLUGIN_DEADLINE",
            Self::Dropped { .. } => "ABORTED",
            Self::Exit(_) => "PLUGIN_EXIT",
            Self::Busy => "PLUGIN_BUSY",
            Self::Broken(_) => "PLUGIN_BROKEN",
            Self::Answer { .. } => "PLUGIN_ANSWER",
        }
    }

    /// The error as the loop and the model see it.
    #[must_use]
    pub fn into_fault(self, plugin: &PluginId) -> Fault {
        match self {
            Self::Dropped { .. } => Fault::host("AbortError", "ABORTED", "tool call aborted"),
            Self::Trap { .. }
            | Self::Limit(_)
            | Self::Deadline { .. }
            | Self::Exit(_)
            | Self::Busy
            | Self::Broken(_)
            | Self::Answer { .. } => {
                let message = format!("the plugin `{plugin}` failed: {self}");
                let fault = Fault::host("PluginError", self.code(), message);
                match self {
                    Self::Broken(source) => fault.with_cause(Fault::foreign(source.to_string())),
                    Self::Trap { .. }
                    | Self::Limit(_)
                    | Self::Deadline { .. }
                    | Self::Dropped { .. }
                    | Self::Exit(_)
                    | Self::Busy
                    | Self::Answer { .. } => fault,
                }
            }
        }
    }
}

/// An error of the machinery, kept as a source; its text is for people.
#[derive(Debug)]
pub struct Opaque(wasmtime::Error);

impl Opaque {
    pub(crate) const fn new(error: wasmtime::Error) -> Self {
        Self(error)
    }
}

impl std::fmt::Display for Opaque {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The alternate form is the whole chain in one line; the chain isn't `std` errors all the way.
        let text: String = format!("{:#}", self.0).chars().take(2_000).collect();
        out.write_str(&text)
    }
}

impl std::error::Error for Opaque {}
