//! Who reads what is printed? A person at a terminal, a person later, or a program; all three get what fits them.
//!
//! Results go to standard output, everything said beside them to standard error. Under `--json` standard output has
//! one JSON value per line and nothing else.

use std::fmt::{self, Display, Write as _};
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::{Value, json};
use tracing_subscriber::filter::LevelFilter;

use crate::cli::{Colour, Common};
use crate::config::{Environment, Origin, Problem, Problems};
use crate::exit::{Ended, Exit};

/// How a piece of text is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Nothing special.
    Plain,
    /// Beside the matter.
    Dim,
    /// A heading or a name.
    Strong,
    /// As it should be.
    Good,
    /// Worth a look.
    Warning,
    /// Failed.
    Bad,
}

impl Tone {
    const fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Dim => Style::new().dimmed(),
            Self::Strong => Style::new().bold(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
        }
    }
}

/// Where a command prints.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what flags and streams are is independent of each other"
)]
pub struct Output {
    is_json: bool,
    colour_out: bool,
    colour_err: bool,
    /// Whether somebody can be asked: standard input and standard error are a terminal.
    is_interactive: bool,
    /// Whether standard output is a terminal.
    is_terminal: bool,
    verbose: u8,
}

impl Output {
    /// As flags and environment have it.
    #[must_use]
    pub fn new(common: &Common, environment: &Environment) -> Self {
        let colour = |is_terminal: bool| match common.color {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => is_terminal && !environment.no_color && !environment.is_dumb,
        };
        let (out, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        Self {
            is_json: common.json,
            colour_out: colour(out),
            colour_err: colour(err),
            is_interactive: io::stdin().is_terminal() && err && !common.json,
            is_terminal: out,
            verbose: common.verbose,
        }
    }

    /// Whether a program reads.
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.is_json
    }

    /// Whether a person can be asked something.
    #[must_use]
    pub fn is_interactive(&self) -> bool {
        self.is_interactive
    }

    /// Whether standard output is a terminal.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// How much was asked for with `--verbose`.
    #[must_use]
    pub fn verbosity(&self) -> u8 {
        self.verbose
    }

    /// A text for standard output in a tone.
    pub fn paint<T: Display>(&self, tone: Tone, text: T) -> Painted<T> {
        Painted(tone, self.colour_out, text)
    }

    /// A text for standard error in a tone.
    pub fn paint_note<T: Display>(&self, tone: Tone, text: T) -> Painted<T> {
        Painted(tone, self.colour_err, text)
    }

    /// Prints a line of a result.
    ///
    /// # Errors
    /// If nobody reads it, or it can't be written.
    pub fn line(&self, text: impl Display) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{text}")
    }

    /// Prints a piece of a result as it stands, at once.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub fn piece(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Prints one JSON value as a line.
    ///
    /// # Errors
    /// As [`Output::line`].
    pub fn json(&self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        let mut out = io::stdout().lock();
        out.write_all(&line)?;
        out.flush()
    }

    /// Says something beside the result. Nobody may be listening, which is no failure of the command.
    pub fn note(&self, text: impl Display) {
        drop(writeln!(io::stderr().lock(), "{text}"));
    }

    /// Tells why a command failed, and gives the code for it.
    pub fn failed(&self, error: &anyhow::Error) -> Exit {
        let exit = Exit::of(error);
        let told: Vec<String> = error
            .chain()
            .filter(|cause| !cause.is::<Ended>())
            .map(|cause| visible(&cause.to_string()))
            .collect();
        if exit == Exit::ClosedPipe {
            return exit;
        }
        // An error that tells its cause itself needn't be told it again.
        let mut told: Vec<String> = told;
        told.dedup_by(|cause, message| message.ends_with(cause.as_str()));
        let (message, causes) = told
            .split_first()
            .map_or(("", [].as_slice()), |(message, causes)| {
                (message.as_str(), causes)
            });
        if self.is_json {
            let mut value =
                json!({"type": "error", "code": exit.name(), "message": message, "causes": causes});
            if let Some(problems) = error.chain().find_map(|cause| cause.downcast_ref::<Problems>()) {
                let problems = problems.0.iter().map(problem).collect();
                if let Value::Object(fields) = &mut value {
                    fields.insert("problems".to_owned(), problems);
                }
            }
            return match self.json(&value) {
                Ok(()) => exit,
                Err(_closed) => Exit::ClosedPipe,
            };
        }
        self.note(format_args!("{} {message}", self.paint_note(Tone::Bad, "error:")));
        for cause in causes {
            self.note(format_args!(
                "  {} {cause}",
                self.paint_note(Tone::Dim, "because:")
            ));
        }
        exit
    }
}

/// A mistake in the configuration: where it stands, and what is wrong.
fn problem(problem: &Problem) -> Value {
    let (file, line) = match &problem.origin {
        Origin::File { file, line } => (Some(file.display().to_string()), Some(*line)),
        Origin::Default | Origin::Demo | Origin::Flag => (None, None),
    };
    json!({"file": file, "line": line, "key": problem.key, "problem": problem.what})
}

/// A text in a tone, coloured or not.
#[derive(Debug, Clone, Copy)]
pub struct Painted<T>(Tone, bool, T);

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(tone, coloured, text) = self;
        if !coloured || *tone == Tone::Plain {
            return text.fmt(out);
        }
        let style = tone.style();
        write!(out, "{style}{text}{style:#}")
    }
}

/// A stranger's text as a terminal may have it: what could move the cursor or forge a line shows as what it is.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => shown.push(letter),
            '\r' => {}
            // Written to a string, which doesn't fail.
            letter if letter.is_control() || is_bidi(letter) => {
                write!(shown, "\\u{{{:x}}}", u32::from(letter)).unwrap_or(());
            }
            letter => shown.push(letter),
        }
    }
    shown
}

/// Marks that let a text read otherwise than it is written.
fn is_bidi(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Sends diagnostics to standard error: of failures alone, unless more is asked for.
pub fn trace(common: &Common, output: &Output) {
    let level = match common.verbose {
        0 => LevelFilter::OFF,
        1 => LevelFilter::WARN,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        .with_ansi(output.colour_err)
        .with_target(true)
        .finish();
    // Set once per process; a second one (in a test) changes nothing.
    drop(tracing::subscriber::set_global_default(subscriber));
}
