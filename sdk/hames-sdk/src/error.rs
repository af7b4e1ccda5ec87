//! How does a tool or a listener fail? With an error of its own, with the rest of the chain's, or because it was asked
//! to stop.

use crate::bindings::imports::hames::plugin::decisions::ListenerError;
use crate::bindings::imports::hames::plugin::types::{Cause, Fault, FaultOrigin};
use crate::bindings::tools::exports::hames::plugin::tools::ToolError;

/// Why a tool or a listener failed. Any `std` error becomes one with `?`, its sources included.
#[derive(Debug)]
pub enum Error {
    /// The model sees `Error: <message>`.
    Failed(Fault),
    /// The call was asked to stop, and stopped.
    Aborted,
    /// The rest of a chain failed with this. Handed on from the listener that asked it, the error keeps its identity:
    /// whoever is outside sees the very error that was raised inside.
    Propagated(Fault),
}

impl Error {
    /// An error with a message only.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self::Failed(fault(message.into(), None, None, FaultOrigin::Foreign))
    }

    /// What it says.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Failed(fault) | Self::Propagated(fault) => &fault.message,
            Self::Aborted => "aborted",
        }
    }

    /// An error of the tool's own contract, whose code is told beside its message.
    #[must_use]
    pub fn coded(name: impl Into<String>, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Failed(fault(
            message.into(),
            Some(name.into()),
            Some(code.into()),
            FaultOrigin::Contract,
        ))
    }
}

/// A fault without failure and causes.
pub(crate) fn fault(
    message: String,
    name: Option<String>,
    code: Option<String>,
    origin: FaultOrigin,
) -> Fault {
    Fault {
        message,
        name,
        code,
        origin,
        failure: None,
        causes: Vec::new(),
    }
}

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        let mut built = fault(error.to_string(), None, None, FaultOrigin::Foreign);
        let mut source = error.source();
        while let Some(cause) = source {
            // The host takes no more.
            if built.causes.len() == 32 {
                break;
            }
            built.causes.push(Cause {
                message: cause.to_string(),
                name: None,
                code: None,
            });
            source = cause.source();
        }
        Self::Failed(built)
    }
}

impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        match error {
            Error::Failed(fault) | Error::Propagated(fault) => Self::Failed(fault),
            Error::Aborted => Self::Aborted,
        }
    }
}

impl From<Error> for ListenerError {
    fn from(error: Error) -> Self {
        match error {
            Error::Propagated(_) => Self::Propagated,
            Error::Failed(_) | Error::Aborted => Self::Failed(error.into()),
        }
    }
}

/// What is told where only an error of one's own can be.
impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error {
            Error::Failed(fault) | Error::Propagated(fault) => fault,
            Error::Aborted => fault(
                "aborted".to_owned(),
                Some("AbortError".to_owned()),
                None,
                FaultOrigin::Foreign,
            ),
        }
    }
}
