//! Memory of dropped polynomials, kept for new ones.

use std::{
    collections::VecDeque,
    fmt,
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, PoisonError},
};

use zeroize::Zeroize;

use crate::memory::Block;

type Words = Block<u64>;

/// The minimum length in words of polynomials whose memory is kept. The allocator itself keeps the
/// memory of shorter ones.
const MIN_SPARE_WORDS: usize = 1 << 14;

/// The maximum ratio of the length of reused memory to the requested length (chosen).
const MAX_OVERSIZE_FACTOR: usize = 4;

/// Memory that polynomials return when they are dropped ([`crate::Poly::with_spare`]), up to a
/// limit.
///
/// Beyond the limit, the oldest memory is freed first. Clones share the memory.
///
/// Allocators return blocks of megabytes to the operating system, which provides them again one
/// cleared page at a time. For polynomials of a large ring degree this takes as long as a pass of
/// arithmetic over them.
///
/// ```
/// use hippocrene_ring::{Domain, Poly, spare::SpareMemory};
///
/// let spare = SpareMemory::new(1 << 20);
/// let mut poly = Poly::with_spare(1 << 14, Domain::Coefficient, &spare);
/// poly.resize_limbs(2);
/// drop(poly);
/// assert_eq!(spare.bytes(), 2 * (1 << 14) * 8);
/// ```
#[derive(Clone)]
pub struct SpareMemory(Arc<Store>);

struct Store {
    /// The maximum number of kept bytes.
    limit_bytes: usize,
    blocks: Mutex<VecDeque<Words>>,
}

fn bytes(words: &Words) -> usize {
    words.len() * size_of::<u64>()
}

/// Memory that returns to the allocator may have held secrets.
fn wipe(words: &mut Words) {
    words.zeroize();
}

impl SpareMemory {
    /// Makes an empty store that keeps at most `limit_bytes`.
    pub fn new(limit_bytes: usize) -> Self {
        SpareMemory(Arc::new(Store { limit_bytes, blocks: Mutex::default() }))
    }

    /// Returns the number of kept bytes.
    pub fn bytes(&self) -> usize {
        self.with(|blocks| blocks.iter().map(bytes).sum())
    }

    /// Wipes and frees the kept memory. Dropping the last clone does the same.
    pub fn wipe_scratch(&self) {
        self.0.wipe_scratch();
    }

    fn with<T>(&self, f: impl FnOnce(&mut VecDeque<Words>) -> T) -> T {
        f(&mut self.0.blocks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes memory of at least `words` words, and of at most [`MAX_OVERSIZE_FACTOR`] times as
    /// many. All words have been written before.
    ///
    /// Among the smallest that fit, it takes the memory returned last, which is most likely in the
    /// cache.
    fn take(&self, words: usize) -> Option<Words> {
        self.with(|blocks| {
            let fits = |memory: &Words| {
                memory.len() >= words && memory.len() <= MAX_OVERSIZE_FACTOR * words
            };
            let best = (0..blocks.len())
                .rev()
                .filter(|i| fits(&blocks[*i]))
                .min_by_key(|i| blocks[*i].len())?;
            blocks.remove(best)
        })
    }

    fn keep(&self, words: Words) {
        // Wiping happens after the lock is released. It is a pass over memory that the system would
        // otherwise clear when it provides the memory again.
        let mut freed: Vec<Words> = Vec::new();
        self.with(|blocks| {
            blocks.push_back(words);
            let mut total: usize = blocks.iter().map(bytes).sum();
            while total > self.0.limit_bytes
                && let Some(first) = blocks.pop_front()
            {
                total -= bytes(&first);
                freed.push(first);
            }
        });
        freed.iter_mut().for_each(wipe);
    }
}

/// The output leaves out the kept memory, which may have held secrets.
impl fmt::Debug for SpareMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpareMemory")
            .field("limit", &self.0.limit_bytes)
            .field("bytes", &self.bytes())
            .finish()
    }
}

impl Store {
    fn wipe_scratch(&self) {
        let mut blocks =
            std::mem::take(&mut *self.blocks.lock().unwrap_or_else(PoisonError::into_inner));
        blocks.iter_mut().for_each(wipe);
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.wipe_scratch();
    }
}

/// The words of one polynomial, which grow and do not shrink.
pub(crate) struct Residues {
    words: Words,
    spare: Option<SpareMemory>,
}

impl Residues {
    pub(crate) fn new(spare: Option<SpareMemory>) -> Self {
        Residues { words: Words::default(), spare }
    }

    pub(crate) fn spare(&self) -> Option<&SpareMemory> {
        self.spare.as_ref()
    }

    /// Grows to at least `len` words. New words are zero, or unspecified with spare memory.
    ///
    /// If the memory is too small, larger memory replaces it, with the same contents.
    pub(crate) fn grow(&mut self, len: usize) {
        if self.words.len() >= len {
            return;
        }
        let spare = self.spare.as_ref().filter(|_| len >= MIN_SPARE_WORDS);
        if let Some(mut larger) = spare.and_then(|spare| spare.take(len)) {
            larger[..self.words.len()].copy_from_slice(&self.words);
            let smaller = std::mem::replace(&mut self.words, larger);
            self.give_back(smaller);
            return;
        }
        let mut larger = Words::zeroed(len);
        larger[..self.words.len()].copy_from_slice(&self.words);
        wipe(&mut std::mem::replace(&mut self.words, larger));
    }

    fn give_back(&self, words: Words) {
        if words.len() >= MIN_SPARE_WORDS
            && let Some(spare) = &self.spare
        {
            spare.keep(words);
        }
    }
}

impl Deref for Residues {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.words
    }
}

impl DerefMut for Residues {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }
}

impl Drop for Residues {
    fn drop(&mut self) {
        let words = std::mem::take(&mut self.words);
        self.give_back(words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Domain, Poly};

    #[test]
    fn dropped_memory_is_reused() {
        let limb = MIN_SPARE_WORDS * 8;
        let spare = SpareMemory::new(5 * limb);
        let poly = |limbs: usize| {
            let mut poly = Poly::with_spare(MIN_SPARE_WORDS, Domain::Evaluation, &spare);
            poly.resize_limbs(limbs);
            poly
        };
        let mut a = poly(3);
        a.as_mut_slice().fill(7);
        let b = a.clone();
        let at = |poly: &Poly| poly.as_slice().as_ptr();
        let (at_a, at_b) = (at(&a), at(&b));
        assert!(a == b && at_a != at_b && spare.bytes() == 0);
        drop(a);
        assert_eq!(spare.bytes(), 3 * limb);
        // This memory is too short for four limbs.
        assert_ne!(at(&poly(4)), at_a);
        spare.wipe_scratch();
        let long = poly(MAX_OVERSIZE_FACTOR + 1);
        let at_long = at(&long);
        drop(long);
        assert_ne!(at(&poly(1)), at_long);
        spare.wipe_scratch();
        drop(b);
        let mut c = poly(2);
        assert_eq!((at(&c), c.as_slice()[0], spare.bytes()), (at_b, 7, 0));
        // Growing keeps the contents.
        c.as_mut_slice()[1] = 8;
        drop(poly(4));
        c.resize_limbs(4);
        assert_eq!((&c.as_slice()[..3], spare.bytes()), (&[7, 8, 7][..], 3 * limb));
        // The oldest memory is freed first.
        drop(c);
        assert_eq!(spare.bytes(), 4 * limb);
        let short = Poly::with_spare(16, Domain::Evaluation, &spare);
        drop(short);
        assert_eq!(spare.bytes(), 4 * limb);
        spare.wipe_scratch();
        assert_eq!(spare.bytes(), 0);
    }

    #[test]
    fn debug_output_hides_residues() {
        let bytes = MIN_SPARE_WORDS * 8;
        let spare = SpareMemory::new(2 * bytes);
        let mut secret = Poly::with_spare(MIN_SPARE_WORDS, Domain::Evaluation, &spare);
        secret.resize_limbs(1);
        secret.as_mut_slice().fill(1_234_567);
        drop(secret);
        assert_eq!(
            format!("{spare:?}"),
            format!("SpareMemory {{ limit: {}, bytes: {bytes} }}", 2 * bytes)
        );
    }
}
