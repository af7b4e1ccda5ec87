//! The request header a log ends with, and when two headers are the same (R-HDR).

use std::sync::Arc;

use hames_types::event::{Event, EventBody};
use hames_types::id::Seq;
use hames_types::json::DecodeError;
use hames_types::request::RequestHeader;

/// Whether two headers ask for the same (R-HDR-3, R-TYPE-3): canonical form, tool order and `stop` included.
#[must_use]
pub fn same_header(a: &RequestHeader, b: &RequestHeader) -> bool {
    a == b || a.clone().canonical() == b.clone().canonical()
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
