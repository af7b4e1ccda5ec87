//! The protocols, each with answers that say the same in its own way.

use std::sync::Arc;

use hames_llm::chat::{ChatConfig, dialect};
use hames_llm::gemini::GeminiConfig;
use hames_llm::http::{Http, HttpSettings};
use hames_llm::key::{KeySource, Secret};
use hames_llm::limits::Limits;
use hames_llm::messages::MessagesConfig;
use hames_llm::responses::ResponsesConfig;
use hames_llm::{Adapter, ConfigError};
use hames_types::json::Json;
use hames_types::port::clock::FixedClock;
use serde_json::json;

/// A key that is long enough to be found where it mustn't be.
pub(super) const KEY: &str = "sk-secret-0123456789";

/// What the plain answer says, in two pieces.
pub(super) const PIECES: [&str; 2] = ["Héllo ", "wörld 🦀"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    DeepSeek,
    Compatible,
    Messages,
    Responses,
    Gemini,
}

pub(super) const ALL: [Protocol; 5] = [
    Protocol::DeepSeek,
    Protocol::Compatible,
    Protocol::Messages,
    Protocol::Responses,
    Protocol::Gemini,
];

/// One event before it becomes bytes.
#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) name: Option<&'static str>,
    pub(super) data: String,
}

impl Event {
    pub(super) fn new(data: &Json) -> Self {
        Self {
            name: None,
            data: data.to_string(),
        }
    }

    fn named(data: &Json) -> Self {
        let name = match data["type"].as_str().unwrap_or_default() {
            "message_start" => "message_start",
            "content_block_start" => "content_block_start",
            "content_block_delta" => "content_block_delta",
            "content_block_stop" => "content_block_stop",
            "message_delta" => "message_delta",
            "message_stop" => "message_stop",
            other => panic!("an event nobody named: {other}"),
        };
        Self {
            name: Some(name),
            ..Self::new(data)
        }
    }

    fn literal(data: &str) -> Self {
        Self {
            name: None,
            data: data.to_owned(),
        }
    }
}

/// A whole answer: where its finish reason stands, and where its terminal marker.
#[derive(Debug, Clone)]
pub(super) struct Script {
    pub(super) events: Vec<Event>,
    pub(super) finish: usize,
    /// Gemini has none: the end of the connection is the end.
    pub(super) marker: Option<usize>,
}

impl Protocol {
    pub(crate) fn settings() -> HttpSettings {
        let limits = Limits {
            idle: std::time::Duration::from_secs(20),
            max_event_bytes: 4 << 20,
            ..Limits::default()
        };
        HttpSettings {
            limits,
            ..HttpSettings::default()
        }
    }

    pub(crate) fn adapter(self, base_url: &str, settings: &HttpSettings) -> Result<Adapter, ConfigError> {
        let http = Http::new(settings, Arc::new(FixedClock(0)))?;
        let base_url = base_url.to_owned();
        let key = KeySource::Value(Secret::new(KEY));
        let chat = |dialect| ChatConfig {
            base_url: Some(base_url.clone()),
            ..ChatConfig::new(dialect, key.clone())
        };
        match self {
            Self::DeepSeek => Adapter::chat(chat(&dialect::DEEPSEEK), http),
            Self::Compatible => Adapter::chat(chat(&dialect::COMPATIBLE), http),
            Self::Messages => Adapter::messages(
                MessagesConfig {
                    base_url,
                    thinking_tokens: Some(1024),
                    ..MessagesConfig::new(key)
                },
                http,
            ),
            Self::Responses => Adapter::responses(
                ResponsesConfig {
                    base_url,
                    ..ResponsesConfig::new(key)
                },
                http,
            ),
            Self::Gemini => Adapter::gemini(
                GeminiConfig {
                    base_url,
                    ..GeminiConfig::new(key)
                },
                http,
            ),
        }
    }

    /// `Héllo wörld 🦀`, then the end.
    pub(super) fn plain(self) -> Script {
        self.script(&PIECES.map(|piece| self.text(piece)).concat(), false)
    }

    /// A thought, then a call of `get.weather` with `{"city":"Paris"}`.
    pub(super) fn thinking_and_calling(self, tool: &str) -> Script {
        self.script(&[self.thought("hm"), self.call(tool)].concat(), true)
    }

    fn text(self, piece: &str) -> Vec<Json> {
        match self {
            Self::DeepSeek | Self::Compatible => vec![chunk(&json!({ "content": piece }))],
            Self::Messages => vec![
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": piece } }),
            ],
            Self::Responses => vec![json!({
                "type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": "i", "delta": piece,
            })],
            Self::Gemini => vec![candidate(&json!({ "text": piece }))],
        }
    }

    fn thought(self, text: &str) -> Vec<Json> {
        match self {
            Self::DeepSeek => vec![chunk(&json!({ "reasoning_content": text }))],
            Self::Compatible => vec![chunk(&json!({ "reasoning": text }))],
            Self::Messages => vec![
                json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "" } }),
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": text } }),
                json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "signature_delta", "signature": "SEAL" } }),
                json!({ "type": "content_block_stop", "index": 0 }),
            ],
            Self::Responses => vec![
                json!({ "type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": text }),
                json!({ "type": "response.output_item.done", "output_index": 0, "item": {
                    "type": "reasoning", "id": "rs_1", "encrypted_content": "SEAL", "summary": [{ "type": "summary_text", "text": text }],
                } }),
            ],
            Self::Gemini => vec![candidate(&json!({ "text": text, "thought": true }))],
        }
    }

    fn call(self, tool: &str) -> Vec<Json> {
        let arguments = r#"{"city":"Paris"}"#;
        match self {
            Self::DeepSeek | Self::Compatible => {
                let (head, tail) = arguments.split_at(5);
                let begin = json!({ "index": 0, "id": "c1", "type": "function", "function": { "name": tool, "arguments": head } });
                let more = json!({ "index": 0, "function": { "arguments": tail } });
                [begin, more]
                    .map(|call| chunk(&json!({ "tool_calls": [call] })))
                    .into()
            }
            Self::Messages => vec![
                json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "tool_use", "id": "c1", "name": tool, "input": {} } }),
                json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "input_json_delta", "partial_json": arguments } }),
                json!({ "type": "content_block_stop", "index": 1 }),
            ],
            Self::Responses => {
                let item = |arguments: &str| json!({ "type": "function_call", "id": "fc_1", "call_id": "c1", "name": tool, "arguments": arguments });
                vec![
                    json!({ "type": "response.output_item.added", "output_index": 1, "item": item("") }),
                    json!({ "type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "fc_1", "delta": arguments }),
                    json!({ "type": "response.output_item.done", "output_index": 1, "item": item(arguments) }),
                ]
            }
            Self::Gemini => vec![candidate(&json!({
                "functionCall": { "name": tool, "args": { "city": "Paris" } }, "thoughtSignature": "SEAL",
            }))],
        }
    }

    /// Beginning and end around what is said.
    fn script(self, said: &[Json], calls: bool) -> Script {
        let mut events: Vec<Event> = Vec::new();
        let all = |values: &[Json]| values.iter().map(Event::new).collect::<Vec<_>>();
        match self {
            Self::DeepSeek | Self::Compatible => {
                events.extend(all(&[chunk(&json!({ "role": "assistant", "content": null }))]));
                events.extend(all(said));
                let word = if calls { "tool_calls" } else { "stop" };
                let usage =
                    json!({ "prompt_tokens": 9, "completion_tokens": 5, "prompt_cache_hit_tokens": 4 });
                events.push(Event::new(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": word }], "usage": usage })));
                events.push(Event::literal("[DONE]"));
            }
            Self::Messages => {
                let usage = json!({ "input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 1 });
                events.push(Event::named(
                    &json!({ "type": "message_start", "message": { "id": "m", "usage": usage } }),
                ));
                let whole = said.iter().any(|event| event["type"] == "content_block_start");
                if !whole {
                    events.push(Event::named(&json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } })));
                }
                events.extend(said.iter().map(Event::named));
                if !whole {
                    events.push(Event::named(&json!({ "type": "content_block_stop", "index": 0 })));
                }
                let word = if calls { "tool_use" } else { "end_turn" };
                events.push(Event::named(&json!({ "type": "message_delta", "delta": { "stop_reason": word }, "usage": { "output_tokens": 5 } })));
                events.push(Event::named(&json!({ "type": "message_stop" })));
            }
            Self::Responses => {
                events.push(Event::new(
                    &json!({ "type": "response.created", "response": { "id": "r" } }),
                ));
                events.extend(all(said));
                let usage = json!({ "input_tokens": 9, "input_tokens_details": { "cached_tokens": 4 }, "output_tokens": 5 });
                events.push(Event::new(&json!({ "type": "response.completed", "response": { "status": "completed", "usage": usage } })));
            }
            Self::Gemini => {
                events.extend(all(said));
                let usage =
                    json!({ "promptTokenCount": 9, "cachedContentTokenCount": 4, "candidatesTokenCount": 5 });
                events.push(Event::new(
                    &json!({ "candidates": [{ "finishReason": "STOP" }], "usageMetadata": usage }),
                ));
            }
        }
        let last = events.len() - 1;
        let (finish, marker) = match self {
            Self::DeepSeek | Self::Compatible | Self::Messages => (last - 1, Some(last)),
            Self::Responses => (last, Some(last)),
            Self::Gemini => (last, None),
        };
        Script {
            events,
            finish,
            marker,
        }
    }

    /// An error that comes in the middle of the answer.
    pub(super) fn error(self) -> Event {
        match self {
            Self::DeepSeek | Self::Compatible => {
                Event::new(&json!({ "error": { "message": "overloaded", "type": "server_error" } }))
            }
            Self::Messages => Event {
                name: Some("error"),
                ..Event::new(
                    &json!({ "type": "error", "error": { "type": "overloaded_error", "message": "overloaded" } }),
                )
            },
            Self::Responses => Event::new(
                &json!({ "type": "response.failed", "response": { "error": { "code": "server_error", "message": "overloaded" } } }),
            ),
            Self::Gemini => Event::new(
                &json!({ "error": { "code": 503, "status": "UNAVAILABLE", "message": "overloaded" } }),
            ),
        }
    }

    /// An object that isn't what the protocol says.
    pub(super) fn wrong_shape(self) -> Event {
        match self {
            Self::DeepSeek | Self::Compatible => {
                Event::new(&json!({ "choices": [{ "delta": { "content": 7 } }] }))
            }
            Self::Messages => Event::new(&json!({ "type": "content_block_delta", "index": 0, "delta": 7 })),
            Self::Responses => {
                Event::new(&json!({ "type": "response.output_item.done", "output_index": 0, "item": 7 }))
            }
            Self::Gemini => Event::new(&json!({ "candidates": [{ "content": { "parts": 7 } }] })),
        }
    }

    /// An event that says nothing.
    pub(super) fn nothing(self) -> Event {
        match self {
            Self::DeepSeek | Self::Compatible => {
                Event::new(&json!({ "choices": [], "prompt_filter_results": [] }))
            }
            Self::Messages => Event::new(&json!({ "type": "ping" })),
            Self::Responses => Event::new(&json!({ "type": "response.brand_new", "x": 1 })),
            Self::Gemini => Event::new(&json!({ "candidates": [] })),
        }
    }
}

fn chunk(delta: &Json) -> Json {
    json!({ "id": "x", "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn candidate(part: &Json) -> Json {
    json!({ "candidates": [{ "content": { "role": "model", "parts": [part] }, "index": 0 }] })
}
