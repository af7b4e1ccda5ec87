//! How is the model reached? One adapter, as configured.

use std::sync::Arc;

use anyhow::Context as _;
use hames_llm::Adapter;
use hames_llm::chat::{ChatConfig, Dialect, dialect};
use hames_llm::gemini::GeminiConfig;
use hames_llm::http::{Http, HttpSettings, Proxies};
use hames_llm::key::{KeySource, Secret};
use hames_llm::messages::MessagesConfig;
use hames_llm::responses::ResponsesConfig;
use hames_llm::scripted::Scripted;
use hames_types::port::llm::Llm;

use crate::config::{Environment, KeyFrom, ModelConfig, Origin, Problems, Provider};
use crate::outside::SystemClock;

/// What the built-in demonstration answers.
const DEMO: &str = include_str!("demo.json");

/// The adapter.
///
/// # Errors
/// If a key, an address or a script can't be used.
pub fn adapter(config: &ModelConfig, environment: &Environment) -> anyhow::Result<Arc<dyn Llm>> {
    if config.provider == Provider::Scripted {
        return scripted(config);
    }
    let key = key(config, environment)?;
    let is_plain = config
        .base_url
        .as_ref()
        .is_some_and(|url| url.starts_with("http://"));
    let settings = HttpSettings {
        is_plain: is_plain && environment.proxies == Proxies::default(),
        limits: config.limits,
        proxies: environment.proxies.clone(),
        ..HttpSettings::default()
    };
    let http = Http::new(&settings, Arc::new(SystemClock))?;
    let adapter = match config.provider {
        Provider::DeepSeek => chat(&dialect::DEEPSEEK, config, key, http),
        Provider::OpenAi => chat(&dialect::OPENAI, config, key, http),
        Provider::Compatible | Provider::Scripted => chat(&dialect::COMPATIBLE, config, key, http),
        Provider::Anthropic => {
            let usual = MessagesConfig::new(key);
            Adapter::messages(
                MessagesConfig {
                    base_url: config.base_url.clone().unwrap_or(usual.base_url.clone()),
                    default_max_tokens: config.max_tokens,
                    thinking_tokens: config.thinking_tokens,
                    cache: config.cache,
                    ..usual
                },
                http,
            )
        }
        Provider::Responses => {
            let usual = ResponsesConfig::new(key);
            Adapter::responses(
                ResponsesConfig {
                    base_url: config.base_url.clone().unwrap_or(usual.base_url.clone()),
                    reasoning_effort: config.reasoning_effort.as_deref().map(Into::into),
                    ..usual
                },
                http,
            )
        }
        Provider::Gemini => {
            let usual = GeminiConfig::new(key);
            Adapter::gemini(
                GeminiConfig {
                    base_url: config.base_url.clone().unwrap_or(usual.base_url.clone()),
                    thinking_tokens: config.thinking_tokens,
                    ..usual
                },
                http,
            )
        }
    };
    Ok(Arc::new(adapter?))
}

fn chat(
    dialect: &'static Dialect,
    config: &ModelConfig,
    key: KeySource,
    http: Http,
) -> Result<Adapter, hames_llm::ConfigError> {
    Adapter::chat(
        ChatConfig {
            base_url: config.base_url.clone(),
            thinking: config.thinking,
            reasoning_effort: config.reasoning_effort.as_deref().map(Into::into),
            ..ChatConfig::new(dialect, key)
        },
        http,
    )
}

fn scripted(config: &ModelConfig) -> anyhow::Result<Arc<dyn Llm>> {
    Ok(Arc::new(match &config.script {
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("the script {} can't be read (`model.script`)", file.display()))?;
            Scripted::parse(&format!("the script {}", file.display()), &text)?
        }
        None => Scripted::parse("the built-in demonstration", DEMO)?,
    }))
}

fn key(config: &ModelConfig, environment: &Environment) -> Result<KeySource, Problems> {
    let value = |name: &str| {
        environment
            .variable(name)
            .map(|text| KeySource::Value(Secret::new(&text)))
    };
    match &config.key {
        KeyFrom::Usual => {
            let usual = config.provider.usual_key();
            match usual.and_then(value) {
                Some(key) => Ok(key),
                // A server of one's own may want none.
                None if config.base_url.is_some() || usual.is_none() => Ok(KeySource::None),
                None => Err(Problems::one(
                    Origin::Default,
                    "model.key_env",
                    format!(
                        "names no key for `{}`: set the variable `{}`, or `model.key_file`, or `model.key_command`",
                        config.provider.as_str(),
                        usual.unwrap_or_default()
                    ),
                )),
            }
        }
        KeyFrom::Variable(name) => value(name).ok_or_else(|| {
            Problems::one(
                config.key_origin.clone(),
                "model.key_env",
                format!("names the variable `{name}`, which isn't set"),
            )
        }),
        KeyFrom::File(file) => Ok(KeySource::File(file.clone())),
        KeyFrom::Command(words) => Ok(KeySource::Command(words.clone())),
    }
}
