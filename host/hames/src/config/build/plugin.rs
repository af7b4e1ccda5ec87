//! A `[[plugin]]`'s settings to what the sandbox is told.

use std::path::PathBuf;

use hames_plugin::{
    Access, AgentGrant, Clocks, Folder, Grant, HttpRule, Limits, Phase, Point, Random, Scheme, SessionGrant,
    Speak,
};
use hames_types::id::PluginId;
use hames_types::json::{Json, JsonMap};
use hames_types::port::plugin::Quota;

use super::{Reader, beside};
use crate::config::problem::Origin;
use crate::config::value::Value;
use crate::lock::Lock;

/// Where a component is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// One that ships with hames.
    Builtin(String),
    /// A file.
    File(PathBuf),
}

/// A secret whose value is still in the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFrom {
    /// The header.
    pub header: String,
    /// The hosts.
    pub hosts: Vec<String>,
    /// The variable.
    pub variable: String,
    /// What stands before its value.
    pub prefix: String,
}

/// A plugin as the operator configured it.
#[derive(Debug, Clone)]
pub struct PluginConfig {
    /// Its id.
    pub id: PluginId,
    /// Where its component is.
    pub source: Source,
    /// The digest it must have, in hexadecimal.
    pub digest: Option<String>,
    /// Its own configuration.
    pub config: Json,
    /// What stands before its tools' names.
    pub prefix: String,
    /// Whether hames stops without it.
    pub is_required: bool,
    /// What it is granted, but for what comes from the environment; folders as they are written.
    pub grant: Grant,
    /// Secrets from the environment.
    pub secrets: Vec<SecretFrom>,
    /// Variables from the environment.
    pub variables: Vec<String>,
    /// What it may use.
    pub limits: Limits,
    /// Where its listeners stand.
    pub phase: Phase,
    /// The seams at which its failure counts as if it weren't there.
    pub fail_open: Vec<Point>,
    /// Where it is configured.
    pub origin: Origin,
    /// The lock file that says what its component was; none where there is nothing to lock.
    pub lock: Option<PathBuf>,
}

impl Reader<'_> {
    pub(super) fn plugins(&mut self) -> Vec<PluginConfig> {
        let mut plugins = Vec::new();
        for (id, origin) in self.settings.plugins() {
            if self.flag(&format!("plugin.{id}.enabled")) {
                plugins.extend(self.plugin(id, origin));
            }
        }
        plugins
    }

    fn plugin(&mut self, id: &str, origin: &Origin) -> Option<PluginConfig> {
        let at = |key: &str| format!("plugin.{id}.{key}");
        let Some(source) = self.source(&at("source")) else {
            self.problems.push(crate::config::Problem {
                origin: origin.clone(),
                key: at("source"),
                what: "is missing; name a file or `builtin:NAME`".to_owned(),
            });
            return None;
        };
        let below = at("config");
        let config: JsonMap = self
            .settings
            .below(&below)
            .map(|(name, setting)| (name.to_owned(), setting.value.to_json()))
            .collect();
        Some(PluginConfig {
            id: PluginId::new(id),
            source,
            digest: self.digest(&at("digest")),
            config: Json::Object(config),
            prefix: self.text(&at("prefix")).unwrap_or_default(),
            is_required: self.flag(&at("required")),
            grant: self.grant(&at("grant")),
            secrets: self.secrets(&at("grant.secrets")),
            variables: self.texts(&at("grant.environment_from")).unwrap_or_default(),
            limits: self.limits(&at("limits")),
            phase: match self.text(&at("phase")).as_deref() {
                Some("early") => Phase::Early,
                Some("late") => Phase::Late,
                Some(_) | None => Phase::Normal,
            },
            fail_open: self.points(&at("fail_open")),
            lock: self.lock(&at("source")),
            origin: origin.clone(),
        })
    }

    /// Beside the file that names the component; one that ships with hames, or is named by a flag, has none.
    fn lock(&self, path: &str) -> Option<PathBuf> {
        let setting = self.settings.get(path)?;
        match (&setting.origin, self.source(path)?) {
            (Origin::File { file, .. }, Source::File(_)) => Some(Lock::beside(file)),
            (_, Source::Builtin(_) | Source::File(_)) => None,
        }
    }

    fn source(&self, path: &str) -> Option<Source> {
        let setting = self.settings.get(path)?;
        let Value::Text(text) = &setting.value else {
            return None;
        };
        Some(match text.strip_prefix("builtin:") {
            Some(name) => Source::Builtin(name.to_owned()),
            None => Source::File(beside(setting, text.as_ref())),
        })
    }

    fn digest(&mut self, path: &str) -> Option<String> {
        let text = self.text(path)?;
        let digits = text.strip_prefix("sha256:").unwrap_or_default();
        if digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Some(digits.to_ascii_lowercase());
        }
        self.complain(path, "must be `sha256:` and 64 hexadecimal digits");
        None
    }

    fn grant(&mut self, path: &str) -> Grant {
        let at = |key: &str| format!("{path}.{key}");
        let may = |words: &[String], word: &str| words.iter().any(|known| known == word);
        let session = self.texts(&at("session")).unwrap_or_default();
        let agent = self.texts(&at("agent")).unwrap_or_default();
        let names = self.texts(&at("speak_as_plugins")).unwrap_or_default();
        let below = at("environment");
        let environment = self.settings.below(&below);
        Grant {
            full: self.points(&at("authority")),
            environment: environment
                .filter_map(|(name, setting)| Some((name.to_owned(), setting.value.as_text()?.to_owned())))
                .collect(),
            filesystem: self.tables(&at("filesystem")).map(folder).collect(),
            http: self.tables(&at("http")).map(rule).collect(),
            secrets: Vec::new(),
            clocks: self.fixed(&at("clocks"), "fixed:", Clocks::Real, Clocks::Fixed),
            random: self.fixed(&at("random"), "seed:", Random::Real, Random::Seeded),
            kv: self.flag(&at("kv")),
            session: SessionGrant {
                read: may(&session, "read"),
                append: may(&session, "append"),
                todos: may(&session, "todos"),
                surface: may(&session, "surface"),
            },
            agent: AgentGrant {
                send: may(&agent, "send"),
                steer: may(&agent, "steer"),
                inject: may(&agent, "inject"),
                cancel: may(&agent, "cancel"),
            },
            speak: Speak {
                as_user: self.flag(&at("speak_as_user")),
                as_any_plugin: may(&names, "*"),
                as_plugins: names
                    .into_iter()
                    .filter(|name| name != "*")
                    .map(Into::into)
                    .collect(),
            },
        }
    }

    fn points(&self, path: &str) -> Vec<Point> {
        let words = self.texts(path).unwrap_or_default();
        words.iter().filter_map(|word| Point::from_word(word)).collect()
    }

    /// `real`, or a prefix and a number.
    fn fixed<T>(&mut self, path: &str, prefix: &str, real: T, fixed: impl Fn(u64) -> T) -> Option<T> {
        let text = self.text(path)?;
        if text == "real" {
            return Some(real);
        }
        let number = text.strip_prefix(prefix).and_then(|number| number.parse().ok());
        if number.is_none() {
            self.complain(path, format!("must be `real`, or `{prefix}` and a whole number"));
        }
        number.map(fixed)
    }

    fn tables(&self, path: &str) -> impl Iterator<Item = Fields<'_>> {
        let tables = match self.value(path) {
            Some(Value::Tables(tables)) => tables.as_slice(),
            _ => &[],
        };
        tables.iter().map(Fields)
    }

    fn secrets(&self, path: &str) -> Vec<SecretFrom> {
        self.tables(path)
            .map(|fields| SecretFrom {
                header: fields.text("header"),
                hosts: fields.texts("hosts"),
                variable: fields.text("env"),
                prefix: fields.text("prefix"),
            })
            .collect()
    }

    fn limits(&self, path: &str) -> Limits {
        let size = |key: &str| self.size(&format!("{path}.{key}"));
        let time = |key: &str| self.time(&format!("{path}.{key}"));
        Limits {
            component: size("component"),
            load: time("load"),
            fuel: self.optional_count(&format!("{path}.fuel")),
            memory: size("memory"),
            table_elements: size("table_elements"),
            stretch: time("stretch"),
            call: time("call"),
            decide: time("decide"),
            observe: time("observe"),
            start: time("start"),
            list: time("list"),
            classify: time("classify"),
            present: time("present"),
            grace: time("grace"),
            crossing: size("crossing"),
            output: size("output"),
            contexts: size("contexts"),
            log_lines: size("log_lines"),
            log_bytes: size("log_bytes"),
            stream_bytes: size("stream_bytes"),
            appended_events: size("appended_events"),
            verbs: size("verbs"),
            nested: size("nested"),
            requests: size("requests"),
            response_bytes: size("response_bytes"),
            kv: Quota {
                keys: size("kv_keys"),
                bytes: size("kv_bytes"),
            },
        }
    }
}

/// One table of a list, complete as it was read.
struct Fields<'a>(&'a std::collections::BTreeMap<&'static str, Value>);

impl Fields<'_> {
    fn text(&self, key: &str) -> String {
        match self.0.get(key) {
            Some(Value::Text(text)) => text.clone(),
            Some(_) | None => String::new(),
        }
    }

    fn texts(&self, key: &str) -> Vec<String> {
        match self.0.get(key) {
            Some(Value::Texts(texts)) => texts.clone(),
            _ => Vec::new(),
        }
    }
}

fn folder(fields: Fields<'_>) -> Folder {
    let path = fields.text("path");
    let name = fields.text("name");
    Folder {
        name: if name.is_empty() { path.clone() } else { name },
        path: path.into(),
        access: match fields.text("access").as_str() {
            "read-write" => Access::ReadWrite,
            _ => Access::ReadOnly,
        },
    }
}

fn rule(fields: Fields<'_>) -> HttpRule {
    let scheme = match fields.text("scheme").as_str() {
        "http" => Scheme::Http,
        _ => Scheme::Https,
    };
    let usual = match scheme {
        Scheme::Http => 80,
        Scheme::Https => 443,
    };
    let port = match fields.0.get("port") {
        Some(Value::Count(port)) => u16::try_from(*port).unwrap_or(usual),
        _ => usual,
    };
    HttpRule {
        scheme,
        host: fields.text("host").into(),
        port,
        methods: fields.texts("methods").into_iter().map(Into::into).collect(),
        path_prefix: fields.text("path").into(),
        allow_private: matches!(fields.0.get("allow_private"), Some(Value::Flag(true))),
    }
}
