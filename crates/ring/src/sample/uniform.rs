//! Uniform residues.

use super::Sampler;

impl Sampler {
    /// Fills `out` with independent uniform residues in `[0, q)`, for any `q >= 1`.
    ///
    /// Let `m` be the smallest power of two that is at least `q`. The words `w` of the keystream
    /// are read in order. A word gives the candidate `w mod m`, which becomes the next residue if
    /// it is below `q`, and is skipped otherwise. Nothing is read beyond the word that gives the
    /// last residue. The wire format depends on this rule.
    ///
    /// # Panics
    /// If `q` is zero.
    pub fn uniform(&mut self, q: u64, out: &mut [u64]) {
        assert!(q > 0, "there are no residues modulo zero");
        let mask = u64::MAX.checked_shr((q - 1).leading_zeros()).unwrap_or(0);
        let mut filled = 0;
        while filled < out.len() {
            // This never reads more words than there are missing residues, so that the last word
            // read is accepted.
            for word in self.stream.next_words(out.len() - filled) {
                let candidate = word & mask;
                out[filled] = candidate;
                filled += usize::from(candidate < q);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::sample::{Sampler, Seed};

    fn sampler(stream: u64) -> Sampler {
        Sampler::new(&Seed::from_bytes(std::array::from_fn(|i| i as u8)), stream)
    }

    /// These values are part of the wire format and must never change.
    #[test]
    fn known_answers() {
        let mut sampler = sampler(0x0123_4567_89ab_cdef);
        let mut out = [0; 4];
        for (q, expected) in [
            (
                (1 << 48) - 59,
                [38_417_429_820_462, 217_290_051_563_561, 59_254_495_460_284, 123_702_802_837_473],
            ),
            ((1 << 32) + 15, [523_221_124, 2_094_591_878, 4_174_212_407, 358_722_020]),
            (1 << 20, [437_683, 604_527, 752_510, 402_910]),
            (
                (1 << 61) - 1,
                [
                    1_025_247_615_869_573_634,
                    617_933_915_812_323_723,
                    1_215_476_383_241_592_797,
                    1_577_103_744_234_605_387,
                ],
            ),
            (
                u64::MAX,
                [
                    8_944_133_745_781_585_773,
                    17_529_402_342_481_029_442,
                    8_680_111_800_603_224_682,
                    11_363_436_174_335_696_447,
                ],
            ),
            (1, [0, 0, 0, 0]),
            (3, [2, 0, 2, 0]),
        ] {
            sampler.uniform(q, &mut out);
            assert_eq!(out, expected, "{q}");
        }
    }

    /// Draws of every length, across refills, give the sequence that the documentation defines.
    #[test]
    fn follows_the_documented_rule() {
        let q = 5 << 40; // 37 % of the candidates are passed over
        let mut words = sampler(1);
        let mut reference = Vec::new();
        while reference.len() < 2000 {
            let candidate = words.stream.next_word() % (1 << 43);
            if candidate < q {
                reference.push(candidate);
            }
        }
        let mut sampler = sampler(1);
        let mut at = 0;
        for length in [0, 1, 2, 700, 1, 255, 256, 257, 500] {
            let mut out = vec![0; length];
            sampler.uniform(q, &mut out);
            assert_eq!(out, reference[at..at + length]);
            at += length;
        }
    }

    /// Chi-square over 64 equal cells has mean 63 and standard deviation 11.2.
    #[test]
    fn is_uniform() {
        for (stream, q) in [(2, 97 << 40), (3, (1 << 48) - 59), (4, 3 << 59), (5, 64 * 1001)] {
            let mut out = vec![0; 1 << 16];
            sampler(stream).uniform(q, &mut out);
            let mut cells = [0f64; 64];
            for x in &out {
                assert!(*x < q);
                cells[(u128::from(*x) * 64 / u128::from(q)) as usize] += 1.0;
            }
            let chi: f64 = cells.iter().map(|c| (c - 1024.0).powi(2) / 1024.0).sum();
            assert!((20.0..120.0).contains(&chi), "{q}: {chi}");
        }
    }

    #[test]
    fn streams_and_seeds_differ() {
        let mut draws = Vec::new();
        for (seed, stream) in [(0, 0), (0, 1), (0, 1 << 32), (1, 0)] {
            let mut out = [0; 4];
            Sampler::new(&Seed::from_bytes([seed; 32]), stream).uniform(1 << 60, &mut out);
            assert!(!draws.contains(&out));
            draws.push(out);
        }
    }
}
