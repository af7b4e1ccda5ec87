//! Cancellation and disposal at every point at which a driver can stop, over every recorded scenario.

use std::fs;
use std::path::Path;

use hames_tests::conformance::loop_cases::interrupt::{At, How, play};
use hames_types::json::Json;

/// Most polls looked at in one scenario; none has nearly as many, so reaching it is a driver that never rests.
const MOST_POLLS: usize = 5_000;

/// The scenarios that need no store.
fn scenarios() -> Vec<(String, Json)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/cases");
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let scenario = |path: &Path| {
        let case: Json = serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON");
        let stored = case["script"]["persistence"].is_object();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (!stored).then(|| (name, hames_tests::conformance::value::decode(&case["script"])))
    };
    files.iter().filter_map(|path| scenario(path)).collect()
}

/// Interrupts every scenario before every `stride`-th run of its driver, beginning with another one each time.
fn interrupt_all(how: How, stride: usize) {
    let (mut problems, mut plays) = (Vec::new(), 0);
    for (number, (name, script)) in scenarios().into_iter().enumerate() {
        let mut poll = number % stride;
        loop {
            let left = play(&script, At { poll, how }).expect("a scenario that can be played");
            plays += 1;
            problems.extend(
                left.problems
                    .iter()
                    .map(|problem| format!("{name}, {how:?} before poll {poll}: {problem}")),
            );
            // A poll that never came was behind the end.
            if left.polls <= poll || poll > MOST_POLLS {
                break;
            }
            poll += stride;
        }
    }
    assert!(plays > 0, "nothing was played");
    assert!(
        problems.is_empty(),
        "{} problems:\n{}",
        problems.len(),
        problems.join("\n")
    );
}

/// How far apart the interruptions are: 1 looks at every one of them (`HAMES_LONG=1`, see CONTRIBUTING).
fn stride() -> usize {
    if option_env!("HAMES_LONG").is_some() {
        1
    } else {
        10
    }
}

#[test]
fn a_turn_cancelled_anywhere_leaves_a_balanced_log_and_nothing_running() {
    interrupt_all(How::Cancel, stride());
}

#[test]
fn an_agent_disposed_anywhere_leaves_a_balanced_log_and_nothing_running() {
    interrupt_all(How::Dispose, stride());
}
