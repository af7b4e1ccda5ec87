//! Tests of the routes: who serves whom, and who sees whose state.

use std::sync::{Arc, Mutex};

use hames_types::chunk::{FinishReason, StreamChunk};
use hames_types::content::Content;
use hames_types::id::{ModelId, ProviderId};
use hames_types::json::Json;
use hames_types::message::{History, Message, Provenance};
use hames_types::port::llm::{ChunkStream, Llm};
use hames_types::request::{CallConfig, Request};
use hames_types::signal::Signal;

use super::Routes;
use crate::items::just;

/// An adapter that keeps the request it got.
#[derive(Default)]
struct Kept(Mutex<Option<Request>>);

impl Llm for Kept {
    fn stream(&self, request: Request, _: Signal) -> ChunkStream {
        *self.0.lock().unwrap() = Some(request);
        just(Ok(StreamChunk::finish(FinishReason::STOP, None)))
    }
}

fn route(name: &str) -> ProviderId {
    ProviderId::new(name)
}

fn request(to: &str, answered_by: &str) -> Request {
    let provenance = Provenance {
        replay_state: Some(Json::from(7)),
        ..Provenance::of(route(answered_by), ModelId::new("m"))
    };
    let answer = Message::assistant(Content::text("a"), Some(Arc::new(provenance)));
    Request {
        config: CallConfig::new(route(to), ModelId::new("m")),
        system: None,
        tools: None,
        messages: History::from_iter([Arc::new(answer)]),
        session_id: None,
        purpose: None,
    }
}

#[test]
fn routes_are_added_all_or_none() {
    let adapter: Arc<dyn Llm> = Arc::new(Kept::default());
    let mut routes = Routes::new();
    assert!(routes.add(&[], &adapter).is_err());
    assert!(routes.add(&[route("")], &adapter).is_err());
    assert!(routes.add(&[route("a"), route("a")], &adapter).is_err());
    routes.add(&[route("a")], &adapter).unwrap();
    assert!(routes.add(&[route("b"), route("a")], &adapter).is_err());
    assert_eq!(format!("{routes:?}"), r#"{ProviderId("a")}"#);
}

#[test]
fn replay_state_goes_back_to_the_adapter_that_made_it_and_to_nobody_else() {
    let (first, second) = (Arc::new(Kept::default()), Arc::new(Kept::default()));
    let mut routes = Routes::new();
    routes
        .add(&[route("a"), route("b")], &(Arc::clone(&first) as _))
        .unwrap();
    routes.add(&[route("c")], &(Arc::clone(&second) as _)).unwrap();
    let state = |adapter: &Kept| {
        let request = adapter.0.lock().unwrap().take().unwrap();
        let provenance = request.messages.get(0).unwrap().provenance.clone().unwrap();
        (provenance.provider.to_string(), provenance.replay_state.clone())
    };
    let called = |to, answered_by| routes.stream(request(to, answered_by), Signal::never());
    drop(called("a", "b"));
    assert_eq!(state(&first), ("b".to_owned(), Some(Json::from(7))));
    drop(called("c", "a"));
    assert_eq!(state(&second), ("a".to_owned(), None));
    drop(called("a", "gone"));
    assert_eq!(state(&first), ("gone".to_owned(), None));
}
