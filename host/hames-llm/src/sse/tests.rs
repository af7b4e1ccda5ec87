//! Tests of the parser: every way to cut the same bytes gives the same events.

use proptest::prelude::*;

use super::SseParser;

fn events_of(pieces: &[&[u8]]) -> Vec<(String, String)> {
    let mut parser = SseParser::new(1 << 20);
    let mut events = Vec::new();
    let mut drain = |parser: &mut SseParser| {
        while let Some(event) = parser.next().unwrap() {
            events.push((event.name.into_owned(), event.data.into_owned()));
        }
    };
    for piece in pieces {
        parser.push(piece);
        drain(&mut parser);
    }
    parser.end();
    drain(&mut parser);
    events
}

fn data_of(bytes: &[u8]) -> Vec<String> {
    events_of(&[bytes]).into_iter().map(|(_, data)| data).collect()
}

#[test]
fn lines_end_with_a_feed_with_or_without_a_return() {
    assert_eq!(
        data_of(b"data: a\n\ndata: b\r\n\r\ndata: c\r\n\n"),
        ["a", "b", "c"]
    );
}

#[test]
fn an_event_may_lack_its_end_at_the_end_of_the_stream() {
    assert_eq!(data_of(b"data: a\n\ndata: b"), ["a", "b"]);
    assert_eq!(data_of(b"data: a\n\ndata: b\r"), ["a", "b"]);
    assert_eq!(data_of(b"data: a\n"), ["a"]);
}

#[test]
fn data_lines_are_joined_and_lose_one_space_each() {
    assert_eq!(data_of(b"data:a\ndata:  b\ndata:\n\n"), ["a\n b\n"]);
}

#[test]
fn comments_unknown_fields_and_events_without_data_are_nothing() {
    assert_eq!(
        data_of(b": hi\n\nid: 7\nretry: 1\n data: x\ndata\n\nevent: e\n\ndata: a\n\n"),
        ["a"]
    );
}

#[test]
fn a_name_belongs_to_its_event_alone() {
    let events = events_of(&[b"event: error\ndata: a\n\ndata: b\n\n"]);
    assert_eq!(
        events,
        [("error".into(), "a".into()), (String::new(), "b".into())]
    );
}

#[test]
fn a_byte_order_mark_in_front_is_skipped_and_only_there() {
    assert_eq!(
        data_of("\u{feff}data: a\n\n\u{feff}data: b\n\n".as_bytes()),
        ["a"]
    );
    assert_eq!(data_of(b"\xef\xbb"), Vec::<String>::new());
}

#[test]
fn what_is_no_text_becomes_the_replacement_character() {
    assert_eq!(data_of(b"data: a\xff\xc3b\n\n"), ["a\u{fffd}\u{fffd}b"]);
}

#[test]
fn an_event_too_long_is_refused_whether_its_lines_end_or_not() {
    for bytes in [vec![b'x'; 200], b": x\ndata: y\n".repeat(20)] {
        let mut parser = SseParser::new(100);
        parser.push(&bytes);
        assert_eq!(parser.next().unwrap_err().limit, 100);
    }
}

#[test]
fn comments_without_end_use_no_memory() {
    let mut parser = SseParser::new(100);
    for _ in 0..1000 {
        parser.push(b": keep-alive\n");
        assert_eq!(parser.next(), Ok(None));
    }
    assert!(parser.buffer.len() < 100);
}

proptest! {
    #[test]
    fn however_the_bytes_are_cut_the_events_are_the_same(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                &b"data: a"[..], b"data:", b"\n", b"\n", b"\r\n", b"\r", b": c", b"event: e", "\u{1f980}".as_bytes(),
                b"\xff", b"\xef\xbb\xbf", b" ", b"x",
            ]),
            0..40,
        ),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
    ) {
        let bytes = parts.concat();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(events_of(&pieces), events_of(&[&bytes]));
    }
}
