//! What if two processes want to write one session? Both try for a while; each is told when it lost.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use hames_log::Draft;
use hames_types::event::{Event, EventData};
use hames_types::header::SessionHeader;
use hames_types::id::{Seq, SessionId};
use hames_types::port::store::{Store, StoreError};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Kind, SESSION};

/// How many events go into one append: enough to see an interleaving.
const BATCH: u64 = 5;

/// What a race came to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Raced {
    /// Batches that were acknowledged.
    pub acknowledged: usize,
    /// Batches found.
    pub stored: usize,
    /// How often a writer was told that it lost.
    pub lost: usize,
}

/// Lets two processes race for a session.
///
/// # Errors
/// The first thing that doesn't hold.
pub fn race(program: &Path, kind: Kind, time: Duration) -> anyhow::Result<Raced> {
    let folder = TempDir::new()?;
    let start = |name: &str| {
        Command::new(program)
            .args(["write", kind.word()])
            .arg(folder.path())
            .args([name, &time.as_millis().to_string()])
            .stdout(Stdio::null())
            .spawn()
            .context("a writer")
    };
    let mut writers = [start("a")?, start("b")?];
    for writer in &mut writers {
        let ended = writer.wait()?;
        ensure!(ended.success(), "a writer failed: {ended}");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let stored = runtime.block_on(async {
        let store = kind.open(folder.path())?;
        let stored = store.load(&SessionId::new(SESSION)).await?;
        store.close().await;
        anyhow::Ok(stored.events)
    })?;
    let mut raced = Raced::default();
    let mut acknowledged = Vec::new();
    for name in ["a", "b"] {
        let notes = std::fs::read_to_string(folder.path().join(name))?;
        raced.lost += notes.lines().filter(|line| *line == "lost").count();
        acknowledged.extend(notes.lines().filter(|line| *line != "lost").map(str::to_owned));
    }
    raced.acknowledged = acknowledged.len();
    let batches = batches(&stored)?;
    raced.stored = batches.len();
    for batch in &acknowledged {
        let times = batches.iter().filter(|stored| *stored == batch).count();
        ensure!(
            times == 1,
            "batch {batch} was acknowledged and is stored {times} times"
        );
    }
    Ok(raced)
}

/// The names of the batches stored; none is torn or mixed with another.
fn batches(events: &[Arc<Event>]) -> anyhow::Result<Vec<String>> {
    let mut batches = Vec::new();
    for batch in events.chunks(usize::try_from(BATCH)?) {
        let mut names = Vec::new();
        for (part, event) in batch.iter().enumerate() {
            let data = serde_json::to_value(&event.data)?;
            ensure!(
                data.get("part").and_then(Value::as_u64) == Some(part as u64),
                "a gap at {}",
                event.seq
            );
            names.push(
                data.get("batch")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
            );
        }
        names.dedup();
        ensure!(
            names.len() == 1 && batch.len() as u64 == BATCH,
            "batches are mixed: {names:?}"
        );
        batches.extend(names);
    }
    Ok(batches)
}

/// One of the two: takes the session over whenever it has lost it, and appends as fast as it can.
///
/// # Errors
/// Anything but being told that the other was faster.
pub fn write(kind: Kind, folder: &Path, name: &str, time: Duration) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let mut notes = OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.join(name))?;
    runtime.block_on(async {
        let store = kind.open(folder)?;
        let begun = Instant::now();
        let mut number = 0_u64;
        while begun.elapsed() < time {
            let Some((header, epoch, mut length)) = claim(store.as_ref()).await? else {
                continue;
            };
            loop {
                if begun.elapsed() >= time {
                    break;
                }
                number += 1;
                let batch = format!("{name}{number}");
                let events = events(&batch, length)?;
                match store.append(&header, epoch, Seq::new(length), &events).await {
                    Ok(()) => {
                        length += BATCH;
                        notes.write_all(format!("{batch}\n").as_bytes())?;
                    }
                    Err(StoreError::Fenced { .. }) => {
                        notes.write_all(b"lost\n")?;
                        break;
                    }
                    Err(error) => return Err(error.into()),
                }
                // Now and then the other one gets its turn.
                if number.is_multiple_of(16) {
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
        }
        store.close().await;
        Ok(())
    })
}

type Claim = (SessionHeader, hames_types::port::store::WriterEpoch, u64);

/// The right to write: of a stored session, or of a new one. `None` if the other one was faster.
async fn claim(store: &dyn Store) -> anyhow::Result<Option<Claim>> {
    let id = SessionId::new(SESSION);
    match store.adopt(&id).await {
        Ok(opened) => {
            let length = opened.stored.events.len() as u64;
            Ok(Some((opened.stored.header, opened.epoch, length)))
        }
        Err(StoreError::NotFound(_)) => {
            let header = SessionHeader::new(id, 1);
            match store.create(&header).await {
                Ok(epoch) => Ok(Some((header, epoch, 0))),
                Err(StoreError::Exists(_)) => Ok(None),
                Err(error) => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

fn events(batch: &str, first: u64) -> anyhow::Result<Vec<Arc<Event>>> {
    (0..BATCH)
        .map(|part| {
            let draft = Draft::read("test:batch", json!({"batch": batch, "part": part}), None, None)?;
            let data: EventData = draft.data;
            Ok(Arc::new(Event {
                seq: Seq::new(first + part),
                time_ms: 1,
                data,
                placement: None,
            }))
        })
        .collect()
}
