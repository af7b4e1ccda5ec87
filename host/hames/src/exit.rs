//! Which code does the process end with? All of them, here and nowhere else.
//!
//! | code | name | meaning |
//! |---|---|---|
//! | 0 | `DONE` | the command did what it was asked to; a turn completed |
//! | 1 | `FAILED` | a turn ended with an error, or something failed that has no code of its own |
//! | 2 | `USAGE` | the command line can't be understood |
//! | 3 | `CONFIG` | the configuration, or the lock file, holds something that can't be used |
//! | 4 | `PLUGIN` | a plugin can't be loaded, or doesn't do what was asked of it |
//! | 5 | `STORE` | a session can't be read or written |
//! | 6 | `REJECTED` | the prompt was refused by a listener |
//! | 7 | `MAX_TOKENS` | the model ran into its output limit |
//! | 8 | `CONTEXT_OVERFLOW` | the conversation is longer than the model can take |
//! | 9 | `DIFFERENT` | a replay or a check found a difference |
//! | 130 | `INTERRUPTED` | cancelled from the keyboard (SIGINT) |
//! | 141 | `CLOSED_PIPE` | nobody reads the output any more |
//! | 143 | `TERMINATED` | asked to end (SIGTERM) |

use std::io;
use std::process::ExitCode;

use hames_plugin::LoadError;
use hames_store::PersistError;
use hames_types::port::store::StoreError;

use crate::config::Problems;
use crate::lock::LockError;

/// How the process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It did what it was asked to.
    Done,
    /// It failed.
    Failed,
    /// The command line can't be understood.
    Usage,
    /// The configuration can't be used.
    Config,
    /// A plugin can't be used.
    Plugin,
    /// A session can't be read or written.
    Store,
    /// The prompt was refused.
    Rejected,
    /// The model ran into its output limit.
    MaxTokens,
    /// The conversation is too long for the model.
    ContextOverflow,
    /// A difference was found where there should be none.
    Different,
    /// Cancelled from the keyboard.
    Interrupted,
    /// Nobody reads the output.
    ClosedPipe,
    /// Asked to end.
    Terminated,
}

impl Exit {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 13] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::Config,
        Self::Plugin,
        Self::Store,
        Self::Rejected,
        Self::MaxTokens,
        Self::ContextOverflow,
        Self::Different,
        Self::Interrupted,
        Self::ClosedPipe,
        Self::Terminated,
    ];

    /// The process's code.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Config => 3,
            Self::Plugin => 4,
            Self::Store => 5,
            Self::Rejected => 6,
            Self::MaxTokens => 7,
            Self::ContextOverflow => 8,
            Self::Different => 9,
            Self::Interrupted => 130,
            Self::ClosedPipe => 141,
            Self::Terminated => 143,
        }
    }

    /// Its name, for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "DONE",
            Self::Failed => "FAILED",
            Self::Usage => "USAGE",
            Self::Config => "CONFIG",
            Self::Plugin => "PLUGIN",
            Self::Store => "STORE",
            Self::Rejected => "REJECTED",
            Self::MaxTokens => "MAX_TOKENS",
            Self::ContextOverflow => "CONTEXT_OVERFLOW",
            Self::Different => "DIFFERENT",
            Self::Interrupted => "INTERRUPTED",
            Self::ClosedPipe => "CLOSED_PIPE",
            Self::Terminated => "TERMINATED",
        }
    }

    /// The code of an error, by the first of its causes that has one.
    #[must_use]
    pub fn of(error: &anyhow::Error) -> Self {
        error
            .chain()
            .find_map(|cause| {
                if let Some(Ended(exit)) = cause.downcast_ref() {
                    Some(*exit)
                } else if cause.is::<Problems>() || cause.is::<LockError>() {
                    Some(Self::Config)
                } else if cause.is::<LoadError>() {
                    Some(Self::Plugin)
                } else if cause.is::<StoreError>() || cause.is::<PersistError>() {
                    Some(Self::Store)
                } else if cause
                    .downcast_ref::<io::Error>()
                    .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
                {
                    Some(Self::ClosedPipe)
                } else {
                    None
                }
            })
            .unwrap_or(Self::Failed)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// An error's mark that decides the code, where no type of its own does. The message comes from the context on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("exit code {}", .0.code())]
pub struct Ended(pub Exit);

impl Ended {
    /// An error that ends the process with this code, told with all its causes.
    #[must_use]
    pub fn because(self, error: impl Into<anyhow::Error>) -> anyhow::Error {
        let error = error.into();
        let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
        causes
            .into_iter()
            .rev()
            .fold(anyhow::Error::new(self), anyhow::Error::context)
    }
}
