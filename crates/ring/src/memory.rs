//! The memory of polynomials and keys: aligned, and given back to the operating system where it is
//! long.

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
use memmap2::{MmapMut, MmapOptions};

/// Blocks of at least so many bytes are mapped. It is the size from which glibc maps blocks at
/// first. Later it keeps blocks of up to 32 MiB for itself, so that memory of servers that are gone
/// would stay with the process.
const MAPPED_BYTES: usize = 1 << 17;

/// Blocks of at least so many bytes are asked to lie on huge pages; in less than that few of them
/// fit.
const HUGE_PAGE_BYTES: usize = 4 << 20;

/// So many bytes of smaller blocks that are gone are kept for those to come (chosen: the
/// polynomials of a few switching keys at the ring degree 2^15). The system hands memory out page
/// by page, which takes longer than to clear it.
const SPARE_BYTES: usize = 64 << 20;

/// Bytes of mapped blocks since the process began, given back or not.
static MAPPED_SO_FAR: AtomicUsize = AtomicUsize::new(0);

/// Bytes of polynomials and keys that were mapped since the process began, given back or not. They
/// do not go through the allocator: tests of what is allocated count them too.
pub fn mapped_so_far() -> usize {
    MAPPED_SO_FAR.load(Relaxed)
}

/// Zeros at first, aligned to 64 bytes. The length is fixed. Long blocks are mapped and return to
/// the operating system when they are dropped, but for [`SPARE_BYTES`]; short ones, and those that
/// cannot be mapped, come from the allocator.
pub(crate) enum Block<T> {
    Allocated(AVec<T, ConstAlign<64>>),
    Mapped(Mapping),
}

/// Mapped memory, which is there until it is dropped.
pub(crate) struct Mapping(Option<MmapMut>);

/// Mappings that are gone, the oldest first.
static SPARE: Mutex<VecDeque<MmapMut>> = Mutex::new(VecDeque::new());

impl Mapping {
    /// So many zeros, if they can be had.
    fn zeroed(bytes: usize) -> Option<Self> {
        if bytes >= HUGE_PAGE_BYTES {
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
            // All of it is written soon: to have all pages at once takes half as long.
            None => MmapOptions::new().len(bytes).populate().map_anon().ok()?,
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
        let Some(map) = self.0.take_if(|map| map.len() < HUGE_PAGE_BYTES) else { return };
        // Given back to the system without the lock.
        let _gone: Vec<MmapMut> = with_spare(|spare| {
            spare.push_back(map);
            let mut total: usize = spare.iter().map(|map| map.len()).sum();
            let mut gone = Vec::new();
            while total > SPARE_BYTES
                && let Some(first) = spare.pop_front()
            {
                total -= first.len();
                gone.push(first);
            }
            gone
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
    /// A block of `len` zeros.
    ///
    /// # Panics
    /// When they are more than the address space holds.
    pub fn zeroed(len: usize) -> Self {
        let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| *bytes <= isize::MAX as usize);
        let bytes = bytes.expect("a block fits the address space");
        if bytes >= MAPPED_BYTES
            && let Some(map) = Mapping::zeroed(bytes)
        {
            return Block::Mapped(map);
        }
        let mut allocated = AVec::with_capacity(64, len);
        allocated.resize(len, T::zeroed());
        Block::Allocated(allocated)
    }
}

/// Asks the operating system to back a block by huge pages where it can. A refusal only means
/// ordinary pages.
///
/// Keys of tens of megabytes are read once for each key switch, and a page of 4 KiB ends every 40
/// vectors: reading them from huge pages is 1.2 to 1.6 times as fast.
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
            MAPPED_BYTES / 8 - 1,
            MAPPED_BYTES / 8,
            MAPPED_BYTES,
            HUGE_PAGE_BYTES / 4 + 1,
        ] {
            let mut block = Block::<u64>::zeroed(len);
            assert_eq!(block.len(), len);
            assert_eq!(block.as_ptr().align_offset(64), 0);
            assert!(block.iter().all(|word| *word == 0));
            block.fill(7);
            assert!(block.iter().all(|word| *word == 7));
            assert_eq!(matches!(block, Block::Mapped(_)), 8 * len >= MAPPED_BYTES);
        }
        assert!(Block::<u8>::default().is_empty());
    }

    #[test]
    fn memory_that_is_used_again_is_cleared() {
        let len = MAPPED_BYTES + 8 * 4096;
        let mut first = Block::<u8>::zeroed(len);
        first.fill(7);
        drop(first);
        let again = Block::<u8>::zeroed(len);
        assert!(again.iter().all(|byte| *byte == 0));
        let both = [again, Block::zeroed(len)];
        assert_ne!(both[0].as_ptr(), both[1].as_ptr());
    }

    #[test]
    fn little_memory_is_kept() {
        let blocks: Vec<_> =
            (0..2 * SPARE_BYTES / (1 << 20)).map(|_| Block::<u8>::zeroed(1 << 20)).collect();
        drop(blocks);
        let kept = || with_spare(|spare| spare.iter().map(|map| map.len()).sum::<usize>());
        assert!(kept() <= SPARE_BYTES);
        drop(Block::<u8>::zeroed(SPARE_BYTES));
        assert!(kept() <= SPARE_BYTES);
    }

    #[test]
    fn what_is_mapped_is_counted() {
        let before = mapped_so_far();
        drop(Block::<u8>::zeroed(MAPPED_BYTES));
        assert!(mapped_so_far() >= before + MAPPED_BYTES);
    }
}
