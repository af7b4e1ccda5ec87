//! Does memory grow with attacks, or with what is loaded? Every attack that ends by itself, round after round, in one
//! process; and what a process holds, counted.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use hames_plugin::{Plugin, PluginSpec};
use hames_types::id::PluginId;
use hames_types::port::tool::Tool;
use serde_json::json;

use crate::attacks::{self, Expect};
use crate::home::{Home, Kept, call, first_tool, quiet};
use crate::trial::narrow;

/// Attacks that only end with their deadline take their time and leave what the others leave.
const SLOW: &str = "PLUGIN_DEADLINE";

/// The attacks, loaded.
pub struct Rounds {
    diary: Arc<Kept>,
    tools: Vec<(Plugin, Arc<dyn Tool>)>,
}

impl Rounds {
    /// Loads every attack on a call that ends by itself.
    ///
    /// # Errors
    /// If one isn't loaded.
    pub async fn load(home: &Home) -> anyhow::Result<Self> {
        let mut tools = Vec::new();
        for attack in attacks::all()? {
            let is_quick = match attack.expects {
                Expect::Fails(code) => code != SLOW,
                Expect::Succeeds => true,
                Expect::Refused(_) | Expect::Unclassified(_) | Expect::Unseen => false,
            };
            if is_quick {
                let mut spec = PluginSpec::new(PluginId::new("attack"), attack.component);
                spec.limits = narrow();
                let plugin = home.sandbox.load(spec).await?;
                let tool = first_tool(&plugin)?;
                tools.push((plugin, tool));
            }
        }
        Ok(Self {
            diary: Arc::clone(&home.diary),
            tools,
        })
    }

    /// How many attacks one round has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Runs every attack that often, and gives the resident memory afterwards, in bytes.
    ///
    /// # Errors
    /// If the memory can't be looked at.
    pub async fn run(&self, rounds: usize) -> anyhow::Result<usize> {
        let arguments = json!({ "attack": "x".repeat(600) });
        for _ in 0..rounds {
            // What attacks write is kept by the test, not by the host.
            self.diary.lines.lock().clear();
            self.diary.progress.lock().clear();
            for (_, tool) in &self.tools {
                // How it ends is another test's question.
                drop(tool.execute(&call(tool, arguments.clone()), &quiet()).await);
            }
        }
        resident()
    }
}

/// Resident memory of this process, in bytes.
///
/// # Errors
/// If the system doesn't tell.
pub fn resident() -> anyhow::Result<usize> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: usize = text
        .split_whitespace()
        .nth(1)
        .context("the system doesn't tell its resident pages")?
        .parse()?;
    Ok(pages * 4096)
}

/// What a process holds.
///
/// Resident memory says less of it than one would think: the C library keeps what is freed, in each thread's arena, and
/// compiling frees tens of megabytes on whichever thread it ran. What is in use is counted here; what is mapped, the
/// compiled code among it, and what is open is counted beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Bytes of the heap in use.
    pub heap: usize,
    /// Mappings of memory. Compiled code has two at least.
    pub mappings: usize,
    /// Open files.
    pub files: usize,
}

impl Held {
    /// What is held now, with so many bytes of the heap in use.
    ///
    /// # Errors
    /// If the system doesn't tell.
    pub fn now(heap: usize) -> anyhow::Result<Self> {
        Ok(Self {
            heap,
            mappings: std::fs::read_to_string("/proc/self/maps")?.lines().count(),
            files: std::fs::read_dir("/proc/self/fd")?.count(),
        })
    }

    /// That no more is held than `before`, but for so many bytes of the heap and what the pool maps as it likes.
    ///
    /// # Errors
    /// What there is more of.
    fn is_no_more_than(&self, before: &Self, bytes: usize) -> anyhow::Result<()> {
        let grown = |now: usize, before: usize, allowed: usize, what: &str| {
            ensure!(now <= before + allowed, "{what}: {before} became {now}");
            Ok(())
        };
        grown(self.heap, before.heap, bytes, "bytes of the heap in use")?;
        grown(self.mappings, before.mappings, 8, "mappings of memory")?;
        grown(self.files, before.files, 2, "open files")
    }
}

/// Does the same again and again until it leaves nothing behind. Threads, the pool and the compiler, which keeps its
/// working space, take what they need the first times, and no more once they have it; what is kept for no reason
/// grows each time, by more than so many bytes.
///
/// # Errors
/// What there was more of after the last of so many times.
pub async fn settles(
    most: usize,
    bytes: usize,
    mut work: impl AsyncFnMut() -> anyhow::Result<Held>,
) -> anyhow::Result<Vec<Held>> {
    let mut held = vec![work().await?];
    loop {
        let now = work().await?;
        let grew = held
            .last()
            .map_or(Ok(()), |before| now.is_no_more_than(before, bytes));
        held.push(now);
        match grew {
            Ok(()) => return Ok(held),
            Err(error) if held.len() >= most => {
                return Err(error.context(format!("it still grows after {most} times")));
            }
            Err(_) => {}
        }
    }
}
