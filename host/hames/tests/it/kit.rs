//! A home, a folder, and the program in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A user with an empty home and an empty folder.
pub(crate) struct User {
    root: TempDir,
}

/// What a command said and how it ended.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

impl User {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        for folder in ["home", "work"] {
            std::fs::create_dir(root.path().join(folder)).expect("a folder in it");
        }
        Self { root }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.root.path().join("work")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.home().join(".local/share/hames/sessions.db")
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.root.path().join(name);
        std::fs::create_dir_all(file.parent().expect("a file has a folder")).expect("folders for it");
        std::fs::write(&file, text).expect("a file in it");
        file
    }

    /// The program, with nothing of this process's environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hames"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.home())
            .current_dir(self.folder())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Told {
        self.told(&self.command(arguments).output().expect("the program starts"))
    }

    pub(crate) fn told(&self, output: &Output) -> Told {
        Told {
            out: self.plain(&String::from_utf8_lossy(&output.stdout)),
            err: self.plain(&String::from_utf8_lossy(&output.stderr)),
            code: output.status.code(),
        }
    }

    /// A text without what differs from run to run.
    pub(crate) fn plain(&self, text: &str) -> String {
        let real = self.root.path().canonicalize().expect("the folder is there");
        let shown = |path: &Path| path.display().to_string();
        let text = text
            .replace(&shown(&real), "[ROOT]")
            .replace(&shown(self.root.path()), "[ROOT]");
        timeless(&text)
    }
}

impl Told {
    /// Everything it said, for a snapshot.
    pub(crate) fn all(&self) -> String {
        format!("{}---\n{}---\ncode: {:?}\n", self.out, self.err, self.code)
    }
}

/// Takes out how long things took.
fn timeless(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\"ms\":") {
        let (head, tail) = rest.split_at(at + 5);
        plain.push_str(head);
        plain.push('0');
        rest = tail.trim_start_matches(|letter: char| letter.is_ascii_digit());
    }
    plain.push_str(rest);
    let lines = plain.lines().map(
        |line| match line.split_once(" in ").zip(line.split_once(" s: ")) {
            Some(((what, _), (_, tail))) if tail.contains("model call") => {
                format!("{what} in 0.0 s: {tail}\n")
            }
            _ => format!("{line}\n"),
        },
    );
    lines.collect()
}
