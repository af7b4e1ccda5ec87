//! Wherever a process dies, repair closes what it left open, and the closed log obeys every hard rule.

use std::sync::Arc;

use hames_log::repair::closers;
use hames_log::seed::read_event;
use hames_log::{Draft, Log, SessionMeta, Sessions};
use hames_types::event::Event;
use hames_types::port::clock::FixedClock;

use crate::recorded::LOGS;

#[test]
fn every_prefix_of_every_recorded_log_can_be_closed() {
    let mut closed = 0;
    for records in LOGS.iter() {
        let events: Vec<Arc<Event>> = records
            .iter()
            .map(|record| Arc::new(read_event(record.clone()).unwrap()))
            .collect();
        for end in 0..=events.len() {
            let prefix = &events[..end];
            let owed = closers(prefix);
            // A live session is the judge: it takes the closers one by one under its hard rules.
            let sessions = Sessions::new(Arc::new(FixedClock(0)));
            let seed = Log::from_events(prefix.iter().map(Arc::clone)).unwrap();
            let session = sessions.create(None, SessionMeta::default(), seed).unwrap();
            for event in &owed {
                let draft = Draft {
                    data: event.data.clone(),
                    placement: event.placement.clone(),
                };
                let appended = session.append(draft).unwrap();
                assert_eq!(appended.seq, event.seq);
            }
            assert_eq!((session.open_turn(), session.open_step()), (None, None));
            assert!(
                closers(&session.all_events()).is_empty(),
                "a closed log is owed nothing"
            );
            closed += usize::from(!owed.is_empty());
        }
    }
    assert!(closed > 1_000, "only {closed} prefixes had anything open");
}
