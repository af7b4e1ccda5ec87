//! Does memory grow with attacks? Every attack that ends by itself, round after round, in one process.

use std::sync::Arc;

use anyhow::Context as _;
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
