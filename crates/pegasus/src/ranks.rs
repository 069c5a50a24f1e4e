//! Ranks of numbers, and the places of numbers in rising order.
//!
//! The rank of a number is the number of others in its group that come before it. Ranks are
//! computed from comparisons of all pairs. If each comparison had an error of its own, three
//! comparisons of close numbers could form a cycle, and ranks would repeat. Therefore all
//! comparisons agree with one total order:
//!
//! - Each LWE sample is rounded once to the `2N` positions on which rotations work, exactly as the
//!   modulus switch at the start of a rotation does it. Rotations of differences of rounded samples
//!   round nothing. Each comparison sees the exact difference of two positions.
//! - The order is that of the positions, and that of the places where two positions are equal.
//!
//! A position has an error of about 5, for numbers of any size. To put close numbers in order,
//! there is a second position that is [finer](Grids) than the first. It may lead around the circle
//! several times. A comparison is then the majority of three votes:
//!
//! - Is the coarse difference above a threshold `t`?
//! - Is it above `-t`?
//! - Is the fine difference above 0?
//!
//! Beyond `t` the first two votes agree. Between `-t` and `t` they differ, and the fine difference
//! is less than half of the circle, so that its sign is right. The threshold is larger than all
//! errors. So the majority is the order of the fine positions, as if these had not gone around the
//! circle.

use hippocrene_ckks::Scale;
use hippocrene_fhew::{LookupTable, LweCiphertext};
use hippocrene_rlwe::Noise;

use crate::{
    Numbers, Pegasus, PegasusError,
    error::argument,
    look_up::{INDEX_DEVIATIONS, MAX_FACTOR, half_sign},
    order::groups_of,
    sign::STEP_DEVIATIONS,
};

/// Number of standard deviations of its error that half a rank must have (chosen). The failure
/// probability is 2^-21 per rank.
const RANK_DEVIATIONS: f64 = 5.0;

/// Minimum ratio of the gaps of coarse and fine positions (chosen). Fine positions need three
/// look-ups for each pair instead of one.
const MIN_REFINEMENT: f64 = 2.0;

/// The positions modulo `2N` at which numbers are compared.
///
/// Distances and deviations are in positions of the coarse grid, unless they say otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Grids {
    /// Integer factor of the numbers before they are rounded to the coarse grid.
    factor: i64,
    /// The number of coarse positions in a unit of the numbers.
    per_unit: f64,
    /// The standard deviation of the error in the difference of two coarse positions.
    deviation: f64,
    fine: Option<Fine>,
}

/// A second grid, on which differences may go around the circle.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Fine {
    /// The number of fine positions in a coarse one.
    ratio: i64,
    /// The coarse difference from which on the coarse positions decide.
    threshold: i64,
    /// The standard deviation of the error in the difference of two fine positions, in fine
    /// positions.
    deviation: f64,
}

impl Grids {
    /// Returns the grids of numbers up to `bound`. Numbers up to `largest_bound` use the whole
    /// circle, which has `2 half_circle` positions. `deviation` returns the standard deviation of
    /// the error in the difference of two positions, for numbers that were multiplied by an
    /// integer.
    fn new(
        half_circle: f64,
        largest_bound: f64,
        bound: f64,
        deviation: impl Fn(i64) -> f64,
    ) -> Self {
        let per_unit = |factor: i64| half_circle * factor as f64 / largest_bound;
        let coarse = |factor: i64| Grids {
            factor,
            per_unit: per_unit(factor),
            deviation: deviation(factor),
            fine: None,
        };
        let fits = |factor: &i64| {
            let needed = 2.0 * bound * per_unit(*factor) + reserved_positions(deviation(*factor));
            needed <= half_circle
        };
        // If there is no room for the threshold, the coarse positions decide alone.
        let Some(factor) = (1..=MAX_FACTOR).take_while(fits).last() else { return coarse(1) };
        let grids = coarse(factor);
        let finer = |ratio: i64| {
            let deviation = deviation(factor * ratio);
            let [errors, fine_errors] = [grids.deviation, deviation].map(|d| STEP_DEVIATIONS * d);
            let threshold = (errors + fine_errors / ratio as f64).floor() as i64 + 1;
            let fine = Fine { ratio, threshold, deviation };
            (grids.undecided(&fine) + fine_errors < half_circle).then_some(fine)
        };
        let finer = Grids { fine: (2..).map_while(finer).last(), ..grids };
        if finer.gap() * MIN_REFINEMENT <= grids.gap() { finer } else { grids }
    }

    /// Returns the largest fine difference that the coarse positions do not decide, in fine
    /// positions. It does not include the error of fine positions.
    fn undecided(&self, fine: &Fine) -> f64 {
        (fine.threshold as f64 + STEP_DEVIATIONS * self.deviation) * fine.ratio as f64
    }

    /// Returns the distance beyond which two numbers are in order, in units of the numbers.
    fn gap(&self) -> f64 {
        let deviation = match self.fine {
            Some(fine) => fine.deviation / fine.ratio as f64,
            None => self.deviation,
        };
        STEP_DEVIATIONS * deviation / self.per_unit
    }
}

impl Pegasus {
    /// Returns the rank of every number in its group of `size` numbers. The ranks of a group are a
    /// permutation of `0..size`, up to the error of rotations and switches.
    ///
    /// Numbers that differ by more than [`Pegasus::order_gap`] are in order. Closer ones may be in
    /// either order, but each rank appears exactly once. Numbers with equal positions keep the
    /// order of their places.
    ///
    /// Each group needs `3 size (size - 1)/2` look-ups. If the error of the numbers is so large
    /// that fine positions do not help, it needs a third of these. The result is at
    /// [`crate::PegasusPlan::table_scale`] of `size`.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if groups have one number, and the errors of
    /// [`Pegasus::largest`] and [`Pegasus::look_up`].
    pub fn ranks(&self, x: &Numbers, size: usize) -> Result<Numbers, PegasusError> {
        self.ranks_of(x, size, "rank numbers")
    }

    /// Returns the places of every `size` numbers in rising order, at `scale`.
    ///
    /// The first result of a group is the place of its smallest number, the second that of the next
    /// one, and so on. Places are counted from the middle, so they go from `-(size - 1)/2` to
    /// `(size - 1)/2`. Every place appears exactly once. Numbers that differ by more than
    /// [`Pegasus::order_gap`] are in order. Closer ones may be in either order (see
    /// [`Pegasus::ranks`]).
    ///
    /// It needs the look-ups of [`Pegasus::ranks`], and one more for each number to find its rank.
    /// **Error:** that of a rotation for several tables, once for each number.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if groups have one number, if they are so large that a
    /// table cannot distinguish ranks, or if the scale does not hold the places. Also returns the
    /// errors of [`Pegasus::largest`].
    pub fn argsort(&self, x: &Numbers, size: usize, scale: Scale) -> Result<Numbers, PegasusError> {
        const OPERATION: &str = "sort places";
        let groups = groups_of(x, size, OPERATION)?;
        if size > 1 {
            self.check_ranks(size, self.rank_noise(size))?;
        }
        let ranks = self.centred(self.ranks_of(x, size, OPERATION)?, size)?;
        // Only one of the terms of a rank is not 0.
        let middle = (size - 1) as f64 / 2.0;
        let of_place = |place: usize| {
            let numbers = ranks.select(&(place..x.len()).step_by(size).collect::<Vec<_>>())?;
            let at = |rank: usize, x: f64| (place as f64 - middle) * is_rank(x, rank, size);
            self.look_up_several_steps(&numbers, scale, size, at)?.with_bound(0.0)
        };
        let by_rank = (1..size).try_fold(of_place(0)?, |sum, place| sum.add(&of_place(place)?))?;
        let order: Vec<usize> = (0..x.len()).map(|i| i % size * groups + i / size).collect();
        by_rank.select(&order)?.with_bound(middle)
    }

    /// Returns the distance beyond which two numbers are in order in [`Pegasus::argsort`] and
    /// [`Pegasus::ranks`]. It is seven standard deviations of the difference of two positions,
    /// including the errors of the numbers.
    pub fn order_gap(&self, x: &Numbers) -> f64 {
        self.grids(x).gap()
    }

    /// Returns [`Pegasus::order_gap`] for numbers up to `bound` that have no error before they are
    /// extracted with [`Pegasus::argsort_bound_factor`] of 0.
    pub fn argsort_gap(&self, bound: f64) -> f64 {
        let (noise, modulus) = (self.extraction().noise(), self.plan().literal().lwe().modulus());
        let deviation =
            |factor: i64| self.position_deviation(noise.scaled((factor as f64).log2()), modulus);
        // Half of the circle, in units of the bound.
        let half = 2.0 * (1.0 + self.plan().literal().margin) * self.argsort_bound_factor(0.0);
        Grids::new(self.positions(), half, 1.0, deviation).gap() * bound
    }

    /// Returns the factor of the bound to use when numbers are extracted to be sorted.
    ///
    /// `relative_deviation` is the standard deviation of their error, relative to their bound. With
    /// this factor, differences use all of the circle except for the [threshold](Grids) and the
    /// errors. It is about 1 for precise numbers.
    pub fn argsort_bound_factor(&self, relative_deviation: f64) -> f64 {
        let modulus = self.plan().literal().lwe().modulus();
        let deviation = self.position_deviation(self.extraction().noise(), modulus);
        let rounding = reserved_positions(deviation) / self.positions();
        // The error of differences relative to twice the bound. The factor 1.01 is for the other
        // errors.
        let beyond = INDEX_DEVIATIONS * relative_deviation / 2f64.sqrt();
        1.01 * (1.0 + beyond) / (1.0 - rounding.min(0.5)) / (1.0 + self.plan().literal().margin)
    }

    /// Computes [`Pegasus::ranks`] for an operation of this name.
    fn ranks_of(
        &self,
        x: &Numbers,
        size: usize,
        operation: &'static str,
    ) -> Result<Numbers, PegasusError> {
        let groups = groups_of(x, size, operation)?;
        if size == 1 {
            return argument(operation, "there is one only".into());
        }
        let grids = self.grids(x);
        let (later, earlier) = pairs(groups, size);
        let differences = |factor: i64, bound: f64| {
            let positions = self.to_positions(x, factor, bound / 2.0)?;
            positions.select(&later)?.sub(&positions.select(&earlier)?)
        };
        let coarse = differences(grids.factor, 2.0 * x.bound() * grids.per_unit)?;
        let decisive = match grids.fine {
            None => coarse,
            Some(fine) => {
                let finer = differences(grids.factor * fine.ratio, grids.undecided(&fine))?;
                self.votes(&coarse, &finer, fine.threshold)?
            }
        };
        // The sign is 1 at a difference of 0 too, where the later number counts as the larger one.
        let after = self.look_up_sign(&decisive, self.plan().table_scale(size as f64)?)?;
        self.wins(&after, size)
    }

    /// Returns half of the sum of three votes. Each vote is 1 or -1.
    ///
    /// The votes state if a coarse difference is at least `threshold`, if it is above `-threshold`,
    /// and if the fine difference is at least 0. The first two need one look-up.
    fn votes(
        &self,
        coarse: &Numbers,
        fine: &Numbers,
        threshold: i64,
    ) -> Result<Numbers, PegasusError> {
        const MAX_VOTE_SUM: f64 = 1.5;
        let parameters = self.tables().parameters();
        // The votes are looked up on the whole circle, which is four times as large as this bound.
        let scale = self.plan().table_scale(1.0)?;
        let output = self.entry_scale(scale).to_f64();
        let first_two = |d: f64| first_two_votes(d, threshold);
        let first_two =
            LookupTable::new(&parameters, self.circle_domain(coarse)?, output, first_two)?;
        let third = LookupTable::new(&parameters, self.circle_domain(fine)?, output, half_sign)?;
        let items: Vec<(&LweCiphertext, &LookupTable)> = coarse
            .ciphertexts()
            .iter()
            .zip(fine.ciphertexts())
            .flat_map(|(coarse, fine)| [(coarse, &first_two), (fine, &third)])
            .collect();
        let noise = parameters.noise().plus(parameters.noise());
        Numbers::new(self.look_up_sums(&items, 2, Some(noise))?, scale, MAX_VOTE_SUM)
    }

    /// Returns the number of others in its group that every number exceeds. `greater` are the
    /// comparisons of [`pairs`].
    fn wins(&self, greater: &Numbers, size: usize) -> Result<Numbers, PegasusError> {
        let less = greater.clone().times_integer(-1)?.plus(1.0)?;
        let both = greater.clone().concat(&less)?.with_bound(1.0)?;
        let (left, right) = pairs(greater.len() / (size * (size - 1) / 2), size);
        // For each number, the indices of the comparisons that it wins if they are 1.
        let mut wins =
            vec![Vec::with_capacity(size - 1); size * greater.len() / (size * (size - 1) / 2)];
        for (k, (left, right)) in left.into_iter().zip(right).enumerate() {
            wins[left].push(k);
            wins[right].push(greater.len() + k);
        }
        let term = |k: usize| both.select(&wins.iter().map(|places| places[k]).collect::<Vec<_>>());
        (1..size - 1).try_fold(term(0)?, |sum, k| sum.add(&term(k)?))
    }

    /// Returns the numbers times `factor`, modulo `2N` and rounded as the modulus switch at the
    /// start of a rotation does it. Their unit is a position, and they have this bound.
    fn to_positions(&self, x: &Numbers, factor: i64, bound: f64) -> Result<Numbers, PegasusError> {
        let circle = 2.0 * self.positions();
        let round = |c: &LweCiphertext| {
            let mut c = c.clone();
            c.scale_assign(factor);
            c.switch_modulus(circle as u64)
        };
        let rounded = x.ciphertexts().iter().map(round).collect::<Result<_, _>>()?;
        Numbers::new(rounded, Scale::power_of_two(0), bound)
    }

    /// Returns the grids on which numbers with this bound and noise are compared.
    fn grids(&self, x: &Numbers) -> Grids {
        let modulus = x.parameters().modulus();
        let deviation = |factor: i64| {
            self.position_deviation(x.noise().scaled((factor as f64).log2()), modulus)
        };
        Grids::new(self.positions(), x.largest_bound(), x.bound(), deviation)
    }

    /// Returns the standard deviation of the error in the difference of two positions, for numbers
    /// with this noise modulo `modulus`.
    fn position_deviation(&self, noise: Noise, modulus: u64) -> f64 {
        let position = self.tables().parameters().index_noise(noise, modulus);
        position.plus(position).log2_std().exp2()
    }

    /// The number of positions in half of the circle, which is `N` of the tables.
    fn positions(&self) -> f64 {
        self.tables().parameters().ring().dimension() as f64
    }

    /// Returns ranks among `size` numbers for a look-up, in `[-(size - 1)/2, (size - 1)/2]`. Their
    /// bound allows for half a place more.
    fn centred(&self, ranks: Numbers, size: usize) -> Result<Numbers, PegasusError> {
        let n = size as f64;
        let centred = ranks.plus(-(n - 1.0) / 2.0)?.with_bound(n / 2.0)?;
        self.check_ranks(size, centred.noise())?;
        Ok(centred)
    }

    /// Returns the noise of ranks among `count` numbers. It is that of one look-up for each other
    /// number.
    fn rank_noise(&self, count: usize) -> Noise {
        self.number_noise().scaled(0.5 * (count as f64 - 1.0).log2())
    }

    /// Checks that ranks among `count` numbers with this noise can be distinguished.
    fn check_ranks(&self, count: usize, noise: Noise) -> Result<(), PegasusError> {
        let parameters = self.tables().parameters();
        let distinguishable = |count: usize, noise: Noise| {
            let index = parameters.index_noise(noise, self.back().parameters()[1].modulus());
            RANK_DEVIATIONS * index.log2_std().exp2() * count as f64 / self.positions() <= 0.5
        };
        if !distinguishable(count, noise) {
            let max_size = (2..count)
                .take_while(|n| distinguishable(*n, self.rank_noise(*n)))
                .last()
                .unwrap_or(1);
            let what = format!(
                "among {count} numbers: with these tables the ranks of {max_size} are told apart"
            );
            return argument("sort places", what);
        }
        Ok(())
    }
}

/// Returns the number of positions that differences need beyond their values. They are needed for
/// the error of a difference, whose standard deviation is given, and for the largest threshold.
fn reserved_positions(deviation: f64) -> f64 {
    // The threshold covers the errors of both grids. That of the fine grid is not larger.
    INDEX_DEVIATIONS * deviation + 2.0 * STEP_DEVIATIONS * deviation + 1.0
}

/// Returns half of the sum of the first two votes, from a coarse difference.
fn first_two_votes(difference: f64, threshold: i64) -> f64 {
    if difference.abs() < threshold as f64 { 0.0 } else { difference.signum() }
}

/// Returns 1 if a centred rank ([`Pegasus::centred`]) is `rank` among `size`, and 0 otherwise.
fn is_rank(x: f64, rank: usize, size: usize) -> f64 {
    f64::from((x - (rank as f64 - (size as f64 - 1.0) / 2.0)).abs() < 0.5)
}

/// Returns all pairs of numbers in every group of `size`, group by group: first the indices of the
/// later numbers, then those of the earlier ones.
fn pairs(groups: usize, size: usize) -> (Vec<usize>, Vec<usize>) {
    let of_group = |group: usize| {
        (0..size).flat_map(move |i| (0..i).map(move |j| (group * size + i, group * size + j)))
    };
    (0..groups).flat_map(of_group).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a position modulo the circle, in `[-half_circle, half_circle)`.
    fn on_the_circle(position: f64, half_circle: f64) -> f64 {
        (position + half_circle).rem_euclid(2.0 * half_circle) - half_circle
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// The majority is the order of the fine positions that do not go around the circle, with
        /// any errors up to seven deviations.
        #[test]
        fn the_majority_is_one_total_order(
            log_positions in 11u32..14, noise in 0.0f64..3.0, bound in 0.5f64..0.95,
            way in 0usize..4, x in -1.0f64..1.0, other in -1.0f64..1.0,
            errors in prop::collection::vec(-1.0f64..1.0, 2), rounding in 0usize..2,
        ) {
            let half_circle = f64::from(1 << log_positions);
            // Rounding, and the error of the numbers in positions.
            let deviation = |factor: i64| 7.0f64.hypot(noise * factor as f64 / 10.0);
            let grids = Grids::new(half_circle, 2.1, bound, deviation);
            let Some(fine) = grids.fine else {
                prop_assert!(noise > 1.0, "noise of {} is refined", noise);
                return Ok(());
            };
            // Differences next to 0, next to the threshold, at the period of fine positions, or
            // anywhere.
            let threshold = fine.threshold as f64 / grids.per_unit;
            let apart = match way {
                0 => 2.0 * other * grids.gap(),
                1 => threshold * (1.0 + 0.3 * other),
                2 => 2.0 * half_circle / fine.ratio as f64 / grids.per_unit * (1.0 + 0.1 * other),
                _ => bound * other,
            };
            let difference = (x * bound + apart).clamp(-bound, bound) - x * bound;
            let positions = difference * grids.per_unit;
            // The error of a rounded difference, such that the difference is a whole number.
            let rounded = |exact: f64, off: f64, deviation: f64| {
                let most = STEP_DEVIATIONS * deviation;
                (exact + off * most).round().clamp((exact - most).ceil(), (exact + most).floor())
            };
            let off = [errors[0], errors[1 - rounding]];
            let coarse = rounded(positions, off[0], grids.deviation);
            let finer = rounded(positions * fine.ratio as f64, off[1], fine.deviation);
            let decisive = first_two_votes(on_the_circle(coarse, half_circle), fine.threshold)
                + half_sign(on_the_circle(finer, half_circle));
            prop_assert_eq!(half_sign(decisive), half_sign(finer));
            if difference.abs() > grids.gap() {
                prop_assert_eq!(half_sign(decisive), half_sign(difference));
            }
        }
    }

    #[test]
    fn precise_numbers_have_fine_positions() {
        let rounding_only = Grids::new(4096.0, 2.1, 1.0, |_| 7.5);
        let fine = rounding_only.fine.unwrap();
        assert!((30..40).contains(&fine.ratio), "{fine:?}");
        // Fine positions do not help if all of the error is that of the numbers.
        assert_eq!(Grids::new(4096.0, 2.1, 1.0, |k| 7.5 * k as f64).fine, None);
        // No room for the threshold.
        assert_eq!(Grids::new(4096.0, 2.0, 1.0, |_| 7.5).fine, None);
    }
}
