//! Ranks of numbers, and the places of numbers in rising order.
//!
//! The rank of a number is how many numbers of its group come before it. Ranks come from
//! comparisons of all pairs. If each comparison had an error of its own, three comparisons of close
//! numbers could form a cycle, and ranks would repeat. Therefore all comparisons agree with one
//! total order:
//!
//! - Each LWE sample is rounded once to the `2N` positions on which rotations work, exactly as the
//!   modulus switch at the start of a rotation does it. Rotations of differences of rounded samples
//!   round nothing. Each comparison sees the exact difference of two positions.
//! - The order is that of the positions, and that of the places where two positions are equal.
//!
//! A position has an error of about 5, whatever the numbers are. To put close numbers in order, a
//! second position is [finer](Grids) than the first by a factor that may lead around the circle
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

/// The number of deviations of its error that half a rank must have. Chosen: 2^-21 per rank.
const RANK_DEVIATIONS: f64 = 5.0;

/// Minimum factor by which fine positions must reduce the gap. They take three look-ups for each
/// pair instead of one. Chosen.
const LEAST_REFINEMENT: f64 = 2.0;

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
    times: i64,
    /// The coarse difference from which on the coarse positions decide.
    threshold: i64,
    /// The standard deviation of the error in the difference of two fine positions, in fine
    /// positions.
    deviation: f64,
}

impl Grids {
    /// The grids of numbers up to `bound`. Numbers up to `largest_bound` take all of the circle,
    /// which has twice `half_circle` positions. `deviation` returns the standard deviation of
    /// the error in the difference of two positions if numbers are multiplied by an integer
    /// before.
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
            let needed = 2.0 * bound * per_unit(*factor) + beyond_differences(deviation(*factor));
            needed <= half_circle
        };
        // If there is no room for the threshold, the coarse positions decide alone.
        let Some(factor) = (1..=MAX_FACTOR).take_while(fits).last() else { return coarse(1) };
        let grids = coarse(factor);
        let finer = |times: i64| {
            let deviation = deviation(factor * times);
            let [errors, fine_errors] = [grids.deviation, deviation].map(|d| STEP_DEVIATIONS * d);
            let threshold = (errors + fine_errors / times as f64).floor() as i64 + 1;
            let fine = Fine { times, threshold, deviation };
            (grids.undecided(&fine) + fine_errors < half_circle).then_some(fine)
        };
        let finer = Grids { fine: (2..).map_while(finer).last(), ..grids };
        if finer.gap() * LEAST_REFINEMENT <= grids.gap() { finer } else { grids }
    }

    /// The largest fine difference that the coarse positions do not decide, in fine positions and
    /// without the error of fine positions.
    fn undecided(&self, fine: &Fine) -> f64 {
        (fine.threshold as f64 + STEP_DEVIATIONS * self.deviation) * fine.times as f64
    }

    /// Numbers farther apart than this are in order, in units of the numbers.
    fn gap(&self) -> f64 {
        let deviation = match self.fine {
            Some(fine) => fine.deviation / fine.times as f64,
            None => self.deviation,
        };
        STEP_DEVIATIONS * deviation / self.per_unit
    }
}

impl Pegasus {
    /// For every number how many others among the `size` of its group come before it: a permutation
    /// of `0..size`, up to the error of rotations and switches.
    ///
    /// Numbers farther apart than [`Pegasus::order_gap`] are in order. Nearer ones may be in either
    /// order, but each rank appears exactly once. Numbers with equal positions keep the order of
    /// their places.
    ///
    /// It takes `3 size (size - 1)/2` look-ups for each group. If the error of the numbers is so
    /// large that fine positions do not help, it takes a third of these. The result is at
    /// [`crate::PegasusPlan::table_scale`] of `size`.
    ///
    /// # Errors
    /// [`PegasusError::Argument`] if groups are of one number, and as [`Pegasus::largest`] and
    /// [`Pegasus::look_up`].
    pub fn ranks(&self, x: &Numbers, size: usize) -> Result<Numbers, PegasusError> {
        self.ranks_of(x, size, "rank numbers")
    }

    /// The places in rising order of every `size` numbers, counted from the middle one, at `scale`:
    /// that of the smallest, that of the next one, and so on, 0 to `size - 1` less `(size - 1)/2`.
    /// Every place appears exactly once. Numbers farther apart than [`Pegasus::order_gap`] are in
    /// order; nearer ones may be in either order ([`Pegasus::ranks`]).
    ///
    /// It takes the look-ups of [`Pegasus::ranks`], and one for each number, which finds the rank
    /// at which the number stands. **Error:** that of a rotation for several tables, once for each
    /// number.
    ///
    /// # Errors
    /// [`PegasusError::Argument`] if groups are of one number, or so large that a table does not
    /// tell ranks apart, if the scale does not hold the places, and as [`Pegasus::largest`].
    pub fn argsort(&self, x: &Numbers, size: usize, scale: Scale) -> Result<Numbers, PegasusError> {
        const OPERATION: &str = "sort places";
        let groups = groups_of(x, size, OPERATION)?;
        if size > 1 {
            self.check_ranks(size, self.rank_noise(size))?;
        }
        let ranks = self.centred(self.ranks_of(x, size, OPERATION)?, size)?;
        // All but one of the terms of a rank are 0.
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

    /// The distance from which on two numbers are in order in [`Pegasus::argsort`] and
    /// [`Pegasus::ranks`]: seven standard deviations of the difference of two positions, the errors
    /// of the numbers included.
    pub fn order_gap(&self, x: &Numbers) -> f64 {
        self.grids(x).gap()
    }

    /// [`Pegasus::order_gap`] of numbers up to `bound` that have no error before they are
    /// extracted, with [`Pegasus::argsort_bound`] of 0.
    pub fn argsort_gap(&self, bound: f64) -> f64 {
        let (noise, modulus) = (self.extraction().noise(), self.plan().literal().lwe().modulus());
        let deviation =
            |factor: i64| self.position_deviation(noise.scaled((factor as f64).log2()), modulus);
        // Half of the circle, in units of the bound.
        let half = 2.0 * (1.0 + self.plan().literal().margin) * self.argsort_bound(0.0);
        Grids::new(self.positions(), half, 1.0, deviation).gap() * bound
    }

    /// The factor of the bound to extract numbers with whose places are sorted. `off` is the
    /// standard deviation of their error over their bound. With it, differences take all of the
    /// circle but for the [threshold](Grids) and the errors. It is about 1 for precise numbers.
    pub fn argsort_bound(&self, off: f64) -> f64 {
        let modulus = self.plan().literal().lwe().modulus();
        let deviation = self.position_deviation(self.extraction().noise(), modulus);
        let rounding = beyond_differences(deviation) / self.positions();
        // The error of differences, over twice the bound; and a little for the other errors.
        let beyond = INDEX_DEVIATIONS * off / 2f64.sqrt();
        1.01 * (1.0 + beyond) / (1.0 - rounding.min(0.5)) / (1.0 + self.plan().literal().margin)
    }

    /// [`Pegasus::ranks`] for an operation of this name.
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
                let finer = differences(grids.factor * fine.times, grids.undecided(&fine))?;
                self.votes(&coarse, &finer, fine.threshold)?
            }
        };
        // 1 at a difference of 0 too, where the later number counts as the larger one.
        let after = self.look_up_sign(&decisive, self.plan().table_scale(size as f64)?)?;
        self.wins(&after, size)
    }

    /// Returns half of the sum of three votes. Each vote is 1 or -1.
    ///
    /// The votes tell if a coarse difference is at least `threshold`, if it is above `-threshold`,
    /// and if the fine difference is at least 0. The first two take one look-up.
    fn votes(
        &self,
        coarse: &Numbers,
        fine: &Numbers,
        threshold: i64,
    ) -> Result<Numbers, PegasusError> {
        const LARGEST: f64 = 1.5;
        let parameters = self.tables().parameters();
        // The votes are looked up on all of the circle, which is four times as large as this bound.
        let scale = self.plan().table_scale(1.0)?;
        let output = self.output(scale).to_f64();
        let first_two = |d: f64| first_two_votes(d, threshold);
        let first_two = LookupTable::new(&parameters, self.circle(coarse)?, output, first_two)?;
        let third = LookupTable::new(&parameters, self.circle(fine)?, output, half_sign)?;
        let items: Vec<(&LweCiphertext, &LookupTable)> = coarse
            .ciphertexts()
            .iter()
            .zip(fine.ciphertexts())
            .flat_map(|(coarse, fine)| [(coarse, &first_two), (fine, &third)])
            .collect();
        let noise = parameters.noise().plus(parameters.noise());
        Numbers::new(self.values(&items, 2, Some(noise))?, scale, LARGEST)
    }

    /// How many others of its group every number is greater than, from the comparisons `greater` of
    /// [`pairs`].
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

    /// The numbers times `factor`, modulo `2N` and rounded as the modulus switch at the start of a
    /// rotation does it, with this bound. Their unit is a position.
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

    /// The grids on which numbers with this bound and noise are compared.
    fn grids(&self, x: &Numbers) -> Grids {
        let modulus = x.parameters().modulus();
        let deviation = |factor: i64| {
            self.position_deviation(x.noise().scaled((factor as f64).log2()), modulus)
        };
        Grids::new(self.positions(), x.largest_bound(), x.bound(), deviation)
    }

    /// The standard deviation of the error in the difference of two positions of numbers with this
    /// noise modulo `modulus`.
    fn position_deviation(&self, noise: Noise, modulus: u64) -> f64 {
        let position = self.tables().parameters().index_noise(noise, modulus);
        position.plus(position).log2_std().exp2()
    }

    /// The number of positions in half of the circle: `N` of the tables.
    fn positions(&self) -> f64 {
        self.tables().parameters().ring().dimension() as f64
    }

    /// Ranks among `size` numbers as they are looked up: in `[-(size - 1)/2, (size - 1)/2]`, and
    /// half a place is allowed for.
    fn centred(&self, ranks: Numbers, size: usize) -> Result<Numbers, PegasusError> {
        let n = size as f64;
        let centred = ranks.plus(-(n - 1.0) / 2.0)?.with_bound(n / 2.0)?;
        self.check_ranks(size, centred.noise())?;
        Ok(centred)
    }

    /// The noise of ranks among `count` numbers, which is that of one look-up for each other number.
    fn rank_noise(&self, count: usize) -> Noise {
        self.number_noise().scaled(0.5 * (count as f64 - 1.0).log2())
    }

    /// Checks that ranks among `count` numbers can be told apart if they have this noise.
    fn check_ranks(&self, count: usize, noise: Noise) -> Result<(), PegasusError> {
        let parameters = self.tables().parameters();
        let told_apart = |count: usize, noise: Noise| {
            let index = parameters.index_noise(noise, self.back().parameters()[1].modulus());
            RANK_DEVIATIONS * index.log2_std().exp2() * count as f64 / self.positions() <= 0.5
        };
        if !told_apart(count, noise) {
            let most =
                (2..count).take_while(|n| told_apart(*n, self.rank_noise(*n))).last().unwrap_or(1);
            let what = format!(
                "among {count} numbers: with these tables the ranks of {most} are told apart"
            );
            return argument("sort places", what);
        }
        Ok(())
    }
}

/// The number of positions that differences need beyond their values, if the error of a difference
/// has this standard deviation: those for the error, and the largest threshold.
fn beyond_differences(deviation: f64) -> f64 {
    // The threshold covers the errors of both grids. That of the fine grid is not larger.
    INDEX_DEVIATIONS * deviation + 2.0 * STEP_DEVIATIONS * deviation + 1.0
}

/// Half of the sum of the votes of a coarse difference.
fn first_two_votes(difference: f64, threshold: i64) -> f64 {
    if difference.abs() < threshold as f64 { 0.0 } else { difference.signum() }
}

/// 1 where a centred rank ([`Pegasus::centred`]) is this one of `size`, and 0 elsewhere.
fn is_rank(x: f64, rank: usize, size: usize) -> f64 {
    f64::from((x - (rank as f64 - (size as f64 - 1.0) / 2.0)).abs() < 0.5)
}

/// All pairs of numbers in every group of `size`, group by group: the later ones, and the earlier
/// ones.
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

    /// A position modulo the circle, in `[-half_circle, half_circle)`.
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
                2 => 2.0 * half_circle / fine.times as f64 / grids.per_unit * (1.0 + 0.1 * other),
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
            let finer = rounded(positions * fine.times as f64, off[1], fine.deviation);
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
        assert!((30..40).contains(&fine.times), "{fine:?}");
        // Fine positions do not help if all of the error is that of the numbers.
        assert_eq!(Grids::new(4096.0, 2.1, 1.0, |k| 7.5 * k as f64).fine, None);
        // No room for the threshold.
        assert_eq!(Grids::new(4096.0, 2.0, 1.0, |_| 7.5).fine, None);
    }
}
