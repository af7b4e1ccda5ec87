//! What every adapter does on the wire: ends when told or dropped, keeps the key to itself, goes where it may.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use hames_llm::http::{HttpSettings, Proxies};
use hames_tests::conformance::adapter::server::{Answer, Server};
use hames_types::json::Json;
use hames_types::port::llm::Llm;
use hames_types::signal::{Signal, SignalReason, Trigger};
use serde_json::json;

use super::kit::{bytes_of, call, hear, ok, request};
use super::protocols::{ALL, KEY, Protocol};

/// Half an answer, and then silence.
async fn silent(protocol: Protocol) -> Server {
    let script = protocol.plain();
    let mut answer = ok(&bytes_of(&script.events[..script.finish], "\n", " "));
    answer["end"] = Json::from("stall");
    Server::start(Answer::read(&answer).unwrap()).await.unwrap()
}

async fn closed_within(server: &Server, limit: Duration) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < limit {
        if server.clients_gone() == 1 {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    false
}

#[tokio::test]
async fn a_dropped_stream_closes_its_connection_within_a_second() {
    for protocol in ALL {
        let server = silent(protocol).await;
        let adapter = protocol.adapter(&server.base_url, &Protocol::settings()).unwrap();
        let mut stream = adapter.stream(request(), Signal::never());
        assert!(stream.next().await.unwrap().is_ok());
        assert_eq!(server.clients_gone(), 0);
        drop(stream);
        assert!(
            closed_within(&server, Duration::from_secs(1)).await,
            "{protocol:?}"
        );
    }
}

#[tokio::test]
async fn a_raised_signal_ends_the_call_as_aborted_and_closes_the_connection() {
    for protocol in ALL {
        let server = silent(protocol).await;
        let adapter = protocol.adapter(&server.base_url, &Protocol::settings()).unwrap();
        let trigger = Trigger::new();
        let stream = adapter.stream(request(), trigger.signal());
        let raise = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            trigger.raise(SignalReason::Withdrawn);
        };
        let (heard, ()) = tokio::join!(hear(stream), raise);
        assert_eq!(heard.code(), "ABORTED", "{protocol:?}");
        assert!(
            closed_within(&server, Duration::from_secs(1)).await,
            "{protocol:?}"
        );
    }
}

#[tokio::test]
async fn nothing_is_sent_before_the_stream_is_polled() {
    for protocol in ALL {
        let server = silent(protocol).await;
        let adapter = protocol.adapter(&server.base_url, &Protocol::settings()).unwrap();
        let stream = adapter.stream(request(), Signal::never());
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(server.received().is_empty(), "{protocol:?}");
        drop(stream);
    }
}

#[tokio::test]
async fn a_key_that_an_error_repeats_is_taken_out_of_it() {
    for protocol in ALL {
        let body = json!({ "error": { "message": format!("no such key: {KEY}"), "type": "t" } }).to_string();
        let answer = json!({ "status": 401, "headers": { "x-request-id": "req-1" }, "body": body });
        let (heard, received) = call(protocol, &answer, request()).await;
        let failure = heard.failure.unwrap();
        assert_eq!(failure.message, "no such key: <key>", "{protocol:?}");
        assert!(
            received[0].headers.iter().any(|(_, value)| value.contains(KEY)),
            "{protocol:?}"
        );
        assert!(
            !received[0].path.contains(KEY) && !received[0].body.contains(KEY),
            "{protocol:?}"
        );
        let adapter = protocol
            .adapter("http://127.0.0.1:1", &Protocol::settings())
            .unwrap();
        assert!(!format!("{adapter:?}").contains("0123"), "{protocol:?}");
    }
}

fn through(proxies: Proxies) -> HttpSettings {
    HttpSettings {
        proxies,
        ..Protocol::settings()
    }
}

#[tokio::test]
async fn a_proxy_is_used_unless_the_host_is_excepted() {
    for protocol in ALL {
        let script = protocol.plain();
        let answer = Answer::read(&ok(&bytes_of(&script.events, "\n", " "))).unwrap();
        let proxy = Server::start(answer.clone()).await.unwrap();
        let proxied = through(Proxies {
            http: Some(proxy.base_url.clone()),
            https: Some(proxy.base_url.clone()),
            no_proxy: Some("127.0.0.1,localhost".to_owned()),
        });
        let far = protocol.adapter("http://provider.invalid", &proxied).unwrap();
        assert!(
            hear(far.stream(request(), Signal::never())).await.whole,
            "{protocol:?}"
        );
        assert!(
            proxy.received()[0].path.starts_with("http://provider.invalid/"),
            "{protocol:?}"
        );
        let near_server = Server::start(answer).await.unwrap();
        let near = protocol.adapter(&near_server.base_url, &proxied).unwrap();
        assert!(
            hear(near.stream(request(), Signal::never())).await.whole,
            "{protocol:?}"
        );
        assert_eq!(
            (near_server.received().len(), proxy.received().len()),
            (1, 1),
            "{protocol:?}"
        );
        // A secure address is asked for as a tunnel; this proxy doesn't dig one, so the call fails, and says so.
        let secure = protocol.adapter("https://provider.invalid", &proxied).unwrap();
        assert_eq!(
            hear(secure.stream(request(), Signal::never())).await.code(),
            "TRANSPORT",
            "{protocol:?}"
        );
        assert_eq!(proxy.received()[1].method, "CONNECT", "{protocol:?}");
    }
}

#[tokio::test]
async fn one_call_is_one_attempt() {
    for protocol in ALL {
        let answer = json!({ "status": 503, "headers": { "retry-after": "1" }, "body": "" });
        let (heard, received) = call(protocol, &answer, request()).await;
        assert_eq!((heard.code(), received.len()), ("SERVER", 1), "{protocol:?}");
        assert_eq!(
            heard.failure.unwrap().retry_after_ms(),
            Some(1000.0),
            "{protocol:?}"
        );
    }
}

#[test]
fn an_address_that_is_none_is_refused_before_anything_is_sent() {
    for protocol in ALL {
        for address in ["", "provider", "ftp://provider", "file:///etc/passwd"] {
            assert!(
                protocol.adapter(address, &Protocol::settings()).is_err(),
                "{protocol:?} {address}"
            );
        }
    }
}
