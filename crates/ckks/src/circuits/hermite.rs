//! Hermite interpolation: polynomials with given values and slope 0 at their nodes.

use std::f64::consts::PI;

/// Factor of distances of nodes in products. The product of the distances of `p` nodes on `[-1, 1]`
/// then neither overflows nor underflows: the capacity of this interval is 1/2.
const INVERSE_CAPACITY: f64 = 2.0;

/// Number of bits by which the exponent of a partial product is corrected. Chosen.
const EXPONENT_STEP: i32 = 500;

/// The nodes of an interpolation, with the factors of its formula.
pub(super) struct Nodes {
    pub(super) places: Vec<f64>,
    /// The inverse of the product of the distances from all other nodes, up to a common factor.
    weights: Vec<f64>,
    /// The sum of the inverse distances from all other nodes.
    slopes: Vec<f64>,
}

impl Nodes {
    /// Returns the zeros of the Chebyshev polynomial of degree `count`.
    pub(super) fn chebyshev(count: usize) -> Self {
        let angles = || (0..count).map(|j| PI * (j as f64 + 0.5) / count as f64);
        Nodes {
            places: angles().map(f64::cos).collect(),
            weights: angles()
                .enumerate()
                .map(|(j, t)| if j % 2 == 0 { t.sin() } else { -t.sin() })
                .collect(),
            slopes: angles().map(|t| 0.5 * t.cos() / t.sin().powi(2)).collect(),
        }
    }

    /// Returns nodes at any places of `[-1, 1]`.
    pub(super) fn of(places: Vec<f64>) -> Self {
        let distances = |j: usize| {
            let (here, others) =
                (places[j], places.iter().enumerate().filter(move |(k, _)| *k != j));
            others.map(move |(_, there)| here - there)
        };
        let count = places.len();
        Nodes {
            weights: (0..count).map(|j| scaled_product(distances(j)).recip()).collect(),
            slopes: (0..count).map(|j| distances(j).map(f64::recip).sum()).collect(),
            places,
        }
    }

    /// Returns half the absolute second derivative at each node of the polynomial with these values
    /// and slope 0 at the nodes.
    pub(super) fn curvatures(&self, values: &[f64]) -> Vec<f64> {
        // Equal entries give a curvature of 0. The lower bound is the precision of doubles.
        let at = |i: usize| {
            let term = |j: usize| {
                let distance = self.places[i] - self.places[j];
                let slope = self.weights[j] / (self.weights[i] * distance);
                (values[j] - values[i]) * slope * slope * (1.0 - 2.0 * self.slopes[j] * distance)
            };
            (0..values.len()).filter(|j| *j != i).map(term).sum::<f64>().abs().max(1e-12)
        };
        (0..values.len()).map(at).collect()
    }

    /// Returns the value of that polynomial at `x`.
    pub(super) fn interpolate(&self, values: &[f64], x: f64) -> f64 {
        let distances = || self.places.iter().map(|place| x - place);
        if let Some(node) = distances().position(|distance| distance == 0.0) {
            return values[node];
        }
        let product = scaled_product(distances());
        let term = |(j, distance): (usize, f64)| {
            let lagrange = product * self.weights[j] / (INVERSE_CAPACITY * distance);
            values[j] * (1.0 - 2.0 * self.slopes[j] * distance) * lagrange * lagrange
        };
        distances().enumerate().map(term).sum()
    }
}

/// Returns the product of distances of nodes, each times [`INVERSE_CAPACITY`]. Partial products may
/// be too large or too small for a double.
fn scaled_product(distances: impl Iterator<Item = f64>) -> f64 {
    let (mut product, mut steps) = (1.0f64, 0);
    let step = f64::from(EXPONENT_STEP).exp2();
    for distance in distances {
        product *= INVERSE_CAPACITY * distance;
        if product.abs() > step {
            (product, steps) = (product / step, steps + 1);
        } else if product.abs() < step.recip() {
            (product, steps) = (product * step, steps - 1);
        }
    }
    product * f64::from(steps * EXPONENT_STEP).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns nodes near those of the Chebyshev polynomial of degree `count`.
    fn nodes(count: usize) -> Nodes {
        let angle = |j: usize| PI * (j as f64 + 0.5) / (count as f64 + 0.4) - 0.5 * PI;
        Nodes::of((0..count).map(|j| angle(j).sin()).collect())
    }

    #[test]
    fn interpolation_has_its_values_and_no_slope_at_the_nodes() {
        for count in [1, 2, 5, 16, 100, 1000, 4096] {
            let nodes = nodes(count);
            let values: Vec<f64> = (0..count).map(|j| (j as f64 * 0.618).fract()).collect();
            let curvatures = nodes.curvatures(&values);
            for ((node, value), curvature) in nodes.places.iter().zip(&values).zip(curvatures) {
                assert_eq!(nodes.interpolate(&values, *node), *value);
                let step = 0.01 / (count * count) as f64;
                for x in [node - step, node + step] {
                    let off = (nodes.interpolate(&values, x) - value).abs();
                    let expected = curvature * step * step;
                    assert!((off - expected).abs() < 0.1 * expected + 1e-9, "{off} {expected}");
                }
            }
        }
    }
}
