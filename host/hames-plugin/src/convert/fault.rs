//! How do errors cross?

use hames_types::failure::LlmFailure;
use hames_types::fault::{Fault, FaultOrigin};
use hames_types::json::Json;
use hames_types::usage::TokenUsage;

use super::json::{extra, parse, record, text};
use super::{Admit, Refused};
use crate::bindings::hames::plugin::types as wit;
use crate::limits::MAX_CAUSES;

pub(crate) fn failure(failure: &LlmFailure) -> wasmtime::Result<wit::Failure> {
    Ok(wit::Failure {
        message: failure.message.to_string(),
        code: failure.code.to_string(),
        status: failure.status,
        provider_retry_after_ms: failure.provider_retry_after_ms.as_ref().map(text).transpose()?,
        request_id: failure.request_id.as_ref().map(ToString::to_string),
        extra: extra(&failure.extra)?,
    })
}

pub(crate) fn usage(usage: &TokenUsage) -> wasmtime::Result<wit::Usage> {
    Ok(wit::Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cache_read_tokens: usage.cache_read_tokens,
        cache_write_tokens: usage.cache_write_tokens,
        reasoning_tokens: usage.reasoning_tokens,
        extra: extra(&usage.extra)?,
    })
}

/// An error, with its causes in a row.
pub(crate) fn fault(fault: &Fault) -> wasmtime::Result<wit::Fault> {
    let mut causes = Vec::new();
    let mut next = fault.cause();
    while let Some(cause) = next.filter(|_| causes.len() < MAX_CAUSES) {
        causes.push(wit::Cause {
            message: cause.message().to_owned(),
            name: Some(cause.name().to_owned()),
            code: cause.code().map(str::to_owned),
        });
        next = cause.cause();
    }
    Ok(wit::Fault {
        message: fault.message().to_owned(),
        name: Some(fault.name().to_owned()),
        code: fault.code().map(str::to_owned),
        origin: match fault.origin() {
            FaultOrigin::Host => wit::FaultOrigin::Contract,
            FaultOrigin::Foreign => wit::FaultOrigin::Foreign,
            FaultOrigin::NotAnError => wit::FaultOrigin::NotAnError,
        },
        failure: fault.failure().map(failure).transpose()?,
        causes,
    })
}

/// A guest's error.
pub(crate) fn admit_fault(admit: &mut Admit<'_>, fault: wit::Fault) -> Result<Fault, Refused> {
    admit.charge(fault.message.len())?;
    if fault.causes.len() > MAX_CAUSES {
        return Err(Refused::at(
            "causes",
            format!("are {}; at most {MAX_CAUSES} cross", fault.causes.len()),
        ));
    }
    let failure = fault
        .failure
        .map(|failure| admit_failure(admit, failure).map_err(|fault| fault.inside("failure")))
        .transpose()?;
    let mut built = match (failure, fault.origin) {
        (Some(failure), wit::FaultOrigin::Contract) => Fault::llm(failure),
        (_, wit::FaultOrigin::Contract) => {
            contract(fault.name.as_deref(), fault.code.as_deref(), fault.message)
        }
        (_, wit::FaultOrigin::Foreign) => claimed(Fault::foreign(fault.message), fault.name, fault.code),
        (_, wit::FaultOrigin::NotAnError) => Fault::not_an_error(fault.message),
    };
    let mut cause = None;
    for link in fault.causes.into_iter().rev() {
        admit.charge(link.message.len())?;
        let mut fault = claimed(Fault::foreign(link.message), link.name, link.code);
        if let Some(cause) = cause.take() {
            fault = fault.with_cause(cause);
        }
        cause = Some(fault);
    }
    if let Some(cause) = cause {
        built = built.with_cause(cause);
    }
    Ok(built)
}

/// An error that the plugin vouches for.
fn contract(name: Option<&str>, code: Option<&str>, message: String) -> Fault {
    let name = name.unwrap_or("Error");
    match code {
        Some(code) => Fault::host(name, code, message),
        None => Fault::plain(message).with_name(name),
    }
}

fn claimed(fault: Fault, name: Option<String>, code: Option<String>) -> Fault {
    let fault = match name {
        Some(name) => fault.with_name(name),
        None => fault,
    };
    match code {
        Some(code) => fault.with_code(code),
        None => fault,
    }
}

fn admit_failure(admit: &mut Admit<'_>, failure: wit::Failure) -> Result<LlmFailure, Refused> {
    admit.charge(failure.message.len() + failure.code.len())?;
    let retry = failure
        .provider_retry_after_ms
        .map(|number| parse(admit, &number).map_err(|fault| fault.inside("provider-retry-after-ms")))
        .transpose()?;
    let known = [
        ("message", Some(Json::from(failure.message))),
        ("code", Some(Json::from(failure.code))),
        ("status", failure.status.map(Json::from)),
        ("providerRetryAfterMs", retry),
        ("requestId", failure.request_id.map(Json::from)),
    ];
    let failure: LlmFailure = record(admit, known, failure.extra.as_deref())?;
    failure
        .validate()
        .map_err(|fault| Refused::at("", fault.to_string()))?;
    Ok(failure)
}
