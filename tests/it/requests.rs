//! Is every request what its log says, and nothing else? (R-REC)

use std::fs;
use std::path::Path;
use std::sync::Arc;

use hames_agent::{RequestMismatch, check_request};
use hames_log::{Draft, Log, Session, SessionMeta, Sessions};
use hames_tests::conformance::loop_cases::play_out;
use hames_tests::conformance::value;
use hames_types::content::Content;
use hames_types::id::{ModelId, ProviderId, SessionId};
use hames_types::json::{Extra, Json, JsonMap};
use hames_types::message::Message;
use hames_types::port::clock::FixedClock;
use hames_types::request::{CallConfig, Request, ToolSchema};
use serde_json::json;

/// A session in which a request is due: one prompt, an open step, a header.
fn session() -> Arc<Session> {
    let sessions = Sessions::new(Arc::new(FixedClock(0)));
    let id = Some(SessionId::new("main"));
    let session = sessions.create(id, SessionMeta::default(), Log::new()).unwrap();
    let tool = json!({"name": "t", "description": "", "parameters": {}});
    let config = json!({"provider": "p", "model": "m", "temperature": 0.5, "maxTokens": 9, "stop": ["x"]});
    let prefix = json!([{"role": "user", "content": [{"type": "text", "text": "before"}]}]);
    let header = json!({"config": config, "system": "s", "tools": [tool], "messagePrefix": prefix});
    let source = json!({"kind": "user"});
    let trigger = json!({"kind": "message", "source": source});
    let content = json!([{"type": "text", "text": "prompt"}]);
    let late = json!([{"type": "text", "text": "too late for this request"}]);
    for (kind, data) in [
        ("turn/start", json!({"turn": 1, "trigger": trigger})),
        ("user/message", json!({"content": content, "source": source})),
        ("step/start", json!({"turn": 1, "step": 1})),
        ("request/header", json!({"header": header, "reason": "initial"})),
        ("context/message", json!({"content": late, "source": source})),
    ] {
        let op = kind.ends_with("/message").then(|| Json::from("append"));
        session
            .append(Draft::read(kind, data, op, None).unwrap())
            .unwrap();
    }
    session
}

/// The request that the session's log says is due.
fn due() -> Request {
    let said = |text: &str| Arc::new(Message::user(Content::text(text)));
    let tool = ToolSchema {
        name: "t".into(),
        description: "".into(),
        parameters: Arc::new(JsonMap::new()),
        extra: Extra::NONE,
    };
    let config = CallConfig {
        temperature: Some("0.5".parse().unwrap()),
        max_tokens: Some(9),
        stop: Some(vec!["x".into()]),
        ..CallConfig::new(ProviderId::new("p"), ModelId::new("m"))
    };
    Request {
        config,
        system: Some("s".into()),
        tools: Some(Arc::new(vec![tool])),
        messages: [said("before"), said("prompt")].into_iter().collect(),
        session_id: Some(SessionId::new("main")),
        purpose: None,
    }
}

/// What is named as different, and what makes it so.
type Change = (&'static str, fn(&mut Request));

#[test]
fn r_rec_1_a_request_that_differs_anywhere_from_its_log_is_found() {
    let session = session();
    check_request(&session, &due()).unwrap();
    let changes: [Change; 9] = [
        ("config", |request| request.config.model = ModelId::new("other")),
        // D-2: the provider is compared, too.
        ("config", |request| {
            request.config.provider = ProviderId::new("other");
        }),
        ("config", |request| request.config.temperature = None),
        ("config", |request| request.config.max_tokens = Some(8)),
        ("config", |request| request.config.stop = None),
        ("system", |request| request.system = None),
        ("tools", |request| request.tools = None),
        ("message 0", |request| {
            request.messages = request.messages.iter().skip(1).cloned().collect();
        }),
        ("message 2", |request| {
            let more = Message::user(Content::text("more"));
            request.messages.push(Arc::new(more));
        }),
    ];
    for (what, change) in changes {
        let mut request = due();
        change(&mut request);
        let found = match check_request(&session, &request).unwrap_err() {
            RequestMismatch::Field(field) => field.to_owned(),
            RequestMismatch::Message { index } => format!("message {index}"),
            other @ (RequestMismatch::NoHeader | RequestMismatch::NoStep | RequestMismatch::Derive(_)) => {
                panic!("{other}")
            }
        };
        assert_eq!(found, what);
    }
}

fn kinds<'a>(shown: &'a Json, kind: &'a str) -> impl Iterator<Item = &'a Json> {
    let events = shown["events"].as_array().into_iter().flatten();
    events.filter(move |event| event["type"] == kind)
}

/// Whether anything in a log may make a request begin otherwise than the one before it: a replacement, or a header
/// after the first.
fn may_begin_otherwise(shown: &Json) -> bool {
    let events = shown["events"].as_array().into_iter().flatten();
    let mut replacements = events.filter(|event| event["surfaceOp"].is_object());
    replacements.next().is_some() || kinds(shown, "request/header").count() > 1
}

#[test]
fn r_rec_4_each_request_continues_the_one_before_it_unless_the_log_says_why_not() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/cases");
    let mut continued = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let case: Json = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        if case["script"]["persistence"].is_object() || case["otherSessions"].is_object() {
            continue;
        }
        let shown = play_out(&value::decode(&case["script"])).unwrap();
        if may_begin_otherwise(&shown) {
            continue;
        }
        let requests = shown["requests"].as_array().unwrap();
        for (before, after) in requests.iter().zip(requests.iter().skip(1)) {
            let (old, new) = (
                before["messages"].as_array().unwrap(),
                after["messages"].as_array().unwrap(),
            );
            assert_eq!(Some(&old[..]), new.get(..old.len()), "{}", path.display());
            for key in ["provider", "model", "system", "tools"] {
                assert_eq!(before[key], after[key], "{}: {key}", path.display());
            }
            continued += 1;
        }
    }
    assert!(continued > 100, "only {continued} requests continue another");
}
