//! Quantiles and medians: elements in order, and what lies between two of them.

use hippocrene_pegasus::Pegasus;

use crate::server::{Server, functions::sort::Lines};
use crate::{EncryptedArray, Error};

/// Weights of quantiles are multiples of `1/WEIGHT_STEPS`, so that products with them take at most
/// 12 bits of capacity.
const WEIGHT_STEPS: f64 = 4096.0;

impl Server {
    /// The medians along an axis, or that of all elements: the quantiles of 1/2
    /// ([`Server::quantile`]).
    ///
    /// # Errors
    /// As [`Server::sort`].
    pub fn median(&self, a: &EncryptedArray, axis: Option<usize>) -> Result<EncryptedArray, Error> {
        let lines = Lines::of(a.shape(), axis, "median")?;
        if lines.length == 1 {
            return self.alone(a, &lines);
        }
        self.quantiles(a, &lines, &[0.5], lines.kept.clone())
    }

    /// The quantiles of these shares `q`, 0 to 1, along an axis or of all elements, those of one
    /// share after those of another: an array of as many as there are shares by the shape without
    /// the axis. The elements are sorted once for all of them ([`Pegasus::sort`]). Of `n` elements
    /// in order, from 0, the quantile of `q` is that at `q (n - 1)`, linear between the two next to
    /// it, as numpy's is where no method is said; where it stands between them counts to a 4096th.
    ///
    /// Between two elements it takes a bit of capacity in the middle of them and up to 12
    /// elsewhere, and where shares that fall between elements at different distances are asked for
    /// at once, as much as a product with plain numbers.
    ///
    /// # Errors
    /// [`Error::Argument`] when there is no share, or one is not from 0 to 1; [`Error::Capacity`]
    /// when the keys' look-ups leave too little for it; as [`Server::sort`].
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
                "no share is asked for: at least one is needed",
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
            return self.broadcast_to(&self.insert_axis(&self.alone(a, &lines)?, 0)?, &shape);
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
        let wide = |pegasus: &Pegasus, _: &_, _| {
            Ok(pegasus.order_bound(Pegasus::sort_rounds(lines.length)))
        };
        self.of_elements(a, lines, wide, |pegasus, x, form| {
            let sorted = pegasus.sort(x, lines.length)?;
            let count = sorted.len() / lines.length;
            let next = |above: bool| {
                let places = between.iter().flat_map(|(place, weight)| {
                    let place = place + usize::from(above && *weight > 0.0);
                    (0..count).map(move |line| line * lines.length + place)
                });
                let next = sorted.select(&places.collect::<Vec<_>>())?;
                self.repacked(pegasus, &next, &shape, form)
            };
            let below = next(false)?;
            if between.iter().all(|(_, weight)| *weight == 0.0) {
                return Ok(below);
            }
            let of = |weight: f64, above: bool| if above { weight } else { 1.0 - weight };
            let part = |array: &EncryptedArray, above: bool| {
                let first = of(between[0].1, above);
                if between.iter().all(|(_, weight)| *weight == between[0].1) {
                    return self.mul_number(array, first);
                }
                let weights: Vec<f64> = between
                    .iter()
                    .flat_map(|(_, weight)| vec![of(*weight, above); count])
                    .collect();
                self.mul_plain(array, &weights[..])
            };
            let mut between = self.add(&part(&below, false)?, &part(&next(true)?, true)?)?;
            // Other slots hold copies of these, or 0.
            between.set_bound(below.bound());
            Ok(between)
        })
    }
}

/// The place of the element below the quantile of `q` among `n`, and the weight of the one above
/// it.
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
        // 0.1 * 10 and 0.7 * 10 in doubles.
        assert_eq!((place(0.1, 11), place(0.7, 11)), ((1, 0.0), (7, 0.0)));
        assert_eq!(place(0.3, 1), (0, 0.0));
    }
}
