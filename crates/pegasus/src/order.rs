//! Order among single numbers: comparison, maximum, minimum, sorting, and the place of the smallest
//! or largest number (PEGASUS, section V.A).
//!
//! All of these look up differences, so numbers need a scale at which differences fit a table. It
//! is [`crate::PegasusPlan::table_scale`] for twice the bound of the numbers. If the results are
//! repacked directly, the factor is 4 instead of 2, or that of [`Pegasus::sorting_bound_factor`].

use std::ops::Range;

use hippocrene_ckks::Scale;
use hippocrene_rlwe::Noise;

use crate::{
    Numbers, Pegasus, PegasusError,
    error::argument,
    look_up::{INDEX_DEVIATIONS, IndexError},
    tournament::{indices_at, rounds as rounds_of},
};

impl Pegasus {
    /// Returns 1 where `x_i > y_i` and 0 where `x_i < y_i`, at `scale`.
    ///
    /// **Error:** that of rotation and switch, if the two numbers differ by more than the error of
    /// the index of a table. For closer numbers the result may be 0 or 1, and for equal ones 1/2.
    ///
    /// # Errors
    /// Returns the errors of [`Numbers::sub`] and [`Pegasus::look_up`].
    pub fn greater(&self, x: &Numbers, y: &Numbers, scale: Scale) -> Result<Numbers, PegasusError> {
        self.step(&x.sub(y)?, scale)
    }

    /// Returns 1 for positive numbers, 0 for negative ones, and 1/2 for 0.
    fn step(&self, x: &Numbers, scale: Scale) -> Result<Numbers, PegasusError> {
        self.look_up_steps(x, scale, |x| if x == 0.0 { 0.5 } else { f64::from(x > 0.0) })
    }

    /// Returns the smaller and the larger of `x_i` and `y_i`, by one look-up.
    ///
    /// With `r = relu(x - y)` they are `x - r` and `y + r`. Their sum is that of `x_i` and `y_i` to
    /// the bit.
    ///
    /// **Error:** that of the selected number, plus that of rotation and switch, plus that of the
    /// rounded index of a table on `[-2B, 2B]` if `x_i > y_i`. The other errors of the numbers
    /// cancel, because they go through the table as well. The estimate is that for `x_i > y_i`, the
    /// worst case.
    ///
    /// # Errors
    /// Returns the errors of [`Numbers::sub`] and [`Pegasus::look_up`].
    pub fn min_max(&self, x: &Numbers, y: &Numbers) -> Result<(Numbers, Numbers), PegasusError> {
        let bound = x.bound().max(y.bound());
        let difference = x.sub(y)?;
        let r = self
            .look_up_counting(&difference, x.scale(), |x| x.max(0.0), IndexError::Rounding)?
            .with_bound(2.0 * bound)?;
        // Each result is one of the two numbers.
        let noise = |i: usize| {
            let [x, y] = [x, y].map(|numbers| numbers.ciphertexts()[i].noise());
            Noise::from_log2_std(x.log2_std().max(y.log2_std())).plus(r.ciphertexts()[i].noise())
        };
        let both = (x.sub(&r)?.with_noises(noise), y.add(&r)?.with_noises(noise));
        Ok((both.0.with_bound(bound)?, both.1.with_bound(bound)?))
    }

    /// Returns the factor by which the bound of numbers is to be multiplied when they are
    /// extracted, to be sorted in this number of rounds.
    ///
    /// The factor is about 4. With it, the differences of two numbers, including their errors
    /// before the last round, fit tables on half of the circle at twice the scale. With a smaller
    /// factor, they would need tables on twice the domain, and each round would have twice the
    /// error.
    pub fn sorting_bound_factor(&self, rounds: usize) -> f64 {
        let parameters = self.tables().parameters();
        // The error of rounding an index, relative to half of the domain.
        let index = parameters.index_noise(Noise::NONE, self.plan().literal().lwe().modulus());
        let rounding = 2.0 * index.log2_std().exp2() / parameters.ring().dimension() as f64;
        // The errors of both numbers in every round before the last one, and that of the last one.
        // A tenth is added for their other errors.
        let errors = 1.1 * INDEX_DEVIATIONS * rounding * (2.0 * rounds.max(1) as f64 - 1.0).sqrt();
        4.0 / (1.0 - errors.min(0.5)) / (1.0 + self.plan().literal().margin)
    }

    /// The number of rounds of [`Pegasus::sort`] for `count` numbers.
    pub fn sort_rounds(count: usize) -> usize {
        rounds(count).len()
    }

    /// Returns the largest of every `size` consecutive numbers, as in max-pooling. Each group needs
    /// `size - 1` look-ups in `log2(size)` rounds.
    ///
    /// **Error:** that of [`Pegasus::min_max`], once for every round.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if the number of numbers is not a multiple of `size`, and
    /// the errors of [`Pegasus::min_max`].
    pub fn largest(&self, x: &Numbers, size: usize) -> Result<Numbers, PegasusError> {
        self.reduce_groups(x, size, |pairs| pairs.1)
    }

    /// Returns the smallest of every `size` consecutive numbers, like [`Pegasus::largest`].
    ///
    /// # Errors
    /// Returns the errors of [`Pegasus::largest`].
    pub fn smallest(&self, x: &Numbers, size: usize) -> Result<Numbers, PegasusError> {
        self.reduce_groups(x, size, |pairs| pairs.0)
    }

    fn reduce_groups(
        &self,
        x: &Numbers,
        size: usize,
        select: impl Fn((Numbers, Numbers)) -> Numbers,
    ) -> Result<Numbers, PegasusError> {
        let groups = groups_of(x, size, "the largest or smallest of groups")?;
        // The numbers at the same place of all groups are adjacent: `size` times `groups` numbers.
        let mut left = size;
        let mut all =
            x.select(&(0..x.len()).map(|i| i % groups * size + i / groups).collect::<Vec<_>>())?;
        while left > 1 {
            let part = |range: Range<usize>| all.select(&range.collect::<Vec<_>>());
            let half = left / 2 * groups;
            let selected = select(self.min_max(&part(0..half)?, &part(half..2 * half)?)?);
            all = if left % 2 == 1 {
                selected.concat(&part(2 * half..all.len())?)?
            } else {
                selected
            };
            left = left.div_ceil(2);
        }
        Ok(all)
    }

    /// Sorts every `size` consecutive numbers in rising order, by Batcher's odd-even merge sort.
    /// For `size = 16` it needs 63 look-ups in 10 rounds.
    ///
    /// **Error:** at most that of [`Pegasus::min_max`], once for every round.
    ///
    /// # Errors
    /// Returns the errors of [`Pegasus::largest`].
    pub fn sort(&self, x: &Numbers, size: usize) -> Result<Numbers, PegasusError> {
        let groups = groups_of(x, size, "sort numbers")?;
        let mut sorted = x.clone();
        for round in rounds(size) {
            let of_group =
                |group: usize| round.iter().map(move |(i, j)| (group * size + i, group * size + j));
            let pairs: Vec<(usize, usize)> = (0..groups).flat_map(of_group).collect();
            let (low, high): (Vec<usize>, Vec<usize>) = pairs.iter().copied().unzip();
            let (least, largest) = self.min_max(&sorted.select(&low)?, &sorted.select(&high)?)?;
            // The index of each number in the list of old numbers, smaller ones and larger ones.
            let mut places: Vec<usize> = (0..x.len()).collect();
            for (i, (low, high)) in pairs.iter().enumerate() {
                places[*low] = x.len() + i;
                places[*high] = x.len() + pairs.len() + i;
            }
            sorted = sorted.concat(&least)?.concat(&largest)?.select(&places)?;
        }
        Ok(sorted)
    }

    /// Returns the `k` largest of every `size` numbers, in rising order. It is [`Pegasus::sort`]
    /// and a selection.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if `k` is not from 1 to `size`, and the errors of
    /// [`Pegasus::sort`].
    pub fn top_k(&self, x: &Numbers, size: usize, k: usize) -> Result<Numbers, PegasusError> {
        if !(1..=size).contains(&k) {
            return argument("the largest numbers", format!("{k} of {size} numbers"));
        }
        let sorted = self.sort(x, size)?;
        sorted.select(&(0..x.len()).filter(|i| i % size >= size - k).collect::<Vec<_>>())
    }

    /// Returns 1 for the largest number of every `size` and 0 for all others, at `scale`. A
    /// tournament needs `2 size - 3` look-ups for each group.
    ///
    /// Exactly one number of every group gets the 1. If several are closer to the largest than the
    /// error of the index of a table in a round, it is one of these. Differences must fit the
    /// circle (see [`Pegasus::tournament_bound_factor`]).
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if groups have one number, or are so large that sums of
    /// bits cannot be distinguished. Also returns the errors of [`Pegasus::largest`].
    pub fn is_largest(
        &self,
        x: &Numbers,
        size: usize,
        scale: Scale,
    ) -> Result<Numbers, PegasusError> {
        self.is_smallest(&x.clone().times_integer(-1)?, size, scale)
    }

    /// Returns 1 for the smallest number of every `size` and 0 for all others, like
    /// [`Pegasus::is_largest`].
    ///
    /// # Errors
    /// Returns the errors of [`Pegasus::is_largest`].
    pub fn is_smallest(
        &self,
        x: &Numbers,
        size: usize,
        scale: Scale,
    ) -> Result<Numbers, PegasusError> {
        let (bits, groups) = (self.levels(x, size, scale)?.swap_remove(0), x.len() / size);
        bits.select(&(0..x.len()).map(|i| i % size * groups + i / size).collect::<Vec<_>>())
    }

    /// Returns the place of the largest number of every `size`, from 0, at `scale`. It uses the
    /// tournament of [`Pegasus::is_largest`].
    ///
    /// # Errors
    /// Returns the errors of [`Pegasus::is_largest`], and an error if the scale is too large for
    /// these places.
    pub fn argmax(&self, x: &Numbers, size: usize, scale: Scale) -> Result<Numbers, PegasusError> {
        self.argmin(&x.clone().times_integer(-1)?, size, scale)
    }

    /// Returns the place of the smallest number of every `size`, like [`Pegasus::argmax`].
    ///
    /// # Errors
    /// Returns the errors of [`Pegasus::argmax`].
    pub fn argmin(&self, x: &Numbers, size: usize, scale: Scale) -> Result<Numbers, PegasusError> {
        Ok(self.argmin_digits(x, size, rounds_of(size).max(1), scale)?.swap_remove(0))
    }

    /// Returns the digits of [`Pegasus::argmin`] in base `2^bits`, the least significant one first.
    /// The error of the bits then counts relative to the largest digit instead of the largest
    /// place.
    ///
    /// # Errors
    /// Returns the errors of [`Pegasus::argmin`], and [`PegasusError::Argument`] if `bits` is not
    /// from 1 to 32.
    pub fn argmin_digits(
        &self,
        x: &Numbers,
        size: usize,
        bits: u32,
        scale: Scale,
    ) -> Result<Vec<Numbers>, PegasusError> {
        if !(1..=32).contains(&bits) {
            return argument("find a place", format!("in digits of {bits} bits"));
        }
        let (levels, groups) = (self.levels(x, size, scale)?, x.len() / size);
        let none = levels[0].select(&indices_at(0..1, groups))?.times_integer(0)?;
        let largest = size - 1;
        levels
            .chunks(bits as usize)
            .enumerate()
            .map(|(digit, levels)| {
                let mut sum = none.clone();
                // Bit k of the place is the sum of the bits of the second numbers of all pairs in
                // level k.
                for (k, level) in levels.iter().enumerate() {
                    for second in (1..level.len() / groups).step_by(2) {
                        let bit = level
                            .select(&indices_at(second..second + 1, groups))?
                            .times_integer(1 << k)?;
                        sum = sum.with_bound(0.0)?.add(&bit)?;
                    }
                }
                let above = largest >> (digit * bits as usize);
                sum.with_bound(above.min((1 << levels.len()) - 1) as f64)
            })
            .collect()
    }

    /// Returns the digits of the place of the largest number, like [`Pegasus::argmin_digits`].
    ///
    /// # Errors
    /// Returns the errors of [`Pegasus::argmin_digits`].
    pub fn argmax_digits(
        &self,
        x: &Numbers,
        size: usize,
        bits: u32,
        scale: Scale,
    ) -> Result<Vec<Numbers>, PegasusError> {
        self.argmin_digits(&x.clone().times_integer(-1)?, size, bits, scale)
    }

    /// Returns the levels of a tournament of every `size` numbers. There is at least one.
    fn levels(&self, x: &Numbers, size: usize, scale: Scale) -> Result<Vec<Numbers>, PegasusError> {
        let groups = groups_of(x, size, "find the smallest or largest")?;
        let by_place: Vec<usize> = (0..x.len()).map(|i| i % groups * size + i / groups).collect();
        self.tournament(&x.select(&by_place)?, size, 2.0 * x.bound(), scale)
    }
}

/// Returns the number of groups of `size` numbers.
pub(crate) fn groups_of(
    x: &Numbers,
    size: usize,
    operation: &'static str,
) -> Result<usize, PegasusError> {
    if size == 0 || !x.len().is_multiple_of(size) {
        return argument(operation, format!("{} numbers in groups of {size}", x.len()));
    }
    Ok(x.len() / size)
}

/// Returns the rounds of Batcher's odd-even merge sort (Knuth, The Art of Computer Programming 3,
/// 5.2.2, Algorithm M). Each is a list of pairs of places to put in order.
fn rounds(n: usize) -> Vec<Vec<(usize, usize)>> {
    let mut rounds = Vec::new();
    let mut p = 1;
    while p < n {
        let mut k = p;
        while k >= 1 {
            let starts = (k % p..n.saturating_sub(k)).step_by(2 * k);
            let pairs = starts.flat_map(|j| (j..(j + k).min(n - k)).map(move |i| (i, i + k)));
            rounds.push(pairs.filter(|(i, j)| i / (2 * p) == j / (2 * p)).collect());
            k /= 2;
        }
        p *= 2;
    }
    rounds.retain(|round: &Vec<_>| !round.is_empty());
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries all sequences of zeros and ones. A network that sorts them sorts everything (the
    /// zero-one principle, Knuth 5.3.4).
    #[test]
    fn networks_sort() {
        for n in 1..=12usize {
            let rounds = rounds(n);
            for bits in 0..1u32 << n {
                let mut x: Vec<u32> = (0..n).map(|i| bits >> i & 1).collect();
                for (i, j) in rounds.iter().flatten() {
                    let pair = (x[*i], x[*j]);
                    (x[*i], x[*j]) = (pair.0.min(pair.1), pair.0.max(pair.1));
                }
                assert!(x.is_sorted(), "{n}: {bits:b}");
            }
            for round in rounds {
                let mut places: Vec<usize> = round.iter().flat_map(|(i, j)| [*i, *j]).collect();
                places.sort_unstable();
                places.dedup();
                assert_eq!(places.len(), 2 * round.len());
            }
        }
        let rounds = rounds(16);
        assert_eq!((rounds.len(), rounds.iter().map(Vec::len).sum::<usize>()), (10, 63));
    }
}
