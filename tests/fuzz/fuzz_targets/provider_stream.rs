//! Can any bytes of a provider make a decoder panic, break the stream's grammar, or pass for a success they aren't?

#![no_main]

use hames_llm::chat::dialect;
use hames_llm::limits::Limits;
use hames_llm::offline::Wire;
use hames_log::grammar::Grammar;
use hames_types::chunk::StreamChunk;
use libfuzzer_sys::fuzz_target;

const PROTOCOLS: [Wire; 5] = [
    Wire::Chat(&dialect::DEEPSEEK),
    Wire::Chat(&dialect::COMPATIBLE),
    Wire::Messages,
    Wire::Responses,
    Wire::Gemini,
];

/// What one way of cutting the bytes comes to.
fn decoded(wire: Wire, body: &[u8], step: usize) -> (String, Option<String>) {
    let limits = Limits {
        max_event_bytes: 4096,
        max_answer_bytes: 16384,
        max_blocks: 64,
        ..Limits::default()
    };
    let (mut grammar, mut chunks) = (Grammar::new(), Vec::new());
    let result = wire.decode(body.chunks(step), &limits, |chunk| chunks.push(chunk));
    for chunk in &chunks {
        grammar.push(chunk).expect("chunks follow the grammar");
    }
    let finished = matches!(chunks.last(), Some(StreamChunk::Finish(_)));
    assert_eq!(
        finished,
        result.is_ok(),
        "a success is a finish, and a failure none"
    );
    if let Err(failure) = &result {
        failure.validate().expect("a failure keeps its own rules");
    } else {
        grammar.end().expect("a finished stream is whole");
    }
    let said = serde_json::to_string(&chunks).expect("chunks encode");
    (said, result.err().map(|failure| failure.code.to_string()))
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, body)) = bytes.split_first() else {
        return;
    };
    let wire = PROTOCOLS[usize::from(*choice) % PROTOCOLS.len()];
    let whole = decoded(wire, body, usize::MAX);
    let pieces = decoded(wire, body, 1 + usize::from(*choice) / PROTOCOLS.len());
    assert_eq!(whole, pieces, "how the bytes are cut changes nothing");
});
