//! Can any bytes, cut anywhere, make the parser panic, lose an event or hold more than it may?

#![no_main]

use hames_llm::sse::SseParser;
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 256;

fn events(bytes: &[u8], step: usize) -> (Vec<(String, String)>, bool) {
    let mut parser = SseParser::new(LIMIT);
    let mut events = Vec::new();
    for piece in bytes.chunks(step).map(Some).chain([None]) {
        match piece {
            Some(piece) => parser.push(piece),
            None => parser.end(),
        }
        loop {
            match parser.next() {
                Ok(Some(event)) => {
                    // A replacement character is three bytes for one.
                    assert!(event.data.len() <= 3 * LIMIT);
                    events.push((event.name.into_owned(), event.data.into_owned()));
                }
                Ok(None) => break,
                Err(_) => return (events, false),
            }
        }
    }
    (events, true)
}

fuzz_target!(|bytes: &[u8]| {
    let Some((step, bytes)) = bytes.split_first() else {
        return;
    };
    assert_eq!(events(bytes, usize::MAX), events(bytes, 1 + usize::from(*step)));
});
