//! Chunks known beforehand, as a stream that still heeds its signal.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use hames_types::chunk::StreamChunk;
use hames_types::fault::Fault;
use hames_types::port::llm::ChunkStream;
use hames_types::signal::Signal;

use crate::fail::{code, failure};

/// A stream of one item.
pub(crate) fn just(item: Result<StreamChunk, Fault>) -> ChunkStream {
    all([item].into(), Signal::never())
}

/// A stream of `items`; once `signal` is raised it ends in an `ABORTED` failure instead.
pub(crate) fn all(items: VecDeque<Result<StreamChunk, Fault>>, signal: Signal) -> ChunkStream {
    Box::pin(Items { items, signal })
}

struct Items {
    items: VecDeque<Result<StreamChunk, Fault>>,
    signal: Signal,
}

impl Stream for Items {
    type Item = Result<StreamChunk, Fault>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if !self.items.is_empty() && self.signal.is_raised() {
            self.items.clear();
            return Poll::Ready(Some(Err(aborted())));
        }
        Poll::Ready(self.items.pop_front())
    }
}

/// The failure of a call its caller ended.
pub(crate) fn aborted() -> Fault {
    Fault::llm(failure(code::ABORTED, "the call was cancelled"))
}
