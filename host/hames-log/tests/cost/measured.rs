//! What do an append and a derivation cost early and late in a log? Counted in instructions, else in time.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use hames_log::{Draft, Log, SessionMeta, Sessions};
use hames_types::chunk::StreamChunk;
use hames_types::content::Content;
use hames_types::event::{AssistantChunk, ContextMessage, EventBody, StepMark, TurnStart};
use hames_types::id::{StepNo, TurnNo};
use hames_types::json::Extra;
use hames_types::message::MessageSource;
use hames_types::port::clock::FixedClock;
use hames_types::turn::TurnTrigger;

/// Where in the log is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// How long the log gets.
    pub(crate) events: usize,
    /// How many events are measured: from event 1,001 on, and the last ones.
    pub(crate) sample: usize,
}

/// The first event measured early.
const EARLY: usize = 1_001;

/// Every so many events one is part of the history, and the history is derived.
const MESSAGE_EVERY: usize = 20;

/// Medians of the four things measured, in instructions or in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) early_append: u64,
    pub(crate) late_append: u64,
    pub(crate) early_derive: u64,
    pub(crate) late_derive: u64,
}

impl Cost {
    /// How much more the late ones cost.
    pub(crate) fn growth(&self) -> (f64, f64) {
        let ratio = |early: u64, late: u64| late as f64 / early.max(1) as f64;
        (
            ratio(self.early_append, self.late_append),
            ratio(self.early_derive, self.late_derive),
        )
    }
}

/// What is measured, in the order of [`Cost`]'s fields.
const EARLY_APPEND: usize = 0;
const LATE_APPEND: usize = 1;
const EARLY_DERIVE: usize = 2;
const LATE_DERIVE: usize = 3;

/// The one function that callgrind watches.
#[inline(never)]
fn measured(work: &mut dyn FnMut()) {
    black_box(&work);
    work();
}

/// Its name as callgrind shows it.
const MEASURED: &str = concat!(module_path!(), "::measured");

impl Size {
    /// Which list the append at `at` belongs to, if it is measured.
    fn phase(self, at: usize) -> Option<(usize, usize)> {
        if (EARLY..EARLY + self.sample).contains(&at) {
            Some((EARLY_APPEND, EARLY_DERIVE))
        } else if at >= self.events - self.sample {
            Some((LATE_APPEND, LATE_DERIVE))
        } else {
            None
        }
    }

    /// The measured calls in the order in which the workload makes them.
    fn calls(self) -> impl Iterator<Item = usize> {
        (0..self.events).flat_map(move |at| {
            let phase = self.phase(at);
            let append = phase.map(|(append, _)| append);
            let derive = phase.filter(|_| derives(at)).map(|(_, derive)| derive);
            append.into_iter().chain(derive)
        })
    }
}

/// Whether the event at `at` is part of the history, which is derived after it.
fn derives(at: usize) -> bool {
    at > 1 && at.is_multiple_of(MESSAGE_EVERY)
}

fn draft(at: usize) -> Draft {
    let (turn, step) = (TurnNo::FIRST, StepNo::FIRST);
    match at {
        0 => Draft::log_only(EventBody::TurnStart(TurnStart {
            turn,
            trigger: TurnTrigger::message(MessageSource::USER),
            extra: Extra::NONE,
        })),
        1 => Draft::log_only(EventBody::StepStart(StepMark {
            turn,
            step,
            extra: Extra::NONE,
        })),
        _ if derives(at) => Draft::message(EventBody::ContextMessage(Box::new(ContextMessage {
            content: Content::text("some context"),
            source: MessageSource::USER,
            meta: None,
            extra: Extra::NONE,
        }))),
        _ => Draft::log_only(EventBody::AssistantChunk(AssistantChunk {
            turn,
            step,
            chunk: StreamChunk::text_delta(0, "hello"),
            extra: Extra::NONE,
        })),
    }
}

/// Fills a log and measures it in passing, by the clock.
pub(crate) fn workload(size: Size) -> Cost {
    let sessions = Sessions::new(Arc::new(FixedClock(0)));
    let session = sessions
        .create(None, SessionMeta::default(), Log::new())
        .expect("the first session is published");
    let mut times: [Vec<u64>; 4] = Default::default();
    for at in 0..size.events {
        let mut next = Some(draft(at));
        let mut append = || {
            let draft = next.take().expect("each draft is appended once");
            session.append(draft).expect("the workload obeys the rules");
        };
        // The projection keeps up, as it does when a loop asks for a request in every step.
        let mut derive = || {
            black_box(session.derive().expect("the workload's history is sound"));
        };
        match size.phase(at) {
            Some((append_list, derive_list)) => {
                times[append_list].push(timed(&mut append));
                if derives(at) {
                    times[derive_list].push(timed(&mut derive));
                }
            }
            None => {
                append();
                if derives(at) {
                    derive();
                }
            }
        }
    }
    assert_eq!(session.len(), size.events);
    let [early_append, late_append, early_derive, late_derive] = times.map(median);
    Cost {
        early_append,
        late_append,
        early_derive,
        late_derive,
    }
}

fn timed(work: &mut dyn FnMut()) -> u64 {
    let begin = Instant::now();
    measured(work);
    u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// Whether instructions can be counted here.
pub(crate) fn can_count() -> bool {
    Command::new("valgrind")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Runs a command that runs the workload, under callgrind, and counts.
///
/// Callgrind writes what it counted into a file before and after every measured call, so that a median can be taken:
/// the mean would hide what one growing list costs once.
pub(crate) fn count(size: Size, program: &Path, arguments: &[&str], scratch: &Path) -> Cost {
    if scratch.exists() {
        fs::remove_dir_all(scratch).expect("the scratch folder can be emptied");
    }
    fs::create_dir_all(scratch).expect("the scratch folder can be made");
    let output = Command::new("valgrind")
        .current_dir(scratch)
        .args(["--tool=callgrind", "--callgrind-out-file=dump"])
        .arg(format!("--dump-before={MEASURED}"))
        .arg(format!("--dump-after={MEASURED}"))
        .arg(program)
        .args(arguments)
        .output()
        .expect("valgrind runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );

    let counted = dumps(scratch);
    fs::remove_dir_all(scratch).expect("the scratch folder can be removed");
    let calls: Vec<usize> = size.calls().collect();
    assert_eq!(counted.len(), calls.len(), "every measured call is counted");
    let mut counts: [Vec<u64>; 4] = Default::default();
    for (call, instructions) in calls.into_iter().zip(counted) {
        counts[call].push(instructions);
    }
    let [early_append, late_append, early_derive, late_derive] = counts.map(median);
    Cost {
        early_append,
        late_append,
        early_derive,
        late_derive,
    }
}

/// The instructions of each measured call, in order.
fn dumps(folder: &Path) -> Vec<u64> {
    let mut counted: Vec<(u64, u64)> = fs::read_dir(folder)
        .expect("the dumps are readable")
        .filter_map(|entry| {
            let path = entry.expect("the dump is readable").path();
            let number = path.extension()?.to_str()?.parse().ok()?;
            let text = fs::read_to_string(&path).expect("the dump is text");
            let after = text
                .lines()
                .any(|line| line.starts_with("desc: Trigger: --dump-after"));
            let total = text.lines().find_map(|line| line.strip_prefix("totals: "))?;
            after.then_some((number, total.trim().parse().ok()?))
        })
        .collect();
    counted.sort_unstable();
    counted.into_iter().map(|(_, total)| total).collect()
}
