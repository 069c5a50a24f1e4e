//! Order by comparing all pairs of elements in one comparison (Mazzone et al., "Efficient ranking,
//! order statistics, and sorting under CKKS", USENIX Security 2025).
//!
//! A line of `n` elements is laid out as rows and columns of `n^2` slots. One comparison of the
//! differences `x_i - x_j` says for each pair whether `x_j` comes before `x_i`. The sum over `j` is
//! the rank of `x_i`.
//!
//! Other comparisons find the elements of wanted ranks ([`selection`]). The pairs of long lines
//! take several ciphertexts, and are then compared by [`blocks`].
//!
//! # Capacity
//! A comparison with bootstraps on the way has as few of them as possible
//! ([`hippocrene_ckks::circuits::comparison::SignPlan::new_for`]). They may be less precise than
//! others, since the stages of a sign tolerate much larger errors, and then leave more capacity.
//! The noise of signs may be larger than their other errors, because only sums of them are used.
//!
//! # Equal and close elements
//! The step of the first comparison is moved by half the gap to the side of negative differences if
//! `j < i`, and to the other side otherwise. So equal elements are ordered by their places, and
//! ranks are a permutation. Elements that are closer than the gap and not equal have ranks that are
//! no whole numbers. The results at the places of these elements would be wrong. So the caller
//! declares a distance of all unequal elements ([`Server::with_distance`]), which is the gap.
//!
//! # Errors
//! Let `e` and `f` be the errors of the signs in both comparisons, besides their noise. A rank has
//! an error of at most `n e/2`. If that is at most [`MAX_ERROR_OF_RANKS_WITHIN`], a result is wrong
//! by at most `n f` times the bound of the elements, and less with digits.

mod blocks;
mod pairs;
mod selection;
mod steps;

use hippocrene_ckks::Short;

use self::{
    pairs::{MAX_ERROR_OF_RANKS, MAX_ERROR_OF_RANKS_WITHIN, NOISE_OF_RANKS},
    selection::Selection,
};
use crate::server::{
    Server,
    functions::{
        comparison::centre, lines::Lines, order_by_comparators::comparators, tables::without_tables,
    },
    planner::choose::Candidate,
};
use crate::{EncryptedArray, Error, Layout, Numbers};

/// The maximum number of elements of a line whose pairs are compared. Chosen: twice as many would
/// take about half an hour.
const MAX_LENGTH: usize = 4096;

/// Tolerance of a simulation for the declared distance, as a share of it: for the rounding of
/// values that are equal, or at the distance. Chosen.
const DISTANCE_TOLERANCE: f64 = 1.0 / 1_048_576.0;

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

impl Server {
    /// Returns the rank of each element along an axis, or among all elements, counted from 0.
    ///
    /// The rank of an element is the number of elements before it in rising order, and equal
    /// elements are ordered by their places. So ranks are the `argsort` of the `argsort` in numpy.
    /// Without an axis, the ranks have the shape of `a`.
    ///
    /// All pairs of elements of a line are compared, so the time grows with the square of its
    /// length, which is at most 4,096. Look-up keys are not used.
    ///
    /// **Error:** at most 1/32, besides the noise ([`EncryptedArray::precision_bits`] includes
    /// both). Two elements are in order if they differ by at least [`Server::order_gap`], or if
    /// they are equal. Between elements that are closer, ranks may lie anywhere between the ranks
    /// that both orders give.
    ///
    /// # Errors
    /// As [`Server::sort`]. [`Error::Argument`] too if a line has more elements, or if the declared
    /// distance ([`Server::with_distance`]) is known to be wrong.
    pub fn rank(&self, a: &EncryptedArray, axis: Option<usize>) -> Result<EncryptedArray, Error> {
        let lines = Lines::of(a.shape(), axis, "rank")?;
        self.check_real(a, lines.operation)?;
        if lines.length == 1 || a.interval().width() == 0.0 {
            let zeros = self.mul_number(a, 0.0).map_err(|e| e.during(lines.operation))?;
            let places = lines.places_of_elements();
            return self.add_plain(&zeros, &places[..]).map_err(|e| e.during(lines.operation));
        }
        self.check_length(&lines)?;
        if self.policy.distance.is_some() {
            self.check_distances(a, &lines, &Ordered::Ranks)?;
        }
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
            && self.orders_by_comparators(lines)
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

    /// True if comparators put elements in order: without tables, if no distance is declared or
    /// lines are too long for a comparison of all pairs.
    pub(in crate::server) fn orders_by_comparators(&self, lines: &Lines) -> bool {
        let compares_pairs =
            self.policy.distance.is_some() && lines.length <= self.max_length_of_pairs();
        self.pegasus.is_none() && !compares_pairs
    }

    /// Returns the maximum number of elements of a line whose pairs are compared.
    fn max_length_of_pairs(&self) -> usize {
        MAX_LENGTH.min(self.session.slots())
    }

    /// Checks that a line is not too long for a comparison of all of its pairs.
    fn check_length(&self, lines: &Lines) -> Result<(), Error> {
        let most = self.max_length_of_pairs();
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
        let mut candidates = vec![all_pairs(lines, ordered)];
        match ordered {
            Ordered::Elements(ranks) => {
                candidates.push(comparators(lines, ranks).only_if_no_other());
            }
            Ordered::Between(between) => {
                let layers = |server: &Server, [a]: [&EncryptedArray; 1]| {
                    let shape = [&[between.len()], &lines.kept[..]].concat();
                    server.quantiles_by_comparators(a, lines, between, shape)
                };
                candidates.push(Candidate::new("comparators", layers).only_if_no_other());
            }
            Ordered::Ranks | Ordered::Places(..) => {}
        }
        let arguments = format!("{:?} {ordered:?}", lines.axis);
        let result = self.perform_by_arguments(lines.operation, &arguments, [a], &candidates);
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
        let checked = self.check_candidate(lines.operation, &all_pairs(lines, ordered), [a]);
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

    /// True if an order failed with this error because the server has neither bootstraps nor
    /// tables.
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
                    "a line of {} values at the declared distance of {} takes more precision than \
                     there is ({operation}: {what}). A preset with a larger modulus keeps more \
                     precision. Shorter lines and a larger distance need less.",
                    lines.length,
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
        if lines.length > self.session.slots().isqrt() && a.size() > lines.length {
            return self.ordered_line_by_line(a, lines, ordered);
        }
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
        let ranked = self.ranks(&x, axis, equal, MAX_ERROR_OF_RANKS_WITHIN, operation)?;
        let selection = Selection::new(&x, ordered, &ranked.pairs, &form, operation);
        let out = selection.results(self, &ranked)?;
        let centre = selection.centre_of_places().unwrap_or(middle);
        Ok(restored(self.plus_constant(&out, centre, operation)?, &form))
    }

    /// Orders one line after the other, as lines of this length take several ciphertexts each.
    fn ordered_line_by_line(
        &self,
        a: &EncryptedArray,
        lines: &Lines,
        ordered: &Ordered,
    ) -> Result<EncryptedArray, Error> {
        let of_line = |indices: &[usize]| {
            let line = self.gather(&[a], &[lines.length], indices)?;
            self.ordered(&line, &Lines::of(&[lines.length], Some(0), lines.operation)?, ordered)
        };
        let results = lines.all().map(of_line).collect::<Result<Vec<_>, Error>>()?;
        let results: Vec<&EncryptedArray> = results.iter().collect();
        if *ordered == Ordered::Ranks {
            let mut places = vec![0; a.size()];
            lines.order.iter().enumerate().for_each(|(place, index)| places[*index] = place);
            return self.gather(&results, a.shape(), &places);
        }
        let count = results.first().map_or(0, |results| results.size());
        let shape = [&[count], &lines.kept[..]].concat();
        let places: Vec<usize> = (0..count)
            .flat_map(|result| (0..results.len()).map(move |line| line * count + result))
            .collect();
        self.gather(&results, &shape, &places)
    }
}

/// Returns the candidate that orders lines by comparing all pairs.
fn all_pairs<'a>(lines: &'a Lines, ordered: &'a Ordered) -> Candidate<'a, Numbers, 1> {
    Candidate::new("all pairs", |server: &Server, [a]: [&EncryptedArray; 1]| {
        server.ordered(a, lines, ordered)
    })
}

/// Returns the array with the precision that results of the operation have.
fn restored(a: EncryptedArray, form: &Numbers) -> EncryptedArray {
    let own = *a.form();
    a.with_form(Numbers { precision: form.precision, ..own })
}
