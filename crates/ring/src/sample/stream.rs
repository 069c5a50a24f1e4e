//! The keystream as 64-bit words, in the order of use.

use zeroize::Zeroize;

use super::{
    Seed,
    chacha::{BATCH, ChaCha},
};
use crate::Kernel;

pub(super) struct Keystream {
    kernel: Kernel,
    chacha: ChaCha,
    words: [u64; BATCH],
    /// How many of `words` have been used.
    used: usize,
}

impl Keystream {
    pub(super) fn new(seed: &Seed, stream: u64, block: u64) -> Self {
        // The words are the same for every kernel, so that one that cannot be used need not be an
        // error here.
        let kernel = Kernel::detect().unwrap_or(Kernel::Portable);
        Keystream {
            kernel,
            chacha: ChaCha::new(seed, stream, block, kernel),
            words: [0; BATCH],
            used: BATCH,
        }
    }

    /// What the CPU is used for.
    pub(super) fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// The next words: at least one, at most `max`.
    pub(super) fn some(&mut self, max: usize) -> &[u64] {
        if self.used == BATCH {
            self.chacha.batch(&mut self.words);
            self.used = 0;
        }
        let start = self.used;
        self.used = BATCH.min(start + max);
        &self.words[start..self.used]
    }

    /// Fills `out` with the next words.
    pub(super) fn fill(&mut self, out: &mut [u64]) {
        let mut filled = 0;
        while filled < out.len() {
            let words = self.some(out.len() - filled);
            out[filled..filled + words.len()].copy_from_slice(words);
            filled += words.len();
        }
    }

    pub(super) fn word(&mut self) -> u64 {
        self.some(1)[0]
    }
}

impl Drop for Keystream {
    fn drop(&mut self) {
        self.words.zeroize();
    }
}
