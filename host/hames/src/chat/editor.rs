//! What does the person type? A line editor on a thread of its own, which goes on while answers are printed above it.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::{Config, DefaultEditor, ExternalPrinter};
use tokio::sync::mpsc;

/// What stands before what is typed.
const PROMPT: &str = "> ";

/// Most lines of history that are kept.
const MAX_HISTORY: usize = 1_000;

/// What came from the keyboard.
#[derive(Debug)]
pub(super) enum Typed {
    /// A line.
    Line(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D on an empty line.
    End,
    /// The terminal is gone.
    Broken(String),
}

/// Prints above the line that is being typed.
pub(super) type Printer = Box<dyn ExternalPrinter + Send>;

/// The keyboard. Dropping it gives the terminal back as it was.
pub(super) struct Keys {
    typed: mpsc::UnboundedReceiver<Typed>,
    go_on: std::sync::mpsc::Sender<()>,
    terminal: Option<Termios>,
}

impl Keys {
    /// Begins to read lines, remembering them in `history`.
    ///
    /// # Errors
    /// If there is no terminal to read from.
    pub(super) fn read(history: PathBuf) -> anyhow::Result<(Self, Printer)> {
        let terminal = tcgetattr(io::stdin()).ok();
        let config = Config::builder()
            .max_history_size(MAX_HISTORY)?
            .auto_add_history(true)
            .build();
        let mut editor = DefaultEditor::with_config(config)?;
        // There is none the first time.
        drop(editor.load_history(&history));
        let printer = editor.create_external_printer()?;
        let (to, typed) = mpsc::unbounded_channel();
        let (go_on, may_go_on) = std::sync::mpsc::channel();
        thread::Builder::new()
            .name("keyboard".to_owned())
            .spawn(move || {
                loop {
                    let (what, is_last) = read_line(&mut editor, &history);
                    // Between two lines the terminal is as it was; whoever takes a line says when the next is wanted.
                    if to.send(what).is_err() || is_last || may_go_on.recv().is_err() {
                        return;
                    }
                }
            })?;
        let keys = Self {
            typed,
            go_on,
            terminal,
        };
        Ok((keys, Box::new(printer)))
    }

    /// The next thing typed.
    pub(super) async fn next(&mut self) -> Typed {
        self.typed.recv().await.unwrap_or(Typed::End)
    }

    /// Lets the person type on.
    pub(super) fn go_on(&self) {
        // A keyboard that is gone has said so.
        self.go_on.send(()).unwrap_or(());
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(terminal) = &self.terminal {
            tcsetattr(io::stdin(), OptionalActions::Now, terminal).unwrap_or(());
        }
    }
}

/// One line, and whether it is the last thing that will come.
fn read_line(editor: &mut DefaultEditor, history: &Path) -> (Typed, bool) {
    match editor.readline(PROMPT) {
        Ok(line) => {
            // A history that can't be kept is no reason not to talk.
            drop(editor.append_history(history));
            (Typed::Line(line), false)
        }
        Err(ReadlineError::Interrupted) => (Typed::Interrupt, false),
        Err(ReadlineError::Eof) => (Typed::End, true),
        Err(error) => (Typed::Broken(error.to_string()), true),
    }
}
