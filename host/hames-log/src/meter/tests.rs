//! Tests of what the recorded data doesn't reach: odd texts, and what an event that can't be counted leaves behind.

use std::sync::Arc;

use hames_types::content::{Content, ContentBlock};
use hames_types::event::{Event, EventData};
use hames_types::id::Seq;
use hames_types::json::Json;
use proptest::prelude::*;

use super::{Meter, content_tokens};

fn event(at: usize, kind: &str, data: Json) -> Arc<Event> {
    Arc::new(Event {
        seq: Seq::at(at),
        time_ms: 0,
        data: EventData::read(kind, data),
        placement: None,
    })
}

#[test]
fn an_event_that_cannot_be_counted_leaves_the_meter_where_it_was() {
    let step = serde_json::json!({ "turn": 1, "step": 1 });
    let events = [event(0, "step/start", step.clone()), event(1, "step/start", step)];
    let mut meter = Meter::new();
    let first = meter.follow(&events).unwrap_err();
    assert_eq!(meter.follow(&events).unwrap_err(), first);
    assert_eq!(meter.measure(None).unwrap().log_revision, 1);
}

proptest! {
    #[test]
    fn a_text_is_counted_in_utf16_units(text in any::<String>()) {
        let units = text.encode_utf16().count() as u64;
        let content = Content::from(vec![ContentBlock::text(text)]);
        prop_assert_eq!(content_tokens(&content), units.div_ceil(4) + 4);
    }
}
