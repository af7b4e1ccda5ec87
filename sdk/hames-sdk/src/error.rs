//! How does a tool fail? With an error of its own, or because it was asked to stop.

use crate::bindings::imports::hames::plugin::types::{Cause, Fault, FaultOrigin};
use crate::bindings::tools::exports::hames::plugin::tools::ToolError;

/// Why a tool failed. Any `std` error becomes one with `?`, its sources included.
#[derive(Debug)]
pub enum Error {
    /// The model sees `Error: <message>`.
    Failed(Fault),
    /// The call was asked to stop, and stopped.
    Aborted,
}

impl Error {
    /// An error with a message only.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self::Failed(fault(message.into(), None, None, FaultOrigin::Foreign))
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
            Error::Failed(fault) => Self::Failed(fault),
            Error::Aborted => Self::Aborted,
        }
    }
}
