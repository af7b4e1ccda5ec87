//! How do servers of chat completions differ? As data, one constant each.

use crate::adapter::KnownModel;
use crate::classify::{ANY, COMMON, Wording};
use crate::names::{COMMON_RULE, NameRule};

/// When a past answer's thinking goes back to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayReasoning {
    /// Never: the server refuses or ignores it.
    Never,
    /// With the answer's tool calls, as DeepSeek demands (R-DS-4).
    WithToolCalls,
}

/// What a tool call without an index belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallWithoutIndex {
    /// To the one call without an index, as in the reference.
    OneCall,
    /// To a new call whenever it brings another id, as some servers of whole calls mean it.
    ById,
}

/// How one kind of server speaks.
#[derive(Debug)]
pub struct Dialect {
    /// What a person calls it.
    pub name: &'static str,
    /// Where it is, unless configured.
    pub base_url: &'static str,
    /// The field that bounds the answer.
    pub max_tokens_field: &'static str,
    /// Whether `thinking` is a field of the request.
    pub has_thinking: bool,
    /// When thinking goes back.
    pub replay_reasoning: ReplayReasoning,
    /// What a call without an index means.
    pub call_without_index: CallWithoutIndex,
    /// Whether a tool's parameters must say that they are an object.
    pub object_schemas: bool,
    /// How it words overflows, beside what all say.
    pub wording: &'static Wording,
    /// Headers with the request's id.
    pub request_id_headers: &'static [&'static str],
    /// Models known beforehand.
    pub models: &'static [KnownModel],
    pub(crate) tool_names: NameRule,
}

/// DeepSeek (R-DS).
pub static DEEPSEEK: Dialect = Dialect {
    name: "DeepSeek",
    base_url: "https://api.deepseek.com",
    max_tokens_field: "max_tokens",
    has_thinking: true,
    replay_reasoning: ReplayReasoning::WithToolCalls,
    call_without_index: CallWithoutIndex::OneCall,
    object_schemas: false,
    wording: &COMMON,
    request_id_headers: &["x-request-id", "x-deepseek-request-id"],
    models: &[
        KnownModel {
            id: "deepseek-v4-flash",
            context_tokens: 128_000,
        },
        KnownModel {
            id: "deepseek-v4-pro",
            context_tokens: 128_000,
        },
    ],
    tool_names: COMMON_RULE,
};

/// OpenAI itself.
pub static OPENAI: Dialect = Dialect {
    name: "OpenAI",
    base_url: "https://api.openai.com/v1",
    max_tokens_field: "max_completion_tokens",
    has_thinking: false,
    replay_reasoning: ReplayReasoning::Never,
    call_without_index: CallWithoutIndex::ById,
    object_schemas: true,
    wording: &COMMON,
    request_id_headers: &["x-request-id"],
    models: &[],
    tool_names: COMMON_RULE,
};

/// Anything else behind a base URL: vLLM, llama.cpp, Ollama, OpenRouter, gateways.
pub static COMPATIBLE: Dialect = Dialect {
    name: "OpenAI-compatible",
    base_url: "http://127.0.0.1:8080/v1",
    max_tokens_field: "max_tokens",
    has_thinking: false,
    replay_reasoning: ReplayReasoning::WithToolCalls,
    call_without_index: CallWithoutIndex::ById,
    object_schemas: true,
    wording: &ANY,
    request_id_headers: &["x-request-id", "request-id"],
    models: &[],
    tool_names: COMMON_RULE,
};
