//! How long does a provider ask to wait? `Retry-After` in seconds or as a date, `retry-after-ms`.

#[cfg(test)]
mod tests;

/// A wait in milliseconds from the two headers, if they ask for one above zero.
///
/// `retry-after-ms` is the finer one and counts first. `Retry-After` holds whole seconds or a date; a date is taken in
/// any of the usual spellings, for servers write them all.
pub(crate) fn retry_after_ms(
    retry_after_ms: Option<&str>,
    retry_after: Option<&str>,
    now_ms: u64,
) -> Option<u64> {
    let from_ms = retry_after_ms.and_then(whole_number);
    let wait = from_ms.or_else(|| {
        let text = retry_after?.trim();
        match whole_number(text) {
            Some(seconds) => seconds.checked_mul(1000),
            None => date_ms(text).map(|at| at.saturating_sub(now_ms)),
        }
    });
    wait.filter(|wait| *wait > 0)
}

fn whole_number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Parts of a date as they are found.
#[derive(Debug, Default)]
struct Parts {
    year: Option<u64>,
    month: Option<u64>,
    day: Option<u64>,
    time_ms: Option<u64>,
    utc: bool,
}

/// A date in milliseconds of the Unix epoch: the three forms of HTTP, ISO 8601, and the words of both in any order.
fn date_ms(text: &str) -> Option<u64> {
    if let Some(iso) = iso_ms(text) {
        return Some(iso);
    }
    let mut parts = Parts::default();
    for word in text.split([' ', ',', '-']).filter(|word| !word.is_empty()) {
        parts.take(word)?;
    }
    // The asctime form names no zone and is in UTC by definition; so is everything else HTTP knows.
    let day = days(parts.year?, parts.month?, parts.day?)?;
    Some(day * DAY_MS + parts.time_ms?).filter(|_| parts.utc || text.len() == ASCTIME_LEN)
}

const DAY_MS: u64 = 86_400_000;
const ASCTIME_LEN: usize = "Sun Nov  6 08:49:37 1994".len();
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

impl Parts {
    fn take(&mut self, word: &str) -> Option<()> {
        let lower = word.to_ascii_lowercase();
        if lower.contains(':') {
            return set(&mut self.time_ms, clock_ms(&lower)?);
        }
        if let Some(number) = whole_number(&lower) {
            // A two-digit year comes after its day (RFC 850).
            return if self.day.is_none() && number <= 31 {
                set(&mut self.day, number)
            } else if lower.len() == 2 {
                set(
                    &mut self.year,
                    if number < 70 { 2000 + number } else { 1900 + number },
                )
            } else {
                set(&mut self.year, number)
            };
        }
        if matches!(lower.as_str(), "gmt" | "utc" | "z") {
            self.utc = true;
            return Some(());
        }
        let head = lower.get(..3)?;
        if let Some(month) = MONTHS.iter().position(|name| *name == head) {
            return set(&mut self.month, month as u64 + 1);
        }
        WEEKDAYS.contains(&head).then_some(())
    }
}

fn set(slot: &mut Option<u64>, value: u64) -> Option<()> {
    slot.replace(value).is_none().then_some(())
}

/// `22:13:21` or `22:13:21.234`.
fn clock_ms(text: &str) -> Option<u64> {
    let mut fields = text.split(':');
    let hour = whole_number(fields.next()?)?;
    let minute = whole_number(fields.next()?)?;
    let rest = fields.next().unwrap_or("0");
    let (second, fraction) = rest.split_once('.').unwrap_or((rest, "0"));
    let second = whole_number(second)?;
    let thousandths: String = fraction.chars().chain("000".chars()).take(3).collect();
    let valid = hour < 24 && minute < 60 && second <= 60 && fields.next().is_none();
    valid.then_some(())?;
    Some(((hour * 60 + minute) * 60 + second) * 1000 + whole_number(&thousandths)?)
}

/// `2023-11-14T22:13:21.234Z`, with `+01:00` or the like in place of the `Z`.
fn iso_ms(text: &str) -> Option<u64> {
    let (date, time) = text.split_once(['T', 't'])?;
    let mut fields = date.split('-').map(whole_number);
    let day = days(fields.next()??, fields.next()??, fields.next()??)?;
    let (clock, offset_ms) = match time.split_at_checked(time.len().saturating_sub(6)) {
        Some((clock, zone)) if zone.starts_with(['+', '-']) => {
            let shift = i64::try_from(clock_ms(zone.get(1..)?)?).ok()?;
            (clock, if zone.starts_with('-') { -shift } else { shift })
        }
        _ => (time.strip_suffix(['Z', 'z'])?, 0),
    };
    (day * DAY_MS + clock_ms(clock)?).checked_add_signed(-offset_ms)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar; none before that or for a day that isn't there.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let in_range = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    in_range.then_some(())?;
    // Counted from March, so that the leap day is the last of its year.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    (year * 365 + leap_days + day_of_year).checked_sub(719_468)
}
