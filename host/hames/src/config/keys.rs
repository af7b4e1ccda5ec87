//! Which keys does the configuration have? All of them as data: what is read, shown, suggested and documented.
//!
//! A `*` in a path stands for a plugin's id. The table in the README is made from this one.

mod plugin;

use super::value::Kind;

#[cfg(test)]
pub(super) use plugin::SEAMS;

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Its path.
    pub path: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// The value if nobody sets it, as TOML.
    pub default: Option<&'static str>,
    /// What it does.
    pub about: &'static str,
    /// Whether it reaches beyond the project: a project's file that sets it has to be trusted first.
    pub is_guarded: bool,
    /// Whether its table is of no use without it.
    pub is_needed: bool,
}

const fn key(path: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key {
        path,
        kind,
        default: Some(default),
        about,
        is_guarded: false,
        is_needed: false,
    }
}

/// Without a default.
const fn free(path: &'static str, kind: Kind, about: &'static str) -> Key {
    Key {
        path,
        kind,
        default: None,
        about,
        is_guarded: false,
        is_needed: false,
    }
}

const fn guarded(key: Key) -> Key {
    Key {
        is_guarded: true,
        ..key
    }
}

const fn needed(key: Key) -> Key {
    Key {
        is_needed: true,
        ..key
    }
}

/// All keys, as they are documented.
pub fn all() -> impl Iterator<Item = &'static Key> {
    HOST.iter().chain(plugin::PLUGIN)
}

/// The providers `model.provider` can name.
pub const PROVIDERS: &[&str] = &[
    "scripted",
    "deepseek",
    "openai",
    "compatible",
    "anthropic",
    "responses",
    "gemini",
];

const TOKENS: Kind = Kind::Count(1, 1 << 40);
const FEW: Kind = Kind::Count(0, 1_000);

const HOST: &[Key] = &[
    key(
        "model.provider",
        Kind::Choice(PROVIDERS),
        "'scripted'",
        "How the model is reached. `compatible` is any server of OpenAI's chat completions; `responses` is OpenAI's newer protocol; `scripted` answers from a file, without a network.",
    ),
    free(
        "model.model",
        Kind::Text,
        "The model's name, as its provider has it. Needed for every provider but `scripted`.",
    ),
    guarded(free(
        "model.base_url",
        Kind::Text,
        "Where the server is, if not at the provider's own address.",
    )),
    guarded(free(
        "model.key_env",
        Kind::Text,
        "The environment variable with the key. By default the provider's usual one, if it is set: `DEEPSEEK_API_KEY`, `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GEMINI_API_KEY`.",
    )),
    guarded(free(
        "model.key_file",
        Kind::Path,
        "A file with the key that only its owner may read.",
    )),
    guarded(free(
        "model.key_command",
        Kind::Texts,
        "A program and its arguments; what it prints is the key. No shell is involved.",
    )),
    guarded(free(
        "model.script",
        Kind::Path,
        "The answers of the `scripted` provider, as JSON; without it, it plays a built-in demonstration.",
    )),
    free(
        "model.thinking",
        Kind::Flag,
        "Whether the model thinks first, for providers of chat completions that ask.",
    ),
    free(
        "model.thinking_tokens",
        TOKENS,
        "How many tokens it may think (`anthropic`, `gemini`).",
    ),
    free(
        "model.reasoning_effort",
        Kind::Text,
        "How hard it thinks, in the provider's words (chat completions, `responses`).",
    ),
    key(
        "model.max_tokens",
        TOKENS,
        "8192",
        "Most tokens of an answer, for `anthropic`, which demands a number.",
    ),
    key(
        "model.cache",
        Kind::Flag,
        "true",
        "Whether `anthropic` is asked to cache the request's beginning.",
    ),
    free(
        "model.context_window",
        TOKENS,
        "How many tokens the model can take, for the line at a run's end. By default what is known of the model.",
    ),
    key(
        "model.connect_timeout",
        Kind::Duration,
        "'10s'",
        "How long connecting may take.",
    ),
    key(
        "model.answer_timeout",
        Kind::Duration,
        "'5m'",
        "How long the answer's head may take; some models think before they send one.",
    ),
    key(
        "model.idle_timeout",
        Kind::Duration,
        "'5m'",
        "How long an answer may pause.",
    ),
    key(
        "model.max_event",
        Kind::Size,
        "'16MiB'",
        "Largest event of an answer's stream.",
    ),
    key("model.max_answer", Kind::Size, "'64MiB'", "Largest answer."),
    key(
        "loop.max_steps",
        Kind::Count(1, 1_000_000),
        "200",
        "Most model calls of one turn; it then ends with the error `MAX_STEPS`.",
    ),
    key(
        "loop.max_parallel_calls",
        Kind::Count(1, 1_000),
        "10",
        "Most tool calls that run at once.",
    ),
    key(
        "loop.max_continuations",
        FEW,
        "8",
        "How often per turn listeners may make it go on; it then ends with the error `CONTINUATION_LIMIT`.",
    ),
    key(
        "loop.check_requests",
        Kind::Flag,
        "false",
        "Whether every request is compared with what the log says it must be. For those who look for mistakes of hames itself.",
    ),
    key(
        "retry.attempts",
        FEW,
        "2",
        "How often a failed model call is tried again.",
    ),
    key(
        "retry.first_delay",
        Kind::Duration,
        "'500ms'",
        "The wait before the first retry; each further one is twice as long.",
    ),
    key(
        "retry.longest_delay",
        Kind::Duration,
        "'10s'",
        "The longest wait. A provider that asks for more isn't waited for.",
    ),
    key(
        "retry.jitter",
        Kind::Ratio,
        "0.1",
        "How far a wait strays from its length, from 0 to 1.",
    ),
    key(
        "retry.codes",
        Kind::Texts,
        "['RATE_LIMIT', 'SERVER', 'TIMEOUT', 'TRANSPORT']",
        "The failures that waiting may heal.",
    ),
    key(
        "repeat.thresholds",
        Kind::Counts,
        "[3, 5, 8]",
        "At how many equal calls in a row the model is told that it repeats itself; empty: never.",
    ),
    key(
        "repeat.preview",
        Kind::Count(1, 1 << 20),
        "500",
        "How many characters of the arguments such a reminder shows.",
    ),
    key(
        "repeat.include",
        Kind::Texts,
        "['*']",
        "The tools whose calls are counted; `*` stands for any text.",
    ),
    key(
        "repeat.exclude",
        Kind::Texts,
        "[]",
        "Those whose calls aren't, even if included.",
    ),
    free("prompt.identity", Kind::Text, "What the model is told it is."),
    free(
        "prompt.persona",
        Kind::Text,
        "Whatever else it is told at the beginning. `{{cwd}}`, `{{model}}` and `{{provider}}` are replaced.",
    ),
    free(
        "prompt.tool_order",
        Kind::Texts,
        "In which order the model sees its tools; `<unlisted-tools>` stands for those not listed.",
    ),
    key(
        "approval.policy",
        Kind::Choice(&["ask", "never"]),
        "'ask'",
        "Whether a person is asked when a listener wants a call approved. Without a terminal every question is a denial.",
    ),
    key(
        "store.kind",
        Kind::Choice(&["sqlite", "jsonl", "memory"]),
        "'sqlite'",
        "How sessions are kept: in one database, as readable files, or not at all.",
    ),
    guarded(free(
        "store.path",
        Kind::Path,
        "The database file, or the folder of the readable files. By default `sessions.db` or `sessions` in the data folder.",
    )),
    key(
        "store.compression",
        Kind::Choice(&["zstd", "none"]),
        "'zstd'",
        "How readable files are compressed.",
    ),
];
