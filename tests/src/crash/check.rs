//! What must hold after each kill, and the loop that kills.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, ensure};
use hames_types::event::{Event, EventBody};
use hames_types::id::SessionId;
use hames_types::port::store::StoreError;
use hames_types::turn::TurnEndReason;
use tempfile::TempDir;

use super::victim::World;
use super::{Kind, SESSION, acknowledged, bodies};

/// How many rounds go into one folder before a new one begins: long sessions only slow the rounds down.
const ROUNDS_PER_FOLDER: usize = 25;

/// Longest life of a victim, in microseconds.
const LONGEST_LIFE_US: u64 = 60_000;

/// What a series of rounds saw; shows that the kills hit something.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Rounds.
    pub rounds: usize,
    /// Kills that left a turn open in the store.
    pub interrupted: usize,
    /// Calls whose outcome was closed as unknown.
    pub unknown: usize,
    /// Calls that were closed as not started.
    pub not_started: usize,
    /// Events that were acknowledged and found.
    pub events: u64,
}

/// Kills `rounds` victims at moments drawn from `seed` and checks what is left each time.
///
/// # Errors
/// The first thing that doesn't hold, with round and seed.
pub fn rounds(victim: &Path, kind: Kind, rounds: usize, seed: u64) -> anyhow::Result<Seen> {
    let mut draw = Draw(seed | 1);
    let mut seen = Seen::default();
    let mut folder = TempDir::new()?;
    let mut before = String::new();
    for round in 0..rounds {
        if round % ROUNDS_PER_FOLDER == 0 {
            folder = TempDir::new()?;
            before = String::new();
        }
        before = one(victim, kind, folder.path(), (&mut draw, &mut seen), &before)
            .with_context(|| format!("{} round {round} with seed {seed}", kind.word()))?;
        seen.rounds += 1;
    }
    Ok(seen)
}

/// One kill; gives the log as it stands afterwards.
fn one(
    victim: &Path,
    kind: Kind,
    folder: &Path,
    (draw, seen): (&mut Draw, &mut Seen),
    before: &str,
) -> anyhow::Result<String> {
    let mut child = Command::new(victim)
        .args(["run", kind.word()])
        .arg(folder)
        .stdout(Stdio::null())
        .spawn()
        .context("the victim")?;
    sleep(Duration::from_micros(draw.below(LONGEST_LIFE_US)));
    // SIGKILL: nothing in the victim runs after this.
    child.kill()?;
    let ended = child.wait()?;
    ensure!(ended.code().is_none(), "the victim ended by itself: {ended}");
    survived(kind, folder, before, seen)
}

/// What must hold of a folder in which an agent ran, whatever happened to it; gives the log as it stands after one
/// more turn.
pub(super) fn survived(kind: Kind, folder: &Path, before: &str, seen: &mut Seen) -> anyhow::Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let left = runtime.block_on(left(kind, folder))?;
    judge(folder, &left, before, seen)?;
    let after = runtime.block_on(go_on(kind, folder))?;
    judge_bodies(folder, &after)?;
    let after = text(&after)?;
    ensure!(
        after.starts_with(&text(&left)?),
        "resuming changed what was stored"
    );
    Ok(after)
}

/// What is stored, without touching it.
async fn left(kind: Kind, folder: &Path) -> anyhow::Result<Vec<Arc<Event>>> {
    let store = kind.open(folder)?;
    let loaded = store.load(&SessionId::new(SESSION)).await;
    store.close().await;
    match loaded {
        Ok(stored) => Ok(stored.events),
        Err(StoreError::NotFound(_)) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Resumes the session and runs one more turn to its end.
async fn go_on(kind: Kind, folder: &Path) -> anyhow::Result<Vec<Arc<Event>>> {
    let world = World::start(kind, folder).await?;
    let resumed = world.agent.session().all_events();
    ensure!(
        resumed.last().is_none_or(|last| last.kind() == "turn/end"),
        "the interrupted turn is open"
    );
    world.turn().await?;
    let events = world.agent.session().all_events();
    world.close().await?;
    let Some(EventBody::TurnEnd(end)) = events.last().and_then(|last| last.body()) else {
        anyhow::bail!("the new turn did not end");
    };
    ensure!(
        matches!(end.reason, TurnEndReason::Completed(_)),
        "the new turn ended with {:?}",
        end.reason
    );
    ensure!(
        text(&left(kind, folder).await?)? == text(&events)?,
        "not everything was stored at the end"
    );
    Ok(events)
}

fn judge(folder: &Path, left: &[Arc<Event>], before: &str, seen: &mut Seen) -> anyhow::Result<()> {
    let notes = match fs::read_to_string(acknowledged(folder)) {
        Ok(notes) => notes,
        Err(none) if none.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error.into()),
    };
    let acknowledged = notes
        .lines()
        .filter_map(|line| line.parse::<u64>().ok())
        .max()
        .unwrap_or(0);
    ensure!(
        left.len() as u64 >= acknowledged,
        "{acknowledged} events were acknowledged, {} are stored",
        left.len()
    );
    ensure!(
        text(left)?.starts_with(before),
        "what was stored before has changed"
    );
    seen.events = seen.events.max(acknowledged);
    let closers = hames_log::repair::closers(left);
    seen.interrupted += usize::from(!closers.is_empty());
    for closer in &closers {
        if let Some(EventBody::ToolResult(result)) = closer.body() {
            match result.error.as_ref().map(|error| error.code.as_str()) {
                Some("TOOL_OUTCOME_UNKNOWN") => seen.unknown += 1,
                Some("TOOL_NOT_STARTED") => seen.not_started += 1,
                _ => {}
            }
        }
    }
    Ok(())
}

/// No body ran twice, and none ran whose call the log says never started.
fn judge_bodies(folder: &Path, events: &[Arc<Event>]) -> anyhow::Result<()> {
    let notes = fs::read_to_string(bodies(folder)).unwrap_or_default();
    let mut ran: HashMap<&str, usize> = HashMap::new();
    for call in notes.lines() {
        *ran.entry(call).or_default() += 1;
    }
    let mut started = HashSet::new();
    for event in events {
        if let Some(EventBody::ToolCall(call)) = event.body() {
            started.insert(call.call_id.as_str().to_owned());
        }
    }
    for (call, times) in ran {
        ensure!(times == 1, "the body of {call} ran {times} times");
        ensure!(
            started.contains(call),
            "the body of {call} ran and the log knows nothing of it"
        );
    }
    Ok(())
}

fn text(events: &[Arc<Event>]) -> anyhow::Result<String> {
    let mut text = String::new();
    for event in events {
        text.push_str(&serde_json::to_string(event)?);
        text.push('\n');
    }
    Ok(text)
}

/// Numbers drawn from a seed (xorshift).
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
