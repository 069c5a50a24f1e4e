//! The butterflies of the special FFT, with several stages merged into one matrix.
//!
//! With `n` slots and `xi = exp(2 pi i / 4n)`, the numbers `c_k = t_k + i t_(k+n)` are mapped to
//! the slots `z_j = sum_k c_k xi^(5^j k)`. The FFT of [`crate::encoder`] applies `log2(n)` stages
//! to the `c_k`, in natural order, and gives the slots in bit-reversed order. Here its stages act
//! on the `c_k` in bit-reversed order and give the slots in natural order. Stage `e` pairs places
//! that are `2^e` apart,
//!
//! ```text
//! y_i       = x_i + w x_(i + 2^e)
//! y_(i+2^e) = x_i - w x_(i + 2^e),     w = exp(2 pi i 5^a / 2^(e+3)),  a = i mod 2^e
//! ```
//!
//! for every `i` whose bit `e` is 0. The matrix of stages `f .. f + k` has `2^k` entries in each
//! row, all of them roots of unity. One path leads from column `j` to row `i`. On it, stage `e`
//! multiplies by `w` if bit `e` of `j` is set, and also by `-1` if bit `e` of `i` is set. Row and
//! column differ by a multiple of `2^f` below `2^(f+k)` in absolute value. That makes `2^(k+1) - 1`
//! diagonals, or, modulo `n`, `2^k` of them if the last stage is included. The entries repeat every
//! `2^(f+k)` rows. Each stage is `sqrt(2)` times a unitary matrix, so the inverse is the conjugate
//! transpose divided by `2^k`.

use std::collections::{BTreeMap, BTreeSet};

use crate::circuits::linear_transform::Roots;

/// Consecutive stages of the FFT of `2^log_slots` slots.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stages {
    pub log_slots: u32,
    pub first: u32,
    pub count: u32,
}

/// The factors of rows or columns at the packed end of a transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mask {
    /// All factors are 1.
    None,
    /// Over `2n` slots: 1 in the first half, and in the second half `i` (columns) or `-i` (rows).
    Halves,
    /// The factor of column 0 is 1/2.
    HalveFirst,
    /// Over this number of slots: all but the first `n` of them are read as 0 and become 0.
    Only(usize),
}

/// Diagonals by rotation. The entries are exponents of roots of order `2^`[`Stages::log_order`].
pub(super) type Exponents = BTreeMap<usize, Vec<u32>>;

impl Stages {
    /// log2 of the order of the roots of unity in the entries, which is `4n`.
    pub fn log_order(self) -> u32 {
        self.log_slots + 2
    }

    /// Returns the map from coefficients to slots. The mask applies to the columns.
    pub fn forward(self, mask: Mask) -> Exponents {
        self.diagonals(mask, true)
    }

    /// Returns `2^count` times the inverse map. The mask applies to the rows.
    pub fn inverse(self, mask: Mask) -> Exponents {
        self.diagonals(mask, false)
    }

    /// Returns the diagonals of the forward matrix, or of its conjugate transpose, multiplied by
    /// `mask`. The factor of its second half is `i`, or `-i` for the transpose.
    fn diagonals(self, mask: Mask, forward: bool) -> Exponents {
        let (slots, order) = (1usize << self.log_slots, 1u32 << self.log_order());
        let fives = powers_of_five(slots, order);
        let (rows, length, modulus) = match mask {
            Mask::None => (1 << (self.first + self.count), 1 << (self.first + self.count), slots),
            Mask::HalveFirst => (slots, slots, slots),
            // The inverse transform has operands that repeat after `slots` slots. Those of the
            // forward transform do not repeat.
            Mask::Halves => (2 * slots, 2 * slots, if forward { 2 * slots } else { slots }),
            Mask::Only(all) => (slots, all, all),
        };
        // Column minus row is a multiple of `2^first`. Several multiples are the same rotation if
        // the last stage is included.
        let entries = 1usize << self.count;
        let rotation = |multiple: usize| {
            (modulus + (multiple << self.first) - ((entries - 1) << self.first)) % modulus
        };
        let rotations: BTreeSet<usize> = (0..2 * entries - 1).map(rotation).collect();
        let places: BTreeMap<usize, usize> = rotations.iter().copied().zip(0..).collect();
        let places: Vec<usize> =
            (0..2 * entries - 1).map(|multiple| places[&rotation(multiple)]).collect();
        let mut diagonals = vec![vec![Roots::ZERO; length]; rotations.len()];

        let within = (entries - 1) << self.first;
        let mut exponents = vec![0; entries];
        // The exponents of the entries with this row, or with this column of the transpose.
        for line in 0..rows {
            self.exponents(&fives, line % slots, &mut exponents);
            let own = (line & within) >> self.first;
            for (bits, exponent) in exponents.iter().enumerate() {
                let other = line & !within | bits << self.first;
                let (row, column, mut exponent, multiple) = match forward {
                    true => (line, other, *exponent, bits + entries - 1 - own),
                    false => (other, line, exponent.wrapping_neg(), own + entries - 1 - bits),
                };
                if mask == Mask::Halves && row >= slots {
                    let quarter = order / 4;
                    exponent = exponent.wrapping_add(if forward { quarter } else { 3 * quarter });
                }
                exponent %= order;
                if mask == Mask::HalveFirst && column == 0 {
                    exponent |= Roots::HALF;
                }
                diagonals[places[multiple]][row] = exponent;
            }
        }
        rotations.into_iter().zip(diagonals).collect()
    }

    /// Writes the exponents of the entries of a row of the forward matrix, in order of the columns.
    fn exponents(self, fives: &[u32], row: usize, exponents: &mut [u32]) {
        let half = 1u32 << (self.log_order() - 1);
        exponents[0] = 0;
        for bit in 0..self.count {
            let e = self.first + bit;
            let root = fives[row & ((1 << e) - 1)] << (self.log_slots - 1 - e);
            let term = if row >> e & 1 == 1 { root.wrapping_add(half) } else { root };
            let (known, next) = exponents.split_at_mut(1 << bit);
            // Columns with this bit differ by one more factor from those without it.
            for (next, known) in next.iter_mut().zip(known) {
                *next = known.wrapping_add(term);
            }
        }
    }
}

/// Returns `5^a` modulo `order`, for `a` below `count`.
fn powers_of_five(count: usize, order: u32) -> Vec<u32> {
    std::iter::successors(Some(1 % order), |p| Some(5 * p % order)).take(count).collect()
}

#[cfg(test)]
mod tests {
    use num_complex::Complex64;

    use super::*;

    /// Returns the root with this exponent, or 0.
    fn number(entry: u32, log_order: u32) -> Complex64 {
        if entry == Roots::ZERO {
            return Complex64::ZERO;
        }
        let angle =
            std::f64::consts::TAU * f64::from(entry & !Roots::HALF) / (1u64 << log_order) as f64;
        Complex64::from_polar(if entry & Roots::HALF == 0 { 1.0 } else { 0.5 }, angle)
    }

    fn apply(diagonals: &Exponents, log_order: u32, x: &[Complex64]) -> Vec<Complex64> {
        let row = |i: usize| {
            let term = |(r, d): (&usize, &Vec<u32>)| {
                number(d[i % d.len()], log_order) * x[(i + r) % x.len()]
            };
            diagonals.iter().map(term).sum()
        };
        (0..x.len()).map(row).collect()
    }

    fn vector(n: usize) -> Vec<Complex64> {
        (0..n)
            .map(|i| Complex64::new((i as f64 * 0.7).sin(), (i as f64 * 1.3 + 0.4).cos()))
            .collect()
    }

    /// Returns the function that reverses the bits of a place in `0..n`.
    fn reversed(log: u32) -> impl Fn(usize) -> usize {
        move |j| hippocrene_ring::arith::bit_reverse(j, log)
    }

    /// The definition: `z_j = sum_k c_k xi^(5^j k)`.
    fn embed(c: &[Complex64]) -> Vec<Complex64> {
        let n = c.len();
        let mut five = 1usize;
        let mut z = Vec::new();
        for _ in 0..n {
            let root = |k: usize| {
                Complex64::from_polar(
                    1.0,
                    std::f64::consts::TAU * (five * k % (4 * n)) as f64 / (4 * n) as f64,
                )
            };
            z.push((0..n).map(|k| c[k] * root(k)).sum());
            five = 5 * five % (4 * n);
        }
        z
    }

    fn assert_close(a: &[Complex64], b: &[Complex64], what: &str) {
        assert_eq!(a.len(), b.len());
        for (i, (x, y)) in a.iter().zip(b).enumerate() {
            assert!((x - y).norm() < 1e-10, "{what}: {i}: {x} instead of {y}");
        }
    }

    /// Returns every way to split `total` stages into runs of at least one.
    fn compositions(total: u32) -> Vec<Vec<u32>> {
        if total == 0 {
            return vec![vec![]];
        }
        let longer = |first: u32| {
            compositions(total - first).into_iter().map(move |rest| [vec![first], rest].concat())
        };
        (1..=total).flat_map(longer).collect()
    }

    #[test]
    fn merged_stages_are_the_embedding_and_its_inverse() {
        for log in 0..=6 {
            let n = 1usize << log;
            let c = vector(n);
            let z = embed(&c);
            let place = reversed(log);
            let permuted: Vec<Complex64> = (0..n).map(|j| c[place(j)]).collect();
            for radices in compositions(log) {
                let (mut x, mut first) = (permuted.clone(), 0);
                for &count in &radices {
                    let stages = Stages { log_slots: log, first, count };
                    x = apply(&stages.forward(Mask::None), stages.log_order(), &x);
                    first += count;
                }
                assert_close(&x, &z, &format!("{n} slots, {radices:?}"));
                for &count in radices.iter().rev() {
                    first -= count;
                    let stages = Stages { log_slots: log, first, count };
                    x = apply(&stages.inverse(Mask::None), stages.log_order(), &x);
                    x.iter_mut().for_each(|x| *x /= (1u64 << count) as f64);
                }
                assert_close(&x, &permuted, &format!("{n} slots back, {radices:?}"));
            }
        }
    }

    #[test]
    fn diagonals_are_as_few_and_repeat_as_often_as_they_should() {
        for (first, count) in [(0, 3), (2, 3), (5, 3), (0, 8), (7, 1), (0, 1)] {
            let stages = Stages { log_slots: 8, first, count };
            for diagonals in [stages.forward(Mask::None), stages.inverse(Mask::None)] {
                let last = first + count == 8;
                assert_eq!(diagonals.len(), if last { 1 << count } else { (2 << count) - 1 });
                assert!(
                    diagonals
                        .iter()
                        .all(|(r, d)| r % (1 << first) == 0 && d.len() == 1 << (first + count))
                );
                let rows = 1usize << (first + count);
                for row in 0..rows {
                    let entries = diagonals.values().filter(|d| d[row] != Roots::ZERO).count();
                    assert_eq!(entries, 1 << count);
                }
            }
        }
    }

    #[test]
    fn masks_multiply_rows_and_columns() {
        for (log, count) in [(0, 0), (1, 1), (4, 4), (5, 2)] {
            let stages = Stages { log_slots: log, first: 0, count };
            let (n, order) = (1usize << log, stages.log_order());
            let i = Complex64::I;
            // Columns of the second half times i.
            let x = vector(2 * n);
            let [low, high] = [&x[..n], &x[n..]];
            let masked = apply(&stages.forward(Mask::Halves), order, &x);
            let plain = |x: &[Complex64]| apply(&stages.forward(Mask::None), order, x);
            let high_times_i: Vec<Complex64> = high.iter().map(|x| i * x).collect();
            assert_close(&masked, &[plain(low), plain(&high_times_i)].concat(), "columns");
            // Rows of the second half times -i, of slots that repeat.
            let back = apply(&stages.inverse(Mask::None), order, low);
            let times: Vec<Complex64> = back.iter().map(|x| -i * x).collect();
            let twice = [low, low].concat();
            assert_close(
                &apply(&stages.inverse(Mask::Halves), order, &twice),
                &[back, times].concat(),
                "rows",
            );
            // Column 0 halved.
            let mut halved = low.to_vec();
            halved[0] *= 0.5;
            assert_close(
                &apply(&stages.forward(Mask::HalveFirst), order, low),
                &plain(&halved),
                "column 0",
            );
        }
    }
}
