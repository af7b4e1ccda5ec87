//! Tests of payloads: odd surrogates, odd counts.

use hames_types::json::Json;

use super::{count, object};

fn parsed(payload: &str) -> Json {
    serde_json::from_str(&object(payload).unwrap()).unwrap()
}

#[test]
fn a_surrogate_that_stands_alone_becomes_the_replacement_character() {
    for (escaped, text) in [
        (r"\ud83e", "\u{fffd}"),
        (r"\udd80", "\u{fffd}"),
        (r"a\ud83e\ud83e\udd80b", "a\u{fffd}\u{1f980}b"),
        (r"\uD83E\uDD80", "\u{1f980}"),
        (r"\\ud83e", r"\ud83e"),
        (r"\\\ud83e", "\\\u{fffd}"),
        (r"\n\ud83e\n", "\n\u{fffd}\n"),
        (r"\u00e9\ud83e", "\u{e9}\u{fffd}"),
    ] {
        assert_eq!(parsed(&format!(r#"{{"t":"{escaped}"}}"#))["t"], text, "{escaped}");
    }
}

#[test]
fn only_an_object_is_a_payload() {
    for other in ["null", "5", "\"x\"", "[]", "", "  "] {
        assert_eq!(object(other).unwrap_err().code, "MALFORMED_RESPONSE");
    }
    assert!(object(" {}").is_ok());
}

#[test]
fn a_count_is_never_below_zero_and_never_anything_but_a_number() {
    let read = |text: &str| count(Some(&serde_json::from_str(text).unwrap()));
    assert_eq!(read("7"), Some(7));
    assert_eq!(read("7.9"), Some(7));
    assert_eq!(read("-3"), Some(0));
    assert_eq!(read("1e3"), Some(1000));
    for none in ["null", "\"7\"", "{}", "1e400"] {
        assert_eq!(read(none), None, "{none}");
    }
    assert_eq!(count(None), None);
}
