//! Do packing, scanning and naming agree with the recorded storage cases?

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use hames_store::{path, record, scan};
use hames_types::event::Event;
use hames_types::id::SessionId;
use serde_json::Value;

fn cases(section: &str) -> Result<Vec<Value>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/storage-cases.json");
    let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let all: Value = serde_json::from_str(&text)?;
    let cases = all
        .get(section)
        .and_then(Value::as_array)
        .context("no such section")?
        .clone();
    ensure!(!cases.is_empty(), "`{section}` is empty");
    Ok(cases)
}

fn events(list: &Value) -> Result<Vec<Arc<Event>>> {
    let mut events = Vec::new();
    for record in list.as_array().context("not a list")? {
        record::read(&record.to_string(), &mut events)?;
    }
    Ok(events)
}

fn values(events: &[Arc<Event>]) -> Result<Value> {
    Ok(serde_json::to_value(events)?)
}

#[test]
fn runs_are_packed_as_recorded_and_unpack_to_the_same_bytes() -> Result<()> {
    for case in cases("packing")? {
        let name = &case["name"];
        let batch = events(&case["events"])?;
        let records = record::pack(&batch);
        assert_eq!(serde_json::to_value(&records)?, case["records"], "{name}");

        let mut back = Vec::new();
        for record in &records {
            record::read(&serde_json::to_string(record)?, &mut back)?;
        }
        assert_eq!(
            serde_json::to_string(&back)?,
            serde_json::to_string(&batch)?,
            "{name}"
        );
    }
    Ok(())
}

#[test]
fn rows_are_unpacked_or_refused_as_recorded() -> Result<()> {
    for case in cases("decoding")? {
        let name = &case["name"];
        match record::unpack(&case["record"]) {
            Ok(Some(events)) => {
                assert_eq!(case["expect"], "ok", "{name}");
                assert_eq!(values(&events)?, case["events"], "{name}");
            }
            Ok(None) => assert_eq!(
                case["events"],
                Value::from(vec![case["record"].clone()]),
                "{name}"
            ),
            Err(_) => assert_eq!(case["expect"], "error", "{name}"),
        }
    }
    Ok(())
}

#[test]
fn logs_are_scanned_as_recorded() -> Result<()> {
    for case in cases("scanning")? {
        let name = &case["name"];
        match scan::log(case["text"].as_str().context("text")?.as_bytes()) {
            Ok(scanned) => {
                assert_eq!(case["expect"], "ok", "{name}");
                assert_eq!(Value::Object(scanned.meta), case["meta"], "{name}");
                assert_eq!(values(&scanned.events)?, case["events"], "{name}");
                assert_eq!(
                    Value::from(scanned.committed_bytes),
                    case["committedBytes"],
                    "{name}"
                );
            }
            Err(error) => assert_eq!(case["expect"], "error", "{name}: {error}"),
        }
    }
    Ok(())
}

#[test]
fn ids_and_folders_are_named_as_recorded() -> Result<()> {
    for case in cases("segments")? {
        let id = SessionId::new(case["raw"].as_str().context("raw")?);
        assert_eq!(path::segment(&id)?, case["encoded"].as_str().context("encoded")?);
    }
    for case in cases("dirs")? {
        let folder = path::folder(Path::new("/base"), case["cwd"].as_str());
        assert_eq!(folder, PathBuf::from(case["dir"].as_str().context("dir")?));
    }
    assert!(path::segment(&SessionId::new("")).is_err());
    Ok(())
}
