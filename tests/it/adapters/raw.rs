//! Bytes that servers really send, and some that they shouldn't: the right message or a typed failure, never a success
//! without a finish reason.

use std::time::Duration;

use hames_llm::http::HttpSettings;
use hames_llm::limits::Limits;
use hames_types::json::Json;
use serde_json::json;

use super::kit::{bytes_of, call, call_with, ok, request};
use super::protocols::{ALL, Event, PIECES, Protocol, Script};

/// What must come of a variant.
#[derive(Debug, Clone)]
enum Expect {
    /// The whole message, and success.
    Right,
    /// This message, and success.
    Says(String),
    /// A failure of one of these codes.
    Fails(&'static [&'static str]),
}

use Expect::{Fails, Right, Says};

const MALFORMED: Expect = Fails(&["MALFORMED_RESPONSE"]);
const CLOSED: Expect = Fails(&["STREAM_CLOSED"]);

struct Variant {
    name: &'static str,
    answer: Json,
    expect: Expect,
}

fn variant(name: &'static str, answer: Json, expect: Expect) -> Variant {
    Variant { name, answer, expect }
}

fn body(name: &'static str, bytes: &[u8], expect: Expect) -> Variant {
    variant(name, ok(bytes), expect)
}

fn with(mut answer: Json, key: &str, value: Json) -> Json {
    answer[key] = value;
    answer
}

fn plain(events: &[Event]) -> Vec<u8> {
    bytes_of(events, "\n", " ")
}

/// The events with `more` in the middle.
fn in_the_middle(script: &Script, more: Event) -> Vec<u8> {
    let mut events = script.events.clone();
    events.insert(script.finish - 1, more);
    plain(&events)
}

fn replaced(script: &Script, from: &str, to: &[u8]) -> Vec<u8> {
    let bytes = plain(&script.events);
    let from = from.as_bytes();
    let at = bytes
        .windows(from.len())
        .position(|window| window == from)
        .unwrap();
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}

fn literal(data: &str) -> Event {
    Event {
        name: None,
        data: data.to_owned(),
    }
}

/// How lines, events and reads may look.
fn framing(script: &Script) -> Vec<Variant> {
    let bytes = plain(&script.events);
    let comments: Vec<u8> = [&b": keep-alive\n\n:\n\n"[..], &bytes].concat();
    let with_comments = String::from_utf8(bytes.clone())
        .unwrap()
        .replace("data:", ": ping\ndata:");
    let with_ids = String::from_utf8(bytes.clone())
        .unwrap()
        .replace("data:", "id: 7\nretry: 10\ndata:");
    let several_lines = String::from_utf8(bytes.clone())
        .unwrap()
        .replace("{\"", "{\ndata:  \"");
    let cuts = |step: usize| {
        with(
            ok(&bytes),
            "splits",
            Json::from((1..bytes.len()).step_by(step).collect::<Vec<_>>()),
        )
    };
    let close = |answer: Json| with(answer, "chunked", Json::Bool(false));
    let crab = bytes
        .windows(4)
        .position(|window| window == "🦀".as_bytes())
        .unwrap();
    let in_the_crab = with(ok(&bytes), "splits", json!([crab + 1, crab + 2, crab + 3]));
    vec![
        body("plain", &bytes, Right),
        variant("until the connection closes", close(ok(&bytes)), Right),
        body("CRLF", &bytes_of(&script.events, "\r\n", " "), Right),
        body(
            "CR",
            &bytes_of(&script.events, "\r", " "),
            Fails(&["MALFORMED_RESPONSE", "STREAM_CLOSED"]),
        ),
        body(
            "no space after the colon",
            &bytes_of(&script.events, "\n", ""),
            Right,
        ),
        body("byte order mark", &[b"\xef\xbb\xbf", &bytes[..]].concat(), Right),
        body("comments between", &comments, Right),
        body("comments inside", with_comments.as_bytes(), Right),
        body("id and retry", with_ids.as_bytes(), Right),
        body("data over several lines", several_lines.as_bytes(), Right),
        variant("cut into pieces of 97", cuts(97), Right),
        variant("cut inside a character", in_the_crab, Right),
        body("no blank line at the end", &bytes[..bytes.len() - 2], Right),
        variant(
            "another content type",
            with(ok(&bytes), "headers", json!({ "content-type": "text/plain" })),
            Right,
        ),
    ]
}

/// What may stand in the payloads.
fn payloads(protocol: Protocol, script: &Script) -> Vec<Variant> {
    let deep = format!("{{\"x\":{}1{}}}", "[".repeat(2000), "]".repeat(2000));
    // Where a decoder skips what it doesn't know without building it, depth is no danger.
    let skips = matches!(protocol, Protocol::DeepSeek | Protocol::Compatible);
    let deep_is = if skips { Right } else { MALFORMED };
    let crab = |instead: &str| Says(PIECES.concat().replace('🦀', instead));
    let named = Event {
        name: Some("content_block_stop"),
        ..protocol.nothing()
    };
    let mut other_name = named;
    other_name.name = Some("message_stop");
    vec![
        body(
            "an event that says nothing",
            &in_the_middle(script, protocol.nothing()),
            Right,
        ),
        body(
            "an unknown object",
            &in_the_middle(script, Event::new(&json!({ "x": 1 }))),
            Right,
        ),
        body(
            "a name that its data belies",
            &in_the_middle(script, other_name),
            Right,
        ),
        body(
            "broken JSON",
            &in_the_middle(script, literal("{\"id\": oops")),
            MALFORMED,
        ),
        body("null", &in_the_middle(script, literal("null")), MALFORMED),
        body("a list", &in_the_middle(script, literal("[]")), MALFORMED),
        body("a number", &in_the_middle(script, literal("5")), MALFORMED),
        body("nothing at all", &in_the_middle(script, literal("")), MALFORMED),
        body(
            "the wrong shape",
            &in_the_middle(script, protocol.wrong_shape()),
            MALFORMED,
        ),
        body("nested too deep", &in_the_middle(script, literal(&deep)), deep_is),
        body(
            "an error object",
            &in_the_middle(script, protocol.error()),
            Fails(&["SERVER"]),
        ),
        body("a NUL", &replaced(script, "🦀", b"\\u0000"), crab("\0")),
        body(
            "no UTF-8",
            &replaced(script, "🦀", b"\xff\xfe"),
            crab("\u{fffd}\u{fffd}"),
        ),
        body(
            "half a character",
            &replaced(script, "🦀", b"\\ud83e"),
            crab("\u{fffd}"),
        ),
        body(
            "two megabytes at once",
            &replaced(script, "🦀", &[b'A'; 2_000_000]),
            crab(&"A".repeat(2_000_000)),
        ),
        body(
            "more than the limit",
            &replaced(script, "🦀", &[b'A'; 5_000_000]),
            MALFORMED,
        ),
    ]
}

/// How an answer may end.
fn ends(protocol: Protocol, script: &Script) -> Vec<Variant> {
    let bytes = plain(&script.events);
    let before_finish = plain(&script.events[..script.finish]);
    let twice: Vec<Event> = script
        .events
        .iter()
        .flat_map(|event| [event.clone(), event.clone()])
        .collect();
    let last = script.events.len() - 1;
    let finish_twice = [&script.events[..=script.finish], &script.events[script.finish..]].concat();
    let no_finish = {
        let mut events = script.events.clone();
        events.remove(script.finish);
        plain(&events)
    };
    let cut = |bytes: &[u8], end: &str| with(ok(bytes), "end", Json::from(end));
    let open = |bytes: &[u8], end: &str| with(cut(bytes, end), "chunked", Json::Bool(false));
    let broken = Fails(&["TRANSPORT", "STREAM_CLOSED"]);
    let mut ends = vec![
        body("no finish reason", &no_finish, CLOSED),
        body("nothing", b"", CLOSED),
        body("blank lines", b"\n\n\n\n", CLOSED),
        body("HTML with status 200", b"<html>gateway</html>", CLOSED),
        body("the finish twice", &plain(&finish_twice), Right),
        variant("reset after the end", cut(&bytes, "reset"), Right),
        variant(
            "the last chunk missing after the end",
            cut(&bytes, "truncated"),
            Right,
        ),
        variant(
            "reset in the middle",
            cut(&before_finish, "reset"),
            broken.clone(),
        ),
        variant(
            "reset in the middle of a body without length",
            open(&before_finish, "reset"),
            broken.clone(),
        ),
        variant(
            "cut in the middle",
            cut(&before_finish, "truncated"),
            Fails(&["TRANSPORT"]),
        ),
        variant("closed in the middle", cut(&before_finish, "close"), CLOSED),
        variant(
            "reset before the answer",
            cut(&bytes, "reset-before-headers"),
            Fails(&["TRANSPORT"]),
        ),
    ];
    if script.marker.is_some() {
        let late = [&script.events[..], &script.events[..last]].concat();
        ends.push(body("data after the end", &plain(&late), Right));
        ends.push(body("no terminal marker", &plain(&script.events[..last]), CLOSED));
    }
    if matches!(protocol, Protocol::DeepSeek | Protocol::Compatible) {
        let said = PIECES.map(|piece| piece.repeat(2)).concat();
        ends.push(body("every event twice", &plain(&twice), Says(said)));
    }
    ends
}

/// Answers that refuse.
fn refusals() -> Vec<Variant> {
    let refused = |status: u64, headers: Json, text: &str| json!({ "status": status, "headers": headers, "body": text });
    let json_type = || json!({ "content-type": "application/json" });
    let error = |message: &str| json!({ "error": { "message": message, "type": "t" } }).to_string();
    vec![
        variant("204", refused(204, json!({}), ""), Fails(&["EMPTY_RESPONSE"])),
        variant(
            "302",
            refused(302, json!({ "location": "http://127.0.0.1:1/" }), ""),
            Fails(&["HTTP_302"]),
        ),
        variant(
            "400",
            refused(400, json_type(), &error("bad")),
            Fails(&["INVALID_REQUEST"]),
        ),
        variant(
            "400 overflow",
            refused(
                400,
                json_type(),
                &error("This model's maximum context length is 8192 tokens"),
            ),
            Fails(&["CONTEXT_WINDOW_EXCEEDED"]),
        ),
        variant(
            "401",
            refused(401, json_type(), &error("bad key")),
            Fails(&["AUTH"]),
        ),
        variant(
            "429",
            refused(429, json!({ "retry-after": "1" }), &error("slow down")),
            Fails(&["RATE_LIMIT"]),
        ),
        variant(
            "500 HTML",
            refused(500, json!({ "content-type": "text/html" }), "<h1>no</h1>"),
            Fails(&["SERVER"]),
        ),
        variant(
            "503 without a body",
            refused(503, json!({}), ""),
            Fails(&["SERVER"]),
        ),
        variant(
            "529",
            refused(529, json_type(), &error("overloaded")),
            Fails(&["SERVER"]),
        ),
    ]
}

async fn play(protocol: Protocol, variants: Vec<Variant>) -> Vec<String> {
    let mut wrong = Vec::new();
    for Variant { name, answer, expect } in variants {
        let (heard, received) = call(protocol, &answer, request()).await;
        let right = match &expect {
            Right => heard.whole && heard.text() == PIECES.concat(),
            Says(text) => heard.whole && heard.text() == *text,
            Fails(codes) => codes.contains(&heard.code()),
        };
        if !right || received.len() != 1 {
            let said: String = heard.text().chars().take(60).collect();
            wrong.push(format!(
                "{protocol:?} {name}: whole {}, {said:?}, {:?}",
                heard.whole, heard.failure
            ));
        }
    }
    wrong
}

#[tokio::test]
async fn raw_bytes_give_the_right_message_or_a_typed_failure() {
    let (mut wrong, mut played) = (Vec::new(), 0);
    for protocol in ALL {
        let script = protocol.plain();
        let variants: Vec<Variant> = [
            framing(&script),
            payloads(protocol, &script),
            ends(protocol, &script),
            refusals(),
        ]
        .into_iter()
        .flatten()
        .collect();
        assert!(variants.len() >= 32);
        played += variants.len();
        wrong.extend(play(protocol, variants).await);
    }
    println!("{played} variants played");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn silence_is_a_timeout_whether_comments_break_it_or_not() {
    let limits = Limits {
        idle: Duration::from_millis(150),
        headers: Duration::from_millis(150),
        ..Limits::default()
    };
    let settings = HttpSettings {
        limits,
        ..HttpSettings::default()
    };
    for protocol in ALL {
        let script = protocol.plain();
        let half = plain(&script.events[..script.finish]);
        let pinging = [&half[..], &b": ping\n\n".repeat(60)].concat();
        let cuts: Vec<usize> = (0..60).map(|ping| half.len() + ping * 8).collect();
        let stalls = [
            with(ok(&half), "end", Json::from("stall")),
            with(ok(&half), "end", Json::from("stall-before-headers")),
            with(ok(&pinging), "splits", Json::from(cuts)),
        ];
        for answer in stalls {
            let (heard, _) = call_with(protocol, &answer, request(), &settings).await;
            assert_eq!(heard.code(), "TIMEOUT", "{protocol:?}");
        }
    }
}
