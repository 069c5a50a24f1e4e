//! Switching keys in the shape in which inner products read them.

use std::sync::Arc;

use super::lanes::{KeyWord, Lanes};
use crate::{memory::Block, threads::Threads};

/// One limb of a switching key: for each digit `d` the pair `(b_d, a_d)`.
///
/// The residues stand in Montgomery form, in 6 bytes each where the kernel packs them (IFMA, `q <
/// 2^48`), else in 8: digit after digit, each beginning at a multiple of 64 bytes, and within a
/// digit vector by vector, `b_d` before `a_d`.
#[derive(Clone)]
pub struct KeyLimb {
    digits: usize,
    /// Keys of rings of powers of two are stored modulo several primes, each with all digits: these
    /// are the parts.
    parts: usize,
    length: usize,
    lanes: usize,
    word: KeyWord,
    /// Where the first digit begins.
    start: usize,
    /// Bytes from one digit to the next.
    stride: usize,
    memory: Arc<Memory>,
}

/// Without its residues.
impl std::fmt::Debug for KeyLimb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyLimb {{ digits: {}, length: {}, .. }}", self.digits, self.length)
    }
}

type Memory = Block<u8>;

/// Loads of packed residues may reach so many bytes beyond the last one.
const PADDING: usize = 64;

/// What takes a digit of a key with its pair `(b_d, a_d)`.
pub type PutDigit<'a> = dyn FnMut(usize, &[u64], &[u64]) + 'a;

/// A ring whose residues of keys are stored in a form of its own.
pub trait KeyRing: Sync {
    /// A key of `digits` pairs of `length` residues, without its memory.
    fn key_shape(&self, digits: usize, length: usize) -> KeyLimb;

    /// Writes the pair `(b, a)` of digit `d` of `digits` to its place in `out`, the memory of the
    /// key.
    fn write_key_digit(&self, out: &mut [u8], place: [usize; 2], b: &[u64], a: &[u64]);

    /// Writes to `out` the key whose digit `j` is the sum of the digits `groups[j]` of `key`.
    fn coalesce_into(&self, out: &mut [u8], key: &KeyLimb, groups: &[&[usize]]);
}

impl KeyLimb {
    /// The key of the pairs `(b_d, a_d)`, in the evaluation domain.
    ///
    /// # Panics
    /// When the polynomials differ in length, or do not fill the kernel's vectors (of 1, 4 or 8).
    pub fn of_pairs<R: KeyRing>(ring: &R, pairs: &[(&[u64], &[u64])]) -> KeyLimb {
        let length = pairs.first().map_or(0, |(b, _)| b.len());
        let all = |_, put: &mut PutDigit<'_>| {
            pairs.iter().enumerate().for_each(|(d, (b, a))| put(d, b, a));
        };
        Self::prepare(&[ring], pairs.len(), length, &Threads::single(), all).swap_remove(0)
    }

    /// The limbs of a whole key in one piece of memory, as after [`KeyLimb::gather`] but without a
    /// copy: limb `k`, for `rings[k]`, of `digits` pairs of `length` residues. `limb(k, put)` calls
    /// `put(d, b_d, a_d)` for each digit `d` once, in any order.
    ///
    /// # Panics
    /// When a digit is missing, or one is put twice, a polynomial does not have `length` residues,
    /// these do not fill the kernel's vectors (of 1, 4 or 8), or the key is larger than any memory.
    pub fn prepare<R: KeyRing>(
        rings: &[&R],
        digits: usize,
        length: usize,
        threads: &Threads,
        limb: impl Fn(usize, &mut PutDigit<'_>) + Sync + Send,
    ) -> Vec<KeyLimb> {
        let mut limbs: Vec<KeyLimb> =
            rings.iter().map(|ring| ring.key_shape(digits, length)).collect();
        let sizes: Vec<usize> = limbs.iter().map(KeyLimb::bytes).collect();
        let memory = write_pieces(&sizes, threads, &|k, out| {
            let mut missing = vec![true; digits];
            limb(k, &mut |d, b, a| {
                assert!(d < digits, "digit {d} of {digits}");
                assert!(
                    std::mem::replace(&mut missing[d], false),
                    "digit {d} of a key is put once"
                );
                assert!(
                    b.len() == length && a.len() == length,
                    "the two polynomials of a digit of a key have one length, {length}: {} and {}",
                    b.len(),
                    a.len()
                );
                rings[k].write_key_digit(out, [digits, d], b, a);
            });
            if let Some(d) = missing.iter().position(|missing| *missing) {
                panic!("every digit of a key is put: digit {d} of {digits} is not");
            }
        });
        place(&mut limbs, memory);
        limbs
    }

    /// A key without its memory: residues of the form of `L`, in so many parts.
    pub(super) fn shape<L: Lanes>(digits: usize, length: usize) -> Self {
        let (memory, word) = (Arc::new(Memory::default()), L::KEY_WORD);
        let stride = digit_bytes(length, word.bytes);
        KeyLimb { digits, parts: 1, length, lanes: L::LANES, word, start: 0, stride, memory }
    }

    /// The same in `parts` parts.
    pub(crate) fn in_parts(self, parts: usize) -> Self {
        KeyLimb { parts, ..self }
    }

    /// The key whose digit `j` is the sum of the digits `groups[j]` of a key with these limbs:
    /// digits coalesced as in LAKS. What it gives in inner products is what all of its summands
    /// give, each multiplied by the digit, to the last bit. The limbs are gathered as
    /// [`KeyLimb::gather`] does but without a copy: it takes the time of reading the old key and
    /// writing the new one.
    ///
    /// # Panics
    /// When a modulus is a power of two (the sum of several centred numbers modulo it would be too
    /// large for its products), a group is empty, the key lacks a digit, or another kernel prepared
    /// it.
    pub fn coalesce<R: KeyRing>(
        limbs: &[(&R, &KeyLimb)],
        groups: &[&[usize]],
        threads: &Threads,
    ) -> Vec<KeyLimb> {
        let mut sums: Vec<KeyLimb> = limbs
            .iter()
            .map(|(_, limb)| KeyLimb { digits: groups.len(), ..(*limb).clone() })
            .collect();
        let sizes: Vec<usize> = sums.iter().map(KeyLimb::bytes).collect();
        let memory = write_pieces(&sizes, threads, &|k, out| {
            limbs[k].0.coalesce_into(out, limbs[k].1, groups)
        });
        place(&mut sums, memory);
        sums
    }

    /// Moves the limbs of a whole key into one piece of memory, on huge pages where the operating
    /// system has them: inner products then read a key that is not in the cache 1.2 to 1.6 times as
    /// fast.
    pub fn gather(limbs: &mut [KeyLimb]) {
        let mut memory = Memory::zeroed(total_bytes(limbs.iter().map(KeyLimb::bytes)));
        let mut start = 0;
        for limb in limbs.iter() {
            // Of a range, the last digit ends before the memory of as many bytes does.
            let held = &limb.memory[limb.start.min(limb.memory.len())..];
            let held = &held[..held.len().min(limb.bytes())];
            memory[start..start + held.len()].copy_from_slice(held);
            start += limb.bytes();
        }
        place(limbs, Arc::new(memory));
    }

    /// The key of `length` of its residues from `first` on, in the same memory: both are multiples
    /// of 8. It is for inner products.
    ///
    /// # Panics
    /// When there are not so many, or it is that of a ring of a power of two.
    #[must_use]
    pub fn range(&self, first: usize, length: usize) -> KeyLimb {
        let fits = first.checked_add(length).is_some_and(|end| end <= self.length);
        assert!(
            fits && self.parts == 1 && first.is_multiple_of(8) && length.is_multiple_of(8),
            "{length} residues from {first} on, of {}",
            self.length
        );
        let start = self.start + 2 * first * self.word.bytes;
        KeyLimb { length, start, memory: Arc::clone(&self.memory), ..*self }
    }

    /// How many digits it holds.
    pub fn digits(&self) -> usize {
        self.digits
    }

    /// Residues in each polynomial.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Bytes of memory it takes; of a range, those of the whole key.
    pub fn bytes(&self) -> usize {
        let digits = self.parts.checked_mul(self.digits);
        addressable(digits.and_then(|digits| digits.checked_mul(self.stride)))
    }

    /// How many parts it has.
    pub(crate) fn parts(&self) -> usize {
        self.parts
    }

    /// The number that digit `d` of a part has among those of all parts.
    pub(crate) fn digit_of_part(&self, part: usize, d: usize) -> usize {
        assert!(
            d < self.digits,
            "an inner product's digits are among the {} of its key",
            self.digits
        );
        part * self.digits + d
    }

    /// Bytes from one digit to the next.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// How many digits there are in all parts.
    pub(super) fn stored_digits(&self) -> usize {
        self.parts * self.digits
    }

    /// # Panics
    /// When another kernel prepared this key.
    pub(super) fn assert_stored_for<L: Lanes>(&self) {
        assert!(
            self.word == L::KEY_WORD && self.lanes == L::LANES,
            "a switching key is used with the kernel that prepared it"
        );
    }

    /// The first byte of digit `d`.
    ///
    /// # Safety
    /// `d < self.stored_digits()`.
    #[inline(always)]
    pub(super) unsafe fn digit(&self, d: usize) -> *const u8 {
        // SAFETY: the caller vouches for `d`.
        unsafe { self.memory.as_ptr().add(self.start + d * self.stride) }
    }
}

/// Bytes from one digit to the next: two polynomials of `length` residues of `width` bytes each.
/// Those of long polynomials are some cache lines more: an inner product reads all digits at once,
/// and a multiple of 4 KiB apart they would drive each other out of the cache. A key that lies in
/// memory is read up to twice as fast for it.
pub(crate) fn digit_bytes(length: usize, width: usize) -> usize {
    let pair = length.checked_mul(2 * width).and_then(|bytes| bytes.checked_next_multiple_of(64));
    let bytes = addressable(pair);
    if bytes < LONG { bytes } else { bytes + STAGGER }
}

/// So many bytes, where an allocation can have them.
fn addressable(bytes: Option<usize>) -> usize {
    bytes
        .filter(|bytes| *bytes <= isize::MAX as usize)
        .expect("a switching key fits the address space")
}

/// Bytes of pieces of these sizes and of the padding after them.
fn total_bytes(sizes: impl Iterator<Item = usize>) -> usize {
    sizes.fold(PADDING, |total, size| addressable(total.checked_add(size)))
}

/// What polynomials are long in [`digit_bytes`], in bytes, and by how much more they lie apart: 17
/// lines.
const LONG: usize = 1 << 14;
const STAGGER: usize = 17 * 64;

/// Memory of pieces of these sizes, one after the other, each written by `write`. It is not
/// generic: compiled in other crates (by rustc 1.95) it would clear short keys byte by byte.
fn write_pieces(
    sizes: &[usize],
    threads: &Threads,
    write: &(dyn Fn(usize, &mut [u8]) + Sync),
) -> Arc<Memory> {
    let mut memory = Memory::zeroed(total_bytes(sizes.iter().copied()));
    let mut rest = &mut memory[..];
    let mut pieces: Vec<&mut [u8]> = sizes
        .iter()
        .map(|size| rest.split_off_mut(..*size).expect("the pieces add up to the total"))
        .collect();
    threads.for_each_mut(&mut pieces, |k, out| write(k, out));
    Arc::new(memory)
}

/// Gives limbs their places in `memory`, one after the other.
fn place(limbs: &mut [KeyLimb], memory: Arc<Memory>) {
    let mut start = 0;
    for limb in limbs {
        limb.start = start;
        limb.memory = Arc::clone(&memory);
        start += limb.bytes();
    }
}
