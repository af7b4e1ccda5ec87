//! Room 4: header and history → request; the header is logged first, so that the log says it all (R-REQ, R-REC).

use std::sync::Arc;

use hames_log::{Session, first_header_reason, header::same_header};
use hames_types::event::{EventBody, HeaderEvent};
use hames_types::fault::Fault;
use hames_types::id::{ModelId, ProviderId};
use hames_types::json::{Extra, FromJson};
use hames_types::port::seam::{CallRequest, RequestAsk};
use hames_types::request::{CallConfig, HeaderReason, Request, RequestHeader};

use crate::step::{Opening, step_ask};
use crate::turn::{Halt, Turn};

/// Builds the step's request and logs its header if it isn't the one in force.
pub(crate) async fn build(turn: &mut Turn<'_>, opening: Opening) -> Result<Request, Halt> {
    let ask = RequestAsk {
        at: step_ask(turn),
        config: seed(turn),
    };
    let decided =
        turn.agent
            .services
            .listeners
            .decide::<CallRequest, _, _>(Some(turn.agent.scope_key()), &ask, |_| {
                std::future::ready(Ok(ask.config.clone()))
            });
    let config = decided.await?;
    turn.checkpoint()?;
    if config.provider.as_str().is_empty() || config.model.as_str().is_empty() {
        let message =
            "the agent has no provider or no model; set both, or let a listener of `agent/request` choose";
        return Err(Fault::plain(message).into());
    }
    config
        .check_lossless()
        .map_err(|fault| Fault::plain(fault.to_string()))?;
    let Opening {
        system,
        assembly,
        prefix,
        history,
    } = opening;
    let header = RequestHeader {
        config,
        system,
        tools: Some(Arc::new(assembly.tools)),
        message_prefix: Some(prefix),
        extra: Extra::NONE,
    }
    .canonical();
    log_header(turn, &header)?;
    let messages = match &header.message_prefix {
        Some(prefix) => prefix.clone().followed_by(&history),
        None => history,
    };
    let request = Request {
        config: header.config,
        system: header.system,
        tools: header.tools,
        messages,
        session_id: Some(turn.agent.id().clone()),
        purpose: None,
    };
    if turn.agent.services.limits.check_requests {
        check(turn.agent.session(), &request)
            .map_err(|fault| Fault::host("InvariantError", "INVARIANT", fault.to_string()))?;
    }
    Ok(request)
}

/// What the listeners start from: what is in force if this driver has logged it, else the agent's options (R-REQ-1).
fn seed(turn: &Turn<'_>) -> CallConfig {
    if turn.memory.header_logged
        && let Some(header) = turn.agent.session().request_header()
    {
        return header.config.clone();
    }
    let options = turn.agent.options();
    CallConfig::new(
        options.provider.clone().unwrap_or_else(|| ProviderId::new("")),
        options.model.clone().unwrap_or_else(|| ModelId::new("")),
    )
}

/// The first header of a driver is always logged, a later one only if it differs (R-REQ-4).
fn log_header(turn: &mut Turn<'_>, header: &RequestHeader) -> Result<(), Halt> {
    let session = turn.agent.session();
    let reason = if !turn.memory.header_logged {
        session.read(first_header_reason)
    } else if session
        .request_header()
        .is_some_and(|logged| same_header(&logged, header))
    {
        return Ok(());
    } else {
        HeaderReason::Change
    };
    let logged = HeaderEvent {
        header: header.clone(),
        reason,
        extra: Extra::NONE,
    };
    turn.log(EventBody::RequestHeader(Box::new(logged)))?;
    turn.memory.header_logged = true;
    Ok(())
}

/// How a request differs from what its log says it must be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RequestMismatch {
    /// The log has no header.
    #[error("the log has no request header")]
    NoHeader,
    /// The log has no step.
    #[error("the log has no step that the request could belong to")]
    NoStep,
    /// The log can't be derived.
    #[error(transparent)]
    Derive(#[from] hames_log::error::DeriveError),
    /// A field differs.
    #[error("the request's `{0}` isn't what the log says")]
    Field(&'static str),
    /// A message differs.
    #[error("message {index} of the request isn't what the log says")]
    Message {
        /// Its index, or the shorter length.
        index: usize,
    },
}

/// Compares a request of the loop with what its log says: the header in force, and the history as it was before the
/// newest `step/start` (R-REC-1). The provider is compared as well (D-2).
///
/// # Errors
/// [`RequestMismatch`] naming the first difference.
pub fn check(session: &Session, request: &Request) -> Result<(), RequestMismatch> {
    session.read(|log| {
        let header = log.header().ok().flatten().ok_or(RequestMismatch::NoHeader)?;
        if request.config != header.config {
            return Err(RequestMismatch::Field("config"));
        }
        if request.system != header.system {
            return Err(RequestMismatch::Field("system"));
        }
        if request.tools != header.tools {
            return Err(RequestMismatch::Field("tools"));
        }
        let boundary = log
            .events()
            .iter()
            .rposition(|event| event.kind() == "step/start")
            .ok_or(RequestMismatch::NoStep)?;
        let before = log.events().get(..boundary).unwrap_or_default();
        let (surface, _) =
            hames_log::surface::Surface::fold(before).map_err(|_fault| RequestMismatch::NoStep)?;
        let history = hames_log::project::derive(&surface, before)?;
        let expected = match &header.message_prefix {
            Some(prefix) => prefix.clone().followed_by(&history),
            None => history,
        };
        let differing = expected
            .iter()
            .zip(request.messages.iter())
            .position(|(a, b)| a != b);
        match differing {
            Some(index) => Err(RequestMismatch::Message { index }),
            None if expected.len() == request.messages.len() => Ok(()),
            None => Err(RequestMismatch::Message {
                index: expected.len().min(request.messages.len()),
            }),
        }
    })
}
