//! Memory of polynomials that are gone, kept for those to come.

use std::{
    collections::VecDeque,
    fmt,
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, PoisonError},
};

use zeroize::Zeroize;

use crate::memory::Block;

type Words = Block<u64>;

/// Polynomials shorter than this, in words, are left to the allocator, which keeps their memory
/// itself.
const SHORT: usize = 1 << 14;

/// What is more than this many times as long as what is wanted is left for others.
const ROOMY: usize = 4;

/// Memory that polynomials give back when they are dropped ([`crate::Poly::with_spare`]), up to a
/// limit; what came back first goes first. Clones share it.
///
/// Allocators return blocks of megabytes to the operating system, which hands them out again a page
/// at a time and cleared: for polynomials of a large ring degree that takes as long as a pass of
/// arithmetic over them.
#[derive(Clone)]
pub struct SpareMemory(Arc<Shelf>);

struct Shelf {
    /// In bytes.
    limit: usize,
    kept: Mutex<VecDeque<Words>>,
}

fn bytes(words: &Words) -> usize {
    words.len() * size_of::<u64>()
}

/// What goes back to the allocator may have held secrets.
fn wipe(words: &mut Words) {
    words.zeroize();
}

impl SpareMemory {
    /// Nothing yet, and at most so many bytes.
    pub fn new(limit: usize) -> Self {
        SpareMemory(Arc::new(Shelf { limit, kept: Mutex::default() }))
    }

    /// Bytes that are kept.
    pub fn bytes(&self) -> usize {
        self.with(|kept| kept.iter().map(bytes).sum())
    }

    /// Wipes what is kept and gives it back. Dropping the last clone does the same.
    pub fn forget(&self) {
        self.0.forget();
    }

    fn with<T>(&self, f: impl FnOnce(&mut VecDeque<Words>) -> T) -> T {
        f(&mut self.0.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Memory of at least so many words, all written before, and of at most [`ROOMY`] times as
    /// many; the one that came back last, which is most likely in the cache.
    fn take(&self, words: usize) -> Option<Words> {
        self.with(|kept| {
            let fits = |memory: &Words| memory.len() >= words && memory.len() <= ROOMY * words;
            let best =
                (0..kept.len()).rev().filter(|i| fits(&kept[*i])).min_by_key(|i| kept[*i].len())?;
            kept.remove(best)
        })
    }

    fn keep(&self, words: Words) {
        // Wiped when others can have the rest: a pass over memory that the system would take as
        // long to clear when it is handed out again.
        let mut gone: Vec<Words> = Vec::new();
        self.with(|kept| {
            kept.push_back(words);
            let mut total: usize = kept.iter().map(bytes).sum();
            while total > self.0.limit
                && let Some(first) = kept.pop_front()
            {
                total -= bytes(&first);
                gone.push(first);
            }
        });
        gone.iter_mut().for_each(wipe);
    }
}

/// What is kept may have held secrets.
impl fmt::Debug for SpareMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpareMemory")
            .field("limit", &self.0.limit)
            .field("bytes", &self.bytes())
            .finish()
    }
}

impl Shelf {
    fn forget(&self) {
        let mut kept =
            std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        kept.iter_mut().for_each(wipe);
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.forget();
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

    /// Grows to `len` words, if there are fewer; what is in new ones is zero, or with spare memory
    /// unspecified. Memory that is too small is replaced: what was in it is kept.
    pub(crate) fn grow(&mut self, len: usize) {
        if self.words.len() >= len {
            return;
        }
        let spare = self.spare.as_ref().filter(|_| len >= SHORT);
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
        if words.len() >= SHORT
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
    fn memory_of_what_is_gone_is_used_again() {
        let limb = SHORT * 8;
        let spare = SpareMemory::new(5 * limb);
        let poly = |limbs: usize| {
            let mut poly = Poly::with_spare(SHORT, Domain::Evaluation, &spare);
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
        // Neither what is too long nor what is too short.
        assert_ne!(at(&poly(4)), at_a);
        spare.forget();
        let long = poly(ROOMY + 1);
        let at_long = at(&long);
        drop(long);
        assert_ne!(at(&poly(1)), at_long);
        spare.forget();
        drop(b);
        let mut c = poly(2);
        assert_eq!((at(&c), c.as_slice()[0], spare.bytes()), (at_b, 7, 0));
        // Growing keeps what is there.
        c.as_mut_slice()[1] = 8;
        drop(poly(4));
        c.resize_limbs(4);
        assert_eq!((&c.as_slice()[..3], spare.bytes()), (&[7, 8, 7][..], 3 * limb));
        // The first goes first.
        drop(c);
        assert_eq!(spare.bytes(), 4 * limb);
        let short = Poly::with_spare(16, Domain::Evaluation, &spare);
        drop(short);
        assert_eq!(spare.bytes(), 4 * limb);
        spare.forget();
        assert_eq!(spare.bytes(), 0);
    }

    #[test]
    fn nothing_prints_what_is_kept() {
        let bytes = SHORT * 8;
        let spare = SpareMemory::new(2 * bytes);
        let mut secret = Poly::with_spare(SHORT, Domain::Evaluation, &spare);
        secret.resize_limbs(1);
        secret.as_mut_slice().fill(1_234_567);
        drop(secret);
        assert_eq!(
            format!("{spare:?}"),
            format!("SpareMemory {{ limit: {}, bytes: {bytes} }}", 2 * bytes)
        );
    }
}
