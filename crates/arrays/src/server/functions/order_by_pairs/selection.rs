//! Selection of elements, or of their places, by their ranks.
//!
//! Both ways compute products of the elements with numbers that are 1 for the element of a rank
//! and 0 for all others, and add them up.
//!
//! - **Steps at ranks.** `S_k` is 1 for elements whose rank is at least `k`, and 0 for others. Let
//!   `G_k` be the sum of the elements times `S_k`. The element of rank `k` is `G_k - G_(k+1)`, and
//!   a quantile is a combination of three of these sums. If the elements of all ranks are wanted
//!   and fit one ciphertext, the differences `S_k - S_(k+1)` are computed before the products. That
//!   takes one rotation instead of a product.
//! - **Digits of ranks.** A rank is `h m + l`, with digits `h` and `l < m`. The steps at the
//!   multiples of `m` say for each `h` which elements have this digit, and their sum is `h`. That
//!   leaves `l`, which has steps of its own. The elements of all ranks are then the product of two
//!   matrices: the elements where their first digit is `h`, and 1 where the second one is `l`. For
//!   1,024 elements, this takes two comparisons of 32 rows instead of one of 1,024.

use std::collections::{BTreeMap, BTreeSet};

use hippocrene_ckks::Short;

use super::{
    Ordered,
    pairs::{MAX_ERROR_OF_RANKS_WITHIN, NOISE_OF_RANKS, Pairs, Ranked},
};
use crate::server::{
    Server,
    functions::{comparison::Comparison, lines::relabelled},
    moves::broadcast::Copies,
    planner::choose::Candidate,
    schemes::primitives::LinearMaps,
};
use crate::{Capacity, EncryptedArray, Error, Interval, Layout, Numbers};

/// Largest error of a selected element, as a share of the bound of the elements, without the noise.
/// Chosen.
const MAX_ERROR_OF_ELEMENTS: f64 = 1.0 / 512.0;

/// Largest error of a selected place, without the noise. Chosen: places are rounded.
const MAX_ERROR_OF_PLACES: f64 = 1.0 / 8.0;

/// Maximum standard deviation of the noise of a selected place. Six deviations and the largest
/// error are half a place. Chosen.
const MAX_NOISE_OF_PLACES: f64 = 1.0 / 16.0;

/// Standard deviation of the noise that the comparisons with whole numbers add to a result, as a
/// share of its largest error. Chosen.
const NOISE_OF_SELECTION: f64 = 1.0 / 6.0;

/// Largest error of the second digit of a rank, besides that of the rank. Chosen.
const MAX_ERROR_OF_DIGIT: f64 = 1.0 / 64.0;

/// Products with elements have this many bits more precision than the selection. Chosen.
const EXTRA_BITS_OF_PRODUCTS: f64 = 6.0;

/// Products with digits have this many bits more precision than those with steps. Chosen.
const EXTRA_BITS_OF_DIGITS: f64 = 2.0;

/// Bits of capacity that are kept for these products besides those of their scales: for scales that
/// differ by half a bit, and for bringing operands to one modulus. Chosen.
const MARGIN_BITS_OF_PRODUCTS: f64 = 4.0;

/// The number of products after the steps of a first digit: the move of rows, the product with the
/// element, three of a matrix product, and the choice of ranks.
const PRODUCTS_AFTER_DIGIT: f64 = 6.0;

/// A selection of elements, or of their places, by their ranks.
///
/// Places are centred, which halves their bound.
pub(super) struct Selection<'a> {
    elements: &'a EncryptedArray,
    ordered: &'a Ordered,
    combined: Combined,
    pairs: &'a Pairs,
    operation: &'static str,
    form: &'a Numbers,
    /// The bound of the selected values, and the largest error of a result.
    bound: f64,
    error: f64,
    /// The precision of products in bits.
    bits: f64,
}

/// The results of a line as combinations of sums of the elements whose rank is at least a
/// threshold.
struct Combined {
    thresholds: Vec<usize>,
    /// For each result, the factors of the sums, by the number of the threshold.
    factors: Vec<Vec<(usize, f64)>>,
}

impl Combined {
    fn of(ordered: &Ordered, length: usize) -> Self {
        let results: Vec<Vec<(usize, f64)>> = match ordered {
            Ordered::Ranks => Vec::new(),
            Ordered::Elements(ranks) | Ordered::Places(ranks, _) => {
                ranks.iter().map(|rank| vec![(*rank, 1.0)]).collect()
            }
            Ordered::Between(places) => {
                let pair = |(rank, weight): &(usize, f64)| {
                    vec![(*rank, 1.0 - weight), (rank + 1, *weight)]
                };
                places.iter().map(pair).collect()
            }
        };
        // The element of rank `k` is the sum for the threshold `k` minus that for `k + 1`.
        let factors: Vec<BTreeMap<usize, f64>> = results
            .into_iter()
            .map(|ranks| {
                let mut factors = BTreeMap::new();
                for (rank, weight) in ranks {
                    *factors.entry(rank).or_insert(0.0) += weight;
                    *factors.entry(rank + 1).or_insert(0.0) -= weight;
                }
                factors.retain(|threshold, factor| *threshold < length && *factor != 0.0);
                factors
            })
            .collect();
        let thresholds: BTreeSet<usize> =
            factors.iter().flat_map(|factors| factors.keys().copied()).collect();
        let thresholds: Vec<usize> = thresholds.into_iter().collect();
        let number = |threshold: usize| thresholds.partition_point(|other| *other < threshold);
        let by_number = |factors: BTreeMap<usize, f64>| {
            factors.into_iter().map(|(threshold, factor)| (number(threshold), factor)).collect()
        };
        let factors = factors.into_iter().map(by_number).collect();
        Combined { thresholds, factors }
    }

    /// True if the results are the elements of all ranks in rising order.
    fn are_all(&self, length: usize) -> bool {
        let of = |rank: usize| {
            let next = (rank + 1 < length).then_some((rank + 1, -1.0));
            [Some((rank, 1.0)), next].into_iter().flatten().collect::<Vec<_>>()
        };
        self.thresholds.len() == length && self.factors.iter().cloned().eq((0..length).map(of))
    }

    /// Combines the sums, whose first axis counts the thresholds.
    fn of_sums(
        &self,
        server: &Server,
        sums: EncryptedArray,
        operation: &'static str,
    ) -> Result<EncryptedArray, Error> {
        if self.factors[..] == [vec![(0, 1.0)]] {
            return Ok(sums);
        }
        let mut shape = sums.shape().to_vec();
        shape[0] = self.factors.len();
        let layout = Layout::new(shape, sums.layout().strides().to_vec(), sums.layout().slots())?;
        let (to, from): (Vec<usize>, Vec<usize>) =
            (layout.positions().collect(), sums.layout().positions().collect());
        let lines = to.len() / self.factors.len();
        let entries = self.factors.iter().enumerate().flat_map(|(result, factors)| {
            let (to, from) = (&to, &from);
            factors.iter().flat_map(move |(number, factor)| {
                (0..lines).map(move |i| (to[result * lines + i], from[number * lines + i], *factor))
            })
        });
        server.linear_map(&sums, layout, entries.collect::<Vec<_>>(), operation)
    }
}

impl<'a> Selection<'a> {
    pub(super) fn new(
        elements: &'a EncryptedArray,
        ordered: &'a Ordered,
        pairs: &'a Pairs,
        form: &'a Numbers,
        operation: &'static str,
    ) -> Self {
        let combined = Combined::of(ordered, pairs.length);
        let is_of_places = matches!(ordered, Ordered::Places(..));
        let bound = match is_of_places {
            true => 0.5 * (pairs.length as f64 - 1.0),
            false => elements.bound(),
        };
        let error = match is_of_places {
            true => MAX_ERROR_OF_PLACES.min(MAX_ERROR_OF_ELEMENTS * bound),
            false => MAX_ERROR_OF_ELEMENTS * bound,
        };
        // The factors are rounded at the scale of the products, and multiplied by values up to the
        // bound. Encoded places are rounded too.
        let extra_bits = match is_of_places {
            true => (pairs.length as f64).log2(),
            false => bound.log2().max(0.0),
        };
        let bits = EXTRA_BITS_OF_PRODUCTS + extra_bits - error.log2();
        Selection { elements, ordered, combined, pairs, operation, form, bound, error, bits }
    }

    /// Returns the centre of places, which has to be added to the results, or `None` for elements.
    pub(super) fn centre_of_places(&self) -> Option<f64> {
        self.is_of_places().then_some(self.bound)
    }

    /// Returns the selected values. The first axis counts the results of a line.
    pub(super) fn results(
        &self,
        server: &Server,
        ranked: &Ranked,
    ) -> Result<EncryptedArray, Error> {
        let steps = Candidate::new("steps at ranks", |server: &Server, [ranks]: [_; 1]| {
            self.by_steps(server, ranks)
        });
        let mut candidates = vec![steps];
        if let Some(ranks) = self.wanted_ranks() {
            let digits = move |server: &Server, [of_elements]: [&EncryptedArray; 1]| {
                self.by_digits(server, of_elements, ranks)
            };
            candidates.push(Candidate::new("digits of ranks", digits));
        }
        server.perform(self.operation, [&ranked.ranks], f64::INFINITY, &candidates)
    }

    /// Returns results with the largest error of a selection, and the interval of the values.
    fn stated(&self, server: &Server, results: &EncryptedArray) -> Result<EncryptedArray, Error> {
        let std = (-results.precision_bits(&server.session)).exp2();
        if self.is_of_places() && std > MAX_NOISE_OF_PLACES {
            let what = format!(
                "places with a standard deviation of {} cannot be rounded to the right ones",
                Short(std)
            );
            return Err(Error::argument("select places", what));
        }
        let results = server.with_added_error(results, self.error, self.operation)?;
        let (low, high) = match self.is_of_places() {
            true => (-self.bound, self.bound),
            false => (self.elements.interval().low(), self.elements.interval().high()),
        };
        let values = Interval::new(low - self.error, high + self.error);
        Ok(results.with_known_interval(values.unwrap_or(Interval::EVERYTHING)))
    }

    /// Returns the largest error of a result as a share of the bound.
    fn share(&self) -> f64 {
        self.error / self.bound
    }

    /// Returns the standard deviation of the noise of the selection as a share of the bound.
    fn noise_share(&self) -> f64 {
        NOISE_OF_SELECTION * self.share()
    }

    fn is_of_places(&self) -> bool {
        matches!(self.ordered, Ordered::Places(..))
    }

    /// Returns the ranks whose elements are wanted if digits are a way to select them: in one line,
    /// if the steps at all of these ranks do not fit one ciphertext.
    fn wanted_ranks(&self) -> Option<&'a [usize]> {
        let (Ordered::Elements(ranks) | Ordered::Places(ranks, _)) = self.ordered else {
            return None;
        };
        let steps = self.combined.thresholds.len() * self.pairs.stride;
        let is_one_line = self.elements.shape() == [self.pairs.length];
        (is_one_line && steps > self.pairs.slots).then_some(ranks)
    }

    /// Returns the server for products. On the way, no product has to keep enough capacity for a
    /// bootstrap, since only the results are used further.
    fn server_of_products(&self, server: &Server, bits: f64) -> Server {
        server.at_most_precision(bits, self.form).finishing()
    }

    /// Returns the capacity that a product takes, in bits.
    fn product_bits(&self, server: &Server, bits: f64) -> f64 {
        let coarse = server.at_most_precision(bits, self.form);
        self.form.computed_by(&coarse).product_bits(&coarse)
    }

    fn by_steps(&self, server: &Server, ranks: &EncryptedArray) -> Result<EncryptedArray, Error> {
        let (operation, length, axis) = (self.operation, self.pairs.length, self.pairs.axis);
        let product_bits = self.product_bits(server, self.bits);
        let are_all = self.combined.are_all(length) && self.pairs.repeats(ranks);
        let factors = match are_all {
            // A result is the sum of one product that is not 0 and many that are.
            true => {
                let growth = (2.0 * self.bound).log2().max(0.0);
                let remaining_bits = product_bits + growth + MARGIN_BITS_OF_PRODUCTS;
                self.selectors(server, ranks, remaining_bits)?
            }
            // The steps are multiplied twice, and the sum grows by the number of its summands.
            false => {
                let growth = (length as f64).log2();
                let remaining_bits = 2.0 * product_bits + growth + MARGIN_BITS_OF_PRODUCTS;
                self.rank_steps(server, ranks, remaining_bits)?
            }
        };
        let run = |server: &Server, [factors, elements]: [&EncryptedArray; 2]| {
            let server = &self.server_of_products(server, self.bits);
            let products = self.products(server, factors, elements)?;
            let mut sums = server.sum(&products, Some(axis + 1))?;
            // The elements that are added up in a slot are those of at most two lines.
            if are_all && (self.is_of_places() || self.elements.is_clean()) {
                sums.set_bound(2.0 * (self.bound + self.error));
            }
            let results = match are_all {
                true => first_rows(sums, length)?,
                false => self.combined.of_sums(server, sums, operation)?,
            };
            self.stated(server, &results)
        };
        let candidates = [Candidate::new("sums of products", run)];
        server.perform(operation, [&factors, self.elements], f64::INFINITY, &candidates)
    }

    /// Returns the products of these factors, in rows, with the values to select from.
    fn products(
        &self,
        server: &Server,
        factors: &EncryptedArray,
        elements: &EncryptedArray,
    ) -> Result<EncryptedArray, Error> {
        if self.is_of_places() {
            let centred = self.pairs.places().map(|place| place as f64 - self.bound);
            let rows = factors.shape()[0];
            return server.mul_plain(factors, &centred.collect::<Vec<_>>().repeat(rows)[..]);
        }
        let rows = server.insert_axis(elements, 0)?;
        server.mul(factors, &server.repeated_as(&rows, factors.layout(), Copies::One)?)
    }

    /// Selects the elements of these ranks by the digits of all ranks.
    ///
    /// Let both digits of an element be told with an error of at most `f`. There are `m` elements
    /// with the first digit of a rank, and as many with the second digit as there are first digits.
    /// So a result is wrong by `f` times the sum of both counts and the bound, and by `n f^2` times
    /// the bound, which is at most a sixteenth of the allowed error.
    fn by_digits(
        &self,
        server: &Server,
        of_elements: &EncryptedArray,
        ranks: &[usize],
    ) -> Result<EncryptedArray, Error> {
        let length = self.pairs.length;
        let second = 1 << (length.next_power_of_two().ilog2() / 2);
        let first = length.div_ceil(second);
        let count = (first + second) as f64;
        let error = (0.5 * self.share() / count).min(2.0 * MAX_ERROR_OF_DIGIT / length as f64);
        let precision = Some(-error.log2());
        // A result is the sum of `length` products of two differences of two steps.
        let noise_std = self.noise_share() / (4.0 * length as f64).sqrt();
        let of_digits = self.bits + EXTRA_BITS_OF_DIGITS;
        let bits = self.product_bits(server, of_digits);
        let growth = (length as f64).log2() + MARGIN_BITS_OF_PRODUCTS;

        let gap = Some(0.5 - MAX_ERROR_OF_RANKS_WITHIN);
        let how = Comparison { gap, precision, ..Comparison::default() };
        let noise_of_first = 0.5 * NOISE_OF_RANKS / (second as f64 * (first as f64).sqrt());
        let steps = self.steps_of(
            server,
            of_elements,
            self.pairs.bound_of_ranks(),
            (1..=first).map(|digit| digit * second).collect(),
            (how, noise_std.min(noise_of_first)),
            PRODUCTS_AFTER_DIGIT * bits + growth,
        )?;
        let digits = server.mul_number(&server.sum(&steps, Some(0))?, second as f64)?;
        // Between 0 and the number of elements, this is less than `second`, also for numbers that
        // are not whole.
        let of_second = server.cleaned(&server.sub(of_elements, &digits)?)?;
        let first_digits = self.digits_of(server, &steps)?;

        let gap = Some(0.5 - MAX_ERROR_OF_RANKS_WITHIN - MAX_ERROR_OF_DIGIT);
        let how = Comparison { gap, precision, ..Comparison::default() };
        let steps = self.steps_of(
            server,
            &of_second,
            second as f64 + 1.0,
            (1..=second).collect(),
            (how, noise_std),
            (PRODUCTS_AFTER_DIGIT - 1.0) * bits + growth,
        )?;
        let second_digits = self.digits_of(server, &steps)?;

        let run = |server: &Server, [first, second, elements]: [&EncryptedArray; 3]| {
            let server = &self.server_of_products(server, of_digits);
            let products = self.products(server, first, elements)?;
            let selected = server.matrix_product(&products, &server.transpose(second)?)?;
            let results = server.gather(&[&selected], &[ranks.len()], ranks)?;
            self.stated(server, &results)
        };
        let candidates = [Candidate::new("product of digits", run)];
        let operands = [&first_digits, &second_digits, self.elements];
        server.perform(self.operation, operands, f64::INFINITY, &candidates)
    }

    /// Returns 1 where a digit is the number of the row and 0 elsewhere, from the steps of this
    /// digit: row `k` of them is 1 where the digit is more than `k`.
    fn digits_of(&self, server: &Server, steps: &EncryptedArray) -> Result<EncryptedArray, Error> {
        let (count, length) = (steps.shape()[0], self.pairs.length);
        let before: Vec<Option<usize>> =
            (0..count * length).map(|i| i.checked_sub(length)).collect();
        let before = server.gather_padded(&[steps], steps.shape(), &before)?;
        let mut first = vec![0.0; count * length];
        first[..length].fill(1.0);
        let mut digits = server.add_plain(&server.sub(&before, steps)?, &first[..])?;
        // Every slot holds a difference of two steps, or of 0 and one.
        digits.set_bound(2.0 * steps.bound() - 1.0);
        Ok(digits)
    }

    /// Returns 1 where the rank is at least a threshold and 0 elsewhere, with a row for each of the
    /// thresholds.
    fn rank_steps(
        &self,
        server: &Server,
        ranks: &EncryptedArray,
        remaining_bits: f64,
    ) -> Result<EncryptedArray, Error> {
        let thresholds = self.combined.thresholds.clone();
        let bound = self.pairs.bound_of_ranks();
        self.steps_of(server, ranks, bound, thresholds, self.comparison_of_ranks(), remaining_bits)
    }

    /// Returns 1 where a value is at least a threshold and 0 elsewhere, with a row for each of the
    /// thresholds. Values differ from whole numbers by less than half, and in every slot they are
    /// at most `bound`. The comparison has this standard deviation of its noise.
    fn steps_of(
        &self,
        server: &Server,
        values: &EncryptedArray,
        bound: f64,
        thresholds: Vec<usize>,
        (how, noise_std): (Comparison, f64),
        remaining_bits: f64,
    ) -> Result<EncryptedArray, Error> {
        let layout = self.pairs.layout(thresholds.len())?;
        let rows = server.repeated_as(&server.insert_axis(values, 0)?, &layout, Copies::One)?;
        let last = thresholds.last().copied().unwrap_or(0) as f64;
        let middles = thresholds.into_iter().map(|threshold| 0.5 - threshold as f64);
        let middles: Vec<f64> = middles.flat_map(|middle| vec![middle; values.size()]).collect();
        let mut differences = server.add_plain(&rows, &middles[..])?;
        differences.set_bound(bound.max(last + 0.5));
        server.steps(&differences, how, Some(noise_std), remaining_bits, self.operation)
    }

    /// Returns 1 where the rank is the number of the row and 0 elsewhere, with a row for each rank.
    ///
    /// This is the difference of two steps. Row `k` of the steps is 1 where the rank is at least
    /// `k + 1`, and the row before holds the same for `k`. All ranks are at least 0, so row 0 takes
    /// the difference from 1. The row before it is the last one of the ciphertext, which is 0.
    fn selectors(
        &self,
        server: &Server,
        ranks: &EncryptedArray,
        remaining_bits: f64,
    ) -> Result<EncryptedArray, Error> {
        let pairs = self.pairs;
        let all = pairs.layout_of_copies()?;
        let copies = server.insert_axis(&server.insert_axis(ranks, 0)?, 0)?;
        let rows = server.repeated_as(&copies, &all, Copies::One)?;
        let middles = (0..pairs.rows).map(|row| -0.5 - row.min(pairs.length - 1) as f64);
        let middles: Vec<f64> = middles.flat_map(|middle| vec![middle; ranks.size()]).collect();
        let mut differences = server.add_plain(&rows, &middles.repeat(pairs.copies())[..])?;
        differences.set_bound(pairs.bound_of_ranks());
        let (how, noise_std) = self.comparison_of_ranks();
        let steps =
            server.steps(&differences, how, Some(noise_std), remaining_bits, self.operation)?;
        let steps = steps.with_layout(pairs.layout(pairs.rows)?);
        let before = server.map_as_it_is(&steps, self.operation, false, |form, x| {
            form.rotate(server, x, -(pairs.stride as i64))
        })?;
        let mut first = vec![0.0; steps.size()];
        first[..ranks.size()].fill(1.0);
        let mut selectors = server.add_plain(&server.sub(&before, &steps)?, &first[..])?;
        // Every slot holds a difference of two steps, each as far outside of 0 to 1 as the bound
        // says.
        selectors.set_bound(2.0 * steps.bound() - 1.0);
        Ok(selectors)
    }

    /// Returns the comparison of ranks with the middles between whole numbers, and the standard
    /// deviation of its noise.
    fn comparison_of_ranks(&self) -> (Comparison, f64) {
        let error = self.share() / self.pairs.length as f64;
        let gap = Some(0.5 - MAX_ERROR_OF_RANKS_WITHIN);
        let how = Comparison { gap, precision: Some(-error.log2()), ..Comparison::default() };
        // A result is the sum of this number of products with the difference of two steps.
        (how, 2.0 * self.noise_share() / (2.0 * self.pairs.length as f64).sqrt())
    }
}

/// Returns the first entries along the first axis, in the same slots.
fn first_rows(a: EncryptedArray, count: usize) -> Result<EncryptedArray, Error> {
    let shape = [&[count], &a.shape()[1..]].concat();
    let strides = a.layout().strides().to_vec();
    relabelled(a, shape, strides)
}
