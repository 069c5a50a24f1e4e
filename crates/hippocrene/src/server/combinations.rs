//! Sums of picked elements, each times a plain number: windows of an image times a kernel, and any other product with a plain matrix, sparse or not.

use super::{Server, stages::products, wide::ROTATION};
use crate::{Array, Error, Form, Layout};

const OPERATION: &str = "linear combinations";

/// A way to compute all of the combinations: where the elements of the result come to stand.
struct Way {
    layout: Layout,
    /// The axis of sums that are added up after the map, if there is one.
    groups: Option<Groups>,
}

/// Sums of the elements that stand from a multiple of `side` on to the next, within `span` slots: they come to stand there, and are added up by rotations.
struct Groups {
    axis: usize,
    side: usize,
    span: usize,
}

impl Server {
    /// The array of this shape of which every element is the sum of `terms` elements of `a`, each times a plain number. `entries` has the place of each of them among all elements of `a`, in row-major order, and the number:
    /// those for the first element of the result, those for the second and so on. An element may come in a sum several times. One multiplication deep.
    ///
    /// Elements stand as those that they are made of, or row by row, or beside one another in place of the many that each is made of, whichever is less work: a convolution takes as many products
    /// as its kernel has elements, and a sum of all elements one for each ciphertext.
    ///
    /// # Errors
    /// [`Error::Shape`] when there are not as many entries as the shape and `terms` say, [`Error::Argument`] when there is no such place, [`Error::Encode`] when a number is NaN, infinite or too
    /// large, [`Error::MissingKey`] when rotation keys are missing, [`Error::Capacity`] or [`Error::Budget`] when no multiplication is left.
    pub fn linear_combinations<F: Form>(
        &self,
        a: &Array<F>,
        shape: &[usize],
        terms: usize,
        entries: impl Iterator<Item = (usize, F::Number)> + Clone,
    ) -> Result<Array<F>, Error> {
        let all = self.linear_combinations_within(a, shape, terms, entries, usize::MAX)?;
        all.ok_or_else(|| Error::shape(OPERATION, format!("too many entries for shape {shape:?}")))
    }

    /// [`Server::linear_combinations`] where they take fewer than `most` products with plaintexts, or rotations that take as long; nothing elsewhere.
    ///
    /// # Errors
    /// As [`Server::linear_combinations`].
    pub fn linear_combinations_within<F: Form>(
        &self,
        a: &Array<F>,
        shape: &[usize],
        terms: usize,
        entries: impl Iterator<Item = (usize, F::Number)> + Clone,
        most: usize,
    ) -> Result<Option<Array<F>>, Error> {
        self.check(a, OPERATION)?;
        let slots = F::slots(&self.session);
        let packed = Layout::filled(shape, slots, shape.iter().product(), OPERATION)?;
        let (size, positions): (usize, Vec<usize>) = (a.size(), a.layout().positions().collect());
        let (mut firsts, mut have) = (Vec::with_capacity(packed.size()), 0);
        for (i, (place, _)) in entries.clone().enumerate() {
            if place >= size {
                return Err(Error::argument(
                    OPERATION,
                    format!("place {place} of an array of {size} elements"),
                ));
            }
            if i % terms.max(1) == 0 {
                firsts.push(positions[place]);
            }
            have += 1;
        }
        let need = packed.size().saturating_mul(terms);
        if have != need || terms == 0 {
            let what =
                format!("{have} entries for shape {shape:?}, {need} are needed: {terms} for each element");
            return Err(Error::shape(OPERATION, what));
        }
        let positions = &positions;
        let numbered = entries.enumerate().map(|(i, (place, weight))| (i / terms, positions[place], weight));
        let numbered = numbered.filter(|(_, _, weight)| *weight != F::Number::default());
        let reach = (a.layout().last() + 1).next_power_of_two().min(slots);
        let ways = ways(shape, &distances(shape, &firsts), packed, reach);
        let (mut way, mut least) = (None, most);
        for other in ways {
            let sums = other.sums();
            let pairs = other.entries(numbered.clone()).map(|(to, from, _)| (to, from));
            let work = sums + products::<F>(slots, pairs, least.saturating_sub(sums));
            if work < least {
                (way, least) = (Some(other), work);
            }
        }
        let Some(way) = way else { return Ok(None) };
        let sums = self.linear_map(a, way.layout.clone(), way.entries(numbered), OPERATION)?;
        match way.groups {
            None => Ok(Some(sums)),
            Some(groups) => self.sum(&sums, Some(groups.axis)).map(Some).map_err(|e| e.during(OPERATION)),
        }
    }
}

impl Way {
    /// How many products with plaintexts take as long as the rotations after the map.
    fn sums(&self) -> usize {
        let sums = self.groups.as_ref().map_or(0, |groups| (groups.span / groups.side).ilog2() as usize);
        ROTATION * sums * self.layout.ciphertexts()
    }

    /// The entries of the map, by those of elements of the result and positions of `a`.
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
                    // From slot `to` modulo the side on, less than a side before `from`.
                    let (block, within) = (to / span * span, (to % span) % side);
                    let before = (from % span + side - within) % side;
                    block + (from % span + span - before) % span
                }
            };
            (to, from, weight)
        })
    }
}

/// How far apart along each axis the positions `from` of neighbours are, where it is a power of two.
fn distances(shape: &[usize], from: &[usize]) -> Vec<Option<usize>> {
    let mut inner = 1;
    let mut distances = vec![None; shape.len()];
    for (distance, length) in distances.iter_mut().zip(shape).rev() {
        if *length > 1 {
            *distance = from[inner].checked_sub(from[0]).filter(|distance| distance.is_power_of_two());
        }
        inner *= length;
    }
    distances
}

/// The ways that there are where neighbours along each axis are made of elements at these distances, none of which stands at `reach` slots or beyond in its ciphertext.
fn ways(shape: &[usize], distances: &[Option<usize>], packed: Layout, reach: usize) -> Vec<Way> {
    let slots = packed.slots();
    let lasts = shape.iter().zip(distances).filter_map(|(n, distance)| Some((n - 1) * (*distance)?));
    let end = (lasts.sum::<usize>() + 1).next_power_of_two();
    let nearest = distances.iter().flatten().copied().min().unwrap_or(reach).min(reach);
    let mut ways = Vec::new();
    // Axes without a distance stand between the elements of the others, in place of what these are made of.
    if let Some((strides, side)) = strides(shape, distances, 1) {
        ways.extend(grouped(shape, strides, side, nearest, slots));
    }
    // Or beyond all others, where those are made of elements here and there, or of all ciphertext.
    if let Some((strides, side)) = strides(shape, distances, end) {
        let layout = Layout::new(shape.to_vec(), strides.clone(), slots).ok();
        ways.extend(layout.map(|layout| Way { layout, groups: None }));
        ways.extend(grouped(shape, strides, side, reach, slots));
    }
    ways.push(Way { layout: packed, groups: None });
    ways
}

/// The strides of axes at these distances, and of the others row by row from `start` on; and where these end.
fn strides(shape: &[usize], distances: &[Option<usize>], start: usize) -> Option<(Vec<usize>, usize)> {
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

/// The way by sums of groups of `side` slots within `span`.
fn grouped(shape: &[usize], mut strides: Vec<usize>, side: usize, span: usize, slots: usize) -> Option<Way> {
    let (axis, mut shape) = (shape.len(), shape.to_vec());
    shape.push((span / side).max(1));
    strides.push(side);
    let layout = Layout::new(shape, strides, slots).ok()?;
    (side < span).then_some(Way { layout, groups: Some(Groups { axis, side, span }) })
}
