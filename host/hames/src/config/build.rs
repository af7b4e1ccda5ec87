//! Settings to types: what each part of the host is told.

mod plugin;

use std::path::{Path, PathBuf};
use std::time::Duration;

use hames_agent::Limits;
use hames_agent::approval::ApprovalPolicy;
use hames_agent::prompt::{PromptConfig, ToolOrder};
use hames_agent::repeat::{RepeatConfig, RepeatGuard};
use hames_agent::retry::RetryConfig;
use hames_store::Compression;

use super::problem::{Origin, Problem, Problems};
use super::settings::{Setting, Settings};
use super::value::Value;

pub use plugin::{PluginConfig, Source};

/// The configuration, checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// The model.
    pub model: ModelConfig,
    /// How much a turn may do.
    pub limits: Limits,
    /// When a failed model call is tried again.
    pub retry: RetryConfig,
    /// When the model is told that it repeats itself; none: never.
    pub repeat: Option<RepeatConfig>,
    /// The system prompt.
    pub prompt: PromptConfig,
    /// Whether a person is asked.
    pub approval: ApprovalPolicy,
    /// Where sessions are kept.
    pub store: StoreConfig,
    /// The plugins that are enabled, in their order.
    pub plugins: Vec<PluginConfig>,
}

/// How the model is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// A script.
    Scripted,
    /// DeepSeek.
    DeepSeek,
    /// OpenAI's chat completions.
    OpenAi,
    /// Any server of chat completions.
    Compatible,
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's responses.
    Responses,
    /// Google's Gemini.
    Gemini,
}

impl Provider {
    const ALL: [(&'static str, Self); 7] = [
        ("scripted", Self::Scripted),
        ("deepseek", Self::DeepSeek),
        ("openai", Self::OpenAi),
        ("compatible", Self::Compatible),
        ("anthropic", Self::Anthropic),
        ("responses", Self::Responses),
        ("gemini", Self::Gemini),
    ];

    /// Its word in the configuration, and its route.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, known)| *known == self)
            .map_or("", |(word, _)| word)
    }

    /// The variable that usually has its key.
    #[must_use]
    pub const fn usual_key(self) -> Option<&'static str> {
        match self {
            Self::Scripted | Self::Compatible => None,
            Self::DeepSeek => Some("DEEPSEEK_API_KEY"),
            Self::OpenAi | Self::Responses => Some("OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
        }
    }
}

/// The model.
#[derive(Debug, Clone)]
pub struct ModelConfig {
    /// How it is reached.
    pub provider: Provider,
    /// Its name.
    pub model: String,
    /// Where the server is.
    pub base_url: Option<String>,
    /// Where the key comes from.
    pub key: KeyFrom,
    /// Where the key's place is configured.
    pub key_origin: Origin,
    /// The file of a scripted model's answers.
    pub script: Option<PathBuf>,
    /// Whether it thinks.
    pub thinking: Option<bool>,
    /// How many tokens it may think.
    pub thinking_tokens: Option<u64>,
    /// How hard it thinks.
    pub reasoning_effort: Option<String>,
    /// Most tokens of an answer.
    pub max_tokens: u64,
    /// Whether the request's beginning is cached.
    pub cache: bool,
    /// How many tokens it can take.
    pub context_window: Option<u64>,
    /// Times and sizes.
    pub limits: hames_llm::limits::Limits,
}

/// Where a key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyFrom {
    /// The provider's usual variable, if it is set.
    Usual,
    /// This variable, which must be set.
    Variable(String),
    /// This file.
    File(PathBuf),
    /// What this command prints.
    Command(Vec<String>),
}

/// Which kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// One database.
    Sqlite,
    /// Readable files.
    Jsonl,
    /// Nothing is kept.
    Memory,
}

/// Where sessions are kept.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// Which kind.
    pub kind: StoreKind,
    /// Where; none: in the data folder.
    pub path: Option<PathBuf>,
    /// How readable files are compressed.
    pub compression: Compression,
}

impl Config {
    /// The settings as the parts of the host want them.
    ///
    /// # Errors
    /// [`Problems`]: all that can be found without loading anything.
    pub fn build(settings: &Settings) -> Result<Self, Problems> {
        let mut read = Reader {
            settings,
            problems: Vec::new(),
        };
        let config = Self {
            model: read.model(),
            limits: Limits {
                max_parallel_tool_calls: read.size("loop.max_parallel_calls"),
                max_steps: read.count("loop.max_steps"),
                max_forced_continuations: Some(read.count("loop.max_continuations")),
                check_requests: read.flag("loop.check_requests"),
            },
            retry: read.retry(),
            repeat: read.repeat(),
            prompt: read.prompt(),
            approval: read
                .text("approval.policy")
                .and_then(|word| ApprovalPolicy::from_word(&word))
                .unwrap_or_default(),
            store: read.store(),
            plugins: read.plugins(),
        };
        if read.problems.is_empty() {
            Ok(config)
        } else {
            Err(Problems(read.problems))
        }
    }
}

/// Reads settings and remembers what can't be used.
struct Reader<'a> {
    settings: &'a Settings,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn complain(&mut self, path: &str, what: impl Into<String>) {
        let origin = self
            .settings
            .get(path)
            .map_or(Origin::Default, |setting| setting.origin.clone());
        self.problems.push(Problem {
            origin,
            key: path.to_owned(),
            what: what.into(),
        });
    }

    fn value(&self, path: &str) -> Option<&Value> {
        self.settings.get(path).map(|setting| &setting.value)
    }

    fn text(&self, path: &str) -> Option<String> {
        match self.value(path) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }

    fn texts(&self, path: &str) -> Option<Vec<String>> {
        match self.value(path) {
            Some(Value::Texts(texts)) => Some(texts.clone()),
            _ => None,
        }
    }

    fn flag(&self, path: &str) -> bool {
        matches!(self.value(path), Some(Value::Flag(true)))
    }

    fn optional_count(&self, path: &str) -> Option<u64> {
        match self.value(path) {
            Some(Value::Count(count) | Value::Size(count)) => Some(*count),
            _ => None,
        }
    }

    fn count(&self, path: &str) -> u64 {
        self.optional_count(path).unwrap_or_default()
    }

    /// A count or a size as the host counts in memory.
    fn size(&self, path: &str) -> usize {
        usize::try_from(self.count(path)).unwrap_or(usize::MAX)
    }

    fn time(&self, path: &str) -> Duration {
        match self.value(path) {
            Some(Value::Duration(time)) => *time,
            _ => Duration::ZERO,
        }
    }

    /// A path; a relative one lies beside the file that names it.
    fn path(&self, path: &str) -> Option<PathBuf> {
        let setting = self.settings.get(path)?;
        Some(beside(setting, Path::new(setting.value.as_text()?)))
    }

    fn model(&mut self) -> ModelConfig {
        let word = self.text("model.provider").unwrap_or_default();
        let provider = Provider::ALL
            .iter()
            .find(|(known, _)| *known == word)
            .map_or(Provider::Scripted, |(_, provider)| *provider);
        let model = self.text("model.model");
        if model.is_none() && provider != Provider::Scripted {
            self.complain(
                "model.provider",
                format!(
                    "is `{word}`, but no `model.model` is named; set it to one of that provider's models"
                ),
            );
        }
        ModelConfig {
            provider,
            model: model.unwrap_or_else(|| "demo".to_owned()),
            base_url: self
                .text("model.base_url")
                .map(|url| url.trim_end_matches('/').to_owned()),
            key: self.key(),
            key_origin: self
                .settings
                .get("model.key_env")
                .map_or(Origin::Default, |setting| setting.origin.clone()),
            script: self.path("model.script"),
            thinking: self.value("model.thinking").map(|_| self.flag("model.thinking")),
            thinking_tokens: self.optional_count("model.thinking_tokens"),
            reasoning_effort: self.text("model.reasoning_effort"),
            max_tokens: self.count("model.max_tokens"),
            cache: self.flag("model.cache"),
            context_window: self.optional_count("model.context_window"),
            limits: hames_llm::limits::Limits {
                connect: self.time("model.connect_timeout"),
                headers: self.time("model.answer_timeout"),
                idle: self.time("model.idle_timeout"),
                max_event_bytes: self.size("model.max_event"),
                max_answer_bytes: self.size("model.max_answer"),
                ..hames_llm::limits::Limits::default()
            },
        }
    }

    fn key(&mut self) -> KeyFrom {
        let sources = ["model.key_env", "model.key_file", "model.key_command"];
        let set: Vec<&str> = sources
            .into_iter()
            .filter(|path| self.value(path).is_some())
            .collect();
        if let [_, second, ..] = set.as_slice() {
            self.complain(
                second,
                format!(
                    "is set, and so is `{}`; keep one of them",
                    set.first().unwrap_or(&"")
                ),
            );
        }
        if let Some(name) = self.text("model.key_env") {
            KeyFrom::Variable(name)
        } else if let Some(file) = self.path("model.key_file") {
            KeyFrom::File(file)
        } else if let Some(words) = self.texts("model.key_command") {
            if words.is_empty() {
                self.complain("model.key_command", "is empty; name a program");
            }
            KeyFrom::Command(words)
        } else {
            KeyFrom::Usual
        }
    }

    fn retry(&mut self) -> RetryConfig {
        let ratio = match self.value("retry.jitter") {
            Some(Value::Ratio(ratio)) => *ratio,
            _ => 0.0,
        };
        let retry = RetryConfig {
            max_transient_retries: u32::try_from(self.count("retry.attempts")).unwrap_or(u32::MAX),
            initial_delay_ms: self.time("retry.first_delay").as_secs_f64() * 1000.0,
            max_delay_ms: self.time("retry.longest_delay").as_secs_f64() * 1000.0,
            jitter_ratio: ratio,
            retryable_codes: self
                .texts("retry.codes")
                .unwrap_or_default()
                .into_iter()
                .map(Into::into)
                .collect(),
        };
        if let Err(problem) = retry.check() {
            self.complain(
                "retry.first_delay",
                format!("and its neighbours can't hold: {problem}"),
            );
        }
        retry
    }

    fn repeat(&mut self) -> Option<RepeatConfig> {
        let thresholds: Vec<u32> = match self.value("repeat.thresholds") {
            Some(Value::Counts(counts)) => counts
                .iter()
                .map(|count| u32::try_from(*count).unwrap_or(u32::MAX))
                .collect(),
            _ => Vec::new(),
        };
        if thresholds.is_empty() {
            return None;
        }
        let patterns =
            |texts: Option<Vec<String>>| texts.unwrap_or_default().into_iter().map(Into::into).collect();
        let repeat = RepeatConfig {
            thresholds,
            preview_chars: self.size("repeat.preview"),
            include: patterns(self.texts("repeat.include")),
            exclude: patterns(self.texts("repeat.exclude")),
        };
        if let Err(problem) = RepeatGuard::new(repeat.clone()) {
            self.complain("repeat.thresholds", format!("can't hold: {problem}"));
        }
        Some(repeat)
    }

    fn prompt(&mut self) -> PromptConfig {
        let mut prompt = PromptConfig::default();
        if let Some(identity) = self.text("prompt.identity") {
            prompt.identity = identity.into();
        }
        if let Some(persona) = self.text("prompt.persona") {
            prompt.persona = persona.into();
        }
        if let Some(names) = self.texts("prompt.tool_order") {
            match ToolOrder::listed(names.into_iter().map(Into::into).collect()) {
                Ok(order) => prompt.tool_order = order,
                Err(problem) => self.complain("prompt.tool_order", format!("can't hold: {problem}")),
            }
        }
        prompt
    }

    fn store(&mut self) -> StoreConfig {
        StoreConfig {
            kind: match self.text("store.kind").as_deref() {
                Some("jsonl") => StoreKind::Jsonl,
                Some("memory") => StoreKind::Memory,
                Some(_) | None => StoreKind::Sqlite,
            },
            path: self.path("store.path"),
            compression: match self.text("store.compression").as_deref() {
                Some("none") => Compression::Plain,
                Some(_) | None => Compression::Zstd,
            },
        }
    }
}

/// A relative path lies beside the file that names it; one from a flag, in the process's folder.
fn beside(setting: &Setting, path: &Path) -> PathBuf {
    match &setting.origin {
        Origin::File { file, .. } => file
            .parent()
            .map_or_else(|| path.to_owned(), |folder| folder.join(path)),
        Origin::Default | Origin::Demo | Origin::Flag => {
            std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
        }
    }
}
