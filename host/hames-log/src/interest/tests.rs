//! Does everybody who named a kind hear of it, and nobody else?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hames_types::event::{EventBody, StepMark, TurnStart};
use hames_types::fault::Fault;
use hames_types::id::{StepNo, TurnNo};
use hames_types::json::{Extra, Json};
use hames_types::message::MessageSource;
use hames_types::open::OpenSum;
use hames_types::port::clock::FixedClock;
use hames_types::port::listener::Observe;
use hames_types::port::notice::SessionEvent;
use hames_types::turn::TurnTrigger;

use crate::draft::Draft;
use crate::log::Log;
use crate::sessions::{SessionMeta, Sessions};
use crate::slot::Place;

struct Counts(Arc<AtomicUsize>);

impl Observe<SessionEvent> for Counts {
    fn observe(&self, _: &SessionEvent) -> Result<(), Fault> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn every_core_kind_has_a_bit_of_its_own_in_the_order_of_the_kinds() {
    let mut bits: Vec<u32> = EventBody::KINDS.iter().map(|kind| super::bit_of(kind)).collect();
    bits.push(super::bit_of("made:note"));
    let expected: Vec<u32> = (0..bits.len()).map(|at| 1 << at).collect();
    assert_eq!(bits, expected);
    let (turn, step) = (TurnNo::FIRST, StepNo::FIRST);
    let mark = StepMark {
        turn,
        step,
        extra: Extra::NONE,
    };
    for body in [EventBody::StepStart(mark.clone()), EventBody::StepEnd(mark)] {
        assert_eq!(EventBody::KINDS[body.ordinal()], body.kind());
    }
}

#[test]
fn an_observer_of_kinds_is_told_of_those_alone() {
    let sessions = Sessions::new(Arc::new(FixedClock(0)));
    let session = sessions.create(None, SessionMeta::default(), Log::new()).unwrap();
    let observe = |kind: &str| {
        let told = Arc::<AtomicUsize>::default();
        let observer = Arc::new(Counts(Arc::clone(&told)));
        let id = sessions
            .on_kinds()
            .add(&[kind.into()], None, Place::Last, observer);
        (told, id)
    };
    let (steps, id) = observe("step/start");
    let (notes, _) = observe("made:note");
    let (turn, step) = (TurnNo::FIRST, StepNo::FIRST);
    let open = |at| {
        let mark = StepMark {
            turn,
            step: at,
            extra: Extra::NONE,
        };
        [EventBody::StepStart(mark.clone()), EventBody::StepEnd(mark)]
    };
    let start = EventBody::TurnStart(TurnStart {
        turn,
        trigger: TurnTrigger::message(MessageSource::USER),
        extra: Extra::NONE,
    });
    let append = |body| {
        session.append(Draft::log_only(body)).unwrap();
    };
    append(start);
    open(step).into_iter().for_each(append);
    append(EventBody::decode("made:note", Json::Null).unwrap());
    sessions.on_kinds().remove(id);
    open(step.next()).into_iter().for_each(append);
    assert_eq!(steps.load(Ordering::Relaxed), 1);
    assert_eq!(notes.load(Ordering::Relaxed), 1);
}
