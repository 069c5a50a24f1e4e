//! Ternary and binary polynomials, which serve as secrets.

use zeroize::Zeroizing;

use super::Sampler;
use crate::RingError;

impl Sampler {
    /// Fills `out` with independent values that are exactly uniform on `{-1, 0, 1}`.
    ///
    /// The time is constant. The keystream is read in pairs of bits. Three of the four values of a
    /// pair give a coefficient, and the fourth is skipped. The positions of skipped pairs are
    /// independent of the coefficients.
    pub fn ternary(&mut self, out: &mut [i64]) {
        let mut filled = 0;
        while filled < out.len() {
            let mut word = self.stream.next_word();
            // A word never gives more pairs than there are missing coefficients.
            for _ in 0..32.min(out.len() - filled) {
                let pair = (word & 3) as i64;
                word >>= 2;
                out[filled] = pair - 1;
                filled += ((3 - pair) as u64).min(1) as usize;
            }
        }
    }

    /// Fills `out` with independent values that are exactly uniform on `{0, 1}`.
    ///
    /// Each value is one bit of the keystream. The time is constant.
    pub fn binary(&mut self, out: &mut [i64]) {
        for chunk in out.chunks_mut(64) {
            let mut word = self.stream.next_word();
            for x in chunk {
                *x = (word & 1) as i64;
                word >>= 1;
            }
        }
    }

    /// Fills `out` with exactly `weight` coefficients that are `-1` or `1`, in uniformly random
    /// places. All others are zero.
    ///
    /// Each sign has probability 1/2. The algorithm is data-oblivious: it sorts the coefficients by
    /// random keys in Batcher's bitonic network. The network compares and exchanges the same
    /// positions in the same order for all keys, by arithmetic without branches. If two keys are
    /// equal, which has probability `2^-27` at length `2^17`, all keys are drawn again. So the
    /// places are exactly uniform.
    ///
    /// # Errors
    /// [`RingError::HammingWeight`] if `weight` exceeds the length of `out`.
    pub fn sparse_ternary(&mut self, weight: usize, out: &mut [i64]) -> Result<(), RingError> {
        if weight > out.len() {
            return Err(RingError::HammingWeight { degree: out.len(), weight });
        }
        // An entry has a random key of 61 bits above two low bits, which hold the coefficient plus
        // one. The sign bit is clear. The entries that fill up to a power of two are larger than
        // all others.
        let mut entries = Zeroizing::new(vec![i64::MAX; out.len().next_power_of_two()]);
        loop {
            for (i, entry) in entries[..out.len()].iter_mut().enumerate() {
                let word = self.stream.next_word();
                let coefficient_plus_one = if i < weight { (word & 1) << 1 } else { 1 };
                *entry = ((word >> 1 & !3) | coefficient_plus_one) as i64;
            }
            entries[out.len()..].fill(i64::MAX);
            bitonic_sort(&mut entries);
            let equal = entries[..out.len()]
                .windows(2)
                .fold(0, |n, w| n + u32::from(w[0] >> 2 == w[1] >> 2));
            if equal == 0 {
                break;
            }
        }
        for (x, entry) in out.iter_mut().zip(entries.iter()) {
            *x = (entry & 3) - 1;
        }
        Ok(())
    }
}

/// Sorts non-negative integers in ascending order. Their number is a power of two.
fn bitonic_sort(a: &mut [i64]) {
    let mut run = 2;
    while run <= a.len() {
        let mut distance = run / 2;
        while distance > 0 {
            for (i, chunk) in a.chunks_exact_mut(2 * distance).enumerate() {
                let (low, high) = chunk.split_at_mut(distance);
                // Runs are sorted in ascending and descending order in turn. The last single run is
                // ascending.
                if (i * 2 * distance) & run == 0 {
                    exchange(low, high);
                } else {
                    exchange(high, low);
                }
            }
            distance /= 2;
        }
        run *= 2;
    }
}

/// Leaves the smaller of each pair in `low` and the larger in `high`.
fn exchange(low: &mut [i64], high: &mut [i64]) {
    for (x, y) in low.iter_mut().zip(high) {
        // This is all ones if y < x, because the difference of two non-negative integers does not
        // overflow.
        let difference = *y - *x;
        let down = difference & (difference >> 63);
        *x += down;
        *y -= down;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Seed;

    fn sampler(stream: u64) -> Sampler {
        Sampler::new(&Seed::from_bytes([0x5a; 32]), stream)
    }

    /// Files of secret keys hold seeds, so these values are part of the wire format and must never
    /// change.
    #[test]
    fn known_answers() {
        let seed = Seed::from_bytes(std::array::from_fn(|i| i as u8));
        let mut out = [0; 40];
        Sampler::new(&seed, 0).ternary(&mut out);
        assert_eq!(
            out,
            [
                0, 1, -1, 0, 1, 1, -1, 0, 0, 0, 1, 0, 0, 0, -1, 0, 1, 0, -1, 1, 1, 1, 0, 0, -1, 1,
                0, 1, -1, -1, -1, 0, 0, -1, 1, 1, -1, 1, 0, 0
            ]
        );
        let mut out = [7; 80];
        Sampler::new(&seed, 0).binary(&mut out);
        assert_eq!(
            out.map(|x| x.to_string()).concat(),
            "10011100101111111101010010111110100110111010001110011000010101101011000110111101"
        );
        let mut out = [0; 40];
        Sampler::new(&seed, 0).sparse_ternary(12, &mut out).unwrap();
        assert_eq!(
            out,
            [
                0, -1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, -1, -1, 0, 1, 0, 1, 0, 0, 0, 0, -1, 0, 0, 0,
                1, 0, 0, 0, 0, -1, 0, 0, -1, 0, 0, 0, 0, 0
            ]
        );
    }

    #[test]
    fn ternary_is_uniform_and_uncorrelated() {
        let n = 1 << 18;
        let mut out = vec![7; n];
        sampler(0).ternary(&mut out);
        // Pairs of neighbours fall into 9 cells. Chi-square with 8 degrees of freedom is below 26.1
        // with probability 0.999.
        let mut cells = [0f64; 9];
        for pair in out.chunks_exact(2) {
            assert!(pair.iter().all(|x| (-1..=1).contains(x)));
            cells[(3 * (pair[0] + 1) + pair[1] + 1) as usize] += 1.0;
        }
        let mean = n as f64 / 18.0;
        let chi: f64 = cells.iter().map(|c| (c - mean).powi(2) / mean).sum();
        assert!(chi < 26.1, "{chi}");
    }

    /// Chi-square over words of eight bits has 255 degrees of freedom. It is below 331 with
    /// probability 0.999.
    #[test]
    fn binary_is_uniform_and_uncorrelated() {
        let mut out = vec![7; 1 << 18];
        sampler(5).binary(&mut out);
        let mut cells = [0f64; 256];
        for bits in out.chunks_exact(8) {
            assert!(bits.iter().all(|x| (0..=1).contains(x)));
            cells[bits.iter().fold(0, |word, x| 2 * word + *x as usize)] += 1.0;
        }
        let mean = f64::from(1 << 7);
        let chi: f64 = cells.iter().map(|c| (c - mean).powi(2) / mean).sum();
        assert!(chi < 331.0, "{chi}");
    }

    #[test]
    fn every_length_is_filled_and_deterministic() {
        for length in [0, 1, 31, 32, 33, 64, 999] {
            let (mut first, mut second) = (vec![7; length], vec![8; length]);
            sampler(1).ternary(&mut first);
            sampler(1).ternary(&mut second);
            assert!(first == second && first.iter().all(|x| (-1..=1).contains(x)));
        }
    }

    #[test]
    fn sparse_weight_is_exact() {
        for (length, weight) in [(16, 0), (16, 16), (64, 1), (1000, 333), (1 << 14, 192), (1, 1)] {
            let mut out = vec![7; length];
            sampler(2).sparse_ternary(weight, &mut out).unwrap();
            assert!(out.iter().all(|x| (-1..=1).contains(x)));
            assert_eq!(out.iter().filter(|x| **x != 0).count(), weight);
        }
        let refused = sampler(2).sparse_ternary(17, &mut [0; 16]);
        assert_eq!(refused, Err(RingError::HammingWeight { degree: 16, weight: 17 }));
    }

    /// All C(6,2) 2^2 = 60 outcomes at length 6 and weight 2 are equally likely. Chi-square with 59
    /// degrees of freedom is between 30 and 98 with probability 0.998.
    #[test]
    fn sparse_is_uniform() {
        let mut sampler = sampler(3);
        let mut counts = std::collections::HashMap::new();
        for _ in 0..60_000 {
            let mut out = [0; 6];
            sampler.sparse_ternary(2, &mut out).unwrap();
            *counts.entry(out).or_insert(0f64) += 1.0;
        }
        assert_eq!(counts.len(), 60);
        let chi: f64 = counts.values().map(|c| (c - 1000.0).powi(2) / 1000.0).sum();
        assert!((30.0..98.0).contains(&chi), "{chi}");
    }

    #[test]
    fn network_sorts() {
        for log in 0..11 {
            let mut words = vec![0; 1 << log];
            sampler(4).uniform(1 << 63, &mut words);
            let mut a: Vec<i64> = words.into_iter().map(|x| x as i64).collect();
            let mut b = a.clone();
            b.sort_unstable();
            bitonic_sort(&mut a);
            assert_eq!(a, b);
        }
    }
}
