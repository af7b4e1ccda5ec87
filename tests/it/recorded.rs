//! The recorded logs as raw material: real events to cut, seed and mutate.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use hames_tests::conformance::{load, value};
use hames_types::json::Json;

/// Where the recorded data lies.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance")
}

/// Every recorded log, as JSON events. Logs that use numbers outside lossless JSON are left out.
pub(crate) static LOGS: LazyLock<Vec<Vec<Json>>> = LazyLock::new(|| {
    let logs: Vec<Vec<Json>> = load::files(&folder().join("cases"))
        .expect("the recorded cases are readable")
        .into_iter()
        .filter_map(|file| Some(file.document.get("events")?.as_array()?.clone()))
        .filter(|events| events.iter().all(|event| value::decode(event) == *event))
        .collect();
    assert!(logs.len() > 200, "only {} logs were found", logs.len());
    logs
});

/// Every event of every recorded log.
pub(crate) static EVENTS: LazyLock<Vec<Json>> = LazyLock::new(|| LOGS.iter().flatten().cloned().collect());
