//! The keystream as 64-bit words, in the order of use.

use zeroize::Zeroize;

use super::chacha::{BATCH_WORDS, ChaCha};
use crate::Kernel;

/// A keystream with a buffer of words that have not been read yet.
pub(super) struct Keystream {
    kernel: Kernel,
    chacha: ChaCha,
    words: [u64; BATCH_WORDS],
    /// The number of `words` that have been read.
    used: usize,
}

impl Keystream {
    /// Starts the keystream number `stream` of `key` at block number `block`.
    pub(super) fn new(key: &[u8; 32], stream: u64, block: u64) -> Self {
        // All kernels give the same words, so a kernel that this CPU lacks is no error here.
        let kernel = Kernel::detect().unwrap_or(Kernel::Portable);
        Keystream {
            kernel,
            chacha: ChaCha::new(key, stream, block, kernel),
            words: [0; BATCH_WORDS],
            used: BATCH_WORDS,
        }
    }

    /// Returns the kernel in use.
    pub(super) fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Returns the next words, at least one and at most `max`.
    pub(super) fn next_words(&mut self, max: usize) -> &[u64] {
        if self.used == BATCH_WORDS {
            self.chacha.batch(&mut self.words);
            self.used = 0;
        }
        let start = self.used;
        self.used = BATCH_WORDS.min(start + max);
        &self.words[start..self.used]
    }

    /// Fills `out` with the next words.
    pub(super) fn fill(&mut self, out: &mut [u64]) {
        let mut filled = 0;
        while filled < out.len() {
            let words = self.next_words(out.len() - filled);
            out[filled..filled + words.len()].copy_from_slice(words);
            filled += words.len();
        }
    }

    /// Returns the next word.
    pub(super) fn next_word(&mut self) -> u64 {
        self.next_words(1)[0]
    }
}

impl Drop for Keystream {
    fn drop(&mut self) {
        self.words.zeroize();
    }
}
