//! Order by comparators. A comparator replaces two elements by the smaller and the larger one.
//!
//! The largest element of a line is found in rounds. Each round keeps the larger elements of two
//! halves. All other orders take a sorting network, Batcher's odd-even merge sort ("Sorting
//! networks and their applications", AFIPS 1968). The network does not depend on the elements, so
//! it sorts all lines at once. Comparators that no result depends on are left out.
//!
//! A comparator computes `(x + y - |x - y|)/2` and `(x + y + |x - y|)/2`. Elements may be as close
//! as they like, unlike where all pairs are compared ([`Server::with_distance`]).
//!
//! # Errors
//! If the elements are wrong by at most `e`, the exact results of a layer are too. So the errors
//! that the layers add sum up, and no layer needs elements that are more precise than its gap.
//! [`EncryptedArray::precision_bits`] of the result states this sum.

use crate::server::{
    Server,
    functions::{
        DEVIATIONS_OF_LARGEST_ERROR,
        comparison::{Comparison, centre, with_largest_error},
        lines::Lines,
        tables::without_tables,
    },
    planner::{choose::Candidate, policy::Policy},
};
use crate::{EncryptedArray, Error, Interval, Numbers};

/// A comparator: the ranks that the smaller and the larger element get.
type Comparator = (usize, usize);

/// Arrays without an error count as having this precision. Chosen, far above any other.
const MAX_PRECISION_BITS: f64 = 256.0;

/// A layer of comparators on rows.
enum Layer {
    /// Keeps the larger or the smaller elements of the first and the second half of the rows. If
    /// their number is odd, the row in the middle is in both halves.
    Halved { keeps_larger: bool },
    /// Applies the comparators to pairs of rows.
    Sorted(Vec<Comparator>),
}

/// Returns the candidate that orders lines by comparators.
pub(in crate::server) fn comparators<'a>(
    lines: &'a Lines,
    ranks: &'a [usize],
) -> Candidate<'a, Numbers, 1> {
    Candidate::new("comparators", |server: &Server, [a]: [&EncryptedArray; 1]| {
        a.check_error_known(lines.operation)?;
        server.in_layers(a, lines, ranks)
    })
}

impl Server {
    /// Returns the elements of these ranks of every line. The first axis of the result counts the
    /// ranks, and the others are those without the axis of the lines.
    pub(in crate::server) fn by_comparators(
        &self,
        a: &EncryptedArray,
        lines: &Lines,
        ranks: &[usize],
    ) -> Result<EncryptedArray, Error> {
        self.check_real(a, lines.operation)?;
        let arguments = format!("{:?} {ranks:?}", lines.axis);
        let layers = [comparators(lines, ranks)];
        let result = self.perform_by_arguments(lines.operation, &arguments, [a], &layers);
        result.map_err(|error| self.about_comparators(error, lines.operation))
    }

    fn in_layers(
        &self,
        a: &EncryptedArray,
        lines: &Lines,
        ranks: &[usize],
    ) -> Result<EncryptedArray, Error> {
        let (length, operation) = (lines.length, lines.operation);
        let count = a.size() / length;
        let element = |i: usize| lines.order[i % count * length + i / count];
        let places: Vec<usize> = (0..a.size()).map(element).collect();
        let mut x = self.gather(&[a], &[&[length], &lines.kept[..]].concat(), &places)?;
        // Stray slots may hold far larger values than the elements.
        if x.has_strays() && x.interval().width() < x.bound() {
            x = self.declare_interval(&x, x.interval())?;
        }
        let middle = centre(&[&x]);
        x = self.plus_constant(&x, -middle, operation)?;
        // Only the last layer may use up the capacity that a bootstrap needs.
        let inner = self.with_policy(Policy { finishing: false, capacity: None, ..self.policy });
        // All layers get elements with the same stated error. The errors of the layers are added up.
        let precision = x.precision_bits(&self.session).min(MAX_PRECISION_BITS);
        let mut std = 0.0;
        let mut after = |server: &Server, layer: &Layer, x: &EncryptedArray| {
            let run = |server: &Server, [x]: [&EncryptedArray; 1]| server.after_layer(layer, x);
            let mut layers = vec![Candidate::new("layer of comparators", run)];
            if let (Some(reserve), None) = (server.reserved_capacity(), server.policy.capacity) {
                // A bootstrap may restore too little capacity for the longest stages.
                let run = move |server: &Server, [x]: [&EncryptedArray; 1]| {
                    let policy = Policy { capacity: Some(reserve), ..server.policy };
                    server.with_policy(policy).after_layer(layer, x)
                };
                layers.push(Candidate::new("layer in short stages", run).otherwise(1));
            }
            let x = server.perform(operation, [x], f64::INFINITY, &layers)?;
            std += (-x.precision_bits(&self.session)).exp2();
            x.with_precision_bits(precision, &self.session)
        };
        match *ranks {
            [rank] if rank == 0 || rank + 1 == length => {
                let layer = Layer::Halved { keeps_larger: rank > 0 };
                while x.shape()[0] > 1 {
                    let server = if x.shape()[0] == 2 { self } else { &inner };
                    x = after(server, &layer, &x)?;
                }
            }
            _ => {
                // Picking rows may take a multiplication too.
                let picks = !ranks.iter().copied().eq(0..length);
                let layers = sorting_layers(length, ranks);
                let count = layers.len();
                for (i, layer) in layers.into_iter().enumerate() {
                    let server = if picks || i + 1 < count { &inner } else { self };
                    x = after(server, &Layer::Sorted(layer), &x)?;
                }
                if picks {
                    x = self.picked_rows(&x, ranks.iter().copied())?;
                }
            }
        }
        let x = self.with_added_error(&x, DEVIATIONS_OF_LARGEST_ERROR * std, operation)?;
        self.plus_constant(&x, middle, operation)
    }

    /// Adds an error of at most `largest` to the stated error of an array. It may be the same for all
    /// elements.
    pub(in crate::server) fn with_added_error(
        &self,
        a: &EncryptedArray,
        largest: f64,
        operation: &'static str,
    ) -> Result<EncryptedArray, Error> {
        let result = self
            .map_as_it_is(a, operation, true, |_, c| Ok(with_largest_error(c.clone(), largest)))?;
        Ok(result.with_form(*a.form()))
    }

    /// Returns an error of a comparator, with the other ways to put values in order.
    fn about_comparators(&self, error: Error, operation: &'static str) -> Error {
        match error.during(operation) {
            Error::Capacity { source, .. } if self.bootstraps.is_some() => Error::Capacity {
                source,
                advice: "Declare a distance of the values (Server::with_distance). A preset \
                         with a larger modulus, such as n16, helps too"
                    .into(),
            },
            Error::Capacity { .. } | Error::MissingKey { .. } if self.bootstraps.is_none() => {
                without_tables(operation)
            }
            Error::Argument { operation: part, what } if part != operation => {
                let what = format!(
                    "the comparison of two values fails: {what}. Encrypt with more precision, or \
                     declare a distance of the values (Server::with_distance)."
                );
                Error::argument(operation, what)
            }
            other => other,
        }
    }

    /// Returns the rows of an array after a layer. The stated error of the result is that of the
    /// layer, for rows with the stated error of `x`.
    fn after_layer(&self, layer: &Layer, x: &EncryptedArray) -> Result<EncryptedArray, Error> {
        let rows = x.shape()[0];
        let columns = x.size() / rows;
        match layer {
            Layer::Halved { keeps_larger } => {
                let half = rows.div_ceil(2);
                let (first, last) =
                    (self.picked_rows(x, 0..half)?, self.picked_rows(x, rows - half..rows)?);
                self.compared(&first, &last, |distances| match keeps_larger {
                    true => Ok(distances),
                    false => self.negate(&distances),
                })
            }
            Layer::Sorted(comparators) => {
                // Rows without a comparator are compared with themselves.
                let mut partners: Vec<usize> = (0..rows).collect();
                let mut signs = vec![1.0; x.size()];
                for (low, high) in comparators {
                    (partners[*low], partners[*high]) = (*high, *low);
                    signs[low * columns..(low + 1) * columns].fill(-1.0);
                }
                let others = self.picked_rows(x, partners.into_iter())?;
                self.compared(x, &others, |distances| self.mul_plain(&distances, &signs[..]))
            }
        }
    }

    /// Returns `(x + y + signed(|x - y|))/2`, where `signed` changes some signs.
    fn compared(
        &self,
        x: &EncryptedArray,
        y: &EncryptedArray,
        signed: impl Fn(EncryptedArray) -> Result<EncryptedArray, Error>,
    ) -> Result<EncryptedArray, Error> {
        let differences = self.sub(x, y)?;
        let distances = self.abs(&differences, Comparison::default())?;
        let excess = 0.5 * (distances.bound() - differences.bound()).max(0.0);
        let twice = self.add(&self.add(x, y)?, &signed(distances)?)?;
        let mut result = self.mul_number(&twice, 0.5)?;
        let std = (-result.precision_bits(&self.session)).exp2();
        let beyond = excess + DEVIATIONS_OF_LARGEST_ERROR * std;
        result.set_bound(x.bound().max(y.bound()) + beyond);
        let interval = x.interval().union(y.interval());
        let interval = Interval::new(interval.low() - beyond, interval.high() + beyond);
        Ok(result.with_known_interval(interval.unwrap_or(Interval::EVERYTHING)))
    }

    /// Returns entries along the first axis, which are called rows here.
    fn picked_rows(
        &self,
        x: &EncryptedArray,
        rows: impl ExactSizeIterator<Item = usize>,
    ) -> Result<EncryptedArray, Error> {
        let columns = x.size() / x.shape()[0];
        let shape = [&[rows.len()], &x.shape()[1..]].concat();
        let places: Vec<usize> =
            rows.flat_map(|row| (0..columns).map(move |column| row * columns + column)).collect();
        self.gather(&[x], &shape, &places)
    }
}

/// Returns the layers of Batcher's odd-even merge sort of `length` elements, with the comparators
/// on which these ranks depend.
fn sorting_layers(length: usize, ranks: &[usize]) -> Vec<Vec<Comparator>> {
    let powers = |range: std::ops::Range<u32>| range.map(|i| 1usize << i);
    let exponent = length.next_power_of_two().ilog2();
    let mut layers = Vec::new();
    for sorted in powers(0..exponent) {
        for distance in powers(0..sorted.ilog2() + 1).rev() {
            let is_low = |i: &usize| {
                let high = i + distance;
                // Only elements of one pair of sorted runs are merged.
                high < length
                    && i / (2 * sorted) == high / (2 * sorted)
                    && *i >= distance % sorted
                    && ((i - distance % sorted) / distance).is_multiple_of(2)
            };
            layers.push((0..length).filter(is_low).map(|i| (i, i + distance)).collect::<Vec<_>>());
        }
    }
    let mut is_needed = vec![false; length];
    ranks.iter().for_each(|rank| is_needed[*rank] = true);
    for layer in layers.iter_mut().rev() {
        layer.retain(|(low, high)| is_needed[*low] || is_needed[*high]);
        layer.iter().for_each(|(low, high)| (is_needed[*low], is_needed[*high]) = (true, true));
    }
    layers.retain(|layer| !layer.is_empty());
    layers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies layers to values of 0 and 1, which are the binary digits of `bits`.
    fn sorted(layers: &[Vec<Comparator>], length: usize, bits: usize) -> Vec<usize> {
        let mut values: Vec<usize> = (0..length).map(|i| bits >> i & 1).collect();
        for (low, high) in layers.iter().flatten() {
            let (a, b) = (values[*low], values[*high]);
            (values[*low], values[*high]) = (a.min(b), a.max(b));
        }
        values
    }

    /// By the 0-1 principle, such networks sort every sequence.
    #[test]
    fn networks_sort_every_sequence_of_zeros_and_ones() {
        for length in 1..=12 {
            let layers = sorting_layers(length, &(0..length).collect::<Vec<_>>());
            for bits in 0..1 << length {
                assert!(sorted(&layers, length, bits).is_sorted(), "{length} {bits:b}");
            }
        }
        assert_eq!(sorting_layers(16, &(0..16).collect::<Vec<_>>()).len(), 10);
    }

    #[test]
    fn networks_for_some_ranks_have_fewer_comparators() {
        for length in 2..=10 {
            for rank in 0..length {
                let layers = sorting_layers(length, &[rank]);
                for bits in 0..1usize << length {
                    let zeros = length - bits.count_ones() as usize;
                    let found = sorted(&layers, length, bits)[rank];
                    assert_eq!(found, usize::from(rank >= zeros), "{length} {rank} {bits:b}");
                }
            }
        }
        assert_eq!(sorting_layers(16, &[15]).iter().map(Vec::len).sum::<usize>(), 15);
    }
}
