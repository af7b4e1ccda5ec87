//! How is an answer printed above a line that is being typed? In whole lines of the screen, as soon as one is full.

use std::io;

use super::editor::Printer;
use crate::output::{Output, Tone, visible};
use crate::view::Paper;

/// How wide a line of an answer is printed, in characters.
const WIDTH: usize = 76;

/// The screen above the line that is being typed.
pub(super) struct Page {
    printer: Printer,
    output: Output,
    /// What isn't printed yet: less than a line.
    rest: String,
}

impl Page {
    /// An empty page.
    #[must_use]
    pub(super) fn new(printer: Printer, output: Output) -> Self {
        Self {
            printer,
            output,
            rest: String::new(),
        }
    }

    fn print(&mut self, text: String) -> io::Result<()> {
        self.printer.print(text).map_err(io::Error::other)
    }

    /// Says something to the person.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub(super) fn say(&mut self, tone: Tone, text: &str) -> io::Result<()> {
        self.aside(tone, text)
    }
}

impl Paper for Page {
    fn answer(&mut self, piece: &str) -> io::Result<()> {
        self.rest.push_str(&visible(piece));
        let mut full = String::new();
        while let Some(end) = line_end(&self.rest) {
            let line: String = self.rest.drain(..end).collect();
            full.push_str(line.trim_end());
            full.push('\n');
        }
        if full.is_empty() { Ok(()) } else { self.print(full) }
    }

    fn aside(&mut self, tone: Tone, line: &str) -> io::Result<()> {
        let mut text = std::mem::take(&mut self.rest);
        if !text.is_empty() {
            text.push('\n');
        }
        let painted = self.output.paint(tone, line);
        self.print(format!("{text}{painted}\n"))
    }
}

/// Where the text's first line ends: at a line feed, or at the last blank before it gets too wide.
fn line_end(text: &str) -> Option<usize> {
    let mut blank = None;
    for (count, (at, letter)) in text.char_indices().enumerate() {
        if letter == '\n' {
            return Some(at + 1);
        }
        if count >= WIDTH {
            return Some(blank.unwrap_or(at));
        }
        if letter == ' ' {
            blank = Some(at + 1);
        }
    }
    None
}
