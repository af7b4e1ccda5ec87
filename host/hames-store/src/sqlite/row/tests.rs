//! Do placements and places survive the way to a row and back?

use hames_types::event::{Placement, SurfaceOp};
use hames_types::id::Seq;
use proptest::prelude::*;

use super::{parts, place, placement_text, read_placement};

proptest! {
    #[test]
    fn placements_come_back(
        replace in any::<Option<(u32, u32)>>(),
        sources in any::<Option<Vec<(u16, u8)>>>(),
    ) {
        let op = match replace {
            Some((start, end)) => SurfaceOp::Replace { start: Seq::new(start.into()), end: Seq::new(end.into()) },
            None => SurfaceOp::Append,
        };
        // Runs and jumps, in whatever order.
        let sources = sources.map(|runs| {
            runs.into_iter()
                .flat_map(|(first, more)| (u64::from(first)..=u64::from(first) + u64::from(more % 5)).map(Seq::new))
                .collect()
        });
        let placement = Placement { op, sources };
        prop_assert_eq!(read_placement(&placement_text(&placement)), Some(placement));
    }

    #[test]
    fn nothing_written_there_makes_a_reader_panic(text in "[ar0-9,:-]{0,12}") {
        let _whatever = read_placement(&text);
    }
}

#[test]
fn a_placement_is_short() {
    let sources = (4..=11).chain([15, 2]).map(Seq::new).collect();
    let placement = Placement {
        op: SurfaceOp::Append,
        sources: Some(sources),
    };
    assert_eq!(placement_text(&placement), "a:4-11,15,2");
    for lie in ["a:0-99999999999", "a:5-4", "a:,", "b", "r3", "r3-", ""] {
        assert_eq!(read_placement(lie), None, "{lie}");
    }
}

#[test]
fn places_keep_key_and_number_apart() {
    for (key, seq) in [(0, 0), (1, 0), (1, (1 << 40) - 1), (8_388_607, 5)] {
        assert_eq!(parts(place(key, seq).unwrap()), (key, seq));
    }
    assert_eq!(place(1, 1 << 40), None);
    assert_eq!(place(8_388_608, 0), None);
    assert_eq!(place(-1, 0), None);
}
