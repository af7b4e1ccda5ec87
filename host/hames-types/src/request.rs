//! What one model call asks for, and the header that makes it a function of the log.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Number;
use smol_str::SmolStr;

use crate::id::{ModelId, ProviderId, SessionId};
use crate::json::{Extra, Fields, JsonMap, record, words};
use crate::message::History;

record! {
    /// Provider, model and sampling of a conversation's requests.
    CallConfig {
        /// The route.
        provider: ProviderId = "provider",
        /// The model.
        model: ModelId = "model",
        /// Sampling temperature, as the operator wrote it.
        temperature: Option<Number> = "temperature",
        /// Most tokens the model may answer with.
        max_tokens: Option<u64> = "maxTokens",
        /// Texts at which the model stops. Absent and empty are different (R-TYPE-3).
        stop: Option<Vec<SmolStr>> = "stop",
    }
}

impl CallConfig {
    /// Provider and model with the provider's defaults.
    #[must_use]
    pub fn new(provider: ProviderId, model: ModelId) -> Self {
        Self {
            provider,
            model,
            temperature: None,
            max_tokens: None,
            stop: None,
            extra: Extra::NONE,
        }
    }
}

record! {
    /// A tool as the model sees it.
    ToolSchema {
        /// Its name.
        name: SmolStr = "name",
        /// What it is for.
        description: SmolStr = "description",
        /// JSON Schema of its arguments. Shared: a list of tools is made for every step and compared with the last.
        parameters: Arc<JsonMap> = "parameters",
    }
}

record! {
    /// Everything of a request that isn't history. Logged whole whenever it changes (R-HDR-1).
    RequestHeader {
        /// Provider, model, sampling.
        config: CallConfig = "config",
        /// The system prompt; absent when empty.
        system: Option<SmolStr> = "system",
        /// The tools in the order the model sees them; absent when none.
        tools: Option<Arc<Vec<ToolSchema>>> = "tools",
        /// Messages in front of the history; absent when none.
        message_prefix: Option<History> = "messagePrefix",
    }
}

impl RequestHeader {
    /// The form in which headers are compared and folded: what is empty is absent (R-HDR-2).
    #[must_use]
    pub fn canonical(mut self) -> Self {
        self.system = self.system.filter(|system| !system.is_empty());
        self.tools = self.tools.filter(|tools| !tools.is_empty());
        self.message_prefix = self.message_prefix.filter(|prefix| !prefix.is_empty());
        self
    }
}

words! {
    /// Why a header was logged.
    HeaderReason("a header's reason") {
        /// The log's first.
        Initial = "initial",
        /// The first of a resumed or forked session's driver.
        Resume = "resume",
        /// It differs from the last.
        Change = "change",
    }
}

words! {
    /// What an auxiliary call is for; ordinary requests have none.
    Purpose("a request's purpose") {
        /// Summarising a history.
        Compaction = "compaction",
    }
}

/// One model call, complete. A loop's request is a pure function of its log (R-REC).
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Header without the prefix, which is in `messages` already.
    pub config: CallConfig,
    /// The system prompt.
    pub system: Option<SmolStr>,
    /// The tools in order. Shared with the header.
    pub tools: Option<Arc<Vec<ToolSchema>>>,
    /// Prefix and history, exactly as the provider sees them.
    pub messages: History,
    /// Whose request it is; adapters send it at most as a header.
    pub session_id: Option<SessionId>,
    /// What an auxiliary call is for.
    pub purpose: Option<Purpose>,
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.config.put_fields(&mut map)?;
        map.serialize_entry("messages", &self.messages)?;
        if let Some(system) = &self.system {
            map.serialize_entry("system", system)?;
        }
        if let Some(tools) = &self.tools {
            map.serialize_entry("tools", tools)?;
        }
        if let Some(id) = &self.session_id {
            map.serialize_entry("sessionId", id)?;
        }
        if let Some(purpose) = &self.purpose {
            map.serialize_entry("purpose", purpose)?;
        }
        map.end()
    }
}
