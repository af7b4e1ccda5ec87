//! Tests of the waits: the spellings servers use, and the ones that mean nothing.

use super::{date_ms, retry_after_ms};

/// 2023-11-14 22:13:20 UTC.
const NOW_MS: u64 = 1_700_000_000_000;

fn wait(text: &str) -> Option<u64> {
    retry_after_ms(None, Some(text), NOW_MS)
}

#[test]
fn seconds_are_whole_and_above_zero() {
    assert_eq!(wait("7"), Some(7000));
    assert_eq!(wait(" 7 "), Some(7000));
    for nothing in [
        "0",
        "",
        "1.5",
        "-3",
        "+3",
        "500ms",
        "5s",
        "5, 6",
        "soon",
        &"9".repeat(400),
    ] {
        assert_eq!(wait(nothing), None, "{nothing}");
    }
}

#[test]
fn a_date_is_read_in_every_usual_spelling() {
    for date in [
        "Tue, 14 Nov 2023 22:14:00 GMT",
        "Tuesday, 14-Nov-23 22:14:00 GMT",
        "Tue Nov 14 22:14:00 2023",
        "Nov 14 2023 22:14:00 GMT",
        "2023-11-14T22:14:00Z",
        "2023-11-14T23:14:00+01:00",
    ] {
        assert_eq!(wait(date), Some(40_000), "{date}");
    }
    assert_eq!(wait("2023-11-14T22:13:21.234Z"), Some(1234));
}

#[test]
fn a_date_that_is_past_or_none_is_no_wait() {
    for date in [
        "Tue, 14 Nov 2023 22:11:50 GMT",
        "Tue, 32 Nov 2023 22:14:00 GMT",
        "Tue, 14 Nov 2023 25:14:00 GMT",
    ] {
        assert_eq!(wait(date), None, "{date}");
    }
}

#[test]
fn milliseconds_count_first() {
    assert_eq!(retry_after_ms(Some("1500"), Some("9"), NOW_MS), Some(1500));
    assert_eq!(retry_after_ms(Some("soon"), Some("9"), NOW_MS), Some(9000));
}

#[test]
fn the_calendar_knows_leap_years() {
    assert_eq!(date_ms("2024-02-29T00:00:00Z"), Some(1_709_164_800_000));
    assert_eq!(date_ms("1970-01-01T00:00:00Z"), Some(0));
    assert_eq!(date_ms("2100-03-01T00:00:00Z"), Some(4_107_542_400_000));
}
