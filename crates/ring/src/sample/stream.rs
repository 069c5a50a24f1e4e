//! The ChaCha20 keystream as 64-bit words.

use rand_chacha::{
    ChaCha20Rng,
    rand_core::{RngCore, SeedableRng},
};
use zeroize::Zeroize;

use super::Seed;

/// How many words are made at a time.
const WORDS: usize = 256;

pub(super) struct Keystream {
    rng: ChaCha20Rng,
    words: [u64; WORDS],
    /// How many of `words` have been used.
    used: usize,
}

impl Keystream {
    pub(super) fn new(seed: &Seed, stream: u64, block: u64) -> Self {
        let mut rng = ChaCha20Rng::from_seed(*seed.as_bytes());
        rng.set_stream(stream);
        rng.set_word_pos(u128::from(block) * 16);
        Keystream { rng, words: [0; WORDS], used: WORDS }
    }

    /// The next words: at least one, at most `max`.
    pub(super) fn some(&mut self, max: usize) -> &[u64] {
        if self.used == WORDS {
            self.refill();
        }
        let start = self.used;
        self.used = WORDS.min(start + max);
        &self.words[start..self.used]
    }

    pub(super) fn word(&mut self) -> u64 {
        self.some(1)[0]
    }

    fn refill(&mut self) {
        for word in &mut self.words {
            *word = self.rng.next_u64();
        }
        self.used = 0;
    }
}

impl Drop for Keystream {
    fn drop(&mut self) {
        self.words.zeroize();
    }
}
