//! Memory for the rows of a tile.

use std::cell::Cell;

use aligned_vec::{AVec, ConstAlign};
use zeroize::Zeroize;

/// Words aligned for vectors, of unspecified contents. A thread keeps them for the next tile: on
/// the stack, the most that there may be would be more than some threads have (128 KiB with musl),
/// and allocators would get as much from the operating system each time.
pub(super) struct Tile(Words);

/// They may have held secrets.
struct Words(AVec<u64, ConstAlign<64>>);

thread_local! {
    static KEPT: Cell<Option<Words>> = const { Cell::new(None) };
}

impl Tile {
    /// At least so many words.
    pub fn of(words: usize) -> Self {
        let mut kept = KEPT.take().unwrap_or_else(|| Words(AVec::new(64)));
        if kept.0.len() < words {
            kept = Words(AVec::from_iter(64, std::iter::repeat_n(0, words)));
        }
        Tile(kept)
    }

    pub fn as_mut_ptr(&mut self) -> *mut u64 {
        self.0.0.as_mut_ptr()
    }
}

impl Drop for Tile {
    fn drop(&mut self) {
        let words = std::mem::replace(&mut self.0, Words(AVec::new(64)));
        // Where the thread is at its end, nothing is kept.
        let _ = KEPT.try_with(|kept| kept.set(Some(words)));
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        self.0.as_mut_slice().zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again() {
        let mut tile = Tile::of(100);
        let at = tile.as_mut_ptr();
        assert_eq!(at.align_offset(64), 0);
        let mut other = Tile::of(10);
        assert_ne!(other.as_mut_ptr(), at);
        drop(other);
        drop(tile);
        let mut again = Tile::of(90);
        assert_eq!(again.as_mut_ptr(), at);
        drop(again);
        assert!(Tile::of(1000).0.0.len() >= 1000);
    }
}
