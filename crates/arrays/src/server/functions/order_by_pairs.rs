//! Order by comparing all pairs of elements in one comparison (Mazzone et al., "Efficient ranking,
//! order statistics, and sorting under CKKS", USENIX Security 2025).
//!
//! A line of `n` elements is laid out as rows and columns of `n^2` slots. One comparison of the
//! differences `x_i - x_j` says for each pair whether `x_j` comes before `x_i`. The sum over `j` is
//! the rank of `x_i`.
//!
//! Another comparison computes `S_k`, which is 1 for elements whose rank is at least `k` and 0 for
//! others. Let `G_k` be the sum of the elements times `S_k`. The element of rank `k` is the
//! difference `G_k - G_(k+1)`, and a quantile is a combination of three of these sums. With places
//! instead of elements, the same sums give the places of ranks. There is a row of slots for each
//! `k`, so this is one comparison too. If the elements of all ranks are wanted, the differences
//! `S_k - S_(k+1)` are computed before the products. That takes one rotation instead of a product.
//!
//! # Capacity
//! A comparison with bootstraps on the way has as few of them as possible
//! ([`SignPlan::new_for`]). They may be less precise than others, since the stages of a sign
//! tolerate much larger errors, and then leave more capacity. The noise of signs may be larger than
//! their other errors, because only sums of them are used.
//!
//! # Equal and close elements
//! The step of the first comparison is moved by half the gap to the side of negative differences if
//! `j < i`, and to the other side otherwise. So equal elements are ordered by their places, and
//! ranks are a permutation. Elements that are closer than the gap and not equal have ranks that are
//! no whole numbers. Then `S_k` lies between 0 and 1 for the places of these elements, and the
//! results there would be wrong. So the caller declares a distance of all unequal elements
//! ([`Server::with_distance`]), which is the gap.
//!
//! # Errors
//! Let `e` and `f` be the errors of the signs in both comparisons, besides their noise. A rank has
//! an error of at most `n e/2`. If that is at most [`MAX_ERROR_OF_RANKS_WITHIN`], a result is wrong
//! by at most `n f` times the bound of the elements.

use std::collections::{BTreeMap, BTreeSet};

use hippocrene_ckks::{
    Short,
    circuits::comparison::{SignPlan, SignUse, StageLimits},
};
use hippocrene_rlwe::Noise;

use crate::server::{
    Server,
    functions::{
        comparison::{Comparison, DEFAULT_GAP, Refreshed, WIDER_GAPS, centre},
        lines::{Lines, relabelled},
        tables::without_tables,
    },
    moves::broadcast::Copies,
    planner::{bootstrap::RefreshLimits, choose::Candidate},
    schemes::primitives::LinearMaps,
};
use crate::{Capacity, EncryptedArray, Error, Interval, Layout, Numbers, SlotContents};

/// Largest error of a selected element, as a share of the bound of the elements, without the noise.
/// Chosen.
const MAX_ERROR_OF_SELECTION: f64 = 1.0 / 512.0;

/// Largest error of a rank that is a result, without the noise. Chosen.
const MAX_ERROR_OF_RANKS: f64 = 1.0 / 32.0;

/// Largest error of a rank that is compared with whole numbers. Chosen: a larger one allows a less
/// precise first comparison, and makes the gap of the second one narrower.
const MAX_ERROR_OF_RANKS_WITHIN: f64 = 1.0 / 16.0;

/// Standard deviation of the noise of a rank. Chosen: a comparison with whole numbers tolerates a
/// little more.
const NOISE_OF_RANKS: f64 = 1.0 / 768.0;

/// Standard deviation of the noise that the comparisons with whole numbers add to a selected
/// element, as a share of the bound of the elements. Chosen.
const NOISE_OF_SELECTION: f64 = 1.0 / 3072.0;

/// Tolerance of a simulation for the declared distance, as a share of it: for the rounding of
/// values that are equal, or at the distance. Chosen.
const DISTANCE_TOLERANCE: f64 = 1.0 / 1_048_576.0;

/// Stages are planned with this many bits less than a bootstrap allows, since scales differ from
/// the plan by half a bit in each product. Chosen.
const STAGE_MARGIN_BITS: f64 = 2.0;

/// Step of the capacity for which stages are planned, in bits, so that similar arrays share a plan.
/// Chosen.
const FIRST_BITS_STEP: f64 = 4.0;

/// Names of the candidates with short stages. Each one assumes that bootstraps are more precise
/// than planned by one bit more than the one before, and is refused if they are not.
const SHORT_STAGES: [&str; 4] = [
    "polynomials in short stages",
    "polynomials in short stages for bootstraps with 1 more bit",
    "polynomials in short stages for bootstraps with 2 more bits",
    "polynomials in short stages for bootstraps with 3 more bits",
];

/// Moved elements have this many bits more precision than the comparison needs. Chosen.
const EXTRA_BITS_OF_MOVES: f64 = 4.0;

/// Products with elements have this many bits more precision than the selection. Chosen.
const EXTRA_BITS_OF_PRODUCTS: f64 = 6.0;

/// Bits of capacity that are kept for these products besides those of their scales: for scales that
/// differ by half a bit, and for bringing operands to one modulus. Chosen.
const MARGIN_BITS_OF_PRODUCTS: f64 = 4.0;

/// How the elements of a line are ordered if they are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum EqualElements {
    /// The element with the lower index has the lower rank.
    Rising,
    /// The element with the lower index has the higher rank.
    Falling,
}

/// The result of ordering the elements of a line.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::server) enum Ordered {
    /// The rank of every element.
    Ranks,
    /// The elements of these ranks.
    Elements(Vec<usize>),
    /// For each entry, an element and a share of the next one: its rank, and the weight of the next
    /// rank.
    Between(Vec<(usize, f64)>),
    /// The places of the elements of these ranks.
    Places(Vec<usize>, EqualElements),
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

/// The layouts of an array whose lines along an axis are compared with themselves.
struct Pairs {
    axis: usize,
    /// The number of elements of a line.
    length: usize,
    /// The number of rows that are compared. It is a power of two if all rows fit a ciphertext.
    rows: usize,
    /// The distance of rows, in slots. It is a power of two.
    stride: usize,
    shape: Vec<usize>,
    strides: Vec<usize>,
    slots: usize,
}

impl Pairs {
    fn of(a: &EncryptedArray, axis: usize) -> Self {
        let (layout, length) = (a.layout(), a.shape()[axis]);
        let (slots, stride) = (layout.slots(), (layout.last() + 1).next_power_of_two());
        let padded = length.next_power_of_two();
        let rows = if stride * padded <= slots { padded } else { length };
        let (shape, strides) = (layout.shape().to_vec(), layout.strides().to_vec());
        Pairs { axis, length, rows, stride, shape, strides, slots }
    }

    /// Returns the number of times that all rows fit a ciphertext.
    fn copies(&self) -> usize {
        (self.slots / (self.stride * self.rows).min(self.slots)).max(1)
    }

    /// Returns the layout of this many rows.
    fn layout(&self, rows: usize) -> Result<Layout, Error> {
        let shape = [&[rows], &self.shape[..]].concat();
        Layout::new(shape, [&[self.stride], &self.strides[..]].concat(), self.slots)
    }

    /// Returns the layout of all rows with all of their copies.
    fn layout_of_copies(&self) -> Result<Layout, Error> {
        let shape = [&[self.copies(), self.rows], &self.shape[..]].concat();
        let strides = [&[self.stride * self.rows, self.stride], &self.strides[..]].concat();
        Layout::new(shape, strides, self.slots)
    }

    /// True if ranks are repeated in all rows of all copies, and rows lie in one ciphertext.
    fn repeats(&self, ranks: &EncryptedArray) -> bool {
        let periods = ranks.slot_contents().period();
        self.stride * self.rows <= self.slots
            && self.rows.is_power_of_two()
            && periods.is_some_and(|period| self.stride.is_multiple_of(period))
    }

    /// Returns the layout in which every element is in the row of its place.
    fn layout_by_place(&self) -> Result<Layout, Error> {
        let mut shape = [&[self.length], &self.shape[..]].concat();
        shape[self.axis + 1] = 1;
        let strides = [&[self.strides[self.axis]], &self.strides[..]].concat();
        Layout::new(shape, strides, self.slots)
    }

    /// Returns the place of each element in its line, in row-major order.
    fn places(&self) -> impl Iterator<Item = usize> + '_ {
        let (size, inner): (usize, usize) =
            (self.shape.iter().product(), self.shape[self.axis + 1..].iter().product());
        (0..size).map(move |i| i / inner % self.length)
    }
}

/// The ranks of elements, and how their pairs were laid out.
struct Ranked {
    ranks: EncryptedArray,
    pairs: Pairs,
}

impl Server {
    /// Returns the rank of each element along an axis, or among all elements, counted from 0.
    ///
    /// The rank of an element is the number of elements before it in rising order, and equal
    /// elements are ordered by their places. So ranks are the `argsort` of the `argsort` in numpy.
    /// Without an axis, the ranks have the shape of `a`.
    ///
    /// All pairs of elements are compared at once, so a line may have at most as many elements as
    /// the square root of the number of slots. Look-up keys are not used.
    ///
    /// **Error:** at most 1/32, besides the noise ([`EncryptedArray::precision_bits`] includes
    /// both). Two elements are in order if they differ by at least [`Server::order_gap`], or if
    /// they are equal. Between elements that are closer, ranks may lie anywhere between the ranks
    /// that both orders give.
    ///
    /// # Errors
    /// As [`Server::sort`].
    pub fn rank(&self, a: &EncryptedArray, axis: Option<usize>) -> Result<EncryptedArray, Error> {
        let lines = Lines::of(a.shape(), axis, "rank")?;
        self.check_real(a, lines.operation)?;
        if lines.length == 1 || a.interval().width() == 0.0 {
            let zeros = self.mul_number(a, 0.0).map_err(|e| e.during(lines.operation))?;
            let places = lines.places_of_elements();
            return self.add_plain(&zeros, &places[..]).map_err(|e| e.during(lines.operation));
        }
        self.check_length(&lines)?;
        self.by_pairs(a, &lines, &Ordered::Ranks)
    }

    /// Returns the distance from which on two elements of `a` are in order if all pairs are
    /// compared.
    ///
    /// It is about a 128th of the width of the interval of the elements, or of twice their bound if
    /// the array has stray slots. It is wider by a factor of 2, 4 or 8 if the elements are not
    /// precise enough for that.
    ///
    /// # Errors
    /// As [`Server::rank`].
    pub fn order_gap(&self, a: &EncryptedArray) -> Result<f64, Error> {
        const OPERATION: &str = "gap of an order";
        self.check_real(a, OPERATION)?;
        let form = self.form_of(&[a]);
        Ok(2.0 * self.half_gap(a, &form, MAX_ERROR_OF_RANKS, NOISE_OF_RANKS, OPERATION)?.0)
    }

    /// Orders the lines without look-up tables, or returns `None` on servers that have them.
    ///
    /// All pairs are compared if a distance of the elements is declared. Otherwise comparators are
    /// used, which are never wrong by more than their error, and tables are not either.
    pub(in crate::server) fn in_order_without_tables(
        &self,
        a: &EncryptedArray,
        lines: &Lines,
        ordered: &Ordered,
    ) -> Result<Option<EncryptedArray>, Error> {
        if self.pegasus.is_some() {
            return Ok(None);
        }
        if let Ordered::Elements(ranks) = ordered
            && self.orders_by_comparators()
        {
            return self.by_comparators(a, lines, ranks).map(Some);
        }
        self.check_length(lines)?;
        self.check_distances(a, lines, ordered)?;
        self.by_pairs(a, lines, ordered).map(Some)
    }

    /// Checks that a distance of the elements is declared, and in a simulation, which knows the
    /// elements, that it is right.
    fn check_distances(
        &self,
        a: &EncryptedArray,
        lines: &Lines,
        ordered: &Ordered,
    ) -> Result<(), Error> {
        let Some(distance) = self.policy.distance else {
            // Without the keys for it, a declaration would not help.
            self.check_pairs(a, lines, ordered)?;
            let what = "without look-up tables, places are only found if values are equal or \
                        differ by a known distance. Declare it (Server::with_distance), or make \
                        evaluation keys with tables (KeyRequest::look_ups).";
            return Err(Error::argument(lines.operation, what));
        };
        let values: Option<Vec<f64>> = self.known_elements(a).into_iter().collect();
        let Some(values) = values else { return Ok(()) };
        let (equal, apart) = (DISTANCE_TOLERANCE * distance, (1.0 - DISTANCE_TOLERANCE) * distance);
        for line in lines.all() {
            let mut sorted: Vec<f64> = line.iter().map(|i| values[*i]).collect();
            sorted.sort_by(f64::total_cmp);
            let is_close = |pair: &&[f64]| (equal..apart).contains(&(pair[1] - pair[0]));
            if let Some(pair) = sorted.windows(2).find(is_close) {
                let what = format!(
                    "the values {} and {} differ by less than the declared distance of {}. \
                     Declare a smaller one, or use keys with look-up tables.",
                    Short(pair[0]),
                    Short(pair[1]),
                    Short(distance)
                );
                return Err(Error::argument(lines.operation, what));
            }
        }
        Ok(())
    }

    /// Checks that all pairs of elements of a line fit one ciphertext.
    fn check_length(&self, lines: &Lines) -> Result<(), Error> {
        let most = self.session.slots().isqrt();
        if lines.length <= most {
            return Ok(());
        }
        let what = format!(
            "lines of {} values: all pairs of at most {most} values can be compared. Reshape the \
             array to shorter lines, or make evaluation keys with look-up tables \
             (KeyRequest::look_ups).",
            lines.length
        );
        Err(Error::argument(lines.operation, what))
    }

    /// Orders the lines by comparing all pairs. The first axis of the result counts the results of
    /// a line, and the others are those without the axis of the lines.
    fn by_pairs(
        &self,
        a: &EncryptedArray,
        lines: &Lines,
        ordered: &Ordered,
    ) -> Result<EncryptedArray, Error> {
        self.check_real(a, lines.operation)?;
        let pairs = Candidate::new("all pairs", |server: &Server, [a]: [&EncryptedArray; 1]| {
            server.ordered(a, lines, ordered)
        });
        let arguments = format!("{:?} {ordered:?}", lines.axis);
        let result = self.perform_by_arguments(lines.operation, &arguments, [a], &[pairs]);
        result.map_err(|error| self.without_keys(error, lines, ordered))
    }

    /// Checks on a dry run that all pairs can be compared.
    fn check_pairs(
        &self,
        a: &EncryptedArray,
        lines: &Lines,
        ordered: &Ordered,
    ) -> Result<(), Error> {
        self.check_real(a, lines.operation)?;
        let pairs = Candidate::new("all pairs", |server: &Server, [a]: [&EncryptedArray; 1]| {
            server.ordered(a, lines, ordered)
        });
        let checked = self.check_candidate(lines.operation, &pairs, [a]);
        checked.map_err(|error| self.without_keys(error, lines, ordered))
    }

    /// Returns the error of a comparison of all pairs. If the server lacks keys for it, the error
    /// names them.
    fn without_keys(&self, error: Error, lines: &Lines, ordered: &Ordered) -> Error {
        match ordered {
            _ if !self.lacks_ways_of_order(&error) => {
                self.about_distance(error.during(lines.operation), lines)
            }
            Ordered::Ranks => Error::NoKeys {
                operation: lines.operation,
                what: "this server has no bootstrapping keys. Make evaluation keys with them \
                       (KeyRequest::bootstrapping)."
                    .into(),
            },
            _ => without_tables(lines.operation),
        }
    }

    /// True if an order failed with this error because the server has neither bootstraps nor tables.
    pub(in crate::server) fn lacks_ways_of_order(&self, error: &Error) -> bool {
        let is_missing = matches!(error, Error::Capacity { .. } | Error::MissingKey { .. });
        is_missing && self.bootstraps.is_none() && self.pegasus.is_none()
    }

    /// Returns an error of a part of an order, with the declared distance on which it may depend.
    fn about_distance(&self, error: Error, lines: &Lines) -> Error {
        match (error, self.policy.distance) {
            (Error::Capacity { source, .. }, Some(distance)) => {
                let advice = format!(
                    "Declare a larger distance of the values than {}, or take a preset with a \
                     larger modulus",
                    Short(distance)
                );
                Error::Capacity { source, advice }
            }
            (Error::Argument { operation, what }, Some(distance))
                if operation != lines.operation =>
            {
                let what = format!(
                    "at the declared distance of {}, {operation} fails: {what}. A larger distance \
                     needs less precision.",
                    Short(distance)
                );
                Error::argument(lines.operation, what)
            }
            (error, _) => error,
        }
    }

    fn ordered(
        &self,
        a: &EncryptedArray,
        lines: &Lines,
        ordered: &Ordered,
    ) -> Result<EncryptedArray, Error> {
        let operation = lines.operation;
        let form = self.form_of(&[a]);
        // Subtracting the centre reduces the bound of the differences only if it is narrower.
        let middle = if a.interval().width() < a.bound() { centre(&[a]) } else { 0.0 };
        let mut x = self.plus_constant(a, -middle, operation)?;
        let axis = match lines.axis {
            Some(axis) => axis,
            None => {
                x = self.gather(&[&x], &[x.size()], &(0..x.size()).collect::<Vec<_>>())?;
                0
            }
        };
        let packed = Layout::packed(x.shape(), self.session.slots())?;
        if (x.layout().last() + 1).next_power_of_two() > (packed.last() + 1).next_power_of_two() {
            x = self.relayout(&x, packed)?;
        }
        let equal = match ordered {
            Ordered::Places(_, equal) => *equal,
            _ => EqualElements::Rising,
        };
        if *ordered == Ordered::Ranks {
            let ranked = self.ranks(&x, axis, equal, MAX_ERROR_OF_RANKS, operation)?;
            let mut ranks = self.with_added_error(&ranked.ranks, MAX_ERROR_OF_RANKS, operation)?;
            if ranks.shape() != a.shape() {
                let all: Vec<usize> = (0..a.size()).collect();
                ranks = self.gather(&[&ranks], a.shape(), &all)?;
            }
            return Ok(restored(ranks, &form));
        }
        let combined = Combined::of(ordered, lines.length);
        let ranked = self.ranks(&x, axis, equal, MAX_ERROR_OF_RANKS_WITHIN, operation)?;
        let is_of_places = matches!(ordered, Ordered::Places(..));
        // Places are centred, which halves their bound.
        let bound = if is_of_places { 0.5 * (lines.length as f64 - 1.0) } else { x.bound() };
        let error = MAX_ERROR_OF_SELECTION * bound;
        // The encoded places are rounded at the scale of the products.
        let extra_bits = if is_of_places { (lines.length as f64).log2() } else { 0.0 };
        let bits = EXTRA_BITS_OF_PRODUCTS + extra_bits - error.log2();
        let coarse = self.at_most_precision(bits, &form);
        let product_bits = form.computed_by(&coarse).product_bits(&coarse);
        let are_all = combined.are_all(lines.length) && ranked.pairs.repeats(&ranked.ranks);
        let factors = match are_all {
            // A result is the sum of one product that is not 0 and many that are.
            true => {
                let growth = (2.0 * bound).log2().max(0.0);
                let remaining_bits = product_bits + growth + MARGIN_BITS_OF_PRODUCTS;
                self.selectors(&ranked, remaining_bits, operation)?
            }
            // The steps are multiplied twice, and the sum grows by the number of its summands.
            false => {
                let growth = (lines.length as f64).log2();
                let remaining_bits = 2.0 * product_bits + growth + MARGIN_BITS_OF_PRODUCTS;
                self.rank_steps(&ranked, &combined.thresholds, remaining_bits, operation)?
            }
        };
        let (low, high) = match is_of_places {
            true => (-bound, bound),
            false => (x.interval().low(), x.interval().high()),
        };
        let values = Interval::new(low - error, high + error).unwrap_or(Interval::EVERYTHING);
        let results = |server: &Server, sums: EncryptedArray| {
            let results = match are_all {
                true => first_rows(sums, lines.length)?,
                false => combined.of_sums(server, sums, operation)?,
            };
            let results = server.with_added_error(&results, error, operation)?;
            Ok(results.with_known_interval(values))
        };
        // On the way, no product has to keep enough capacity for a bootstrap, since only the
        // results are used further.
        let last = |server: &Server| server.at_most_precision(bits, &form).finishing();
        let out = match is_of_places {
            true => {
                let run = |server: &Server, [factors]: [&EncryptedArray; 1]| {
                    let server = &last(server);
                    let centred = ranked.pairs.places().map(|place| place as f64 - bound);
                    let rows = factors.shape()[0];
                    let centred = centred.collect::<Vec<_>>().repeat(rows);
                    let products = server.mul_plain(factors, &centred[..])?;
                    let mut sums = server.sum(&products, Some(axis + 1))?;
                    if are_all {
                        sums.set_bound(2.0 * (bound + error));
                    }
                    results(server, sums)
                };
                let candidates = [Candidate::new("sums of products", run)];
                self.perform(operation, [&factors], f64::INFINITY, &candidates)?
            }
            false => {
                let run = |server: &Server, [factors, x]: [&EncryptedArray; 2]| {
                    let server = &last(server);
                    let rows = server.insert_axis(x, 0)?;
                    let rows = server.repeated_as(&rows, factors.layout(), Copies::One)?;
                    let products = server.mul(factors, &rows)?;
                    let mut sums = server.sum(&products, Some(axis + 1))?;
                    // The elements that are added up in a slot are those of at most two lines.
                    if are_all && x.is_clean() {
                        sums.set_bound(2.0 * (bound + error));
                    }
                    results(server, sums)
                };
                let candidates = [Candidate::new("sums of products", run)];
                self.perform(operation, [&factors, &x], f64::INFINITY, &candidates)?
            }
        };
        let centre = if is_of_places { bound } else { middle };
        Ok(restored(self.plus_constant(&out, centre, operation)?, &form))
    }

    /// Returns the ranks of all elements in their lines. Besides the noise, their error is at most
    /// `error`, which the estimate of their precision does not include.
    fn ranks(
        &self,
        x: &EncryptedArray,
        axis: usize,
        equal: EqualElements,
        error: f64,
        operation: &'static str,
    ) -> Result<Ranked, Error> {
        let (pairs, form) = (Pairs::of(x, axis), self.form_of(&[x]));
        let per_pair = 2.0 * error / pairs.rows as f64;
        // A rank is half the sum of this number of signs.
        let noise_std = 2.0 * NOISE_OF_RANKS / (pairs.rows as f64).sqrt();
        let (gap, plan) = self.half_gap(x, &form, per_pair, noise_std, operation)?;
        let bits = plan.argument_precision() + EXTRA_BITS_OF_MOVES;
        let coarse = self.at_most_precision(bits, &form);
        let row = coarse.repeated_as(
            &self.insert_axis(x, 0)?,
            &pairs.layout(pairs.rows)?,
            Copies::One,
        )?;
        let by_place = x.clone().with_layout(pairs.layout_by_place()?);
        let mut column =
            coarse.repeated_as(&by_place, &pairs.layout(pairs.length)?, Copies::One)?;
        if pairs.rows > pairs.length {
            column = self.cleaned(&column)?.with_layout(pairs.layout(pairs.rows)?);
        }
        let tiled = match pairs.copies() {
            1 => None,
            _ => coarse.tiled(&row, &pairs)?.zip(coarse.tiled(&column, &pairs)?),
        };
        let is_tiled = tiled.is_some();
        let (row, column) = tiled.unwrap_or((row, column));
        let mut difference = coarse.sub(&row, &column)?;
        difference.set_bound(bound_of_differences(x));
        // Rows without an element lie above all elements.
        let highest = x.interval().high();
        let shift = |row: usize, place: usize| {
            let is_before = match equal {
                EqualElements::Rising => row < place,
                EqualElements::Falling => row > place,
            };
            match row < pairs.length {
                true if is_before => gap,
                true => -gap,
                false => -gap - highest,
            }
        };
        let places: Vec<usize> = pairs.places().collect();
        let rows = (0..pairs.rows).flat_map(|row| places.iter().map(move |place| (row, *place)));
        let shifts: Vec<f64> = rows.map(|(row, place)| shift(row, place)).collect();
        let copies = difference.size() / shifts.len();
        let mut shifted = self.add_plain(&difference, &shifts.repeat(copies)[..])?;
        shifted.set_bound(plan.literal().bound);
        let how = Comparison {
            gap: Some(gap),
            precision: Some(plan.literal().precision),
            ..Comparison::default()
        };
        let mut before = self.steps(&shifted, how, Some(noise_std), 0.0, operation)?;
        if is_tiled {
            let period = Some(pairs.stride * pairs.rows);
            before = before
                .with_layout(pairs.layout(pairs.rows)?)
                .with_slot_contents(SlotContents::repeating(period, false));
        }
        let mut ranks = self.sum(&before, Some(0))?;
        ranks.set_bound(bound_of_ranks(&pairs));
        let most = pairs.length as f64 - 1.0 + error;
        let ranks =
            ranks.with_known_interval(Interval::new(-error, most).unwrap_or(Interval::EVERYTHING));
        Ok(Ranked { ranks, pairs })
    }

    /// Returns the rows with copies that fill the ciphertext, or `None` if slots without an element
    /// are neither zero nor copies.
    fn tiled(&self, rows: &EncryptedArray, pairs: &Pairs) -> Result<Option<EncryptedArray>, Error> {
        let all = pairs.layout_of_copies()?;
        let period = pairs.stride * pairs.rows;
        if rows.slot_contents().period().is_some_and(|own| period.is_multiple_of(own)) {
            return Ok(Some(rows.clone().with_layout(all)));
        }
        if !rows.is_clean() {
            return Ok(None);
        }
        self.repeated_as(&self.insert_axis(rows, 0)?, &all, Copies::One).map(Some)
    }

    /// Returns 1 where the rank is at least a threshold and 0 elsewhere, with a row for each of the
    /// thresholds.
    fn rank_steps(
        &self,
        ranked: &Ranked,
        thresholds: &[usize],
        remaining_bits: f64,
        operation: &'static str,
    ) -> Result<EncryptedArray, Error> {
        let Ranked { ranks, pairs } = ranked;
        let layout = pairs.layout(thresholds.len())?;
        let rows = self.repeated_as(&self.insert_axis(ranks, 0)?, &layout, Copies::One)?;
        let middles = thresholds.iter().map(|threshold| 0.5 - *threshold as f64);
        let middles: Vec<f64> = middles.flat_map(|middle| vec![middle; ranks.size()]).collect();
        let mut differences = self.add_plain(&rows, &middles[..])?;
        differences.set_bound(bound_of_ranks(pairs));
        self.compared_ranks(&differences, pairs, remaining_bits, operation)
    }

    /// Returns 1 where the rank is the number of the row and 0 elsewhere, with a row for each rank.
    ///
    /// This is the difference of two steps. Row `k` of the steps is 1 where the rank is at least
    /// `k + 1`, and the row before holds the same for `k`. All ranks are at least 0, so row 0 takes
    /// the difference from 1. The row before it is the last one of the ciphertext, which is 0.
    fn selectors(
        &self,
        ranked: &Ranked,
        remaining_bits: f64,
        operation: &'static str,
    ) -> Result<EncryptedArray, Error> {
        let Ranked { ranks, pairs } = ranked;
        let all = pairs.layout_of_copies()?;
        let copies = self.insert_axis(&self.insert_axis(ranks, 0)?, 0)?;
        let rows = self.repeated_as(&copies, &all, Copies::One)?;
        let middles = (0..pairs.rows).map(|row| -0.5 - row.min(pairs.length - 1) as f64);
        let middles: Vec<f64> = middles.flat_map(|middle| vec![middle; ranks.size()]).collect();
        let mut differences = self.add_plain(&rows, &middles.repeat(pairs.copies())[..])?;
        differences.set_bound(bound_of_ranks(pairs));
        let steps = self.compared_ranks(&differences, pairs, remaining_bits, operation)?;
        let steps = steps.with_layout(pairs.layout(pairs.rows)?);
        let before = self.map_as_it_is(&steps, operation, false, |form, x| {
            form.rotate(self, x, -(pairs.stride as i64))
        })?;
        let mut first = vec![0.0; steps.size()];
        first[..ranks.size()].fill(1.0);
        let mut selectors = self.add_plain(&self.sub(&before, &steps)?, &first[..])?;
        // Every slot holds a difference of two steps, each as far outside of 0 to 1 as the bound
        // says.
        selectors.set_bound(2.0 * steps.bound() - 1.0);
        Ok(selectors)
    }

    /// Returns 1 for positive differences of ranks from the middles between whole numbers, and 0
    /// for negative ones.
    fn compared_ranks(
        &self,
        differences: &EncryptedArray,
        pairs: &Pairs,
        remaining_bits: f64,
        operation: &'static str,
    ) -> Result<EncryptedArray, Error> {
        let how = comparison_of_ranks(pairs.length);
        // A result is the sum of this number of products with the difference of two steps.
        let noise_std = 2.0 * NOISE_OF_SELECTION / (2.0 * pairs.length as f64).sqrt();
        self.steps(differences, how, Some(noise_std), remaining_bits, operation)
    }

    /// Returns 1 for positive slots and 0 for negative ones, by polynomials, with `remaining_bits`
    /// bits of capacity for further use if possible.
    ///
    /// The stages of the plan may use all of the capacity, or only as much as a bootstrap restores.
    /// The noise of a step may have the standard deviation `noise_std`. By default, it is small
    /// compared with the precision of `how`.
    pub(in crate::server) fn steps(
        &self,
        a: &EncryptedArray,
        how: Comparison,
        noise_std: Option<f64>,
        remaining_bits: f64,
        operation: &'static str,
    ) -> Result<EncryptedArray, Error> {
        let run = |limits: Option<RefreshLimits>, refreshed: Refreshed| {
            move |server: &Server, [a]: [&EncryptedArray; 1]| {
                let form = server.form_of(&[a]);
                let limits = limits.map(|limits| server.stage_limits(&[a], limits, remaining_bits));
                let used = SignUse { limits, noise_std, ..SignUse::default() };
                let plan = server.plan_for(&form, a.bound(), how, used, operation)?;
                let refresh = server.refresh_if(refreshed, &form, &[a.layout()])?;
                let remaining_bits = remaining_bits + server.finer_reserve(refreshed);
                server.map_as_it_is(a, operation, false, |_, x| {
                    Ok(server.evaluator.step_leaving(x, &plan, remaining_bits, &*refresh)?)
                })
            }
        };
        let any = Candidate::new("polynomials", run(None, Refreshed::OnTheWay));
        let at_once = run(None, Refreshed::Never);
        let at_once = Candidate::new("polynomials without bootstraps", at_once).otherwise(5);
        let mut candidates = vec![any, at_once];
        let used = SignUse { noise_std, ..SignUse::default() };
        let plan = self.plan_for(&self.form_of(&[a]), a.bound(), how, used, operation)?;
        let have = a.capacity_bits(&self.session) - STAGE_MARGIN_BITS;
        let need = plan.bits() + remaining_bits + self.bootstrap_reserve().unwrap_or(0.0);
        // Short stages are tried only if they may save a bootstrap.
        let tier_of_short = usize::from(have >= need);
        if let Some(limits) = self.coarse_limits() {
            let coarse = run(Some(limits), Refreshed::Coarsely);
            let coarse = Candidate::new("polynomials with coarse bootstraps", coarse);
            candidates.push(coarse.otherwise(tier_of_short));
        }
        if let Some(limits) = self.refresh_limits() {
            for (i, name) in SHORT_STAGES.into_iter().enumerate() {
                let limits = RefreshLimits { precision: limits.precision + i as f64, ..limits };
                let short = Candidate::new(name, run(Some(limits), Refreshed::OnTheWay));
                let tier = if i == 0 { tier_of_short } else { 1 + i };
                candidates.push(short.otherwise(tier));
            }
        }
        self.perform(operation, [a], f64::INFINITY, &candidates)
    }

    /// Returns half the gap of a comparison of all pairs, and its plan, with an error of at most
    /// `error` for each pair, besides its noise.
    fn half_gap(
        &self,
        x: &EncryptedArray,
        form: &Numbers,
        error: f64,
        noise_std: f64,
        operation: &'static str,
    ) -> Result<(f64, SignPlan), Error> {
        let bound = bound_of_differences(x);
        let precision = Some((-error.log2()).ceil().clamp(4.0, 40.0));
        // The error of a difference of two independent elements.
        let noise = Noise::from_log2_std(-x.precision_bits(&self.session));
        let have = -noise.plus(noise).log2_std() - 0.25;
        let default = |times: f64| times * DEFAULT_GAP / (1.0 - times * DEFAULT_GAP) * bound;
        let gaps = match self.policy.distance {
            Some(distance) => vec![(0.5 * distance).min(0.25 * bound)],
            None => [1.0].into_iter().chain(WIDER_GAPS).map(default).collect(),
        };
        let mut found = None;
        for gap in gaps {
            let how = Comparison { gap: Some(gap), precision, ..Comparison::default() };
            let used = SignUse { noise_std: Some(noise_std), ..SignUse::default() };
            let plan = self.plan_for(form, bound + gap, how, used, operation)?;
            let is_enough = plan.argument_precision() <= have;
            if !is_enough && let Some(distance) = self.policy.distance {
                let what = format!(
                    "values with a precision of {have:.1} bits cannot be told apart at the \
                     declared distance of {}, which takes {:.1} bits. Encrypt with a higher \
                     precision, or use keys with look-up tables.",
                    Short(distance),
                    plan.argument_precision()
                );
                return Err(Error::argument(operation, what));
            }
            found = Some((gap, plan));
            if is_enough {
                break;
            }
        }
        found.ok_or_else(|| Error::Internal("no gap of an order".into()))
    }

    /// Returns the limits of the stages of a comparison of these operands with these bootstraps.
    pub(in crate::server) fn stage_limits(
        &self,
        operands: &[&EncryptedArray],
        limits: RefreshLimits,
        remaining_bits: f64,
    ) -> StageLimits {
        let RefreshLimits { precision, reserve, max_capacity } = limits;
        let least = |a: &&EncryptedArray| a.capacity_bits(&self.session);
        let least = operands.iter().map(least).fold(f64::INFINITY, f64::min);
        let have = least - reserve - STAGE_MARGIN_BITS;
        let finer = self.bootstrap_reserve().unwrap_or(0.0) - reserve;
        StageLimits {
            first_bits: (have / FIRST_BITS_STEP).floor().max(0.0) * FIRST_BITS_STEP,
            bits: max_capacity - reserve - STAGE_MARGIN_BITS,
            least_remaining_bits: finer,
            remaining_bits: remaining_bits + finer,
            refresh_std: (-precision).exp2(),
        }
    }

    /// Returns the reserve of a bootstrap minus that of bootstraps on the way, in bits.
    fn finer_reserve(&self, refreshed: Refreshed) -> f64 {
        match (refreshed, self.refresh_limits(), self.coarse_limits()) {
            (Refreshed::Coarsely, Some(limits), Some(coarse)) => limits.reserve - coarse.reserve,
            _ => 0.0,
        }
    }

    /// Returns this server with a precision of at most `bits`.
    fn at_most_precision(&self, bits: f64, form: &Numbers) -> Server {
        // If the parameters allow no such scale, the precision stays as it is.
        self.with_precision(bits.min(form.precision)).unwrap_or_else(|_| self.clone())
    }
}

/// Returns the first entries along the first axis, in the same slots.
fn first_rows(a: EncryptedArray, count: usize) -> Result<EncryptedArray, Error> {
    let shape = [&[count], &a.shape()[1..]].concat();
    let strides = a.layout().strides().to_vec();
    relabelled(a, shape, strides)
}

/// Returns the bound of the differences of two elements, in all slots.
fn bound_of_differences(x: &EncryptedArray) -> f64 {
    match x.has_strays() {
        true => 2.0 * x.bound(),
        // Other slots hold the difference of an element and 0, or of two elements. The bound of
        // centred elements is at most the width.
        false => x.interval().width(),
    }
}

/// Returns the bound of ranks and of their differences from whole numbers, in all slots.
fn bound_of_ranks(pairs: &Pairs) -> f64 {
    // In slots without an element, all rows may count.
    pairs.rows as f64 + 2.0 * MAX_ERROR_OF_RANKS_WITHIN
}

/// Returns the comparison of ranks with the middles between whole numbers.
fn comparison_of_ranks(length: usize) -> Comparison {
    let error = MAX_ERROR_OF_SELECTION / length as f64;
    let gap = Some(0.5 - MAX_ERROR_OF_RANKS_WITHIN);
    Comparison { gap, precision: Some(-error.log2()), ..Comparison::default() }
}

/// Returns the array with the precision that results of the operation have.
fn restored(a: EncryptedArray, form: &Numbers) -> EncryptedArray {
    let own = *a.form();
    a.with_form(Numbers { precision: form.precision, ..own })
}
