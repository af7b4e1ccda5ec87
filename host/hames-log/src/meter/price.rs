//! What does a text cost? Four UTF-16 units a token, rounded up field by field, and a little for every frame (R-TOK-1).

use std::io;

use hames_types::content::{Content, ContentBlock};
use hames_types::message::{History, Message};
use hames_types::request::RequestHeader;
use serde::Serialize;

const UNITS_PER_TOKEN: u64 = 4;
const PER_BLOCK: u64 = 4;
/// What a message costs beside its content.
const PER_MESSAGE: u64 = 4;

/// What a message costs.
#[must_use]
pub fn message_tokens(message: &Message) -> u64 {
    content_tokens(&message.content) + PER_MESSAGE
}

/// What blocks cost.
#[must_use]
pub fn content_tokens(content: &Content) -> u64 {
    content.iter().map(block_tokens).sum()
}

/// What everything beside the history costs; the config is free (R-TOK-2).
#[must_use]
pub fn header_tokens(header: &RequestHeader) -> u64 {
    let prefix = header.message_prefix.iter().flat_map(History::iter);
    let prefix: u64 = prefix.map(|message| message_tokens(message)).sum();
    let system = header
        .system
        .as_ref()
        .map_or(0, |system| text_tokens(system) + PER_BLOCK);
    let tools = header
        .tools
        .as_ref()
        .map_or(0, |tools| json_tokens(tools) + PER_BLOCK);
    prefix + system + tools
}

fn block_tokens(block: &ContentBlock) -> u64 {
    let inside = match block {
        ContentBlock::Text(text) => text_tokens(&text.text),
        ContentBlock::Reasoning(reasoning) => text_tokens(&reasoning.text),
        ContentBlock::ToolCall(call) => text_tokens(&call.name) + text_tokens(&call.arguments),
        ContentBlock::ToolResult(result) => content_tokens(&result.content),
        ContentBlock::Other(_) => json_tokens(block),
    };
    inside + PER_BLOCK
}

fn text_tokens(text: &str) -> u64 {
    units(text.as_bytes()).div_ceil(UNITS_PER_TOKEN)
}

fn json_tokens(value: &impl Serialize) -> u64 {
    let mut counter = Counter(0);
    // Counting never fails, and neither do the values of a log.
    drop(serde_json::to_writer(&mut counter, value));
    counter.0.div_ceil(UNITS_PER_TOKEN)
}

/// UTF-16 units of UTF-8 bytes: one for every character, and one more for those that take four bytes.
fn units(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .map(|byte| u64::from((byte & 0xc0) != 0x80) + u64::from(*byte >= 0xf0))
        .sum()
}

/// Counts what is written.
struct Counter(u64);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += units(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
