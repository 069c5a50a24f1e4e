//! The ChaCha20 block function (Bernstein 2008), which computes many blocks side by side.
//!
//! The crate has its own implementation for two reasons. The key and the keystream have to be
//! wiped, and 16 blocks side by side in AVX-512 registers are several times as fast as a library
//! (measured on Zen 5, for 1 KiB: 0.13 us, and 0.61 us by `rand_chacha`). Tests compare both.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::Kernel;

/// The number of 64-bit words in a block.
const BLOCK_WORDS: usize = 8;

/// The number of 64-bit words that are computed at a time.
pub(super) const BATCH_WORDS: usize = 16 * BLOCK_WORDS;

/// The first four words of the state, which are the text "expand 32-byte k".
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// The number of double rounds, which make 20 rounds.
const DOUBLE_ROUNDS: usize = 10;

/// The key, the nonce and the counter of the next block.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct ChaCha {
    /// The constants and the key: the first twelve words of the state.
    words: [u32; 12],
    stream: u64,
    block: u64,
    #[zeroize(skip)]
    kernel: Kernel,
}

impl ChaCha {
    /// Starts at block number `block` of the keystream number `stream` of `key`.
    pub(super) fn new(key: &[u8; 32], stream: u64, block: u64, kernel: Kernel) -> Self {
        let mut words = [0; 12];
        let (constants, of_key) = words.split_at_mut(CONSTANTS.len());
        constants.copy_from_slice(&CONSTANTS);
        for (word, bytes) in of_key.iter_mut().zip(key.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        ChaCha { words, stream, block, kernel }
    }

    /// Writes the next 16 blocks.
    pub(super) fn batch(&mut self, out: &mut [u64; BATCH_WORDS]) {
        match self.kernel {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Kernel::detect` and the tests check that the CPU supports the kernel.
            Kernel::Avx512 | Kernel::Avx512Ifma => unsafe { avx512::batch(self, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the same as above.
            Kernel::Avx2 => unsafe { self.batch_avx2(out) },
            _ => self.batch_of::<4>(out),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn batch_avx2(&mut self, out: &mut [u64; BATCH_WORDS]) {
        self.batch_of::<8>(out);
    }

    /// Returns the low and the high words of the numbers of the next `L` blocks.
    #[inline(always)]
    fn next_blocks<const L: usize>(&mut self) -> [[u32; L]; 2] {
        let (mut low, mut high) = ([0; L], [0; L]);
        for (low, high) in low.iter_mut().zip(&mut high) {
            (*low, *high) = (self.block as u32, (self.block >> 32) as u32);
            self.block = self.block.wrapping_add(1);
        }
        [low, high]
    }

    /// Writes the next 16 blocks in rounds of `L` blocks, one in each lane.
    #[inline(always)]
    fn batch_of<const L: usize>(&mut self, out: &mut [u64; BATCH_WORDS]) {
        for out in out.chunks_exact_mut(L * BLOCK_WORDS) {
            let mut start = [Lanes([0; L]); 16];
            for (lanes, word) in start.iter_mut().zip(&self.words) {
                *lanes = Lanes([*word; L]);
            }
            let [low, high] = self.next_blocks::<L>();
            (start[12], start[13]) = (Lanes(low), Lanes(high));
            start[14] = Lanes([self.stream as u32; L]);
            start[15] = Lanes([(self.stream >> 32) as u32; L]);

            let mut x = start;
            for _ in 0..DOUBLE_ROUNDS {
                double_round(&mut x);
            }
            for (x, start) in x.iter_mut().zip(&start) {
                *x = x.add(*start);
            }
            for (lane, block) in out.chunks_exact_mut(BLOCK_WORDS).enumerate() {
                for (i, word) in block.iter_mut().enumerate() {
                    *word = u64::from(x[2 * i].0[lane]) | u64::from(x[2 * i + 1].0[lane]) << 32;
                }
            }
        }
    }
}

/// The kernel for AVX-512, with one block in each of sixteen lanes.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::*;
    use crate::simd512::{V, add32, join32, load, rotate32, set1_32, store, transpose, xor};

    impl Word for V {
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            add32(self, other)
        }

        #[inline(always)]
        fn xor_rotate<const BITS: i32>(self, other: Self) -> Self {
            rotate32::<BITS>(xor(self, other))
        }
    }

    /// Writes the next 16 blocks.
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
    pub(super) fn batch(state: &mut ChaCha, out: &mut [u64; BATCH_WORDS]) {
        let mut start = [set1_32(0); 16];
        for (lanes, word) in start.iter_mut().zip(&state.words) {
            *lanes = set1_32(*word);
        }
        let [low, high] = state.next_blocks::<16>();
        // SAFETY: the arrays have 64 bytes.
        (start[12], start[13]) = unsafe { (load(low.as_ptr().cast()), load(high.as_ptr().cast())) };
        (start[14], start[15]) =
            (set1_32(state.stream as u32), set1_32((state.stream >> 32) as u32));

        let mut x = start;
        for _ in 0..DOUBLE_ROUNDS {
            double_round(&mut x);
        }
        let (mut first, mut second) = ([set1_32(0); 8], [set1_32(0); 8]);
        for (x, start) in x.iter_mut().zip(&start) {
            *x = x.add(*start);
        }
        for (i, (first, second)) in first.iter_mut().zip(&mut second).enumerate() {
            [*first, *second] = join32(x[2 * i], x[2 * i + 1]);
        }
        let blocks = [transpose(first), transpose(second)];
        for lane in 0..16 {
            // Lanes 0, 1, 4, 5 and so on are in the first half.
            let block = blocks[lane / 2 % 2][lane / 4 * 2 + lane % 2];
            // SAFETY: a block has 64 bytes, and `out` has 16 blocks.
            unsafe { store(out.as_mut_ptr().add(BLOCK_WORDS * lane), block) };
        }
    }
}

/// One word of the state of several blocks, with one block in each lane.
trait Word: Copy {
    /// Adds modulo `2^32`.
    fn add(self, other: Self) -> Self;

    /// Returns the exclusive or of both words, rotated to the left.
    fn xor_rotate<const BITS: i32>(self, other: Self) -> Self;
}

/// One word of the state of `L` blocks.
#[derive(Clone, Copy)]
struct Lanes<const L: usize>([u32; L]);

impl<const L: usize> Word for Lanes<L> {
    #[inline(always)]
    fn add(mut self, other: Self) -> Self {
        for (x, y) in self.0.iter_mut().zip(&other.0) {
            *x = x.wrapping_add(*y);
        }
        self
    }

    #[inline(always)]
    fn xor_rotate<const BITS: i32>(mut self, other: Self) -> Self {
        for (x, y) in self.0.iter_mut().zip(&other.0) {
            *x = (*x ^ *y).rotate_left(BITS as u32);
        }
        self
    }
}

/// Applies a quarter round to the four columns of the state, and then to its four diagonals.
///
/// The calls are written out, since a compiler keeps words in registers only if it knows their
/// numbers. With a loop, the AVX-512 kernel took 3.4 times as long (Zen 5, 450 ns for a batch).
#[inline(always)]
fn double_round<W: Word>(x: &mut [W; 16]) {
    quarter_round(x, [0, 4, 8, 12]);
    quarter_round(x, [1, 5, 9, 13]);
    quarter_round(x, [2, 6, 10, 14]);
    quarter_round(x, [3, 7, 11, 15]);
    quarter_round(x, [0, 5, 10, 15]);
    quarter_round(x, [1, 6, 11, 12]);
    quarter_round(x, [2, 7, 8, 13]);
    quarter_round(x, [3, 4, 9, 14]);
}

#[inline(always)]
fn quarter_round<W: Word>(x: &mut [W; 16], [a, b, c, d]: [usize; 4]) {
    x[a] = x[a].add(x[b]);
    x[d] = x[d].xor_rotate::<16>(x[a]);
    x[c] = x[c].add(x[d]);
    x[b] = x[b].xor_rotate::<12>(x[c]);
    x[a] = x[a].add(x[b]);
    x[d] = x[d].xor_rotate::<8>(x[a]);
    x[c] = x[c].add(x[d]);
    x[b] = x[b].xor_rotate::<7>(x[c]);
}

#[cfg(test)]
mod tests {
    use rand_chacha::{
        ChaCha20Rng,
        rand_core::{RngCore, SeedableRng},
    };

    use super::*;

    #[test]
    fn agrees_with_a_library() {
        let key: [u8; 32] = std::array::from_fn(|i| 7 * i as u8);
        for (stream, block) in
            [(0, 0), (1 << 40 | 5, (1 << 32) - 8), (u64::MAX, 1 << 63), (3, u64::MAX >> 1)]
        {
            let mut library = ChaCha20Rng::from_seed(key);
            library.set_stream(stream);
            library.set_word_pos(u128::from(block) * 16);
            let expected: [u64; 2 * BATCH_WORDS] = std::array::from_fn(|_| library.next_u64());
            for kernel in Kernel::supported() {
                let mut ours = ChaCha::new(&key, stream, block, kernel);
                let mut out = [[0; BATCH_WORDS]; 2];
                out.iter_mut().for_each(|out| ours.batch(out));
                assert_eq!(out.as_flattened(), expected, "{kernel} {stream} {block}");
            }
        }
    }
}
