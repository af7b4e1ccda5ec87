//! Does every recorded session lead to the requests it led to? The recorded data of the loop, replayed.

use std::fs;
use std::path::{Path, PathBuf};

use hames::command::replay::replay;
use hames_log::Log;
use hames_types::header::SessionHeader;
use hames_types::id::SessionId;
use hames_types::port::store::StoredSession;
use serde_json::Value;

/// Every recorded log below a folder.
fn logs(folder: &Path) -> Vec<(PathBuf, Vec<Value>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(logs(&path));
        } else if path.extension().is_some_and(|extension| extension == "json") {
            let document: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            if let Some(events) = document.get("events").and_then(Value::as_array) {
                found.push((path, events.clone()));
            }
        }
    }
    found
}

/// Whether hames itself could have recorded this: some texts are left out of the recorded data, and a model that
/// names two calls of one answer alike has failed here.
fn is_ours(events: &[Value]) -> bool {
    let has_twins = events.iter().any(|event| {
        let blocks = event["data"]["content"].as_array().into_iter().flatten();
        let calls = blocks.filter(|block| block["type"] == "tool-call");
        let mut ids: Vec<_> = calls.map(|block| block["id"].as_str()).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        ids.len() < all
    });
    !has_twins && !events.iter().any(|event| event.to_string().contains("<wording>"))
}

#[tokio::test]
async fn recorded_sessions_lead_to_the_same_requests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/cases");
    let (mut turns, mut requests, mut left_out) = (0, 0, 0);
    let mut different = Vec::new();
    for (path, events) in logs(&folder) {
        if !is_ours(&events) {
            continue;
        }
        // Some are no logs of live sessions: damaged on purpose, or with numbers no log holds.
        let Ok(log) = Log::from_records(events) else {
            continue;
        };
        let stored = StoredSession {
            header: SessionHeader::new(SessionId::new("recorded"), 0),
            events: log.events().to_vec(),
        };
        match replay(&stored, |_, _| Ok(())).await {
            Ok(replayed) => {
                turns += replayed.turns;
                requests += replayed.requests;
                if let Some(difference) = replayed.difference {
                    different.push(format!(
                        "{}: turn {}, step {}, `{}`:\n    {}\n    {}",
                        path.display(),
                        difference.turn,
                        difference.step,
                        difference.place,
                        difference.recorded,
                        difference.replayed
                    ));
                }
            }
            Err(error) => {
                left_out += 1;
                eprintln!("{}: {error:#}", path.display());
            }
        }
    }
    eprintln!("{requests} requests in {turns} turns, {left_out} sessions left out");
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(requests > 200, "only {requests} requests were compared");
}
