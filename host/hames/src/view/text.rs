//! How does a turn look to a person? The answer as it comes, and a line for whatever happens beside it.

use std::io;

use hames_types::event::{ToolCallEvent, ToolResultEvent};
use hames_types::json::Json;
use hames_types::port::notice::AgentError;
use hames_types::tool::ToolView;

use super::{View, card};
use crate::output::{Output, Tone, visible};

/// What a person reads from.
pub trait Paper: Send {
    /// A piece of the answer; it may end in the middle of a line.
    ///
    /// # Errors
    /// If nobody reads it.
    fn answer(&mut self, piece: &str) -> io::Result<()>;

    /// A line beside the answer.
    ///
    /// # Errors
    /// As [`Paper::answer`].
    fn aside(&mut self, tone: Tone, line: &str) -> io::Result<()>;
}

/// The answer on standard output, everything else on standard error.
pub struct Terminal {
    output: Output,
    /// Whether the answer's last line is still open.
    is_open: bool,
}

impl Terminal {
    /// A terminal, or what stands in its place.
    #[must_use]
    pub fn new(output: Output) -> Self {
        Self {
            output,
            is_open: false,
        }
    }
}

impl Paper for Terminal {
    fn answer(&mut self, piece: &str) -> io::Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        self.is_open = !piece.ends_with('\n');
        if self.output.is_terminal() {
            self.output.piece(&visible(piece))
        } else {
            self.output.piece(piece)
        }
    }

    fn aside(&mut self, tone: Tone, line: &str) -> io::Result<()> {
        // Both are the same screen: the answer's line is closed first.
        if self.is_open && self.output.is_terminal() {
            self.is_open = false;
            self.output.piece("\n")?;
        }
        self.output.note(self.output.paint_note(tone, line));
        Ok(())
    }
}

/// A turn on paper.
pub struct TextView<P> {
    paper: P,
    is_open: bool,
    is_verbose: bool,
}

impl<P: Paper> TextView<P> {
    /// A view; a verbose one shows thinking and whole results.
    #[must_use]
    pub fn new(paper: P, is_verbose: bool) -> Self {
        Self {
            paper,
            is_open: false,
            is_verbose,
        }
    }

    /// What it is written on.
    pub fn paper(&mut self) -> &mut P {
        &mut self.paper
    }
}

impl<P: Paper> View for TextView<P> {
    fn text(&mut self, piece: &str) -> io::Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        self.is_open = !piece.ends_with('\n');
        self.paper.answer(piece)
    }

    fn reasoning(&mut self, piece: &str) -> io::Result<()> {
        if self.is_verbose {
            for line in piece.lines().filter(|line| !line.trim().is_empty()) {
                self.paper.aside(Tone::Dim, &format!("  {}", visible(line)))?;
            }
        }
        Ok(())
    }

    fn block_end(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_open) {
            self.paper.answer("\n")?;
        }
        Ok(())
    }

    fn call(&mut self, call: &ToolCallEvent, card: Option<&ToolView>) -> io::Result<()> {
        let line = match card {
            // Many titles begin with the tool's name themselves.
            Some(card) if card::title(card).starts_with(call.name.as_str()) => {
                format!("• {}", card::title(card))
            }
            Some(card) => format!("• {}: {}", visible(&call.name), card::title(card)),
            None => format!("• {} {}", visible(&call.name), card::one_line(&call.arguments)),
        };
        self.paper.aside(Tone::Strong, &line)?;
        if let Some(card @ ToolView::Generic(_)) = card {
            for (tone, line) in card::body(card) {
                self.paper.aside(tone, &format!("    {line}"))?;
            }
        }
        Ok(())
    }

    fn result(&mut self, name: &str, result: &ToolResultEvent, card: Option<&ToolView>) -> io::Result<()> {
        let text = result.content.joined_text();
        let (sign, tone) = if result.is_error {
            ("✗", Tone::Bad)
        } else {
            ("✓", Tone::Dim)
        };
        if self.is_verbose {
            self.paper.aside(tone, &format!("  {sign}"))?;
            for line in text.lines() {
                self.paper.aside(Tone::Dim, &format!("    {}", visible(line)))?;
            }
            return Ok(());
        }
        let rest = match text.trim().lines().count().saturating_sub(1) {
            0 => String::new(),
            1 => " (and 1 more line)".to_owned(),
            more => format!(" (and {more} more lines)"),
        };
        match card {
            Some(card) if !result.is_error => {
                self.paper
                    .aside(tone, &format!("  {sign} {}", card::title(card)))?;
                for (tone, line) in card::body(card) {
                    self.paper.aside(tone, &format!("    {line}"))?;
                }
                Ok(())
            }
            Some(_) | None if result.is_error => {
                let line = format!("  {sign} {}: {}{rest}", visible(name), card::one_line(&text));
                self.paper.aside(tone, &line)
            }
            Some(_) | None => {
                let line = format!("  {sign} {}{rest}", card::one_line(&text));
                self.paper.aside(tone, &line)
            }
        }
    }

    fn retry(&mut self, data: &Json) -> io::Result<()> {
        let failure = data.get("failure").and_then(|failure| failure.get("message"));
        let message = failure.and_then(Json::as_str).unwrap_or("the model call failed");
        let delay = data.get("delayMs").map(ToString::to_string).unwrap_or_default();
        let line = format!("! {}; trying again in {delay} ms", card::one_line(message));
        self.paper.aside(Tone::Warning, &line)
    }

    fn trouble(&mut self, error: &AgentError) -> io::Result<()> {
        let line = format!("! {}", visible(&error.error.chain()));
        self.paper.aside(Tone::Warning, &line)
    }

    fn question(&mut self, data: &Json) -> io::Result<()> {
        let of = |key: &str| data.get(key).and_then(Json::as_str).unwrap_or_default();
        let reason = of("reason");
        let because = if reason.is_empty() {
            String::new()
        } else {
            format!(": {}", visible(reason))
        };
        let line = format!("? {} needs your approval{because}", visible(of("toolName")));
        self.paper.aside(Tone::Warning, &line)
    }

    fn answered(&mut self, outcome: &str) -> io::Result<()> {
        let (tone, told) = match outcome {
            "allowed-once" => (Tone::Good, "allowed once"),
            "unavailable" => (Tone::Bad, "nobody can be asked here: denied"),
            other => (Tone::Bad, other),
        };
        self.paper.aside(tone, &format!("  {}", visible(told)))
    }

    fn blocked(&mut self, reason: &str) -> io::Result<()> {
        let line = format!("✗ the prompt was refused: {}", visible(reason));
        self.paper.aside(Tone::Bad, &line)
    }
}
