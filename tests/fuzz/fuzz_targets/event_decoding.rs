//! Can any text make a decoder panic, or an accepted record come out changed?

#![no_main]

use hames_log::Log;
use hames_log::assemble::BlockAssembler;
use hames_log::repair::closers;
use hames_log::seed::read_event;
use hames_types::chunk::StreamChunk;
use hames_types::content::ContentBlock;
use hames_types::header::SessionHeader;
use hames_types::json::{FromJson, Json, to_json};
use hames_types::request::RequestHeader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let records: Vec<Json> = bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    let mut assembler = BlockAssembler::new();
    for record in &records {
        let _header = SessionHeader::read(record.clone()).is_ok();
        let _header = RequestHeader::from_json(record.clone()).is_ok();
        let _block = ContentBlock::from_json(record.clone()).is_ok();
        if let Ok(chunk) = StreamChunk::from_json(record.clone()) {
            assembler.push(&chunk);
        }
        if let Ok(event) = read_event(record.clone()) {
            let written = serde_json::to_string(&event).expect("an event encodes");
            let again = serde_json::from_str(&written).expect("an event is written as JSON");
            let again = read_event(again).expect("an event that was read is read again");
            assert_eq!(event, again);
        }
    }
    let _assembled = assembler.finish().is_ok();
    // What a log accepts it gives back, and what it ends with can be closed.
    if let Ok(mut log) = Log::from_records(records.clone()) {
        let _derived = log.derive().is_ok();
        let _owed = closers(log.events());
        let written = to_json(log.events()).expect("events encode");
        let again = Log::from_records(written.as_array().cloned().unwrap_or_default());
        assert_eq!(again.expect("a log reads its own events").events(), log.events());
    }
});
