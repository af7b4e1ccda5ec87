//! How much may one plugin use, and how long may one call take? Every number with its unit and its reason.

use std::time::Duration;

use hames_types::port::plugin::Quota;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// How many calls one process makes at once. Each place reserves address space, not memory: an idle one costs
/// nothing, one in use 22 to 35 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Most calls that compute; further ones wait for a place, and their deadline goes on running.
    pub calls: u32,
    /// Most calls beside those that wait for the rest of a chain; further ones wait for a room, and their deadline
    /// goes on running.
    pub waiting: u32,
}

impl Default for Capacity {
    fn default() -> Self {
        Self {
            calls: 1_200,
            waiting: 800,
        }
    }
}

/// Largest memory any plugin can be given. A pool slot is made for it; the slot's reservation stays at 4 GiB, since
/// a smaller one costs bounds checks.
pub const MAX_MEMORY: usize = 1024 * MIB;

/// How often deadlines are looked at while a guest computes. The coarsest deadline error, and a wake-up of one
/// thread that sleeps while no call runs.
pub(crate) const TICK: Duration = Duration::from_millis(2);

/// Deepest nesting of components in a component. Those made by the known toolchains need 3.
pub(crate) const MAX_NESTING: usize = 16;

/// Most core modules and components inside one component. A Python component has about 60.
pub(crate) const MAX_PARTS: usize = 512;

/// Most functions in one component, and most items of any other section. The largest known guest has 30,000.
pub(crate) const MAX_ITEMS: u32 = 200_000;

/// Largest body of one function, in bytes: compiling is worse than linear in it. CPython's largest is 200 KiB.
pub(crate) const MAX_BODY: usize = 2 * MIB;

/// Largest manifest, in bytes.
pub(crate) const MAX_MANIFEST: usize = 256 * KIB;

/// Most tools of one plugin.
pub(crate) const MAX_TOOLS: usize = 256;

/// Most sections, and most variables, of one plugin.
pub(crate) const MAX_SECTIONS: usize = 64;

/// Longest text of a section, in bytes: the model reads it with every request.
pub(crate) const MAX_SECTION: usize = 64 * KIB;

/// Most commands of one plugin.
pub(crate) const MAX_COMMANDS: usize = 64;

/// Longest name or one-line text of an offer, in bytes.
pub(crate) const MAX_LINE: usize = KIB;

/// Deepest nesting of synchronous calls that any plugin can be given: each level has a stack of its own, which is
/// one of the pool's.
pub const MAX_NESTED: usize = 16;

/// Longest description of a tool, in bytes: the model reads it with every request.
pub(crate) const MAX_DESCRIPTION: usize = 16 * KIB;

/// Largest parameters of a tool, in bytes of their text.
pub(crate) const MAX_PARAMETERS: usize = 64 * KIB;

/// Longest kept piece of a log line, in bytes.
pub(crate) const MAX_LOG_LINE: usize = 4 * KIB;

/// Longest progress line, in bytes.
pub(crate) const MAX_PROGRESS: usize = KIB;

/// Most events or messages in one answer of `session`, and most bytes of them.
pub(crate) const MAX_PAGE: usize = 1_000;
/// See [`MAX_PAGE`].
pub(crate) const MAX_PAGE_BYTES: usize = MIB;

/// Longest key of the key-value store, in bytes.
pub(crate) const MAX_KEY: usize = 256;

/// Most keys in one answer of `kv.keys`.
pub(crate) const MAX_KEYS: usize = 1_000;

/// Most handles one component of a guest can hold, its own resources among them.
pub(crate) const MAX_RESOURCES: usize = 10_000;

/// Most resources (streams, requests, descriptors …) the host holds for one call. Each can be an open file, and many
/// systems let a process have 1,024 of those.
pub(crate) const MAX_HOST_RESOURCES: usize = 512;

/// Most causes of a fault that cross.
pub(crate) const MAX_CAUSES: usize = 32;

/// What one plugin may use. Every limit has its own error ([`crate::Limit`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Largest component, in bytes. A Python component has 18 MiB.
    pub component: usize,
    /// How long inspecting and compiling may take. Compiling 2 MiB takes about 1 s.
    pub load: Duration,
    /// How much one call may compute, in units of fuel: about one for each instruction of the machine it is compiled
    /// for. The same call takes the same fuel everywhere. Absent, time is the limit; what decides is counted all the same,
    /// other plugins are not.
    pub fuel: Option<u64>,
    /// Memory of one call, all linear memories together, in bytes; at most [`MAX_MEMORY`].
    pub memory: usize,
    /// Elements of all tables of one call.
    pub table_elements: usize,
    /// How long a guest computes at a stretch before others on its thread have their turn, and a cancellation is seen.
    pub stretch: Duration,
    /// How long `execute` may take, waits included.
    pub call: Duration,
    /// How long a listener or a guard may take, waits included; not the rest of a chain it asks.
    pub decide: Duration,
    /// How long an observer, or a section or variable of the prompt, may take. It is synchronous, so it holds up
    /// whoever tells it.
    pub observe: Duration,
    /// How long `start` may take.
    pub start: Duration,
    /// How long `list` may take.
    pub list: Duration,
    /// How long `classify` may take.
    pub classify: Duration,
    /// How long presenting may take. It is synchronous, so it holds up whoever asks.
    pub present: Duration,
    /// How long a call that was asked to stop may go on before it is dropped.
    pub grace: Duration,
    /// Bytes that may cross from the guest to the host in one crossing, counted as the host holds them.
    pub crossing: usize,
    /// Bytes of one result: content, private state and contexts together.
    pub output: usize,
    /// Contexts of one call.
    pub contexts: usize,
    /// Lines of the diagnostics of one call.
    pub log_lines: usize,
    /// Bytes of the diagnostics of one call.
    pub log_bytes: usize,
    /// Bytes of standard output and standard error of one call, each.
    pub stream_bytes: usize,
    /// Events one call may append.
    pub appended_events: usize,
    /// Verbs one call may ask of its agent.
    pub verbs: usize,
    /// Calls of observers that may be under way, each inside the one before, when one of this plugin's begins; at most
    /// [`MAX_NESTED`]. An observer that brings about what it observes would otherwise never end.
    pub nested: usize,
    /// Outgoing requests of one call.
    pub requests: usize,
    /// Bytes of one HTTP answer's body.
    pub response_bytes: usize,
    /// What the key-value store may hold.
    pub kv: Quota,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            component: 32 * MIB,
            load: Duration::from_secs(60),
            fuel: None,
            memory: 64 * MIB,
            table_elements: 20_000,
            stretch: Duration::from_millis(4),
            call: Duration::from_secs(30),
            decide: Duration::from_secs(10),
            observe: Duration::from_millis(10),
            start: Duration::from_secs(10),
            list: Duration::from_secs(5),
            classify: Duration::from_millis(500),
            present: Duration::from_millis(20),
            grace: Duration::from_secs(2),
            crossing: 8 * MIB,
            output: MIB,
            contexts: 64,
            log_lines: 200,
            log_bytes: 64 * KIB,
            stream_bytes: 16 * KIB,
            appended_events: 64,
            verbs: 64,
            nested: 3,
            requests: 64,
            response_bytes: 16 * MIB,
            kv: Quota {
                keys: 10_000,
                bytes: 4 * MIB,
            },
        }
    }
}
