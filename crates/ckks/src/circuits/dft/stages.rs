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

use std::collections::BTreeMap;

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
        self.diagonals(mask, |fives, row, column| self.entry(fives, row, column), 1)
    }

    /// Returns `2^count` times the inverse map. The mask applies to the rows.
    pub fn inverse(self, mask: Mask) -> Exponents {
        self.diagonals(mask, |fives, row, column| self.entry(fives, column, row).wrapping_neg(), -1)
    }

    /// Returns the diagonals of a matrix with these entries, multiplied by `mask`. The factor of
    /// its second half is `i^quarter`.
    fn diagonals(
        self,
        mask: Mask,
        entry: impl Fn(&[u32], usize, usize) -> u32,
        quarter: i32,
    ) -> Exponents {
        let (slots, order) = (1usize << self.log_slots, 1u32 << self.log_order());
        let fives = powers_of_five(slots, order);
        let columns_masked = quarter > 0;
        let (rows, length, modulus) = match mask {
            Mask::None => (1 << (self.first + self.count), 1 << (self.first + self.count), slots),
            Mask::HalveFirst => (slots, slots, slots),
            // The inverse transform has operands that repeat after `slots` slots. Those of the
            // forward transform do not repeat.
            Mask::Halves => (2 * slots, 2 * slots, if columns_masked { 2 * slots } else { slots }),
            Mask::Only(all) => (slots, all, all),
        };
        let mut diagonals = Exponents::new();
        let within = ((1usize << self.count) - 1) << self.first;
        for row in 0..rows {
            for bits in 0..1usize << self.count {
                let column = row & !within | bits << self.first;
                let mut exponent = entry(&fives, row % slots, column % slots);
                if mask == Mask::Halves && row >= slots {
                    exponent = exponent.wrapping_add_signed(quarter * (order / 4) as i32);
                }
                exponent %= order;
                if mask == Mask::HalveFirst && column == 0 {
                    exponent |= Roots::HALF;
                }
                let rotation = (column + modulus - row % modulus) % modulus;
                diagonals.entry(rotation).or_insert_with(|| vec![Roots::ZERO; length])[row] =
                    exponent;
            }
        }
        diagonals
    }

    /// Returns the exponent of an entry of the forward matrix, modulo the order.
    fn entry(self, fives: &[u32], row: usize, column: usize) -> u32 {
        let half = 1u32 << (self.log_order() - 1);
        let stages = (self.first..self.first + self.count).filter(|e| column >> e & 1 == 1);
        stages.fold(0, |sum: u32, e| {
            let root = fives[row & ((1 << e) - 1)] << (self.log_slots - 1 - e);
            let sign = if row >> e & 1 == 1 { half } else { 0 };
            sum.wrapping_add(root).wrapping_add(sign)
        })
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
