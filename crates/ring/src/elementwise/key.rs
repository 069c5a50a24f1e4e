//! Switching keys in the memory layout that inner products read.

use std::sync::Arc;

use super::lanes::{KeyWord, Lanes};
use crate::{memory::Block, threads::Threads};

/// One limb of a switching key, with the pair `(b_d, a_d)` for each digit `d`.
///
/// Residues are in Montgomery form. They have 6 bytes each if the kernel packs them (IFMA,
/// `q < 2^48`), and 8 bytes otherwise. The digits are stored one after the other, each beginning at
/// a multiple of 64 bytes. Within a digit, vectors of `b_d` and of `a_d` alternate.
///
/// ```
/// use hippocrene_ring::elementwise::{Elementwise, KeyLimb};
/// use hippocrene_ring::Kernel;
///
/// let arithmetic = Elementwise::new(97, Kernel::detect()?);
/// let (x, b, a) = ([2; 16], [3; 16], [5; 16]);
/// let key = KeyLimb::of_pairs(&arithmetic, &[(&b, &a)]);
/// let (mut sum0, mut sum1) = ([0; 16], [0; 16]);
/// arithmetic.inner_product(&mut sum0, &mut sum1, &[(0, &x)], &key);
/// assert_eq!((sum0[0], sum1[0]), (2 * 3, 2 * 5));
/// # Ok::<(), hippocrene_ring::RingError>(())
/// ```
#[derive(Clone)]
pub struct KeyLimb {
    digits: usize,
    /// The number of parts. Keys of rings of powers of two are stored modulo several primes, and
    /// each prime is a part with all digits.
    parts: usize,
    length: usize,
    lanes: usize,
    word: KeyWord,
    /// The byte at which the first digit begins.
    start: usize,
    /// The number of bytes from one digit to the next.
    stride: usize,
    memory: Arc<Memory>,
}

/// The output leaves out the residues.
impl std::fmt::Debug for KeyLimb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyLimb {{ digits: {}, length: {}, .. }}", self.digits, self.length)
    }
}

type Memory = Block<u8>;

/// The number of bytes that loads of packed residues may read beyond the last one.
const PADDING_BYTES: usize = 64;

/// A function that receives a digit `d` of a key with its pair `(b_d, a_d)`.
///
/// See [`KeyLimb`] for an example of a key.
pub type DigitWriter<'a> = dyn FnMut(usize, &[u64], &[u64]) + 'a;

/// A ring that stores the residues of keys in a form of its own. See [`KeyLimb`] for an example.
pub trait KeyRing: Sync {
    /// Returns a key of `digits` pairs of `length` residues, without its memory.
    fn key_shape(&self, digits: usize, length: usize) -> KeyLimb;

    /// Writes the pair `(b, a)` of a digit to its place in `out`, the memory of the key.
    ///
    /// `place` holds the number of digits and the index of this digit.
    fn write_key_digit(&self, out: &mut [u8], place: [usize; 2], b: &[u64], a: &[u64]);

    /// Writes to `out` the key whose digit `j` is the sum of the digits `groups[j]` of `key`.
    fn coalesce_into(&self, out: &mut [u8], key: &KeyLimb, groups: &[&[usize]]);
}

impl KeyLimb {
    /// Makes the key of the pairs `(b_d, a_d)`, in the evaluation domain.
    ///
    /// # Panics
    /// If the polynomials differ in length, or do not fill the kernel's vectors (of 1, 4 or 8).
    pub fn of_pairs<R: KeyRing>(ring: &R, pairs: &[(&[u64], &[u64])]) -> KeyLimb {
        let length = pairs.first().map_or(0, |(b, _)| b.len());
        let all = |_, put: &mut DigitWriter<'_>| {
            pairs.iter().enumerate().for_each(|(d, (b, a))| put(d, b, a));
        };
        Self::prepare(&[ring], pairs.len(), length, &Threads::single(), all).swap_remove(0)
    }

    /// Makes the limbs of a whole key in one block of memory, as [`KeyLimb::gather`] does, but
    /// without a copy.
    ///
    /// Limb `k` belongs to `rings[k]` and has `digits` pairs of `length` residues. `limb(k, put)`
    /// calls `put(d, b_d, a_d)` once for each digit `d`, in any order.
    ///
    /// # Panics
    /// If a digit is missing or put twice, a polynomial does not have `length` residues, these do
    /// not fill the kernel's vectors (of 1, 4 or 8), or the key is larger than any memory.
    pub fn prepare<R: KeyRing>(
        rings: &[&R],
        digits: usize,
        length: usize,
        threads: &Threads,
        limb: impl Fn(usize, &mut DigitWriter<'_>) + Sync + Send,
    ) -> Vec<KeyLimb> {
        let mut limbs: Vec<KeyLimb> =
            rings.iter().map(|ring| ring.key_shape(digits, length)).collect();
        let sizes: Vec<usize> = limbs.iter().map(KeyLimb::bytes).collect();
        let memory = write_pieces(&sizes, threads, &|k, out| {
            let mut missing = vec![true; digits];
            limb(k, &mut |d, b, a| {
                assert!(d < digits, "a key of {digits} digits has no digit {d}");
                assert!(
                    std::mem::replace(&mut missing[d], false),
                    "digit {d} of a key is put twice"
                );
                assert!(
                    b.len() == length && a.len() == length,
                    "both polynomials of a digit must have the key's length {length}, but have {} \
                     and {}",
                    b.len(),
                    a.len()
                );
                rings[k].write_key_digit(out, [digits, d], b, a);
            });
            if let Some(d) = missing.iter().position(|missing| *missing) {
                panic!("digit {d} of the {digits} digits of a key is missing");
            }
        });
        place(&mut limbs, memory);
        limbs
    }

    /// Returns a key with residues in the form of `L`, without its memory.
    pub(super) fn shape<L: Lanes>(digits: usize, length: usize) -> Self {
        let (memory, word) = (Arc::new(Memory::default()), L::KEY_WORD);
        let stride = digit_bytes(length, word.bytes);
        KeyLimb { digits, parts: 1, length, lanes: L::LANES, word, start: 0, stride, memory }
    }

    /// Returns the same key with `parts` parts.
    pub(crate) fn in_parts(self, parts: usize) -> Self {
        KeyLimb { parts, ..self }
    }

    /// Makes the key whose digit `j` is the sum of the digits `groups[j]` of a key with these
    /// limbs. This coalesces digits as in LAKS.
    ///
    /// In an inner product, a digit times a sum gives the same result as the digit times each
    /// summand, to the last bit. The limbs are gathered as in [`KeyLimb::gather`], but without a
    /// copy. The time is that of reading the old key and writing the new one.
    ///
    /// # Panics
    /// If a modulus is a power of two, a group is empty, the key lacks a digit, or another kernel
    /// prepared the key. (Modulo a power of two, the sum of several centred numbers would be too
    /// large for its products.)
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

    /// Moves the limbs of a whole key into one block of memory, on huge pages if the operating
    /// system has them.
    ///
    /// Inner products then read a key that is not in the cache 1.2 to 1.6 times as fast (measured).
    pub fn gather(limbs: &mut [KeyLimb]) {
        let mut memory = Memory::zeroed(total_bytes(limbs.iter().map(KeyLimb::bytes)));
        let mut start = 0;
        for limb in limbs.iter() {
            // The last digit of a range ends before the memory of a whole key does.
            let held = &limb.memory[limb.start.min(limb.memory.len())..];
            let held = &held[..held.len().min(limb.bytes())];
            memory[start..start + held.len()].copy_from_slice(held);
            start += limb.bytes();
        }
        place(limbs, Arc::new(memory));
    }

    /// Returns the key of `length` residues from `first` on, in the same memory, for inner
    /// products.
    ///
    /// Both numbers are multiples of 8.
    ///
    /// # Panics
    /// If the range exceeds the key, or the key belongs to a ring of a power of two.
    #[must_use]
    pub fn range(&self, first: usize, length: usize) -> KeyLimb {
        let fits = first.checked_add(length).is_some_and(|end| end <= self.length);
        assert!(
            fits && self.parts == 1 && first.is_multiple_of(8) && length.is_multiple_of(8),
            "{length} residues from {first} on are not a range of the {} of a key",
            self.length
        );
        let start = self.start + 2 * first * self.word.bytes;
        KeyLimb { length, start, memory: Arc::clone(&self.memory), ..*self }
    }

    /// Returns the number of digits.
    pub fn digits(&self) -> usize {
        self.digits
    }

    /// Returns the number of residues in each polynomial.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns its memory in bytes. For a range, this is the memory of the whole key.
    pub fn bytes(&self) -> usize {
        let digits = self.parts.checked_mul(self.digits);
        addressable(digits.and_then(|digits| digits.checked_mul(self.stride)))
    }

    /// Returns the number of parts.
    pub(crate) fn parts(&self) -> usize {
        self.parts
    }

    /// Returns the index of digit `d` of a part among the digits of all parts.
    pub(crate) fn digit_of_part(&self, part: usize, d: usize) -> usize {
        assert!(
            d < self.digits,
            "the digits of an inner product must be among the {} of its key",
            self.digits
        );
        part * self.digits + d
    }

    /// Returns the number of bytes from one digit to the next.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Returns the number of digits in all parts.
    pub(super) fn stored_digits(&self) -> usize {
        self.parts * self.digits
    }

    /// Checks that the residues are stored in the form of `L`.
    ///
    /// # Panics
    /// If another kernel prepared this key.
    pub(super) fn assert_stored_for<L: Lanes>(&self) {
        assert!(
            self.word == L::KEY_WORD && self.lanes == L::LANES,
            "a switching key must be used with the kernel that prepared it"
        );
    }

    /// Returns the address of the first byte of digit `d`.
    ///
    /// # Safety
    /// `d < self.stored_digits()`.
    #[inline(always)]
    pub(super) unsafe fn digit(&self, d: usize) -> *const u8 {
        // SAFETY: the caller guarantees that the digit `d` exists.
        unsafe { self.memory.as_ptr().add(self.start + d * self.stride) }
    }
}

/// Returns the number of bytes from one digit to the next, for two polynomials of `length` residues
/// of `width` bytes each.
///
/// Long polynomials have [`STAGGER_BYTES`] more. An inner product reads all digits at once, and
/// digits that are a multiple of 4 KiB apart would evict each other from the cache. The gap makes
/// reading a key from memory up to twice as fast (measured).
pub(crate) fn digit_bytes(length: usize, width: usize) -> usize {
    let pair = length.checked_mul(2 * width).and_then(|bytes| bytes.checked_next_multiple_of(64));
    let bytes = addressable(pair);
    if bytes < MIN_STAGGERED_BYTES { bytes } else { bytes + STAGGER_BYTES }
}

/// Returns the number of bytes, or panics if no allocation can have so many.
fn addressable(bytes: Option<usize>) -> usize {
    bytes
        .filter(|bytes| *bytes <= isize::MAX as usize)
        .expect("a switching key must fit the address space")
}

/// Returns the bytes of pieces of these sizes and of the padding after them.
fn total_bytes(sizes: impl Iterator<Item = usize>) -> usize {
    sizes.fold(PADDING_BYTES, |total, size| addressable(total.checked_add(size)))
}

/// The minimum number of bytes of polynomials with a gap in [`digit_bytes`].
const MIN_STAGGERED_BYTES: usize = 1 << 14;
/// The gap after long polynomials in [`digit_bytes`]: 17 cache lines.
const STAGGER_BYTES: usize = 17 * 64;

/// Allocates pieces of these sizes, one after the other, and calls `write` for each.
///
/// The function is not generic: code compiled in other crates (by rustc 1.95) would clear short
/// keys byte by byte.
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

/// Assigns the limbs to `memory`, one after the other.
fn place(limbs: &mut [KeyLimb], memory: Arc<Memory>) {
    let mut start = 0;
    for limb in limbs {
        limb.start = start;
        limb.memory = Arc::clone(&memory);
        start += limb.bytes();
    }
}
