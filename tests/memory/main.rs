//! How much memory does an event cost in a live session's log? A binary of its own, since it counts every allocation.

#![expect(
    clippy::panic,
    reason = "a test says what is wrong by stopping, its helpers too"
)]

use std::sync::Arc;

use cap::Cap;
use hames_log::{Draft, Log, Session, SessionMeta, Sessions};
use hames_types::chunk::StreamChunk;
use hames_types::event::{AssistantChunk, EventBody, StepMark, TurnStart};
use hames_types::id::{StepNo, TurnNo};
use hames_types::json::Extra;
use hames_types::message::MessageSource;
use hames_types::port::clock::FixedClock;
use hames_types::turn::TurnTrigger;

#[global_allocator]
static ALLOCATOR: Cap<std::alloc::System> = Cap::new(std::alloc::System, usize::MAX);

/// Most bytes that a text delta of five characters may cost.
const MAX_BYTES_PER_DELTA: usize = 200;

/// What the allocator of the C library keeps beside each block, which counting requests can't see.
const BYTES_PER_BLOCK: usize = 16;

const DELTAS: usize = 100_000;

fn session() -> Arc<Session> {
    let sessions = Sessions::new(Arc::new(FixedClock(1_700_000_000_000)));
    let session = sessions
        .create(None, SessionMeta::default(), Log::new())
        .unwrap_or_else(|error| panic!("{error}"));
    let (turn, step) = (TurnNo::FIRST, StepNo::FIRST);
    let trigger = TurnTrigger::message(MessageSource::USER);
    append(
        &session,
        EventBody::TurnStart(TurnStart {
            turn,
            trigger,
            extra: Extra::NONE,
        }),
    );
    append(
        &session,
        EventBody::StepStart(StepMark {
            turn,
            step,
            extra: Extra::NONE,
        }),
    );
    session
}

fn append(session: &Session, body: EventBody) {
    if let Err(error) = session.append(Draft::log_only(body)) {
        panic!("{error}");
    }
}

#[test]
fn a_text_delta_of_five_characters_costs_under_two_hundred_bytes() {
    let session = session();
    let before = ALLOCATOR.allocated();
    for _ in 0..DELTAS {
        append(
            &session,
            EventBody::AssistantChunk(AssistantChunk {
                turn: TurnNo::FIRST,
                step: StepNo::FIRST,
                chunk: StreamChunk::text_delta(0, "hello"),
                extra: Extra::NONE,
            }),
        );
    }
    // One block per event; the list of them grows in few.
    let bytes = (ALLOCATOR.allocated() - before) / DELTAS + BYTES_PER_BLOCK;
    println!("{bytes} bytes per event");
    assert!(bytes < MAX_BYTES_PER_DELTA, "{bytes} bytes per event");
}
