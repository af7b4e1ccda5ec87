//! The request header a log ends with, and when two headers are the same (R-HDR).

use std::sync::Arc;

use hames_types::event::{Event, EventBody};
use hames_types::id::Seq;
use hames_types::json::DecodeError;
use hames_types::message::History;
use hames_types::request::{CallConfig, RequestHeader};

/// Whether two headers ask for the same (R-HDR-3).
///
/// Tool order counts; whether something empty is there or not doesn't (R-HDR-2). Unknown fields of the config don't
/// count, as no adapter reads them; those of tools and messages do, as they are sent.
#[must_use]
pub fn same_header(a: &RequestHeader, b: &RequestHeader) -> bool {
    same_config(&a.config, &b.config)
        && filled(&a.system, |text| text.is_empty()) == filled(&b.system, |text| text.is_empty())
        && filled(&a.tools, |tools| tools.is_empty()) == filled(&b.tools, |tools| tools.is_empty())
        && filled(&a.message_prefix, History::is_empty) == filled(&b.message_prefix, History::is_empty)
}

/// Field by field (R-TYPE-3): an absent `stop` isn't an empty one, a temperature is its value and not its text.
fn same_config(a: &CallConfig, b: &CallConfig) -> bool {
    let same_temperature = match (&a.temperature, &b.temperature) {
        (Some(a), Some(b)) => a == b || a.as_f64() == b.as_f64(),
        (a, b) => a == b,
    };
    same_temperature
        && a.provider == b.provider
        && a.model == b.model
        && a.max_tokens == b.max_tokens
        && a.stop == b.stop
}

fn filled<T>(value: &Option<T>, is_empty: impl Fn(&T) -> bool) -> Option<&T> {
    value.as_ref().filter(|value| !is_empty(value))
}

/// The header of a growing log: the last one logged, in canonical form (R-HDR-1).
#[derive(Debug, Clone, Default)]
pub(crate) struct HeaderFold {
    last: Option<Result<Arc<RequestHeader>, (Seq, DecodeError)>>,
}

impl HeaderFold {
    pub(crate) fn follow(&mut self, event: &Event) {
        match event.data.body() {
            Ok(EventBody::RequestHeader(logged)) => {
                self.last = Some(Ok(Arc::new(logged.header.clone().canonical())));
            }
            Ok(_) => {}
            Err(fault) if event.kind() == "request/header" => {
                self.last = Some(Err((event.seq, fault.clone())));
            }
            Err(_) => {}
        }
    }

    pub(crate) fn header(&self) -> Result<Option<&Arc<RequestHeader>>, &(Seq, DecodeError)> {
        match &self.last {
            None => Ok(None),
            Some(Ok(header)) => Ok(Some(header)),
            Some(Err(fault)) => Err(fault),
        }
    }
}

/// The header a log ends with, from scratch; `None` before the first.
///
/// # Errors
/// The header event whose payload isn't a header.
pub fn fold_header(events: &[Arc<Event>]) -> Result<Option<Arc<RequestHeader>>, (Seq, DecodeError)> {
    let mut fold = HeaderFold::default();
    if let Some(last) = events.iter().rev().find(|event| event.kind() == "request/header") {
        fold.follow(last);
    }
    fold.header().map(|header| header.cloned()).map_err(Clone::clone)
}
