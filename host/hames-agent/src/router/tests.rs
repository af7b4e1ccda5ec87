//! Routes, catalogues, re-routing, and whose failure a failure is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures_util::{FutureExt, StreamExt};
use hames_log::Place;
use hames_types::chunk::StreamChunk;
use hames_types::failure::LlmFailure;
use hames_types::fault::Fault;
use hames_types::id::{ModelId, ProviderId};
use hames_types::json::{FromJson, Json, to_json};
use hames_types::message::Message;
use hames_types::port::listener::{Decide, Next};
use hames_types::port::llm::{ChunkStream, Llm, ModelInfo};
use hames_types::port::seam::{LlmStream, StreamAsk};
use hames_types::request::{CallConfig, Request};
use hames_types::signal::Signal;
use parking_lot::Mutex;
use serde_json::json;
use smol_str::SmolStr;

use super::{Router, failure_of};
use crate::listeners::Listeners;

/// An adapter that answers with given items and keeps what it was asked.
#[derive(Default)]
struct Scripted {
    name: Option<SmolStr>,
    models: Vec<ModelInfo>,
    window: Option<u64>,
    items: Vec<Result<StreamChunk, Fault>>,
    asked: Mutex<Vec<Request>>,
    polled: Arc<AtomicUsize>,
    live: Arc<()>,
}

#[async_trait]
impl Llm for Scripted {
    fn stream(&self, request: Request, _: Signal) -> ChunkStream {
        self.asked.lock().push(request);
        let (polled, live) = (Arc::clone(&self.polled), Arc::clone(&self.live));
        let mut items = self.items.clone().into_iter();
        Box::pin(futures_util::stream::poll_fn(move |_| {
            let _held = &live;
            polled.fetch_add(1, Ordering::Relaxed);
            items.next().into()
        }))
    }

    fn provider_name(&self, _: &ProviderId) -> Option<SmolStr> {
        self.name.clone()
    }

    async fn models(&self, _: &ProviderId) -> Result<Vec<ModelInfo>, Fault> {
        Ok(self.models.clone())
    }

    async fn context_window_tokens(&self, _: &ProviderId, _: &ModelId) -> Result<Option<u64>, Fault> {
        Ok(self.window)
    }
}

fn ids(ids: &[&str]) -> Vec<ProviderId> {
    ids.iter().map(|id| ProviderId::new(*id)).collect()
}

fn routed(providers: &[&str], adapter: Scripted) -> (Router, Arc<Scripted>) {
    let (router, adapter) = (Router::new(), Arc::new(adapter));
    router
        .register(&ids(providers), Arc::clone(&adapter) as _)
        .unwrap();
    (router, adapter)
}

fn request(provider: &str, messages: Json) -> Request {
    let messages = Vec::<Arc<Message>>::from_json(messages).unwrap();
    Request {
        config: CallConfig::new(ProviderId::new(provider), ModelId::new("m")),
        system: None,
        tools: None,
        messages: messages.into_iter().collect(),
        session_id: None,
        purpose: None,
    }
}

fn ask(provider: &str, from_loop: bool) -> StreamAsk {
    StreamAsk {
        request: request(provider, json!([])),
        from_loop,
        signal: Signal::never(),
    }
}

fn finish() -> Result<StreamChunk, Fault> {
    Ok(StreamChunk::from_json(json!({"type": "finish", "reason": {"kind": "stop"}})).unwrap())
}

/// The first failure of a call, and whether it counts as the adapter's.
async fn first_failure(router: &Router, listeners: &Listeners, ask: StreamAsk) -> (Fault, bool) {
    let mut call = router.stream(listeners, ask).await.unwrap();
    while let Some(item) = call.stream.next().await {
        if let Err(fault) = item {
            let is_adapters = call.is_adapters(&fault);
            return (fault, is_adapters);
        }
    }
    panic!("the call has no failure");
}

#[test]
fn r_llm_1_an_adapter_is_registered_for_all_its_routes_or_for_none() {
    let (router, _) = routed(&["taken"], Scripted::default());
    let nameless = Scripted {
        name: Some("".into()),
        ..Scripted::default()
    };
    for (providers, adapter, code) in [
        (ids(&[]), Scripted::default(), "INVALID_ADAPTER"),
        (ids(&["new", ""]), Scripted::default(), "INVALID_ADAPTER"),
        (ids(&["new"]), nameless, "INVALID_ADAPTER"),
        (ids(&["new", "new"]), Scripted::default(), "DUPLICATE_ADAPTER"),
        (ids(&["new", "taken"]), Scripted::default(), "DUPLICATE_ADAPTER"),
    ] {
        let refused = router.register(&providers, Arc::new(adapter)).unwrap_err();
        assert_eq!(refused.code(), code, "{providers:?}");
        let known: Vec<_> = router.providers().into_iter().map(|info| info.id).collect();
        assert_eq!(known, ids(&["taken"]));
    }
}

#[tokio::test]
async fn r_llm_2_a_provider_nobody_serves_is_the_call_s_own_failure() {
    let (router, adapter) = routed(&["a"], Scripted::default());
    let (fault, is_adapters) = first_failure(&router, &Listeners::new(), ask("b", true)).await;
    assert_eq!((fault.trusted_code(), is_adapters), (Some("NO_ADAPTER"), true));

    let adapter: Arc<dyn Llm> = adapter;
    router.unregister(&adapter);
    let gone = router.models(&ProviderId::new("a")).await.unwrap_err();
    assert_eq!(gone.code(), Some("NO_ADAPTER"));
}

#[tokio::test]
async fn r_llm_3_a_catalogue_is_checked_and_binds_nobody() {
    let model = |provider: &str, id: &str, name: &str| ModelInfo {
        provider: ProviderId::new(provider),
        id: ModelId::new(id),
        name: name.into(),
        description: None,
    };
    let good = vec![model("a", "m1", "One"), model("a", "m2", "Two")];
    let (router, adapter) = routed(
        &["a"],
        Scripted {
            models: good.clone(),
            items: vec![finish()],
            ..Scripted::default()
        },
    );
    assert_eq!(router.models(&ProviderId::new("a")).await.unwrap(), good);
    // The request names `m`, which the catalogue doesn't.
    let mut call = router.stream(&Listeners::new(), ask("a", false)).await.unwrap();
    assert!(call.stream.next().await.is_some_and(|item| item.is_ok()));
    assert_eq!(adapter.asked.lock().len(), 1);

    for bad in [
        vec![model("b", "m1", "One")],
        vec![model("a", "", "One")],
        vec![model("a", "m1", "")],
        vec![model("a", "m1", "One"), model("a", "m1", "Again")],
    ] {
        let scripted = Scripted {
            models: bad,
            ..Scripted::default()
        };
        let (router, _) = routed(&["a"], scripted);
        let refused = router.models(&ProviderId::new("a")).await.unwrap_err();
        assert_eq!(refused.code(), Some("INVALID_CATALOG"));
    }
}

#[tokio::test]
async fn r_llm_3_a_window_is_above_zero_or_unknown() {
    for (window, expected) in [
        (None, Ok(None)),
        (Some(9), Ok(Some(9))),
        (Some(0), Err("INVALID_MODEL_CONTEXT")),
    ] {
        let scripted = Scripted {
            window,
            ..Scripted::default()
        };
        let (router, _) = routed(&["a"], scripted);
        let found = router
            .context_window_tokens(&ProviderId::new("a"), &ModelId::new("anything"))
            .await;
        assert_eq!(
            found.as_ref().map_err(|fault| fault.code().unwrap()),
            expected.as_ref().map_err(|code| *code)
        );
    }
}

/// Sends every call to another provider, or fails, or answers by itself.
enum Middle {
    Reroutes(&'static str),
    Fails(Fault),
}

#[async_trait]
impl Decide<LlmStream> for Middle {
    async fn decide(&self, ask: &StreamAsk, next: Next<'_, LlmStream>) -> Result<ChunkStream, Fault> {
        match self {
            Self::Reroutes(provider) => {
                let mut request = ask.request.clone();
                request.config.provider = ProviderId::new(*provider);
                next.run_with(request).await
            }
            Self::Fails(fault) => Err(fault.clone()),
        }
    }
}

#[tokio::test]
async fn r_llm_4_a_listener_may_re_route_a_call_but_none_of_the_loop_s() {
    let (router, adapter) = routed(&["real"], Scripted::default());
    let listeners = Listeners::new();
    listeners.add::<LlmStream>(None, Place::Last, Arc::new(Middle::Reroutes("real")));

    router.stream(&listeners, ask("unknown", false)).await.unwrap();
    assert_eq!(adapter.asked.lock()[0].config.provider, ProviderId::new("real"));

    let refused = router.stream(&listeners, ask("unknown", true)).await.map(|_| ());
    assert!(refused.unwrap_err().message().contains("bound to its log"));
    assert_eq!(adapter.asked.lock().len(), 1);
}

#[tokio::test]
async fn r_llm_5_replay_state_reaches_only_the_instance_that_made_it() {
    let (router, adapter) = routed(&["a", "also-a"], Scripted::default());
    router
        .register(&ids(&["other"]), Arc::new(Scripted::default()))
        .unwrap();
    let from = |provider: &str| {
        let provenance = json!({"provider": provider, "model": "m", "replayState": {"private": 1}});
        json!({"role": "assistant", "content": [], "provenance": provenance})
    };
    let messages = json!([from("a"), from("also-a"), from("other"), from("gone")]);
    let ask = StreamAsk {
        request: request("a", messages),
        ..ask("a", false)
    };
    router.stream(&Listeners::new(), ask).await.unwrap();

    let seen = to_json(&adapter.asked.lock()[0].messages).unwrap();
    let kept: Vec<_> = (0..4)
        .map(|at| !seen[at]["provenance"]["replayState"].is_null())
        .collect();
    assert_eq!(kept, [true, true, false, false]);
    assert_eq!(seen[3]["provenance"]["provider"], "gone", "the route stays");
}

#[tokio::test]
async fn r_llm_6_a_stream_that_is_dropped_is_released_and_one_that_failed_is_not_asked_again() {
    let scripted = Scripted {
        items: vec![finish(), Err(Fault::foreign("broken")), finish()],
        ..Scripted::default()
    };
    let (router, adapter) = routed(&["a"], scripted);
    let held = Arc::strong_count(&adapter.live);
    let mut call = router.stream(&Listeners::new(), ask("a", false)).await.unwrap();
    assert_eq!(Arc::strong_count(&adapter.live), held + 1);
    call.stream.next().await.unwrap().unwrap();
    call.stream.next().await.unwrap().unwrap_err();
    assert!(call.stream.next().await.is_none());
    assert!(call.stream.next().now_or_never().unwrap().is_none());
    assert_eq!(adapter.polled.load(Ordering::Relaxed), 2);
    drop(call);
    assert_eq!(Arc::strong_count(&adapter.live), held);
}

#[test]
fn r_llm_7_and_8_facts_are_believed_only_from_those_who_vouch_for_them() {
    let record = |code: &str| LlmFailure {
        status: Some(503),
        ..LlmFailure::new(code, "said")
    };
    let invalid = LlmFailure {
        status: Some(9),
        ..record("SERVER")
    };
    let cases = [
        (Fault::llm(record("SERVER")), record("SERVER")),
        (
            Fault::llm(record("SERVER")).with_code("OTHER"),
            LlmFailure::new("OTHER", "said"),
        ),
        (Fault::llm(invalid), LlmFailure::new("SERVER", "said")),
        (
            Fault::host("E", "CODED", "text"),
            LlmFailure::new("CODED", "text"),
        ),
        (
            Fault::foreign("text").with_code("CLAIMED"),
            LlmFailure::new("UNKNOWN", "text"),
        ),
        (Fault::not_an_error("text"), LlmFailure::new("UNKNOWN", "text")),
    ];
    for (fault, expected) in cases {
        assert_eq!(failure_of(&fault), expected, "{fault:?}");
    }
    let silent = failure_of(&Fault::foreign(""));
    assert!(silent.validate().is_ok(), "a failure always says something");
}

#[tokio::test]
async fn r_llm_9_only_what_this_call_s_adapter_raised_is_its_failure() {
    let failing = || Scripted {
        items: vec![Err(Fault::foreign("same words"))],
        ..Scripted::default()
    };
    let (router, _) = routed(&["a"], failing());
    router.register(&ids(&["b"]), Arc::new(failing())).unwrap();
    let listeners = Listeners::new();
    let (fault, is_adapters) = first_failure(&router, &listeners, ask("a", true)).await;
    assert!(is_adapters);

    // The same words from another call, and this very fault, are another call's.
    let mut other = router.stream(&listeners, ask("b", true)).await.unwrap();
    assert!(!other.is_adapters(&fault));
    let theirs = other.stream.next().await.unwrap().unwrap_err();
    assert!(other.is_adapters(&theirs) && !other.is_adapters(&fault));

    let middle = Fault::foreign("middleware");
    listeners.add::<LlmStream>(None, Place::Last, Arc::new(Middle::Fails(middle.clone())));
    let raised = router
        .stream(&listeners, ask("a", true))
        .await
        .map(|_| ())
        .unwrap_err();
    assert!(raised.is(&middle) && !other.is_adapters(&raised));
}
