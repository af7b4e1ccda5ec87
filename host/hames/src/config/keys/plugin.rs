//! Which keys does a `[[plugin]]` have?

use super::{Key, free, guarded, key, needed};
use crate::config::value::Kind;

/// The points at which listeners decide, as the sandbox names them; a test compares.
pub(crate) const SEAMS: &[&str] = &[
    "prompt-submit",
    "session-prefix",
    "prompt-assemble",
    "pre-step",
    "request",
    "step-result",
    "pre-execute",
    "guard",
    "execute",
    "post-execute",
    "post-step",
    "request-error",
    "turn-continuation",
    "turn-stop",
];

const NUMBER: Kind = Kind::Count(0, 1 << 32);

const FOLDER: &[Key] = &[
    needed(free(
        "path",
        Kind::Text,
        "The folder; a relative one lies in the working folder.",
    )),
    free(
        "name",
        Kind::Text,
        "What the plugin calls it. By default as `path` has it.",
    ),
    key(
        "access",
        Kind::Choice(&["read-only", "read-write"]),
        "'read-only'",
        "What may be done in it.",
    ),
];

const RULE: &[Key] = &[
    key(
        "scheme",
        Kind::Choice(&["https", "http"]),
        "'https'",
        "The scheme.",
    ),
    needed(free(
        "host",
        Kind::Text,
        "The host, as it stands in the request. No patterns.",
    )),
    free(
        "port",
        Kind::Count(1, 65_535),
        "The port. By default the scheme's.",
    ),
    key(
        "methods",
        Kind::Texts,
        "[]",
        "The methods; empty means GET and HEAD.",
    ),
    key(
        "path",
        Kind::Text,
        "'/'",
        "How the path begins, in whole segments.",
    ),
    key(
        "allow_private",
        Kind::Flag,
        "false",
        "Whether the host may lie in a private network or on this machine.",
    ),
];

const SECRET: &[Key] = &[
    needed(free("header", Kind::Text, "The header, in lower case.")),
    needed(free("hosts", Kind::Texts, "The hosts it is sent to.")),
    needed(free(
        "env",
        Kind::Text,
        "The environment variable with its value.",
    )),
    key(
        "prefix",
        Kind::Text,
        "''",
        "What stands before the value, `Bearer ` for instance.",
    ),
];

pub(super) const PLUGIN: &[Key] = &[
    guarded(needed(free(
        "plugin.*.source",
        Kind::Text,
        "Where the component is: a file, or `builtin:NAME` for one that ships with hames.",
    ))),
    free(
        "plugin.*.digest",
        Kind::Text,
        "The digest it must have: `sha256:` and 64 hexadecimal digits.",
    ),
    key(
        "plugin.*.enabled",
        Kind::Flag,
        "true",
        "Whether it is loaded at all.",
    ),
    key(
        "plugin.*.required",
        Kind::Flag,
        "true",
        "Whether hames stops if it can't be loaded.",
    ),
    key(
        "plugin.*.prefix",
        Kind::Text,
        "''",
        "What stands before the names of its tools, where two plugins have one of the same name.",
    ),
    key(
        "plugin.*.phase",
        Kind::Choice(&["early", "normal", "late"]),
        "'normal'",
        "Where its listeners stand: before those of other plugins, in the order of the configuration, or behind. The first is outermost.",
    ),
    key(
        "plugin.*.fail_open",
        Kind::Words(SEAMS),
        "[]",
        "The seams at which its failure counts as if it weren't there. Elsewhere a failure fails what was asked.",
    ),
    free(
        "plugin.*.config",
        Kind::Open(&Kind::Any),
        "The plugin's own configuration: a table of whatever it reads.",
    ),
    guarded(free(
        "plugin.*.grant.filesystem",
        Kind::Tables(FOLDER),
        "The folders in its reach.",
    )),
    guarded(free(
        "plugin.*.grant.http",
        Kind::Tables(RULE),
        "The requests it may send: those that match every field of one rule.",
    )),
    guarded(free(
        "plugin.*.grant.secrets",
        Kind::Tables(SECRET),
        "Headers added to its requests on the way out. It never sees them.",
    )),
    guarded(free(
        "plugin.*.grant.environment",
        Kind::Open(&Kind::Text),
        "Environment variables it sees, with their values.",
    )),
    guarded(key(
        "plugin.*.grant.environment_from",
        Kind::Texts,
        "[]",
        "Names of variables it is handed with the value they have here.",
    )),
    guarded(free(
        "plugin.*.grant.clocks",
        Kind::Text,
        "`real`, or `fixed:` and milliseconds of the Unix epoch.",
    )),
    guarded(free(
        "plugin.*.grant.random",
        Kind::Text,
        "`real`, or `seed:` and a number.",
    )),
    guarded(key(
        "plugin.*.grant.kv",
        Kind::Flag,
        "false",
        "A store of its own that outlives a call.",
    )),
    guarded(key(
        "plugin.*.grant.session",
        Kind::Words(&["read", "append", "todos", "surface"]),
        "[]",
        "What it may do with the session that calls it.",
    )),
    guarded(key(
        "plugin.*.grant.agent",
        Kind::Words(&["send", "steer", "inject", "cancel"]),
        "[]",
        "What it may ask of the agent that calls it.",
    )),
    guarded(key(
        "plugin.*.grant.authority",
        Kind::Words(SEAMS),
        "[]",
        "The seams at which its answer counts as it is. Elsewhere it may only restrict.",
    )),
    guarded(key(
        "plugin.*.grant.speak_as_user",
        Kind::Flag,
        "false",
        "Whether it may speak as the person.",
    )),
    guarded(key(
        "plugin.*.grant.speak_as_plugins",
        Kind::Texts,
        "[]",
        "The other plugins as which it may speak; `*` stands for any.",
    )),
    key(
        "plugin.*.limits.component",
        Kind::Size,
        "'32MiB'",
        "Largest component.",
    ),
    key(
        "plugin.*.limits.load",
        Kind::Duration,
        "'60s'",
        "How long inspecting and compiling may take.",
    ),
    free(
        "plugin.*.limits.fuel",
        Kind::Count(1, 1 << 53),
        "How much one call may compute, in units of fuel: about one per instruction, the same everywhere. By default only time is the limit.",
    ),
    key(
        "plugin.*.limits.memory",
        Kind::Size,
        "'64MiB'",
        "Memory of one call, at most 1GiB.",
    ),
    key(
        "plugin.*.limits.table_elements",
        NUMBER,
        "20000",
        "Elements of all tables of one call.",
    ),
    key(
        "plugin.*.limits.stretch",
        Kind::Duration,
        "'4ms'",
        "How long it computes before others on its thread have their turn.",
    ),
    key(
        "plugin.*.limits.call",
        Kind::Duration,
        "'30s'",
        "How long a tool call may take, waits included.",
    ),
    key(
        "plugin.*.limits.decide",
        Kind::Duration,
        "'10s'",
        "How long a listener or guard may take, but for the rest of a chain it asks.",
    ),
    key(
        "plugin.*.limits.observe",
        Kind::Duration,
        "'10ms'",
        "How long an observer may take. It holds up whoever tells it.",
    ),
    key(
        "plugin.*.limits.start",
        Kind::Duration,
        "'10s'",
        "How long its start may take.",
    ),
    key(
        "plugin.*.limits.list",
        Kind::Duration,
        "'5s'",
        "How long listing its tools may take.",
    ),
    key(
        "plugin.*.limits.classify",
        Kind::Duration,
        "'500ms'",
        "How long classifying a call may take.",
    ),
    key(
        "plugin.*.limits.present",
        Kind::Duration,
        "'20ms'",
        "How long making a card for a person may take.",
    ),
    key(
        "plugin.*.limits.grace",
        Kind::Duration,
        "'2s'",
        "How long a cancelled call may go on before it is dropped.",
    ),
    key(
        "plugin.*.limits.crossing",
        Kind::Size,
        "'8MiB'",
        "What may cross from it to the host at once.",
    ),
    key("plugin.*.limits.output", Kind::Size, "'1MiB'", "One result."),
    key("plugin.*.limits.contexts", NUMBER, "64", "Contexts of one call."),
    key(
        "plugin.*.limits.log_lines",
        NUMBER,
        "200",
        "Lines of diagnostics of one call.",
    ),
    key(
        "plugin.*.limits.log_bytes",
        Kind::Size,
        "'64KiB'",
        "Bytes of diagnostics of one call.",
    ),
    key(
        "plugin.*.limits.stream_bytes",
        Kind::Size,
        "'16KiB'",
        "Standard output and standard error of one call, each.",
    ),
    key(
        "plugin.*.limits.appended_events",
        NUMBER,
        "64",
        "Events one call may append.",
    ),
    key(
        "plugin.*.limits.verbs",
        NUMBER,
        "64",
        "Verbs one call may ask of its agent.",
    ),
    key(
        "plugin.*.limits.nested",
        Kind::Count(0, hames_plugin::MAX_NESTED as u64),
        "3",
        "Calls of observers, each inside the one before, in which one of its own may lie.",
    ),
    key("plugin.*.limits.requests", NUMBER, "64", "Requests of one call."),
    key(
        "plugin.*.limits.response_bytes",
        Kind::Size,
        "'16MiB'",
        "Body of one answer it is sent.",
    ),
    key("plugin.*.limits.kv_keys", NUMBER, "10000", "Keys of its store."),
    key(
        "plugin.*.limits.kv_bytes",
        Kind::Size,
        "'4MiB'",
        "Bytes of its store.",
    ),
];
