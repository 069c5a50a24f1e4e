//! Memory for the rows of a tile.

use std::cell::Cell;

use aligned_vec::{AVec, ConstAlign};
use zeroize::Zeroize;

/// Aligned words for vectors, with unspecified contents.
///
/// A thread keeps them for the next tile. On the stack, the largest tile would exceed the stacks of
/// some threads (128 KiB with musl). Allocators would request so much memory from the operating
/// system each time.
pub(super) struct Tile(Words);

/// The words are wiped when dropped, because they may have held secrets.
struct Words(AVec<u64, ConstAlign<64>>);

thread_local! {
    static REUSED_WORDS: Cell<Option<Words>> = const { Cell::new(None) };
}

impl Tile {
    /// Returns a tile of at least `words` words.
    pub fn of(words: usize) -> Self {
        let mut buffer = REUSED_WORDS.take().unwrap_or_else(|| Words(AVec::new(64)));
        if buffer.0.len() < words {
            buffer = Words(AVec::from_iter(64, std::iter::repeat_n(0, words)));
        }
        Tile(buffer)
    }

    pub fn as_mut_ptr(&mut self) -> *mut u64 {
        self.0.0.as_mut_ptr()
    }
}

impl Drop for Tile {
    fn drop(&mut self) {
        let words = std::mem::replace(&mut self.0, Words(AVec::new(64)));
        // At the end of the thread, the words are dropped.
        let _ = REUSED_WORDS.try_with(|buffer| buffer.set(Some(words)));
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
