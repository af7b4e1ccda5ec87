//! What does the process's environment say? It is read here, once, and nowhere else.
//!
//! | variable | meaning |
//! |---|---|
//! | `HAMES_DATA` | the folder for sessions, compiled plugins and history, as `--data` |
//! | `XDG_DATA_HOME`, `XDG_CONFIG_HOME`, `HOME` | where that folder and the user's `hames.toml` are otherwise |
//! | `NO_COLOR`, `TERM=dumb` | no colours |
//! | `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY` (or in lower case) | the way to the model |
//! | those that `model.key_env`, `grant.environment_from` and `grant.secrets` name | keys and what plugins are handed |

use std::path::PathBuf;

use hames_llm::http::Proxies;

/// The environment, as far as it has a meaning.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Where the user's data is.
    pub data: Option<PathBuf>,
    /// The user's configuration file, whether it is there or not.
    pub user_file: Option<PathBuf>,
    /// No colours are wanted.
    pub no_color: bool,
    /// The terminal can't do anything.
    pub is_dumb: bool,
    /// The way to the model.
    pub proxies: Proxies,
}

impl Environment {
    /// Reads it.
    #[must_use]
    pub fn read() -> Self {
        let folder = |name: &str| {
            variable(name)
                .filter(|text| text.starts_with('/'))
                .map(PathBuf::from)
        };
        let home = folder("HOME");
        let under =
            |xdg: &str, below: &str| folder(xdg).or_else(|| home.as_ref().map(|home| home.join(below)));
        let either = |upper: &str| variable(upper).or_else(|| variable(&upper.to_lowercase()));
        Self {
            data: variable("HAMES_DATA")
                .filter(|text| !text.is_empty())
                .map(PathBuf::from)
                .or_else(|| under("XDG_DATA_HOME", ".local/share").map(|folder| folder.join("hames"))),
            user_file: under("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("hames/hames.toml")),
            no_color: variable("NO_COLOR").is_some_and(|text| !text.is_empty()),
            is_dumb: variable("TERM").is_some_and(|term| term == "dumb"),
            proxies: Proxies {
                https: either("HTTPS_PROXY"),
                http: either("HTTP_PROXY"),
                no_proxy: either("NO_PROXY"),
            },
        }
    }

    /// The value of a variable that the configuration names.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        variable(name)
    }
}

#[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).and_then(|value| value.into_string().ok())
}
