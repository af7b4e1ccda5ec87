//! What every adapter does with a good answer: says it in order, counts it once, and can send it back.

use std::sync::Arc;

use hames_types::chunk::FinishReason;
use hames_types::content::{Content, ContentBlock, ToolResultBlock};
use hames_types::id::{ModelId, ProviderId};
use hames_types::json::{Extra, Json};
use hames_types::message::{Message, Provenance};
use hames_types::request::Request;

use super::kit::{Heard, bytes_of, call, ok, request, tool};
use super::protocols::{ALL, PIECES, Protocol};

/// A name no provider takes as it is.
const TOOL: &str = "weather/get now";

fn answer(script: &super::protocols::Script) -> Json {
    ok(&bytes_of(&script.events, "\n", " "))
}

fn with_tool() -> Request {
    Request {
        tools: Some(Arc::new(vec![tool(TOOL)])),
        ..request()
    }
}

/// The name the provider sees, read off the request.
fn wire_name(body: &Json) -> String {
    let places = [
        "/tools/0/function/name",
        "/tools/0/name",
        "/tools/0/functionDeclarations/0/name",
    ];
    let name = places
        .iter()
        .find_map(|place| body.pointer(place))
        .expect("the request offers a tool");
    name.as_str().unwrap().to_owned()
}

async fn thinking_and_calling(protocol: Protocol) -> (Heard, String) {
    let (_, received) = call(protocol, &answer(&protocol.plain()), with_tool()).await;
    let wire = wire_name(&serde_json::from_str(&received[0].body).unwrap());
    let (heard, _) = call(
        protocol,
        &answer(&protocol.thinking_and_calling(&wire)),
        with_tool(),
    )
    .await;
    (heard, wire)
}

/// The request after the tool has answered.
fn second_request(heard: &Heard, content: Content, state: Option<Json>) -> Request {
    let provenance = Provenance {
        replay_state: state,
        ..Provenance::of(ProviderId::new("p"), ModelId::new("m"))
    };
    let call_id = heard.said.content.tool_calls().next().unwrap().id.clone();
    let result = ContentBlock::ToolResult(ToolResultBlock {
        tool_call_id: call_id,
        content: Content::text("rain"),
        is_error: None,
        extra: Extra::NONE,
    });
    let mut request = with_tool();
    request
        .messages
        .push(Arc::new(Message::assistant(content, Some(Arc::new(provenance)))));
    request
        .messages
        .push(Arc::new(Message::user(Content::from(vec![result]))));
    request
}

async fn sent(protocol: Protocol, request: Request) -> String {
    let (_, received) = call(protocol, &answer(&protocol.plain()), request).await;
    received[0].body.clone()
}

#[tokio::test]
async fn a_plain_answer_is_said_in_pieces_and_counted_once() {
    for protocol in ALL {
        let (heard, received) = call(protocol, &answer(&protocol.plain()), request()).await;
        assert_eq!(heard.text(), PIECES.concat(), "{protocol:?}");
        assert_eq!(heard.said.finish, FinishReason::STOP, "{protocol:?}");
        let usage = heard.said.usage.unwrap();
        assert_eq!(
            (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens),
            (5, Some(4), 5),
            "{protocol:?}"
        );
        assert_eq!(usage.total_tokens(), 14, "{protocol:?}");
        assert!(
            received[0]
                .headers
                .iter()
                .any(|(name, value)| name == "user-agent" && value.starts_with("hames/"))
        );
    }
}

#[tokio::test]
async fn a_tool_is_called_by_its_own_name_whatever_the_provider_takes() {
    for protocol in ALL {
        let (heard, wire) = thinking_and_calling(protocol).await;
        assert_ne!(wire, TOOL);
        let calls: Vec<_> = heard.said.content.tool_calls().collect();
        assert_eq!(calls.len(), 1, "{protocol:?}");
        assert_eq!(calls[0].name, TOOL, "{protocol:?}");
        assert_eq!(calls[0].arguments, r#"{"city":"Paris"}"#, "{protocol:?}");
        assert!(!calls[0].id.as_str().is_empty(), "{protocol:?}");
        assert!(
            matches!(heard.said.finish, FinishReason::ToolCalls(_)),
            "{protocol:?}"
        );
        assert!(
            matches!(heard.said.content[0], ContentBlock::Reasoning(_)),
            "{protocol:?}"
        );
    }
}

#[tokio::test]
async fn what_a_provider_sealed_goes_back_with_the_answer_it_belongs_to() {
    for protocol in ALL {
        let (heard, wire) = thinking_and_calling(protocol).await;
        let state = heard.said.replay_state.clone();
        let body = sent(
            protocol,
            second_request(&heard, heard.said.content.clone(), state.clone()),
        )
        .await;
        assert!(
            body.contains(&wire) && body.contains("rain") && body.contains("Paris"),
            "{protocol:?} {body}"
        );
        assert!(!body.contains(TOOL), "{protocol:?} {body}");
        let sealed = matches!(
            protocol,
            Protocol::Messages | Protocol::Responses | Protocol::Gemini
        );
        assert_eq!(body.contains("SEAL"), sealed, "{protocol:?} {body}");
        if protocol == Protocol::DeepSeek {
            assert!(body.contains(r#""reasoning_content":"hm""#), "{body}");
        }
    }
}

#[tokio::test]
async fn a_seal_is_dropped_if_the_answer_is_not_the_one_it_was_made_for() {
    for protocol in ALL {
        let (heard, _) = thinking_and_calling(protocol).await;
        let state = heard.said.replay_state.clone();
        let mut blocks = heard.said.content.to_vec();
        blocks.insert(0, ContentBlock::text("put in front"));
        let body = sent(protocol, second_request(&heard, Content::from(blocks), state)).await;
        assert!(!body.contains("SEAL"), "{protocol:?} {body}");
        // Another protocol's state is nobody's here.
        let foreign =
            serde_json::json!({ "maker": "other", "blocks": 2, "kept": [{ "at": 0, "signature": "SEAL" }] });
        let body = sent(
            protocol,
            second_request(&heard, heard.said.content.clone(), Some(foreign)),
        )
        .await;
        assert!(!body.contains("SEAL"), "{protocol:?} {body}");
    }
}

#[tokio::test]
async fn odd_histories_are_sent_without_a_panic() {
    let odd: Vec<Arc<Message>> = vec![
        Arc::new(Message::assistant(Content::empty(), None)),
        Arc::new(Message::user(Content::empty())),
        Arc::new(Message::assistant(
            Content::from(vec![
                ContentBlock::tool_call(hames_types::id::CallId::new(""), "", "{not json"),
                ContentBlock::tool_call(hames_types::id::CallId::new("a/b c"), "x".repeat(300), "[1]"),
                ContentBlock::reasoning("unsigned"),
            ]),
            None,
        )),
        Arc::new(Message::user(Content::from(vec![ContentBlock::ToolResult(
            ToolResultBlock {
                tool_call_id: hames_types::id::CallId::new("ghost"),
                content: Content::empty(),
                is_error: Some(true),
                extra: Extra::NONE,
            },
        )]))),
    ];
    for protocol in ALL {
        let mut request = with_tool();
        for message in &odd {
            request.messages.push(Arc::clone(message));
        }
        request.config.stop = Some(vec!["END".into()]);
        request.config.max_tokens = Some(7);
        let (heard, received) = call(protocol, &answer(&protocol.plain()), request).await;
        assert!(heard.whole, "{protocol:?}");
        let body: Json = serde_json::from_str(&received[0].body).unwrap();
        assert!(body.is_object(), "{protocol:?}");
    }
}
