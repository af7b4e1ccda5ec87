//! Are the pieces apart, aligned, kept, and from the system when the room is full?

#![expect(unsafe_code, reason = "an allocator is asked unsafely")]

use super::*;

type Small = Room<1_024>;

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

fn get(room: &Small, layout: Layout) -> *mut u8 {
    // SAFETY: no layout of these tests is empty.
    let piece = unsafe { room.alloc(layout) };
    assert!(!piece.is_null());
    assert_eq!(piece as usize % layout.align(), 0);
    piece
}

fn give(room: &Small, piece: *mut u8, layout: Layout) {
    // SAFETY: each test gives back what it got, once, with the layout it has.
    unsafe { room.dealloc(piece, layout) }
}

fn resize(room: &Small, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
    // SAFETY: each test resizes what it got, with the layout it has, and not to nothing.
    unsafe { room.realloc(piece, layout, size) }
}

#[test]
fn pieces_lie_apart_whatever_their_alignment() {
    let room = Small::new();
    let mut end = 0;
    for (size, align) in [(1, 1), (8, 8), (3, 1), (64, 64), (5, 2), (16, 16)] {
        let piece = get(&room, layout(size, align));
        assert!(piece as usize >= end, "{size} {align}");
        assert!(room.place(piece).is_some());
        end = piece as usize + size;
    }
}

#[test]
fn the_last_piece_is_reused_and_no_other() {
    let room = Small::new();
    let (first, last) = (get(&room, layout(100, 8)), get(&room, layout(100, 8)));
    give(&room, first, layout(100, 8));
    let third = get(&room, layout(100, 8));
    assert_ne!(third, first);
    give(&room, third, layout(100, 8));
    assert_eq!(get(&room, layout(100, 8)), third);
    give(&room, last, layout(100, 8));
}

#[test]
fn a_piece_grows_where_it_is_or_keeps_what_it_holds() {
    let room = Small::new();
    let piece = get(&room, layout(100, 8));
    // SAFETY: it has 100 bytes.
    unsafe { piece.write_bytes(7, 100) };
    assert_eq!(resize(&room, piece, layout(100, 8), 200), piece);
    let behind = get(&room, layout(8, 8));
    assert!(behind as usize >= piece as usize + 200);
    assert_eq!(resize(&room, piece, layout(200, 8), 50), piece);
    let moved = resize(&room, piece, layout(50, 8), 300);
    assert_ne!(moved, piece);
    // SAFETY: it has 300 bytes, of which the first 50 are the old ones.
    assert!(
        unsafe { std::slice::from_raw_parts(moved, 50) }
            .iter()
            .all(|byte| *byte == 7)
    );
}

#[test]
fn when_the_room_is_full_the_system_is_asked() {
    let room = Small::new();
    let inside = get(&room, layout(1_000, 8));
    let outside = get(&room, layout(100, 8));
    assert!(room.place(inside).is_some());
    assert!(room.place(outside).is_none());
    let larger = resize(&room, outside, layout(100, 8), 5_000);
    assert!(room.place(larger).is_none());
    give(&room, larger, layout(5_000, 8));
    // SAFETY: it has 1,000 bytes.
    unsafe { inside.write_bytes(9, 1_000) };
    let moved = resize(&room, inside, layout(1_000, 8), 2_000);
    assert!(room.place(moved).is_none());
    // SAFETY: it has 2,000 bytes, of which the first 1,000 are the old ones.
    assert!(
        unsafe { std::slice::from_raw_parts(moved, 1_000) }
            .iter()
            .all(|byte| *byte == 9)
    );
    give(&room, moved, layout(2_000, 8));
    let huge = get(&room, layout(1 << 20, 4_096));
    give(&room, huge, layout(1 << 20, 4_096));
}
