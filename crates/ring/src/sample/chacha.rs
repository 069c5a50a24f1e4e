//! The ChaCha20 block function (Bernstein 2008), which computes many blocks side by side.
//!
//! The crate has its own implementation for two reasons. The key and the keystream have to be
//! wiped, and 16 blocks side by side in AVX-512 registers are about twice as fast as a library
//! (measured). Tests compare it with a library.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::Kernel;

/// The number of 64-bit words in a block.
const BLOCK_WORDS: usize = 8;

/// The number of 64-bit words that are computed at a time.
pub(super) const BATCH_WORDS: usize = 16 * BLOCK_WORDS;

/// The key, the nonce and the counter of the next block.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct ChaCha {
    key: [u32; 8],
    stream: u64,
    block: u64,
    #[zeroize(skip)]
    kernel: Kernel,
}

impl ChaCha {
    /// Starts at block number `block` of the keystream number `stream` of `key`.
    pub(super) fn new(key: &[u8; 32], stream: u64, block: u64, kernel: Kernel) -> Self {
        let (words, _) = key.as_chunks();
        ChaCha { key: std::array::from_fn(|i| u32::from_le_bytes(words[i])), stream, block, kernel }
    }

    /// Writes the next 16 blocks.
    pub(super) fn batch(&mut self, out: &mut [u64; BATCH_WORDS]) {
        match self.kernel {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Kernel::detect` and the tests check that the CPU supports the kernel.
            Kernel::Avx512 | Kernel::Avx512Ifma => unsafe { self.batch_avx512(out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the same as above.
            Kernel::Avx2 => unsafe { self.batch_avx2(out) },
            _ => self.batch_of::<4>(out),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn batch_avx512(&mut self, out: &mut [u64; BATCH_WORDS]) {
        self.batch_of::<16>(out);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn batch_avx2(&mut self, out: &mut [u64; BATCH_WORDS]) {
        self.batch_of::<8>(out);
    }

    /// Writes the next 16 blocks in rounds of `L` blocks, one in each lane.
    #[inline(always)]
    fn batch_of<const L: usize>(&mut self, out: &mut [u64; BATCH_WORDS]) {
        for out in out.chunks_exact_mut(L * BLOCK_WORDS) {
            let mut start = [Lanes([0; L]); 16];
            for (i, word) in
                [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574].into_iter().enumerate()
            {
                start[i] = Lanes([word; L]);
            }
            for (i, word) in self.key.into_iter().enumerate() {
                start[4 + i] = Lanes([word; L]);
            }
            for lane in 0..L {
                let block = self.block.wrapping_add(lane as u64);
                (start[12].0[lane], start[13].0[lane]) = (block as u32, (block >> 32) as u32);
            }
            start[14] = Lanes([self.stream as u32; L]);
            start[15] = Lanes([(self.stream >> 32) as u32; L]);
            self.block = self.block.wrapping_add(L as u64);

            let mut x = start;
            for _ in 0..10 {
                for i in 0..4 {
                    quarter_round(&mut x, [i, 4 + i, 8 + i, 12 + i]);
                }
                for i in 0..4 {
                    quarter_round(&mut x, [i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4]);
                }
            }
            for (x, start) in x.iter_mut().zip(start) {
                *x = x.add(start);
            }
            for (lane, block) in out.chunks_exact_mut(BLOCK_WORDS).enumerate() {
                for (i, word) in block.iter_mut().enumerate() {
                    *word = u64::from(x[2 * i].0[lane]) | u64::from(x[2 * i + 1].0[lane]) << 32;
                }
            }
        }
    }
}

/// One word of the state of `L` blocks.
#[derive(Clone, Copy)]
struct Lanes<const L: usize>([u32; L]);

impl<const L: usize> Lanes<L> {
    #[inline(always)]
    fn add(mut self, other: Self) -> Self {
        for (x, y) in self.0.iter_mut().zip(other.0) {
            *x = x.wrapping_add(y);
        }
        self
    }

    #[inline(always)]
    fn xor_rotate(mut self, other: Self, bits: u32) -> Self {
        for (x, y) in self.0.iter_mut().zip(other.0) {
            *x = (*x ^ y).rotate_left(bits);
        }
        self
    }
}

#[inline(always)]
fn quarter_round<const L: usize>(x: &mut [Lanes<L>; 16], [a, b, c, d]: [usize; 4]) {
    for (first, second) in [(16, 12), (8, 7)] {
        x[a] = x[a].add(x[b]);
        x[d] = x[d].xor_rotate(x[a], first);
        x[c] = x[c].add(x[d]);
        x[b] = x[b].xor_rotate(x[c], second);
    }
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
