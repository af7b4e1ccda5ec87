//! Where does a provider's key come from, and who may see it? Nobody: it goes into one header.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hames_types::failure::LlmFailure;
use tokio::sync::Mutex;

use crate::fail::{code, failure};

#[cfg(test)]
mod tests;

/// How long a key command may take. Ten seconds: password managers may ask for a touch.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// A text that `Debug` doesn't show.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text`; white space around it is no part of a key.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The text. For the header alone.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// `text` without the secret, should a provider's answer repeat it.
    pub(crate) fn redact(&self, text: &str) -> Option<String> {
        let repeated = self.0.len() >= MIN_REDACTED && text.contains(&self.0);
        repeated.then(|| text.replace(&self.0, "<key>"))
    }
}

/// Shortest key looked for in messages: a shorter one would be found in ordinary words.
const MIN_REDACTED: usize = 8;

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(..)")
    }
}

/// Where a key comes from.
#[derive(Debug, Clone)]
pub enum KeySource {
    /// There is none: a server of one's own.
    None,
    /// Handed in, for example from the environment.
    Value(Secret),
    /// A file that only its owner may read.
    File(PathBuf),
    /// What a command prints: program and arguments, without a shell.
    Command(Vec<String>),
}

/// A key, fetched when it is first needed and again after the provider refused it.
#[derive(Debug)]
pub struct ApiKey {
    source: KeySource,
    fetched: Mutex<Option<Secret>>,
}

impl ApiKey {
    /// A key from `source`.
    #[must_use]
    pub fn new(source: KeySource) -> Self {
        Self {
            source,
            fetched: Mutex::new(None),
        }
    }

    /// The key, if there is to be one.
    pub(crate) async fn get(&self) -> Result<Option<Secret>, LlmFailure> {
        if matches!(self.source, KeySource::None) {
            return Ok(None);
        }
        let mut fetched = self.fetched.lock().await;
        if let Some(secret) = &*fetched {
            return Ok(Some(secret.clone()));
        }
        let secret = match &self.source {
            KeySource::None => return Ok(None),
            KeySource::Value(secret) => secret.clone(),
            KeySource::File(path) => read_file(path.clone()).await?,
            KeySource::Command(words) => run_command(words).await?,
        };
        if secret.0.is_empty() {
            return Err(failure(code::AUTH, "the provider's key is empty"));
        }
        *fetched = Some(secret.clone());
        Ok(Some(secret))
    }

    /// Forgets what was fetched: the provider refused it.
    pub(crate) async fn forget(&self) {
        *self.fetched.lock().await = None;
    }
}

async fn read_file(path: PathBuf) -> Result<Secret, LlmFailure> {
    tokio::task::spawn_blocking(move || read_owned(&path))
        .await
        .unwrap_or_else(|stopped| {
            Err(failure(
                code::AUTH,
                format_args!("the key file was not read: {stopped}"),
            ))
        })
}

fn read_owned(path: &Path) -> Result<Secret, LlmFailure> {
    let fault = |problem: &dyn fmt::Display| {
        failure(
            code::AUTH,
            format_args!("the key file {} {problem}", path.display()),
        )
    };
    let file = std::fs::File::open(path).map_err(|error| fault(&format_args!("can't be opened: {error}")))?;
    let about = file
        .metadata()
        .map_err(|error| fault(&format_args!("can't be examined: {error}")))?;
    // Asked of the open file, so that it can't be exchanged between the question and the reading.
    if !about.is_file() || about.len() > MAX_KEY_BYTES {
        return Err(fault(&format_args!(
            "must be a file of at most {MAX_KEY_BYTES} bytes"
        )));
    }
    if readable_by_others(&about) {
        return Err(fault(
            &"may be read by others; take their permissions away (chmod 600)",
        ));
    }
    let text =
        std::io::read_to_string(file).map_err(|error| fault(&format_args!("can't be read: {error}")))?;
    Ok(Secret::new(&text))
}

/// Longest key file: no key is a thousandth of it.
const MAX_KEY_BYTES: u64 = 64 << 10;

#[cfg(unix)]
fn readable_by_others(about: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    about.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn readable_by_others(_: &std::fs::Metadata) -> bool {
    false
}

async fn run_command(words: &[String]) -> Result<Secret, LlmFailure> {
    let fault = |problem: &dyn fmt::Display| failure(code::AUTH, format_args!("the key command {problem}"));
    let Some((program, arguments)) = words.split_first() else {
        return Err(fault(&"is empty"));
    };
    let output = tokio::process::Command::new(program)
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = match tokio::time::timeout(COMMAND_TIMEOUT, output).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(fault(&format_args!("can't be run: {error}"))),
        Err(_elapsed) => return Err(fault(&format_args!("took longer than {COMMAND_TIMEOUT:?}"))),
    };
    if !output.status.success() {
        return Err(fault(&format_args!("failed with {}", output.status)));
    }
    match String::from_utf8(output.stdout) {
        Ok(text) => Ok(Secret::new(&text)),
        // Its bytes are the key's; they stay out of the message.
        Err(_bytes) => Err(fault(&"printed something that isn't text")),
    }
}
