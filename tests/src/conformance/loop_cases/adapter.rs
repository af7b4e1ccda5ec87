//! A scripted model: each call takes the next response of its queue (part 4 of the format).

use std::sync::Arc;

use futures_util::stream;
use hames_types::chunk::StreamChunk;
use hames_types::fault::Fault;
use hames_types::json::{FromJson, Json, to_json};
use hames_types::port::llm::{ChunkStream, Llm};
use hames_types::request::Request;
use hames_types::signal::Signal;

use super::world::World;
use super::{fault, ops};

/// One adapter of a script.
pub(super) struct ScriptAdapter {
    pub(super) world: Arc<World>,
    pub(super) index: usize,
}

/// A response that is being played.
struct Playing {
    world: Arc<World>,
    items: std::vec::IntoIter<Json>,
    heeds_abort: bool,
    signal: Signal,
}

impl Llm for ScriptAdapter {
    fn stream(&self, request: Request, signal: Signal) -> ChunkStream {
        if let Ok(request) = to_json(&request) {
            self.world.record(|record| record.requests.push(request));
        }
        let Some(response) = self.world.next_response(self.index) else {
            let fault = Fault::plain("the script has no further response");
            return Box::pin(stream::once(std::future::ready(Err(fault))));
        };
        let heeds_abort = response.get("ignoreAbort").and_then(Json::as_bool) != Some(true);
        let items = response
            .as_array()
            .or_else(|| response.get("items").and_then(Json::as_array));
        let items = items.cloned().unwrap_or_default();
        let playing = Playing {
            world: Arc::clone(&self.world),
            items: items.into_iter(),
            heeds_abort,
            signal,
        };
        Box::pin(stream::unfold(Some(playing), |playing| async {
            let mut playing = playing?;
            match playing.next().await {
                Some(Ok(chunk)) => Some((Ok(chunk), Some(playing))),
                Some(Err(fault)) => Some((Err(fault), None)),
                None => None,
            }
        }))
    }
}

impl Playing {
    async fn next(&mut self) -> Option<Result<StreamChunk, Fault>> {
        loop {
            self.world.idle().await;
            let item = self.items.next()?;
            if self.heeds_abort && self.signal.is_raised() {
                return Some(Err(Fault::foreign("aborted")));
            }
            if item.get("type").is_some() {
                return Some(StreamChunk::from_json(item).map_err(|error| Fault::plain(error.to_string())));
            }
            if let Some(error) = item.get("throw") {
                return Some(Err(fault::thrown(error)));
            }
            if item.get("hang").is_some() {
                self.signal.raised().await;
            } else if let Err(fault) = ops::pause(&self.world, &item).await {
                return Some(Err(fault));
            }
        }
    }
}
