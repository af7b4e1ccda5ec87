//! What time is it, and what does chance say? The one place that asks the system for either.

use std::time::{SystemTime, UNIX_EPOCH};

use hames_types::id::SessionId;
use hames_types::port::clock::Clock;

/// The system's time.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn now_ms(&self) -> u64 {
        // A clock before 1970 is told as 1970: nothing is ordered by it.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// A number from 0 to 1, either included.
#[must_use]
pub fn draw() -> f64 {
    fastrand::f64()
}

/// An id for a new session: when it began (UTC), and letters that keep two of one second apart.
#[must_use]
pub fn session_id(now_ms: u64) -> SessionId {
    let seconds = now_ms / 1000;
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let chance: String = std::iter::repeat_with(fastrand::lowercase).take(4).collect();
    SessionId::new(format!(
        "{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}-{chance}"
    ))
}

/// A time as a person reads it: UTC, to the second.
#[must_use]
pub fn shown_time(time_ms: u64) -> String {
    let seconds = time_ms / 1000;
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// The date of a day counted from 1970-01-01, in the Gregorian calendar.
fn date(days: u64) -> (u64, u64, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut year, mut rest) = (1970, days);
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if rest < length {
            break;
        }
        rest -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if rest < length {
            break;
        }
        rest -= length;
        month += 1;
    }
    (year, month, rest + 1)
}
