//! Quantiles and medians: elements in order, and interpolation between neighbours.

use hippocrene_pegasus::Pegasus;

use crate::server::{
    Server,
    functions::{
        DEVIATIONS_OF_LARGEST_ERROR,
        comparison::centre,
        lines::{Lines, relabelled},
        order_by_pairs::Ordered,
    },
};
use crate::{EncryptedArray, Error};

/// Number of steps between two neighbouring elements for the weights of quantiles.
///
/// Weights are multiples of `1/WEIGHT_STEPS`, so that products with them cost at most 12 bits of
/// capacity.
const WEIGHT_STEPS: f64 = 4096.0;

impl Server {
    /// Returns the medians along an axis, or the median of all elements.
    ///
    /// These are the quantiles of 1/2 ([`Server::quantile`]).
    ///
    /// # Errors
    /// As [`Server::sort`].
    pub fn median(&self, a: &EncryptedArray, axis: Option<usize>) -> Result<EncryptedArray, Error> {
        let lines = Lines::of(a.shape(), axis, "median")?;
        if lines.length == 1 {
            return self.lines_of_one(a, &lines);
        }
        self.quantiles(a, &lines, &[0.5], lines.kept.clone())
    }

    /// Returns the quantiles for the fractions `q`, along an axis or of all elements.
    ///
    /// Each fraction is from 0 to 1. The first axis of the result has one entry for each fraction.
    /// The other axes are those of `a` without `axis`. The elements are sorted once for all
    /// fractions ([`Pegasus::sort`]).
    ///
    /// Let the `n` elements in order have the indices 0 to `n - 1`. The quantile of `q` is at index
    /// `q (n - 1)`, interpolated linearly between its two neighbours. This is the default method of
    /// numpy. The weights of the neighbours are rounded to multiples of 1/4096.
    ///
    /// A quantile at an element costs nothing more. One bit of capacity is needed in the middle
    /// between two elements, and up to 12 bits elsewhere between them. If the fractions need
    /// different weights, the cost is that of a product with plain numbers.
    ///
    /// # Errors
    /// [`Error::Argument`] when `q` is empty or holds a number outside of 0 to 1;
    /// [`Error::Capacity`] when the capacity that look-ups leave is too low for the weights; as
    /// [`Server::sort`].
    pub fn quantile(
        &self,
        a: &EncryptedArray,
        q: &[f64],
        axis: Option<usize>,
    ) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "quantile";
        let lines = Lines::of(a.shape(), axis, OPERATION)?;
        if q.is_empty() {
            return Err(Error::argument(
                OPERATION,
                "no share is requested. At least one is needed.",
            ));
        }
        if let Some(wrong) = q.iter().find(|q| !(0.0..=1.0).contains(*q)) {
            return Err(Error::argument(
                OPERATION,
                format!("a share of {wrong}: 0 to 1 are possible"),
            ));
        }
        let shape = [&[q.len()], &lines.kept[..]].concat();
        if lines.length == 1 {
            return self
                .broadcast_to(&self.insert_axis(&self.lines_of_one(a, &lines)?, 0)?, &shape);
        }
        self.quantiles(a, &lines, q, shape)
    }

    fn quantiles(
        &self,
        a: &EncryptedArray,
        lines: &Lines,
        q: &[f64],
        shape: Vec<usize>,
    ) -> Result<EncryptedArray, Error> {
        if let Some(filled) = self.filled(a, &shape, "quantile")? {
            return Ok(filled);
        }
        let between: Vec<(usize, f64)> = q.iter().map(|q| place(*q, lines.length)).collect();
        if self.orders_by_comparators(lines) {
            return self.quantiles_by_comparators(a, lines, &between, shape);
        }
        if let Some(quantiles) =
            self.in_order_without_tables(a, lines, &Ordered::Between(between.clone()))?
        {
            // A median has no axis for its only quantile.
            let strides = quantiles.layout().strides();
            let strides = strides[strides.len() - shape.len()..].to_vec();
            return relabelled(quantiles, shape, strides);
        }
        let wide = |pegasus: &Pegasus, _: &_, _| {
            Ok(pegasus.sorting_bound_factor(Pegasus::sort_rounds(lines.length)))
        };
        let middle = centre(&[a]);
        let centred = self.plus_constant(a, -middle, "quantile")?;
        let quantiles = self.of_elements(&centred, lines, wide, |server, pegasus, x, form| {
            let sorted = pegasus.sort(x, lines.length)?;
            let count = sorted.len() / lines.length;
            let next = |ranks: Vec<usize>| {
                let line = |rank| (0..count).map(move |line| line * lines.length + rank);
                let places: Vec<usize> = ranks.into_iter().flat_map(line).collect();
                server.repacked(pegasus, &sorted.select(&places)?, &shape, form)
            };
            server.interpolated(&between, next)
        })?;
        Ok(self.plus_constant(&quantiles, middle, "quantile")?.with_known_interval(a.interval()))
    }

    /// Returns quantiles from the elements that comparators put in order.
    pub(in crate::server) fn quantiles_by_comparators(
        &self,
        a: &EncryptedArray,
        lines: &Lines,
        between: &[(usize, f64)],
        shape: Vec<usize>,
    ) -> Result<EncryptedArray, Error> {
        let mut ranks: Vec<usize> = between
            .iter()
            .flat_map(|(rank, weight)| [*rank, rank + usize::from(*weight > 0.0)])
            .collect();
        ranks.sort_unstable();
        ranks.dedup();
        let elements = self.by_comparators(a, lines, &ranks)?;
        let count = a.size() / lines.length;
        let next = |wanted: Vec<usize>| {
            let row = |rank: usize| ranks.partition_point(|one| *one < rank);
            let places: Vec<usize> = wanted
                .into_iter()
                .flat_map(|rank| (0..count).map(move |line| row(rank) * count + line))
                .collect();
            self.gather(&[&elements], &shape, &places)
        };
        let quantiles = self.interpolated(between, next).map_err(|e| e.during(lines.operation))?;
        // The errors of neighbours may be equal, so that they do not average out.
        let std = (-elements.precision_bits(&self.session)).exp2();
        self.with_added_error(&quantiles, DEVIATIONS_OF_LARGEST_ERROR * std, lines.operation)
    }

    /// Returns elements of some ranks, interpolated with those of the next ranks. `next` returns the
    /// elements of these ranks, and `between` has a rank and the weight of the next one for each.
    fn interpolated(
        &self,
        between: &[(usize, f64)],
        next: impl Fn(Vec<usize>) -> Result<EncryptedArray, Error>,
    ) -> Result<EncryptedArray, Error> {
        let below = next(between.iter().map(|(rank, _)| *rank).collect())?;
        if between.iter().all(|(_, weight)| *weight == 0.0) {
            return Ok(below);
        }
        let above = |(rank, weight): &(usize, f64)| rank + usize::from(*weight > 0.0);
        let above = next(between.iter().map(above).collect())?;
        let count = below.size() / between.len();
        let part = |array: &EncryptedArray, of: &dyn Fn(f64) -> f64| {
            let first = between[0].1;
            if between.iter().all(|(_, weight)| *weight == first) {
                return self.mul_number(array, of(first));
            }
            let weights: Vec<f64> =
                between.iter().flat_map(|(_, weight)| vec![of(*weight); count]).collect();
            self.mul_plain(array, &weights[..])
        };
        let (below_part, above_part) =
            (part(&below, &|weight| 1.0 - weight)?, part(&above, &|weight| weight)?);
        let mut between = self.add(&below_part, &above_part)?;
        // The other slots hold copies of elements, or 0, so the bound of `below` holds everywhere.
        between.set_bound(below.bound().max(above.bound()));
        Ok(between.with_known_interval(below.interval().union(above.interval())))
    }
}

/// Index of the element at or below the quantile `q` among `n`, and the weight of the next one.
fn place(q: f64, n: usize) -> (usize, f64) {
    let at = q * (n - 1) as f64;
    let place = (at.floor() as usize).min(n - 1);
    let weight = ((at - place as f64) * WEIGHT_STEPS).round() / WEIGHT_STEPS;
    if weight == 1.0 { (place + 1, 0.0) } else { (place, weight) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_stand_between_elements() {
        assert_eq!(place(0.0, 5), (0, 0.0));
        assert_eq!(place(1.0, 5), (4, 0.0));
        assert_eq!(place(0.5, 4), (1, 0.5));
        assert_eq!(place(0.25, 6), (1, 0.25));
        // `0.1 * 10` and `0.7 * 10` are whole numbers in doubles.
        assert_eq!((place(0.1, 11), place(0.7, 11)), ((1, 0.0), (7, 0.0)));
        assert_eq!(place(0.3, 1), (0, 0.0));
    }
}
