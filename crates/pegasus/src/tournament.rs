//! The smallest of several numbers, for many groups of them at once, by a tournament. Exactly one
//! number of every group wins, for any errors of comparisons.
//!
//! For two numbers, one rotation looks up both `|x - y|` and the sign of `x - y`. Both are
//! antiperiodic functions of the residue, up to a constant. So differences can use the whole
//! circle, at twice the resolution of other tables. `x + y - |x - y|` is twice the smaller number
//! and goes on to the next round.
//!
//! In the end the bits are multiplied along the tree. "The pair holds the smallest of all" and "the
//! first of the pair is smaller" are both 1 if their sum is 2, and one look-up decides this. The
//! result is the bit of the first number. The bit of the second number is the bit of the pair minus
//! that of the first.
//!
//! `K` numbers need `K - 1` look-ups of signs and `K - 2` look-ups of products, `2K - 3` together
//! (PEGASUS has about `2K`). `K - 2` of the look-ups of signs find the magnitude as well.

use hippocrene_ckks::{Ciphertext, Scale};
use hippocrene_rlwe::Noise;

use crate::{Numbers, Pegasus, PegasusError, error::argument, look_up::INDEX_DEVIATIONS};

const OPERATION: &str = "find the smallest or largest";

/// Minimum distance between the sums of two bits and the threshold, in standard deviations of the
/// index (chosen).
const BIT_DEVIATIONS: f64 = 5.0;

impl Pegasus {
    /// Returns bits at `scale` that mark the smallest of `count` numbers, for every level of the
    /// tree.
    ///
    /// The first level has a bit for every number, the second a bit for the smaller one of every
    /// pair, and so on until two are left. The bits of a group add up to 1 in every level. Numbers
    /// at the same place of all groups are adjacent, in the argument and in the results.
    ///
    /// The numbers of one group differ by at most `spread`. Nothing else about their size needs to
    /// be known.
    ///
    /// If two numbers are closer to each other than the error of the index, either one wins.
    /// Without an error, the first of two equal numbers wins.
    pub(crate) fn tournament(
        &self,
        x: &Numbers,
        count: usize,
        spread: f64,
        scale: Scale,
    ) -> Result<Vec<Numbers>, PegasusError> {
        if count < 2 {
            return argument(
                OPERATION,
                format!("{count} numbers: there have to be two to compare"),
            );
        }
        let single = self.tables().parameters().noise();
        let (from, to) = (self.tables().parameters().ring(), self.back().parameters()[1]);
        let bit = single.scaled(to.log2_modulus() - from.log2_modulus()).plus(self.back().noise());
        // Refuses, before any look-up, a count that is too large even without other errors.
        self.check_bits(count, scale, bit)?;
        let groups = x.len() / count;
        let mut first_wins = Vec::new();
        let mut remaining = x.clone().with_bound(0.0)?;
        let mut spread = spread;
        while remaining.len() > groups {
            let left = remaining.len() / groups;
            let side = |side: usize| {
                remaining.select(&indices_at((side..left / 2 * 2).step_by(2), groups))
            };
            let (first, second) = (side(0)?, side(1)?);
            let (wins, twice) = self.compare(&first, &second, spread, scale, left > 2)?;
            first_wins.push(wins);
            let Some(twice) = twice else { break };
            remaining = match left % 2 {
                0 => twice,
                _ => {
                    let last = remaining.select(&indices_at(left - 1..left, groups))?;
                    twice.concat(&last.times_integer(2)?)?
                }
            };
            spread *= 2.0;
        }
        let noisiest =
            first_wins.iter().map(|wins| wins.noise().log2_std()).fold(f64::NEG_INFINITY, f64::max);
        self.check_bits(count, scale, Noise::from_log2_std(noisiest))?;
        self.bits_of_levels(&first_wins, count, groups)
    }

    /// Returns the factor of the bound to use when numbers are extracted for a tournament of `size`
    /// numbers with bits at `scale`.
    ///
    /// With it, the differences of numbers that are extracted with this noise fit the circle in the
    /// last round. The factor is about half of `size`.
    ///
    /// The error `e` of the numbers is followed through the tournament. In a round where `j`
    /// doublings are still to come, with `t = 2^j`, differences `d = y - x` are looked up as `t d`.
    /// Numbers go on as `x + y - |d|`. Its parts are assumed to have independent errors. Those of
    /// `x` and `y` have variance `e^2` each. That of `|d|` comes from the index of the table,
    /// divided by `t`, and from rotation and switch.
    ///
    /// The error `e` doubles in every round, and so does the part of it that the extraction caused.
    /// That part comes from the transform of slots to coefficients, where it grows with the ring
    /// degree, and from the key switch.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if `size` is so large that the error in the last round
    /// exceeds half of a table.
    pub fn tournament_bound_factor(
        &self,
        size: usize,
        extracted: Noise,
        scale: Scale,
    ) -> Result<f64, PegasusError> {
        let (parameters, back) = (self.tables().parameters(), self.back());
        let (ring, lwe) = (parameters.ring(), back.parameters()[1]);
        let (q, degree) = (self.plan().literal().lwe().modulus(), ring.dimension() as f64);
        // Numbers are in units of residues here. Half of the circle is a domain.
        let (domain, unit) = (q as f64 / 4.0, Scale::power_of_two(0));
        let last = rounds(size).max(1) - 1;
        let mut error = extracted;
        for doublings in (1..=last).rev() {
            let times = f64::from(doublings).exp2();
            let difference = error.plus(error);
            let index = parameters.index_noise(difference.scaled(f64::from(doublings)), q);
            let entry = (2.0 * domain / degree / times).log2();
            let tables = self.sign_and_magnitude(domain, scale, unit, times)?;
            let rotation = tables.noises(&parameters)[1];
            let looked_up =
                rotation.scaled(lwe.log2_modulus() - ring.log2_modulus()).plus(back.noise());
            error = difference.plus(index.scaled(entry)).plus(looked_up);
        }
        let index = parameters.index_noise(error.plus(error), q).log2_std().exp2();
        let fraction = INDEX_DEVIATIONS * index / degree;
        if fraction > 0.5 {
            let what = format!(
                "among {size} numbers: their error takes {fraction:.2} of a table in the last \
                 round, and 0.50 is the limit. Take fewer at a time, or numbers that are more \
                 precise relative to their bound."
            );
            return argument(OPERATION, what);
        }
        // A thousandth is added for rounding.
        let wide = 1.001 / (1.0 - fraction);
        Ok(f64::from(last).exp2() * wide / (1.0 + self.plan().literal().margin))
    }

    /// Returns [`Pegasus::tournament_bound_factor`] for the numbers in the slots of `a`, with the
    /// noise that extraction gives the number in `slot`.
    ///
    /// # Errors
    /// Returns the errors of [`Pegasus::to_coefficients`], [`Pegasus::extract`] and
    /// [`Pegasus::tournament_bound_factor`].
    pub fn tournament_bound_factor_of(
        &self,
        a: &Ciphertext,
        slot: usize,
        size: usize,
        scale: Scale,
    ) -> Result<f64, PegasusError> {
        let factor = self.tournament_bound_factor(size, self.extraction().noise(), scale)?;
        let mut wide = a.clone();
        wide.set_bound(factor * a.bound());
        let one = self.extract(&self.to_coefficients(&wide)?, &[slot])?;
        // A wider bound makes this noise smaller, in units of residues.
        Ok(factor.max(self.tournament_bound_factor(size, one.noise(), scale)?))
    }

    /// Returns 1 where `x_i <= y_i` and 0 elsewhere. Except in the last round, it also returns
    /// `2 min(x_i, y_i)`.
    fn compare(
        &self,
        x: &Numbers,
        y: &Numbers,
        spread: f64,
        bits: Scale,
        needs_minimum: bool,
    ) -> Result<(Numbers, Option<Numbers>), PegasusError> {
        let difference = y.sub(x)?;
        let times = self.times_on_the_circle(&difference, spread);
        let wide = difference.times_integer(times)?.with_bound(spread * times as f64)?;
        if !needs_minimum {
            return Ok((self.look_up_sign(&wide, bits)?, None));
        }
        let (first_wins, magnitude) =
            self.look_up_sign_and_magnitude(&wide, bits, x.scale(), times)?;
        Ok((first_wins, Some(x.add(y)?.sub(&magnitude.with_bound(0.0)?)?)))
    }

    /// Returns the largest integer that numbers up to `bound` can be multiplied by without leaving
    /// the circle.
    fn times_on_the_circle(&self, x: &Numbers, bound: f64) -> i64 {
        let parameters = self.tables().parameters();
        let (q, degree) = (x.parameters().modulus(), parameters.ring().dimension() as f64);
        let fits = |times: &i64| {
            let noise = x.noise().scaled((*times as f64).log2());
            let index_error =
                INDEX_DEVIATIONS * parameters.index_noise(noise, q).log2_std().exp2() / degree;
            bound * *times as f64 <= x.largest_bound() * (1.0 - index_error)
        };
        let limit = (x.largest_bound() / bound).min(1024.0) as i64;
        (2..=limit).rev().find(fits).unwrap_or(1)
    }

    /// Returns the bits of all levels of the tournament.
    ///
    /// `first_wins` has the bits of every round, which are 1 where the first number of a pair wins.
    /// The levels are computed from the last round, the root, to the first round.
    fn bits_of_levels(
        &self,
        first_wins: &[Numbers],
        count: usize,
        groups: usize,
    ) -> Result<Vec<Numbers>, PegasusError> {
        let mut levels: Vec<Numbers> = Vec::new();
        for (round, wins) in first_wins.iter().enumerate().rev() {
            let (left, pairs) = (count.div_ceil(1 << round), wins.len() / groups);
            // The bits of the pairs, and that of the number without a partner.
            let (first, second, last) = match levels.last() {
                None => (wins.clone(), wins.clone().times_integer(-1)?.plus(1.0)?, None),
                Some(chosen) => {
                    let of_pairs = chosen.select(&indices_at(0..pairs, groups))?;
                    let both = self.product_of_bits(&of_pairs, wins)?;
                    let last = (left > 2 * pairs)
                        .then(|| chosen.select(&indices_at(pairs..pairs + 1, groups)));
                    (both.clone(), of_pairs.sub(&both)?, last.transpose()?)
                }
            };
            let mut all = first.with_bound(1.0)?.concat(&second.with_bound(1.0)?)?;
            if let Some(last) = last {
                all = all.concat(&last)?;
            }
            let places = (0..left).map(|i| if i < 2 * pairs { i % 2 * pairs + i / 2 } else { i });
            levels.push(all.select(&indices_at(places, groups))?);
        }
        levels.reverse();
        Ok(levels)
    }

    /// Returns 1 where both bits are 1, and 0 elsewhere.
    fn product_of_bits(&self, x: &Numbers, y: &Numbers) -> Result<Numbers, PegasusError> {
        let unbounded = |x: &Numbers| x.clone().with_bound(0.0);
        let sum =
            unbounded(x)?.add(&unbounded(y)?)?.with_bound(0.0)?.plus(-1.5)?.with_bound(1.5)?;
        // The factor makes the sum use most of the circle.
        let times = (sum.largest_bound() / 2.0) as i64;
        self.look_up_sign(&sum.times_integer(times.max(1))?, x.scale())
    }

    /// Checks that sums of bits with this noise, after one subtraction for each round, can be
    /// distinguished at this scale.
    fn check_bits(&self, count: usize, scale: Scale, noise: Noise) -> Result<(), PegasusError> {
        if count < 3 {
            return Ok(());
        }
        let parameters = self.tables().parameters();
        let q = self.back().parameters()[1].modulus();
        // Half of the circle, in units of a bit.
        let half = q as f64 / 2.0 / scale.to_f64();
        let times = (half / 2.0).floor().max(1.0);
        let sum = noise.scaled(times.log2() + 0.5 * f64::from(rounds(count)).log2());
        let index = parameters.index_noise(sum, q).log2_std().exp2();
        let half_gap =
            BIT_DEVIATIONS * index * half / (times * parameters.ring().dimension() as f64);
        if half_gap > 0.5 {
            let what = format!(
                "among {count} numbers: at this scale bits are told apart if they differ by {:.2}, \
                 but they differ by 1. About {} places are possible, as fewer have a larger scale.",
                2.0 * half_gap,
                (count as f64 * 0.5 / half_gap) as usize
            );
            return argument(OPERATION, what);
        }
        Ok(())
    }
}

/// Returns the number of rounds of a tournament of `count` numbers.
pub(crate) fn rounds(count: usize) -> u32 {
    count.next_power_of_two().ilog2()
}

/// Returns the indices of the numbers at these places, if numbers at the same place of all groups
/// are adjacent.
pub(crate) fn indices_at(places: impl Iterator<Item = usize>, groups: usize) -> Vec<usize> {
    places.flat_map(|place| place * groups..(place + 1) * groups).collect()
}
