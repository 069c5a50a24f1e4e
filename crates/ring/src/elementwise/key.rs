//! Switching keys in the shape in which inner products read them.

use aligned_vec::AVec;

use super::lanes::{KeyWord, Lanes};

/// One limb of a switching key, prepared by [`super::Elementwise::prepare_key`]: for each digit `d` the pair `(b_d, a_d)`.
///
/// The residues stand in Montgomery form, in 6 bytes each where the kernel packs them (IFMA, `q < 2^48`), else in 8: digit
/// after digit, each beginning at a multiple of 64 bytes, and within a digit vector by vector, `b_d` before `a_d`.
#[derive(Debug, Clone)]
pub struct KeyLimb {
    digits: usize,
    length: usize,
    lanes: usize,
    word: KeyWord,
    /// Bytes from one digit to the next.
    stride: usize,
    bytes: AVec<u8>,
}

/// Loads of packed residues may reach so many bytes beyond the last one.
const PADDING: usize = 64;

impl KeyLimb {
    /// A key with room for `digits` pairs of `length` residues each.
    pub(super) fn new<L: Lanes>(digits: usize, length: usize) -> Self {
        let stride = (2 * length * L::KEY_WORD.bytes).next_multiple_of(64);
        let bytes = AVec::from_iter(64, std::iter::repeat_n(0, digits * stride + PADDING));
        KeyLimb { digits, length, lanes: L::LANES, word: L::KEY_WORD, stride, bytes }
    }

    /// Stores the pair of digit `d`, whose residues are in Montgomery form.
    pub(super) fn set(&mut self, d: usize, b: &[u64], a: &[u64]) {
        let (lanes, width) = (self.lanes, self.word.bytes);
        let words = b.chunks(lanes).zip(a.chunks(lanes)).flat_map(|(b, a)| b.iter().chain(a));
        for (place, word) in self.bytes[d * self.stride..].chunks_exact_mut(width).zip(words) {
            place.copy_from_slice(&word.to_le_bytes()[..width]);
        }
    }

    /// How many digits it holds.
    pub fn digits(&self) -> usize {
        self.digits
    }

    /// Residues in each polynomial.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
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
    /// `d < self.digits()`.
    #[inline(always)]
    pub(super) unsafe fn digit(&self, d: usize) -> *const u8 {
        // SAFETY: the caller vouches for `d`.
        unsafe { self.bytes.as_ptr().add(d * self.stride) }
    }
}
