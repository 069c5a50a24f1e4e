//! Weighted sums of selected elements, with plain weights.
//!
//! Examples are windows of an image times a kernel, and any other product with a plain matrix,
//! sparse or not.

use std::collections::HashMap;

use hippocrene_rlwe::stop;

use crate::server::{Server, moves::several_steps::products, planner::prices::Prices};
use crate::{Arithmetic, Array, Error, Interval, Layout, format_shape, server::ResultUse};

const OPERATION: &str = "linear combinations";

/// The wanted layout may cost up to this many times the least work of any layout.
const PRICE_OF_WANTED_LAYOUT: usize = 2;

/// Returns the factor that turns a computed sum of non-negative doubles into a bound of the exact
/// sum.
///
/// The sum has `terms` terms. Each addition has a relative error of at most half of `EPSILON`. The
/// same is assumed of the other steps of computing a bound from its logarithm, which 64 more units
/// of `EPSILON` cover.
pub(in crate::server) fn rounded(terms: usize) -> f64 {
    1.0 + (terms as f64 + 64.0) * f64::EPSILON
}

/// A candidate for computing all combinations, given by the layout of the linear map's result.
struct Way {
    layout: Layout,
    /// The groups whose partial sums are added up after the map, if there are any.
    groups: Option<Groups>,
}

/// Sums in two steps: the map computes partial sums, and rotations add these up.
///
/// A partial sum has the terms whose elements of `a` lie within `side` slots. The partial sums of
/// one element of the result are `side` slots apart, within `span` slots. They are the axis `axis`
/// of the map's result.
struct Groups {
    axis: usize,
    side: usize,
    span: usize,
}

impl Server {
    /// Returns the array of this shape whose elements are weighted sums of `terms` elements of `a`.
    ///
    /// For each term, `entries` has the place of the element among all elements of `a`, in
    /// row-major order, and the plain number that multiplies it. The terms of the first element of
    /// the result come first, then those of the second, and so on. An element of `a` may occur
    /// several times in a sum. The result is one multiplication deep.
    ///
    /// The layout of the result is the one that needs the least work among these:
    /// - The elements have the strides of the elements of `a` from which they are computed.
    /// - The elements lie row by row, as in a fresh array.
    /// - The elements lie side by side, in place of the many elements from which each is computed.
    ///
    /// A convolution needs one product with a plaintext for each element of its kernel. A sum of
    /// all elements needs one for each ciphertext.
    ///
    /// # Errors
    /// [`Error::Shape`] when `terms` is 0 or there are not `terms` entries for each element of the
    /// shape, [`Error::Argument`] when `a` has no element at a place, [`Error::Encode`] when a
    /// number is NaN, infinite or too large, [`Error::MissingKey`] when rotation keys are missing,
    /// and [`Error::Capacity`] or [`Error::Budget`] when no multiplication is left.
    pub fn linear_combinations<F: Arithmetic>(
        &self,
        a: &Array<F>,
        shape: &[usize],
        terms: usize,
        entries: impl Iterator<Item = (usize, F::Number)> + Clone,
    ) -> Result<Array<F>, Error> {
        let all = self.linear_combinations_within(a, shape, terms, entries, usize::MAX, None)?;
        all.ok_or_else(|| {
            Error::shape(
                OPERATION,
                format!("too many entries for shape {shape}", shape = format_shape(shape)),
            )
        })
    }

    /// Computes [`Server::linear_combinations`] if the work is below `most` products with
    /// plaintexts.
    ///
    /// Rotations count as the number of products that take as long. If the work is not below
    /// `most`, the result is `None`. If `strides` are given, the result gets them unless another
    /// layout needs less than half of the work. Arrays of one layout can be added and multiplied
    /// without a move.
    ///
    /// # Errors
    /// As [`Server::linear_combinations`].
    pub fn linear_combinations_within<F: Arithmetic>(
        &self,
        a: &Array<F>,
        shape: &[usize],
        terms: usize,
        entries: impl Iterator<Item = (usize, F::Number)> + Clone,
        most: usize,
        strides: Option<&[usize]>,
    ) -> Result<Option<Array<F>>, Error> {
        let sums = self.sums_within(a, shape, terms, entries.clone(), most, strides)?;
        Ok(sums.map(|sums| F::with_known_interval(sums, interval_of_sums(a, terms, entries))))
    }

    /// Computes [`Server::linear_combinations_within`], for callers that know the interval of the
    /// result.
    pub(in crate::server) fn sums_within<F: Arithmetic>(
        &self,
        a: &Array<F>,
        shape: &[usize],
        terms: usize,
        entries: impl Iterator<Item = (usize, F::Number)> + Clone,
        most: usize,
        strides: Option<&[usize]>,
    ) -> Result<Option<Array<F>>, Error> {
        self.check(a, OPERATION)?;
        if terms == 0 {
            let what = format!(
                "0 terms for each element of shape {shape}: one or more are needed",
                shape = format_shape(shape)
            );
            return Err(Error::shape(OPERATION, what));
        }
        let slots = F::slots(&self.session);
        let size = shape.iter().fold(1usize, |size, length| size.saturating_mul(*length));
        let packed = Layout::filled(shape, slots, size, OPERATION)?;
        let positions: Vec<usize> = a.layout().positions().collect();
        let have = entries.clone().count();
        let need = packed.size().saturating_mul(terms);
        if have != need {
            let what = format!(
                "{have} entries for shape {shape}, {need} are needed: {terms} for each element",
                shape = format_shape(shape)
            );
            return Err(Error::shape(OPERATION, what));
        }
        let (firsts, largest) = examined::<F>(&positions, terms, entries.clone())?;
        let positions = &positions;
        let numbered =
            entries.enumerate().map(|(i, (place, weight))| (i / terms, positions[place], weight));
        let reach = (a.layout().last() + 1).next_power_of_two().min(slots);
        let usual = packed.ciphertexts().max(a.layout().ciphertexts());
        // Entries with weight 0 count too, so that the layout does not depend on the numbers.
        // Another product of these elements may have its zeros elsewhere.
        let prices = self.prices(a)?;
        let best = |strides: &[Vec<usize>], most: usize| -> Result<(Option<Way>, usize), Error> {
            let (mut way, mut least) = (None, most);
            for other in strides.iter().flat_map(|strides| ways(shape, strides, reach, slots)) {
                stop::check(OPERATION)?;
                let ciphertexts = other.layout.ciphertexts();
                let more = prices.ciphertext.saturating_mul(ciphertexts.saturating_sub(usual));
                let sums = other.sums(&prices).saturating_add(more);
                let pairs = other.entries(numbered.clone()).map(|(to, from, _)| (to, from));
                let products = products::<F>(slots, pairs, least.saturating_sub(sums));
                // A ciphertext without any element costs a product with zero.
                let work = sums + products.max(ciphertexts);
                if work < least {
                    (way, least) = (Some(other), work);
                }
            }
            Ok((way, least))
        };
        let wished: Vec<Vec<usize>> = strides.map(<[usize]>::to_vec).into_iter().collect();
        let (mut way, least) = best(&wished, most)?;
        let others = strides_of(shape, &distances(shape, &firsts), packed.strides());
        let enough = if way.is_some() { least.div_ceil(PRICE_OF_WANTED_LAYOUT) } else { most };
        if let (Some(other), _) = best(&others, enough)? {
            way = Some(other);
        }
        let Some(way) = way else { return Ok(None) };
        let nonzero =
            way.entries(numbered.clone()).filter(|(_, _, weight)| *weight != F::Number::default());
        let after = way
            .groups
            .as_ref()
            .map_or(ResultUse::Nothing, |groups| ResultUse::Sums(groups.span / groups.side));
        let weights = way.entries(numbered).map(|(to, _, weight)| (to, F::magnitude(weight)));
        let elsewhere = way.groups.as_ref().map_or(0.0, |groups| groups.largest_elsewhere(weights));
        let sums = self.linear_map_before(a, way.layout.clone(), nonzero, after, OPERATION)?;
        let bound = |factor: f64| F::log2_bound(a).exp2() * factor * rounded(terms);
        match way.groups {
            None => Ok(Some(F::tightened(sums, bound(largest)))),
            Some(groups) => {
                let sums = self.sum(&sums, Some(groups.axis)).map_err(|e| e.during(OPERATION))?;
                Ok(Some(F::tightened(sums, bound(elsewhere.clamp(largest, 2.0 * largest)))))
            }
        }
    }
}

impl Groups {
    /// Returns a bound of the sum of absolute weights in any slot, stray slots included.
    ///
    /// `weights` has the slots that the map leads to, and the absolute values of the weights. Stray
    /// slots hold the end of one sum and the start of the next, with one partial sum for each
    /// group. Twice the largest sum of an element is therefore a bound too.
    fn largest_elsewhere(&self, weights: impl Iterator<Item = (usize, f64)>) -> f64 {
        let mut slots: HashMap<usize, f64> = HashMap::new();
        for (to, weight) in weights {
            *slots.entry(to).or_default() += weight;
        }
        let mut places = vec![0.0f64; self.span];
        for (to, weight) in slots {
            places[to % self.span] = places[to % self.span].max(weight);
        }
        (0..self.side).map(|k| places[k..].iter().step_by(self.side).sum()).fold(0.0, f64::max)
    }
}

impl Way {
    /// Returns the work of the rotations after the map, in products with plaintexts.
    fn sums(&self, prices: &Prices) -> usize {
        let sums =
            self.groups.as_ref().map_or(0, |groups| (groups.span / groups.side).ilog2() as usize);
        prices.rotation * sums * self.layout.ciphertexts()
    }

    /// Returns the entries `(to, from, weight)` of the map.
    ///
    /// `to` and `from` are positions. In `numbered`, the number of an element of the result is in
    /// place of `to`.
    fn entries<N>(
        &self,
        numbered: impl Iterator<Item = (usize, usize, N)>,
    ) -> impl Iterator<Item = (usize, usize, N)> {
        let positions: Vec<usize> = match &self.groups {
            None => self.layout.positions().collect(),
            Some(groups) => self.layout.without_axis(groups.axis).positions().collect(),
        };
        numbered.map(move |(element, from, weight)| {
            let to = positions[element];
            let to = match &self.groups {
                None => to,
                Some(Groups { side, span, .. }) => {
                    // The slot that is `to` modulo `side`, and less than `side` slots before
                    // `from`.
                    let (block, within) = (to / span * span, (to % span) % side);
                    let before = (from % span + side - within) % side;
                    block + (from % span + span - before) % span
                }
            };
            (to, from, weight)
        })
    }
}

/// Returns the positions of the first term of every sum, and the largest sum of absolute weights.
///
/// # Errors
/// [`Error::Argument`] when there is no element at a place.
fn examined<F: Arithmetic>(
    positions: &[usize],
    terms: usize,
    entries: impl Iterator<Item = (usize, F::Number)>,
) -> Result<(Vec<usize>, f64), Error> {
    let (mut firsts, mut sum, mut largest) = (Vec::new(), 0.0, 0.0f64);
    for (i, (place, weight)) in entries.enumerate() {
        let Some(position) = positions.get(place) else {
            let what = format!("place {place} of an array of {} elements", positions.len());
            return Err(Error::argument(OPERATION, what));
        };
        if i % terms == 0 {
            firsts.push(*position);
            sum = 0.0;
        }
        sum += F::magnitude(weight);
        largest = largest.max(sum);
    }
    Ok((firsts, largest))
}

/// Returns the interval that holds all sums of `terms` elements of `a` times these numbers.
fn interval_of_sums<F: Arithmetic>(
    a: &Array<F>,
    terms: usize,
    entries: impl Iterator<Item = (usize, F::Number)>,
) -> Interval {
    let (mut all, mut sum) = (None, Interval::point(0.0));
    for (i, (_, weight)) in entries.enumerate() {
        sum = sum + F::interval(a) * a.form().number_interval(weight);
        if i % terms == terms - 1 {
            all = Some(all.map_or(sum, |all: Interval| all.union(sum)));
            sum = Interval::point(0.0);
        }
    }
    all.unwrap_or(Interval::EVERYTHING)
}

/// Returns the distance along each axis between the positions `from` of the first two elements.
///
/// It is `None` where it is not a power of two, or where the axis has length 1.
fn distances(shape: &[usize], from: &[usize]) -> Vec<Option<usize>> {
    let mut inner = 1;
    let mut distances = vec![None; shape.len()];
    for (distance, length) in distances.iter_mut().zip(shape).rev() {
        if *length > 1 {
            *distance =
                from[inner].checked_sub(from[0]).filter(|distance| distance.is_power_of_two());
        }
        inner *= length;
    }
    distances
}

/// Returns the candidate strides of the result.
///
/// `distances` are those between the source elements of neighbours, along each axis. `packed` are
/// the strides of a fresh array, which are a candidate too.
fn strides_of(shape: &[usize], distances: &[Option<usize>], packed: &[usize]) -> Vec<Vec<usize>> {
    let lasts =
        shape.iter().zip(distances).filter_map(|(n, distance)| Some((n - 1) * (*distance)?));
    let end = (lasts.sum::<usize>() + 1).next_power_of_two();
    // Axes without a distance have three possible places. They may lie between the elements of the
    // other axes, in place of the elements from which these are computed. They may lie in the first
    // gap with room for all of them, or beyond all other axes.
    let starts = [Some(1), first_gap(shape, distances), Some(end)];
    let mut all: Vec<Vec<usize>> = Vec::new();
    let of_starts =
        starts.into_iter().flatten().filter_map(|start| Some(strides(shape, distances, start)?.0));
    for strides in of_starts.chain([packed.to_vec()]) {
        if !all.contains(&strides) {
            all.push(strides);
        }
    }
    all
}

/// Returns the candidates for computing elements at these strides.
///
/// Groups may lie in any gap between the axes, or in the slots up to `reach`, beyond which no
/// source element lies. The last candidate computes the elements directly, without groups.
fn ways(shape: &[usize], strides: &[usize], reach: usize, slots: usize) -> Vec<Way> {
    let axes = shape.iter().zip(strides).filter(|(n, _)| **n > 1);
    let mut axes: Vec<(usize, usize)> = axes.map(|(n, stride)| (*stride, *n)).collect();
    axes.sort_unstable();
    let mut start = 1usize;
    let mut ways = Vec::new();
    for (stride, length) in axes.into_iter().chain([(reach, 1)]) {
        ways.extend(grouped(shape, strides.to_vec(), start, stride.min(reach), slots));
        start = stride.saturating_mul(length.next_power_of_two());
    }
    let layout = Layout::new(shape.to_vec(), strides.to_vec(), slots).ok();
    ways.extend(layout.map(|layout| Way { layout, groups: None }));
    ways
}

/// Returns the start of the first gap with room for all axes without a distance.
///
/// The gap lies between axes that have a distance, or beyond all of them.
fn first_gap(shape: &[usize], distances: &[Option<usize>]) -> Option<usize> {
    let (_, side) = strides(shape, distances, 1)?;
    let axes =
        shape.iter().zip(distances).filter_map(|(n, distance)| Some((*distance.as_ref()?, *n)));
    let mut axes: Vec<(usize, usize)> = axes.collect();
    axes.sort_unstable();
    let mut start = 1usize;
    for (distance, length) in axes {
        if start.checked_mul(side)? <= distance {
            break;
        }
        start = distance.checked_mul(length.next_power_of_two())?;
    }
    Some(start)
}

/// Returns the strides of all axes, and the end of the axes without a distance.
///
/// An axis with a distance has that as its stride. The others follow row by row from `start` on.
fn strides(
    shape: &[usize],
    distances: &[Option<usize>],
    start: usize,
) -> Option<(Vec<usize>, usize)> {
    let (mut strides, mut end) = (vec![1; shape.len()], start);
    for ((stride, distance), length) in strides.iter_mut().zip(distances).zip(shape).rev() {
        match distance {
            Some(distance) => *stride = *distance,
            None if *length > 1 => {
                *stride = end;
                end = end.checked_mul(length.next_power_of_two())?;
            }
            None => {}
        }
    }
    Some((strides, end))
}

/// Returns the candidate with groups of `side` slots within `span` slots.
///
/// It is `None` if there would be only one group, or if the layout does not exist.
fn grouped(
    shape: &[usize],
    mut strides: Vec<usize>,
    side: usize,
    span: usize,
    slots: usize,
) -> Option<Way> {
    if side >= span {
        return None;
    }
    let (axis, mut shape) = (shape.len(), shape.to_vec());
    shape.push(span / side);
    strides.push(side);
    let layout = Layout::new(shape, strides, slots).ok()?;
    Some(Way { layout, groups: Some(Groups { axis, side, span }) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_way_leads_to_the_sums(
            shape in prop::collection::vec(1usize..6, 0..4),
            from in prop::collection::vec((1usize..6, 0u32..9), 1..4),
            terms in 1usize..5,
            steps in prop::collection::vec(0usize..40, 5),
            picks in prop::collection::vec(0usize..200, 1..20),
            regular in any::<bool>(),
        ) {
            let slots = 64;
            let (lengths, strides): (Vec<usize>, Vec<usize>) =
                from.iter().map(|(n, log2)| (*n, 1 << log2)).unzip();
            let source = Layout::new(lengths.clone(), strides, slots)
                .or_else(|_| Layout::packed(&lengths, slots));
            let source: Vec<usize> = source.unwrap().positions().collect();
            let packed = Layout::packed(&shape, slots).unwrap();
            // Places with a constant step along every axis, as in windows, or in no order.
            let place = |element: usize, term: usize| {
                let (mut rest, mut place) = (element, term * steps[4]);
                for (length, step) in shape.iter().zip(&steps).rev() {
                    place += rest % length * step;
                    rest /= length;
                }
                let irregular = picks[(element * terms + term) % picks.len()];
                (if regular { place } else { irregular }) % source.len()
            };
            let entries: Vec<(usize, usize, usize)> = (0..packed.size())
                .flat_map(|element| (0..terms).map(move |term| (element, term)))
                .map(|(element, term)| {
                    (element, source[place(element, term)], element * terms + term + 1)
                })
                .collect();
            let mut expected = vec![0; packed.size()];
            entries
                .iter()
                .for_each(|(element, from, weight)| expected[*element] += (from + 1) * weight);
            let firsts: Vec<usize> = entries.iter().step_by(terms).map(|entry| entry.1).collect();
            let reach = (source.iter().max().unwrap() + 1).next_power_of_two().min(slots);
            let mut count = 0;
            for strides in strides_of(&shape, &distances(&shape, &firsts), packed.strides()) {
                for way in ways(&shape, &strides, reach, slots) {
                    let mut sums: HashMap<usize, usize> = HashMap::new();
                    for (to, from, weight) in way.entries(entries.iter().copied()) {
                        *sums.entry(to).or_default() += (from + 1) * weight;
                    }
                    let at = |position: usize| sums.get(&position).copied().unwrap_or(0);
                    let along = way.groups.as_ref().map_or(vec![0], |groups| {
                        (0..groups.span / groups.side).map(|group| group * groups.side).collect()
                    });
                    let elements = match &way.groups {
                        None => way.layout.clone(),
                        Some(groups) => way.layout.without_axis(groups.axis),
                    };
                    let added =
                        elements.positions().map(|p| along.iter().map(|group| at(p + group)).sum());
                    prop_assert_eq!(added.collect::<Vec<usize>>(), expected.clone());
                    if let Some(groups) = &way.groups {
                        let weights = || {
                            way.entries(entries.iter().copied()).map(|(to, _, w)| (to, w as f64))
                        };
                        let most = groups.largest_elsewhere(weights());
                        let mut all: HashMap<usize, f64> = HashMap::new();
                        weights().for_each(|(to, weight)| *all.entry(to).or_default() += weight);
                        let at = |position: usize| all.get(&position).copied().unwrap_or(0.0);
                        for first in 0..slots * way.layout.ciphertexts() {
                            let block = first / slots * slots;
                            let sum: f64 =
                                along.iter().map(|group| at(block + (first + group) % slots)).sum();
                            prop_assert!(sum <= most);
                        }
                    }
                    count += 1;
                }
            }
            prop_assert!(count > 0);
        }
    }
}
