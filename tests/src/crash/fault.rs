//! What if the disk fails under a running agent? Failing system calls, a full disk.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use tempfile::TempDir;

use super::check::{Seen, survived};
use super::{Kind, store};

/// How many turns the victim tries.
const TURNS: &str = "12";

/// A way in which the disk fails.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// The system calls that fail, as strace names them.
    pub calls: &'static str,
    /// With what (`EIO`).
    pub error: &'static str,
    /// Which ones of them, as strace counts (`7`, `7+`).
    pub when: u32,
    /// Whether all later ones fail as well.
    pub stays: bool,
}

/// The files whose calls fail; the runtime's own pipes don't.
fn files(kind: Kind, folder: &Path) -> Vec<PathBuf> {
    let store = store(folder);
    let names: &[&str] = match kind {
        Kind::Sqlite => &["sessions.db", "sessions.db-wal", "sessions.db-shm"],
        Kind::Frames => &[
            "logs/_no-cwd/crash.jsonl.zstd",
            "logs/_no-cwd/crash.jsonl.zstd.new",
            "logs/_no-cwd",
        ],
        Kind::Lines => &[
            "logs/_no-cwd/crash.jsonl",
            "logs/_no-cwd/crash.jsonl.new",
            "logs/_no-cwd",
        ],
    };
    names.iter().map(|name| store.join(name)).collect()
}

/// Whether system calls can be made to fail here.
#[must_use]
pub fn can_inject() -> bool {
    Command::new("strace")
        .args(["-f", "-o", "/dev/null", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs an agent whose store's disk fails, then looks at what is left on a healthy one.
///
/// # Errors
/// The first thing that doesn't hold.
pub fn injected(victim: &Path, kind: Kind, fault: Fault) -> anyhow::Result<Seen> {
    let folder = TempDir::new()?;
    let (calls, error) = (fault.calls, fault.error);
    let when = format!("{}{}", fault.when, if fault.stays { "+" } else { "" });
    // The agent goes on without its store and says so in the end; only a crash would be wrong.
    let ended = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e"])
        .arg(format!("inject={calls}:error={error}:when={when}"))
        .args(
            files(kind, folder.path())
                .iter()
                .flat_map(|file| [OsStr::new("-P"), file.as_os_str()]),
        )
        .arg(victim)
        .args(["turns", kind.word()])
        .arg(folder.path())
        .arg(TURNS)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("strace")?;
    ensure!(ended.code().is_some(), "the agent crashed: {ended}");
    let mut seen = Seen::default();
    survived(kind, folder.path(), "", &mut seen)
        .with_context(|| format!("{} after {fault:?}", kind.word()))?;
    Ok(seen)
}

/// A small disk in memory, taken away again when dropped.
pub struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// Mounts one of `bytes`; none if that isn't allowed here.
    ///
    /// # Errors
    /// If the folder can't be made.
    pub fn mount(folder: &'a Path, bytes: u64) -> anyhow::Result<Option<Self>> {
        std::fs::create_dir_all(folder)?;
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"])
            .arg(folder)
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        Ok(mounted.then_some(Self(folder)))
    }

    /// Changes how it is mounted.
    ///
    /// # Errors
    /// If that fails.
    pub fn remount(&self, options: &str) -> anyhow::Result<()> {
        let status = Command::new("mount")
            .args(["-o", &format!("remount,{options}")])
            .arg(self.0)
            .status()?;
        ensure!(status.success(), "remounting with {options} failed");
        Ok(())
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(self.0).status());
    }
}

/// Runs an agent on a disk that fills up, makes room, and looks at what is left. `None` if no disk can be mounted.
///
/// # Errors
/// The first thing that doesn't hold.
pub fn full_disk(victim: &Path, kind: Kind) -> anyhow::Result<Option<Seen>> {
    let folder = TempDir::new()?;
    let place = store(folder.path());
    let (bytes, turns) = match kind {
        Kind::Sqlite => (320 * 1024, "150"),
        Kind::Frames => (48 * 1024, "150"),
        Kind::Lines => (256 * 1024, "100"),
    };
    let Some(disk) = SmallDisk::mount(&place, bytes)? else {
        return Ok(None);
    };
    let ended = Command::new(victim)
        .args(["turns", kind.word()])
        .arg(folder.path())
        .arg(turns)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    ensure!(!ended.status.success(), "the disk never filled up");
    ensure!(said.contains("free space there"), "it said: {said}");
    let mut seen = Seen::default();
    disk.remount("size=64m")?;
    survived(kind, folder.path(), "", &mut seen)?;

    disk.remount("ro")?;
    let ended = Command::new(victim)
        .args(["turns", kind.word()])
        .arg(folder.path())
        .arg("1")
        .output()?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    ensure!(
        !ended.status.success() && said.contains("permissions"),
        "on a read-only disk it said: {said}"
    );
    disk.remount("rw")?;
    survived(kind, folder.path(), "", &mut seen)?;
    Ok(Some(seen))
}
