//! How does a plugin tell its operator something? One line at a time; the model never sees it.

use crate::bindings::imports::hames::plugin::log as host;

pub use host::Level;

/// Writes one line.
pub fn write(level: Level, text: &str) {
    host::write(level, text);
}

/// Writes a line worth knowing.
pub fn info(text: impl AsRef<str>) {
    write(Level::Info, text.as_ref());
}

/// Writes a line about something that isn't as it should be.
pub fn warn(text: impl AsRef<str>) {
    write(Level::Warn, text.as_ref());
}
