//! Where does a call's memory come from? First from a room that is there when an instance begins; from the system only
//! when that is full.
//!
//! An instance lives for one call. Memory that it grows has to be made accessible, and hidden again before its place
//! serves the next call: two changes of page protection, which cost more than most calls and hold up every thread of the
//! host. The allocator of `wasm32-unknown-unknown` grows it with the first thing it is asked for. So small calls, which
//! are most, get by with what was declared from the start. Nothing in the room is reused but its last piece: it is gone
//! with the call anyway.
//!
//! The feature `room`, on by default, makes it the plugin's allocator; a plugin that brings its own switches it off. Not
//! for `wasm32-wasip2`: there the C library gives back what Rust's allocator gave out, and uses up by itself what is
//! there from the start.

#![expect(
    unsafe_code,
    reason = "an allocator can't be written without; it hands out disjoint pieces of one array it alone owns"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ptr;

/// Bytes of the room. Only what is touched becomes memory of the host.
#[cfg(all(
    feature = "room",
    target_family = "wasm",
    target_os = "unknown",
    not(target_feature = "atomics")
))]
const SIZE: usize = 256 * 1024;

#[cfg(all(
    feature = "room",
    target_family = "wasm",
    target_os = "unknown",
    not(target_feature = "atomics")
))]
#[global_allocator]
static ROOM: Room<SIZE> = Room::new();

/// An allocator that hands out its `N` bytes one piece behind the other, and then asks the system.
#[repr(C, align(16))]
pub struct Room<const N: usize> {
    bytes: UnsafeCell<[MaybeUninit<u8>; N]>,
    /// Bytes handed out, from the beginning.
    used: Cell<usize>,
}

// SAFETY: without atomics a module has one thread.
#[cfg(all(target_family = "wasm", not(target_feature = "atomics")))]
unsafe impl<const N: usize> Sync for Room<N> {}

impl<const N: usize> Room<N> {
    /// An empty one.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            bytes: UnsafeCell::new([MaybeUninit::uninit(); N]),
            used: Cell::new(0),
        }
    }

    fn begin(&self) -> *mut u8 {
        self.bytes.get().cast()
    }

    /// Where in the room an address lies.
    fn place(&self, address: *mut u8) -> Option<usize> {
        let place = (address as usize).checked_sub(self.begin() as usize)?;
        (place < N).then_some(place)
    }

    /// A piece behind what is used. `None` if there is no room for it.
    fn take(&self, layout: Layout) -> Option<*mut u8> {
        let free = (self.begin() as usize).checked_add(self.used.get())?;
        let gap = free.wrapping_neg() & (layout.align() - 1);
        let place = self.used.get().checked_add(gap)?;
        // A piece of nothing at the very end would lie outside.
        let end = place
            .checked_add(layout.size())
            .filter(|end| place < N && *end <= N)?;
        self.used.set(end);
        // SAFETY: `place` is within the array.
        Some(unsafe { self.begin().add(place) })
    }

    /// Makes the piece at `place` larger or smaller where it is, if it is the last one and fits.
    fn resize(&self, place: usize, old: usize, new: usize) -> bool {
        let is_last = place + old == self.used.get();
        let end = place.checked_add(new).filter(|end| is_last && *end <= N);
        if let Some(end) = end {
            self.used.set(end);
        }
        end.is_some() || new <= old
    }
}

impl<const N: usize> Default for Room<N> {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: pieces lie behind one another in an array that nobody else touches, so they are disjoint, and as aligned as
// was asked; only the last one is taken back or resized. What lies elsewhere came from the system's allocator and goes
// back to it with the layout it was asked for with.
unsafe impl<const N: usize> GlobalAlloc for Room<N> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match self.take(layout) {
            Some(piece) => piece,
            // SAFETY: the caller's promises are the system's conditions.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        match self.place(piece) {
            Some(place) if place + layout.size() == self.used.get() => self.used.set(place),
            Some(_) => {}
            // SAFETY: it isn't ours, so the system gave it, with this layout.
            None => unsafe { System.dealloc(piece, layout) },
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Some(place) = self.place(piece) else {
            // SAFETY: it isn't ours, so the system gave it, with this layout.
            return unsafe { System.realloc(piece, layout, size) };
        };
        if self.resize(place, layout.size(), size) {
            return piece;
        }
        // SAFETY: the caller promises that the size with this alignment is a layout.
        let larger = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the caller promises that the size isn't zero.
        let moved = unsafe { self.alloc(larger) };
        if !moved.is_null() {
            // SAFETY: both are as long as the old one, at least, and a new piece overlaps no other.
            unsafe { ptr::copy_nonoverlapping(piece, moved, layout.size()) };
        }
        moved
    }
}

#[cfg(test)]
mod tests;
