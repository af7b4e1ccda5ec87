//! What may a plugin reach? Default: nothing.
//!
//! A component gets its imports ∩ its manifest ∩ this. What is granted and not asked for stays out of reach.

use std::fmt;
use std::path::PathBuf;

use smol_str::SmolStr;

use crate::point::Point;

/// Everything an operator can grant to one plugin. The default is nothing at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Grant {
    /// Folders.
    pub filesystem: Vec<Folder>,
    /// Outgoing HTTP.
    pub http: Vec<HttpRule>,
    /// Secrets the host adds to requests; the plugin never sees them.
    pub secrets: Vec<Secret>,
    /// Environment variables, name and value. Nothing of the process's own environment is ever passed on.
    pub environment: Vec<(String, String)>,
    /// Clocks.
    pub clocks: Option<Clocks>,
    /// Randomness.
    pub random: Option<Random>,
    /// The key-value store, within [`crate::Limits::kv`].
    pub kv: bool,
    /// The calling agent's session.
    pub session: SessionGrant,
    /// The calling agent's verbs.
    pub agent: AgentGrant,
    /// As whom it may speak, beside as itself.
    pub speak: Speak,
    /// The seams at which its answer counts as it is. Elsewhere a listener may only restrict: the stricter of its
    /// answer and that of the rest of the chain counts.
    pub full: Vec<Point>,
}

/// What may be done with files in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Looked at.
    ReadOnly,
    /// Changed.
    ReadWrite,
}

/// A folder in reach. Neither `..` nor a symbolic link leads out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// The folder.
    pub path: PathBuf,
    /// What the plugin calls it.
    pub name: String,
    /// What may be done in it.
    pub access: Access,
}

/// Scheme of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Plain.
    Http,
    /// With TLS.
    Https,
}

/// Requests that are allowed: all that match every field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRule {
    /// The scheme.
    pub scheme: Scheme,
    /// The host as it stands in the request: a name or an address, compared without case. No patterns.
    pub host: SmolStr,
    /// The port.
    pub port: u16,
    /// Methods; empty means GET and HEAD.
    pub methods: Vec<SmolStr>,
    /// How the path begins, in whole segments: `/v1` allows `/v1` and `/v1/x`, not `/v10`.
    pub path_prefix: SmolStr,
    /// Whether the host may resolve to a private, link-local, loopback or otherwise special address.
    pub allow_private: bool,
}

/// A header the host adds to requests for certain hosts.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// The header, in lower case.
    pub header: SmolStr,
    /// Its value. Never printed, never shown to a guest.
    pub value: String,
    /// The hosts it is bound to, as in [`HttpRule::host`].
    pub hosts: Vec<SmolStr>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Secret")
            .field("header", &self.header)
            .field("hosts", &self.hosts)
            .finish_non_exhaustive()
    }
}

/// What clocks show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// The host's time.
    Real,
    /// This time, in milliseconds of the Unix epoch; it stands still.
    Fixed(u64),
}

/// Where randomness comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Random {
    /// The system.
    Real,
    /// A generator that gives every call the same numbers.
    Seeded(u64),
}

/// What may be done with the calling agent's session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is granted by itself")]
pub struct SessionGrant {
    /// Reading it.
    pub read: bool,
    /// Appending events of the plugin's own kinds.
    pub append: bool,
    /// Writing the todo list.
    pub todos: bool,
    /// Replacing parts of the history: what the model sees of them is the plugin's from then on.
    pub surface: bool,
}

/// Which verbs of the calling agent may be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each verb is granted by itself")]
pub struct AgentGrant {
    /// Queue a prompt.
    pub send: bool,
    /// Speak into the running turn.
    pub steer: bool,
    /// Add a context.
    pub inject: bool,
    /// Cancel the running turn.
    pub cancel: bool,
}

impl AgentGrant {
    pub(crate) fn any(self) -> bool {
        self.send || self.steer || self.inject || self.cancel
    }
}

/// As whom a plugin may speak.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Speak {
    /// As the person. Policies may take that as authority.
    pub as_user: bool,
    /// As plugins of other names.
    pub as_plugins: Vec<SmolStr>,
    /// As a plugin of any name.
    pub as_any_plugin: bool,
}

/// A kind of authority, as a manifest names it (`wants`) and as an import needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Capability {
    /// `wasi:filesystem`
    Filesystem,
    /// `wasi:http` outgoing, secrets included.
    Http,
    /// Variables in `wasi:cli/environment`.
    Environment,
    /// `wasi:clocks`
    Clocks,
    /// `wasi:random`
    Random,
    /// `hames:plugin/kv`
    Kv,
    /// `hames:plugin/session`, reading and appending.
    Session,
    /// The todo list in `hames:plugin/session`.
    Todos,
    /// Replacing parts of the history by `hames:plugin/session`.
    Surface,
    /// `hames:plugin/agent`
    Agent,
    /// Speaking under another name.
    Speak,
    /// Full authority at a seam.
    Authority,
}

impl Capability {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Filesystem,
        Self::Http,
        Self::Environment,
        Self::Clocks,
        Self::Random,
        Self::Kv,
        Self::Session,
        Self::Todos,
        Self::Surface,
        Self::Agent,
        Self::Speak,
        Self::Authority,
    ];

    /// The word for it in manifests and configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Filesystem => "filesystem",
            Self::Http => "http",
            Self::Environment => "environment",
            Self::Clocks => "clocks",
            Self::Random => "random",
            Self::Kv => "kv",
            Self::Session => "session",
            Self::Todos => "todos",
            Self::Surface => "surface",
            Self::Agent => "agent",
            Self::Speak => "speak",
            Self::Authority => "authority",
        }
    }

    /// The capability of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|capability| capability.as_str() == word)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl Grant {
    /// Whether anything of this capability is granted.
    #[must_use]
    pub fn gives(&self, capability: Capability) -> bool {
        match capability {
            Capability::Filesystem => !self.filesystem.is_empty(),
            Capability::Http => !self.http.is_empty(),
            Capability::Environment => !self.environment.is_empty(),
            Capability::Clocks => self.clocks.is_some(),
            Capability::Random => self.random.is_some(),
            Capability::Kv => self.kv,
            Capability::Session => self.session.read || self.session.append,
            Capability::Todos => self.session.todos,
            Capability::Surface => self.session.surface,
            Capability::Agent => self.agent.any(),
            Capability::Speak => self.speak != Speak::default(),
            Capability::Authority => !self.full.is_empty(),
        }
    }

    /// What is left of it for a plugin that wants these.
    #[must_use]
    pub fn limited_to(mut self, wanted: &[Capability]) -> Self {
        for capability in Capability::ALL {
            if !wanted.contains(&capability) {
                self.withdraw(capability);
            }
        }
        self
    }

    fn withdraw(&mut self, capability: Capability) {
        match capability {
            Capability::Filesystem => self.filesystem.clear(),
            Capability::Http => {
                self.http.clear();
                self.secrets.clear();
            }
            Capability::Environment => self.environment.clear(),
            Capability::Clocks => self.clocks = None,
            Capability::Random => self.random = None,
            Capability::Kv => self.kv = false,
            Capability::Session => {
                self.session.read = false;
                self.session.append = false;
            }
            Capability::Todos => self.session.todos = false,
            Capability::Surface => self.session.surface = false,
            Capability::Agent => self.agent = AgentGrant::default(),
            Capability::Speak => self.speak = Speak::default(),
            Capability::Authority => self.full.clear(),
        }
    }
}
