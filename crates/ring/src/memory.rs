//! The memory of polynomials and keys. It is aligned, and long blocks return to the operating
//! system.

use std::{
    collections::VecDeque,
    ops::{Deref, DerefMut},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use aligned_vec::{AVec, ConstAlign};
use bytemuck::Pod;
use memmap2::MmapMut;

/// The minimum size in bytes of blocks that are mapped.
///
/// It is the size from which glibc maps blocks at first. Later glibc keeps blocks of up to 32 MiB
/// for itself, so memory of deleted servers would stay with the process.
const MIN_MAPPED_BYTES: usize = 1 << 17;

/// The minimum size in bytes of blocks that return to the operating system when they are dropped.
/// Some of the smaller ones are kept for reuse ([`MAX_SPARE_BYTES`]).
const MIN_RETURNED_BYTES: usize = 4 << 20;

/// The maximum number of bytes of dropped polynomials that the process keeps for reuse.
///
/// Polynomials of 4 MiB or more are not kept.
///
/// It is chosen: the polynomials of a few switching keys at the ring degree 2^15 fit. The operating
/// system provides memory page by page, which takes longer than clearing kept memory.
pub const MAX_SPARE_BYTES: usize = 64 << 20;

/// The number of bytes that were mapped since the process began, whether or not they were returned.
static MAPPED_SO_FAR: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of bytes of polynomials and keys that were mapped since the process began.
///
/// It includes memory that has been returned. Mapped memory bypasses the allocator, so tests that
/// count allocations add this number.
pub fn total_mapped_bytes() -> usize {
    MAPPED_SO_FAR.load(Relaxed)
}

/// A block of fixed length that is aligned to 64 bytes and holds zeros at first.
///
/// Long blocks are mapped. When they are dropped, up to [`MAX_SPARE_BYTES`] of them are kept for
/// reuse, and the others return to the operating system. Short blocks, and those that cannot be
/// mapped, come from the allocator.
pub(crate) enum Block<T> {
    Allocated(AVec<T, ConstAlign<64>>),
    Mapped(Mapping),
}

/// Mapped memory. It holds a map until it is dropped.
pub(crate) struct Mapping(Option<MmapMut>);

/// Dropped mappings that are kept for reuse, the oldest first.
static SPARE: Mutex<VecDeque<MmapMut>> = Mutex::new(VecDeque::new());

impl Mapping {
    /// Maps `bytes` zeros, or returns `None` if the operating system refuses.
    fn zeroed(bytes: usize) -> Option<Self> {
        if bytes >= MIN_RETURNED_BYTES {
            let map = MmapMut::map_anon(bytes).ok()?;
            advise_huge_pages(&map);
            MAPPED_SO_FAR.fetch_add(bytes, Relaxed);
            return Some(Mapping(Some(map)));
        }
        let spare = with_spare(|spare| {
            let i = spare.iter().rposition(|map| map.len() == bytes)?;
            spare.remove(i)
        });
        let map = match spare {
            Some(mut map) => {
                map.fill(0);
                map
            }
            None => {
                let map = MmapMut::map_anon(bytes).ok()?;
                advise_huge_pages(&map);
                map
            }
        };
        MAPPED_SO_FAR.fetch_add(bytes, Relaxed);
        Some(Mapping(Some(map)))
    }
}

fn with_spare<T>(f: impl FnOnce(&mut VecDeque<MmapMut>) -> T) -> T {
    f(&mut SPARE.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let Some(map) = self.0.take_if(|map| map.len() < MIN_RETURNED_BYTES) else { return };
        // The memory returns to the operating system after the lock is released.
        let _gone: Vec<MmapMut> = with_spare(|spare| {
            spare.push_back(map);
            let mut total: usize = spare.iter().map(|map| map.len()).sum();
            let mut freed = Vec::new();
            while total > MAX_SPARE_BYTES
                && let Some(first) = spare.pop_front()
            {
                total -= first.len();
                freed.push(first);
            }
            freed
        });
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl DerefMut for Mapping {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.as_deref_mut().unwrap_or_default()
    }
}

impl<T: Pod> Block<T> {
    /// Makes a block of `len` zeros.
    ///
    /// # Panics
    /// If the block is larger than the address space.
    pub fn zeroed(len: usize) -> Self {
        let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| *bytes <= isize::MAX as usize);
        let bytes = bytes.expect("a block must fit the address space");
        if bytes >= MIN_MAPPED_BYTES
            && let Some(map) = Mapping::zeroed(bytes)
        {
            return Block::Mapped(map);
        }
        let mut allocated = AVec::with_capacity(64, len);
        allocated.resize(len, T::zeroed());
        Block::Allocated(allocated)
    }
}

/// Asks the operating system for huge pages. If it refuses, the block has ordinary pages.
///
/// Each key switch reads keys of tens of megabytes once. A page of 4 KiB ends every 40 vectors, so
/// reading from huge pages is 1.2 to 1.6 times as fast (measured).
fn advise_huge_pages(map: &MmapMut) {
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    #[cfg(not(target_os = "linux"))]
    let _ = map;
}

impl<T> Default for Block<T> {
    fn default() -> Self {
        Block::Allocated(AVec::new(64))
    }
}

impl<T: Pod> Deref for Block<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Block::Allocated(allocated) => allocated,
            Block::Mapped(map) => bytemuck::cast_slice(map),
        }
    }
}

impl<T: Pod> DerefMut for Block<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Block::Allocated(allocated) => allocated,
            Block::Mapped(map) => bytemuck::cast_slice_mut(map),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_zeros() {
        for len in [
            0,
            1,
            100,
            MIN_MAPPED_BYTES / 8 - 1,
            MIN_MAPPED_BYTES / 8,
            MIN_MAPPED_BYTES,
            MIN_RETURNED_BYTES / 4 + 1,
        ] {
            let mut block = Block::<u64>::zeroed(len);
            assert_eq!(block.len(), len);
            assert_eq!(block.as_ptr().align_offset(64), 0);
            assert!(block.iter().all(|word| *word == 0));
            block.fill(7);
            assert!(block.iter().all(|word| *word == 7));
            assert_eq!(matches!(block, Block::Mapped(_)), 8 * len >= MIN_MAPPED_BYTES);
        }
        assert!(Block::<u8>::default().is_empty());
    }

    #[test]
    fn reused_memory_is_cleared() {
        let len = MIN_MAPPED_BYTES + 8 * 4096;
        let mut first = Block::<u8>::zeroed(len);
        first.fill(7);
        drop(first);
        let again = Block::<u8>::zeroed(len);
        assert!(again.iter().all(|byte| *byte == 0));
        let both = [again, Block::zeroed(len)];
        assert_ne!(both[0].as_ptr(), both[1].as_ptr());
    }

    #[test]
    fn spare_memory_is_limited() {
        let blocks: Vec<_> =
            (0..2 * MAX_SPARE_BYTES / (1 << 20)).map(|_| Block::<u8>::zeroed(1 << 20)).collect();
        drop(blocks);
        let spare_bytes = || with_spare(|spare| spare.iter().map(|map| map.len()).sum::<usize>());
        assert!(spare_bytes() <= MAX_SPARE_BYTES);
        drop(Block::<u8>::zeroed(MAX_SPARE_BYTES));
        assert!(spare_bytes() <= MAX_SPARE_BYTES);
    }

    #[test]
    fn mapped_bytes_are_counted() {
        let before = total_mapped_bytes();
        drop(Block::<u8>::zeroed(MIN_MAPPED_BYTES));
        assert!(total_mapped_bytes() >= before + MIN_MAPPED_BYTES);
    }
}
