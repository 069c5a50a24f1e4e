//! The cosine near the integers, interpolated as in HK20.

use std::f64::consts::{LOG2_E, TAU};

use dashu_float::ConstCache;

use super::{
    error_bound::{chebyshev_nodes, from_samples},
    newton::{self, many_bits},
    nodes::{Allocation, Intervals},
};
use crate::{
    CkksError,
    big_float::Inner,
    circuits::{Basis, Polynomial},
    double_double::DoubleDouble,
};

/// The function `cos(2 pi (x - 1/4) / 2^r)`, where `x` is within `epsilon` of an integer of
/// absolute value below `k`. After `r` doublings `y -> 2 y^2 - 1` it is `sin(2 pi x)`.
///
/// A polynomial has to agree with it near the integers only. Its degree is therefore lower than
/// that of a polynomial for all of `[-k, k]` (HK20). Algorithm 1 distributes its nodes among the
/// intervals. The error of a polynomial of degree `n` is at most `(2 pi / 2^r)^(n+1) / (n+1)! max
/// |prod (x - node)|`.
///
/// # Examples
/// ```
/// use hippocrene_ckks::approximation::{Coefficients, Cosine};
///
/// let cosine = Cosine::new(4, -5.0, 2, -30.0)?;
/// let found = cosine.least_degree(1e-6, Coefficients::Rounded).expect("1e-6 is within reach");
/// assert!(found.error <= 1e-6 && found.polynomial.degree() < 40);
/// # Ok::<(), hippocrene_ckks::CkksError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cosine {
    intervals: Intervals,
    doublings: u32,
    /// Points and values of the function at `samples_each` Chebyshev nodes in each interval, from
    /// left to right.
    samples: Vec<(Inner, Inner)>,
    /// The same points and values in 106 bits, if that is precise enough.
    pairs: Vec<(DoubleDouble, DoubleDouble)>,
    samples_each: usize,
    /// Precision in bits of the numbers that errors are computed from.
    bits: usize,
}

/// A polynomial that approximates a [`Cosine`]. See [`Cosine`] for an example.
#[derive(Debug, Clone)]
pub struct CosineInterpolation {
    /// The polynomial in the Chebyshev basis of `[-k, k]`, with coefficients rounded to `f64`. Its
    /// argument is `x`, or `x - 1/4` if the polynomial is even.
    pub polynomial: Polynomial,
    /// The number of nodes nearest to each integer, from `-(k - 1)` to `k - 1`.
    pub nodes: Vec<usize>,
    /// The sum of the absolute values of the coefficients. It bounds the factor by which errors of
    /// the Chebyshev polynomials are multiplied. It is large if the polynomial oscillates strongly
    /// between the intervals.
    pub coefficient_sum: f64,
    /// A bound of the error of `sin(2 pi x)` after the doublings, with coefficients that are not
    /// rounded.
    pub exact_error: f64,
    /// A bound of the same error with coefficients rounded to `f64`.
    pub error: f64,
}

/// The nodes of an interpolation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nodes {
    /// In the intervals, distributed by Algorithm 1.
    NearIntegers,
    /// The Chebyshev nodes of `[-k, k]`. The polynomial does not oscillate between the intervals,
    /// but its degree is higher if there are few doublings.
    Everywhere,
    /// The Chebyshev nodes of `[-k, k]` for `x - 1/4`, of which the cosine is an even function.
    Even,
}

impl Nodes {
    /// The number that is subtracted from `x`.
    fn shift(self) -> f64 {
        if self == Nodes::Even { 0.25 } else { 0.0 }
    }
}

/// An interpolation whose error has not been computed yet.
pub(super) struct Coefficients {
    shift: f64,
    nodes: Vec<usize>,
    exact: Vec<Inner>,
    rounded: Vec<f64>,
    /// The sum of the absolute values of the rounded coefficients.
    pub(super) sum: f64,
}

const OPERATION: &str = "approximate a cosine";

/// log2 of the smallest error that can be computed in 106 bits, together with
/// [`MAX_GROWTH_IN_PAIRS`].
const MIN_LOG2_ERROR_IN_PAIRS: f64 = -70.0;

/// Largest `n^2 sum |c_i|` of a polynomial of degree `n` for which 106 bits are precise enough. The
/// error of its values is then below `2^-78` ([`newton::evaluate_in_pairs`]).
const MAX_GROWTH_IN_PAIRS: f64 = 4_194_304.0;

impl Cosine {
    /// Samples the function so precisely that errors down to `2^log2_least` can be told from 0.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] unless `1 <= k <= 512`, `-40 <= log2_epsilon <= -2`,
    /// `doublings <= 12` and `-1000 <= log2_least <= 0`.
    pub fn new(
        k: u32,
        log2_epsilon: f64,
        doublings: u32,
        log2_least: f64,
    ) -> Result<Self, CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        if !(1..=512).contains(&k) {
            return fail(format!("k = {k} is not 1 to 512"));
        }
        if !(-40.0..=-2.0).contains(&log2_epsilon) {
            return fail(format!("epsilon = 2^{log2_epsilon} is not 2^-40 to 2^-2"));
        }
        if doublings > 12 {
            return fail(format!("there are {doublings} doublings, and 12 is the largest number"));
        }
        if !(-1000.0..=0.0).contains(&log2_least) {
            return fail(format!(
                "the smallest error is 2^{log2_least}, which is not 2^-1000 to 1"
            ));
        }
        let intervals = Intervals { k, epsilon: log2_epsilon.exp2() };
        let bits = 120 + (-log2_least) as usize;
        // The ellipse extends to the middle between two integers.
        let rho = ellipse(0.5, intervals.epsilon);
        let m = ((70.0 - log2_least) / rho.log2()).ceil() as usize;
        let samples_each = 3 * m;
        let mut samples = Vec::with_capacity(samples_each * (2 * k as usize - 1));
        let mut constants = ConstCache::default();
        for i in intervals.middles() {
            let (low, high) = (i - intervals.epsilon, i + intervals.epsilon);
            for x in chebyshev_nodes(low, high, samples_each) {
                let value = value(x, 0.25, doublings, bits, &mut constants);
                samples.push((many_bits(x, bits) / many_bits(f64::from(k), bits), value));
            }
        }
        let pair = |(x, y): &(Inner, Inner)| (DoubleDouble::from(x), DoubleDouble::from(y));
        let pairs = if log2_least < MIN_LOG2_ERROR_IN_PAIRS {
            vec![]
        } else {
            samples.iter().map(pair).collect()
        };
        Ok(Cosine { intervals, doublings, samples, pairs, samples_each, bits })
    }

    /// Returns the interpolation with `degree + 1` nodes, distributed as in HK20.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if the degree is above 1023.
    pub fn interpolate(&self, degree: usize) -> Result<CosineInterpolation, CkksError> {
        self.finish(self.coefficients(Nodes::NearIntegers, degree)?)
    }

    /// Returns the interpolation with `degree + 1` nodes. An even one has no coefficients of odd
    /// degree.
    pub(super) fn coefficients(
        &self,
        nodes: Nodes,
        degree: usize,
    ) -> Result<Coefficients, CkksError> {
        if degree > 1023 {
            let what = format!("degree {degree} is too high: 1023 is the largest possible");
            return Err(CkksError::Argument { operation: OPERATION, what });
        }
        let (k, epsilon) = (f64::from(self.intervals.k), self.intervals.epsilon);
        let (even, shift) = (nodes == Nodes::Even, nodes.shift());
        let (nodes, lost) = match nodes {
            Nodes::Everywhere | Nodes::Even => (chebyshev_nodes(-k, k, degree + 1).collect(), 0.0),
            Nodes::NearIntegers => {
                let mut allocation = self.allocation();
                (0..=degree).for_each(|_| allocation.add_node());
                let most = allocation.counts.iter().copied().max().unwrap_or(0);
                (self.intervals.nodes(&allocation.counts), most as f64 * (2.0 - epsilon.log2()))
            }
        };
        // A divided difference of `d` nodes of an interval loses `d log2(1/epsilon)` bits. One of
        // all nodes loses a few bits for each.
        let bits = self.bits + 4 * nodes.len() + lost as usize;
        let mut constants = ConstCache::default();
        let values = nodes
            .iter()
            .map(|x| value(*x, 0.25 - shift, self.doublings, bits, &mut constants))
            .collect();
        let mut exact: Vec<Inner> = newton::interpolate(&nodes, values, k, bits)
            .into_iter()
            .map(|c| c.with_precision(self.bits).value())
            .collect();
        if even {
            // The computed ones differ from 0 only by rounding, because the nodes are symmetric.
            exact.iter_mut().skip(1).step_by(2).for_each(|c| *c = many_bits(0.0, self.bits));
        }
        let rounded: Vec<f64> = exact.iter().map(|c| c.to_f64().value()).collect();
        let mut counts = vec![0; 2 * self.intervals.k as usize - 1];
        nodes.iter().for_each(|x| {
            counts[((x + shift).round() + k - 1.0).clamp(0.0, 2.0 * k - 2.0) as usize] += 1
        });
        let sum = rounded.iter().map(|c| c.abs()).sum();
        Ok(Coefficients { shift, nodes: counts, exact, rounded, sum })
    }

    /// Bounds the error of an interpolation.
    pub(super) fn finish(
        &self,
        coefficients: Coefficients,
    ) -> Result<CosineInterpolation, CkksError> {
        let Coefficients { shift, nodes, exact, rounded, sum } = coefficients;
        let rounding: f64 = exact
            .iter()
            .zip(&rounded)
            .map(|(c, r)| (c - many_bits(*r, self.bits)).to_f64().value().abs())
            .sum();
        let errors = self.errors(&exact, sum, shift);
        let largest = |more: f64| {
            let after = |(i, e): (f64, &f64)| self.doubled(i, e + more);
            self.intervals.middles().zip(&errors).map(after).fold(0.0, f64::max)
        };
        let k = f64::from(self.intervals.k);
        Ok(CosineInterpolation {
            polynomial: Polynomial::new(Basis::Chebyshev { low: -k, high: k }, rounded)?,
            nodes,
            coefficient_sum: sum,
            exact_error: largest(0.0),
            error: largest(rounding),
        })
    }

    /// Returns the lowest degree for which the theoretical bound puts the error of `sin(2 pi x)`
    /// below `error > 0`, to first order.
    pub(super) fn bounded_degree(&self, nodes: Nodes, error: f64) -> usize {
        let mut allocation = self.allocation();
        let weight = allocation.largest();
        // log2 of (2 pi / 2^r)^count / count!
        let (mut count, mut derivative) = (0f64, 0f64);
        loop {
            // log2 of |prod (x - node)| times the factor of the doublings.
            let product = match nodes {
                Nodes::NearIntegers => allocation.largest(),
                Nodes::Everywhere | Nodes::Even => {
                    weight + 1.0 + count * (0.5 * f64::from(self.intervals.k)).log2()
                }
            };
            if count > 0.0 && derivative + product <= error.log2() {
                return count as usize - 1;
            }
            allocation.add_node();
            count += 1.0;
            derivative += (TAU / count).log2() - f64::from(self.doublings);
        }
    }

    /// Returns the approximate sum of the absolute values of the coefficients of the cosine's own
    /// Chebyshev series on `[-k, k]`. They are Bessel functions, and about as many of them matter
    /// as the argument is large.
    pub(super) fn natural_sum(&self) -> f64 {
        1.0 + (TAU * f64::from(self.intervals.k) / f64::from(self.doublings).exp2()).sqrt()
    }

    /// Returns an empty allocation of nodes, weighted by the factors of the doublings.
    fn allocation(&self) -> Allocation {
        let small = f64::MIN_POSITIVE.sqrt();
        let weights =
            self.intervals.middles().map(|i| (self.doubled(i, small) / small).log2()).collect();
        Allocation::new(self.intervals, weights)
    }

    /// Returns the error after the doublings that an error `e` near the integer `i` causes. The
    /// step `y -> 2 y^2 - 1` turns `e` into `4 |y| e + 2 e^2`.
    fn doubled(&self, i: f64, mut e: f64) -> f64 {
        let mut step = TAU * (-f64::from(self.doublings)).exp2();
        for _ in 0..self.doublings {
            let y = (((i - 0.25) * step).cos().abs() + step * self.intervals.epsilon).min(1.0);
            e = 4.0 * y * e + 2.0 * e * e;
            step *= 2.0;
        }
        e
    }

    /// Returns a bound of the polynomial's error in each interval.
    ///
    /// Function and polynomial are entire. On an ellipse around the interval with major semi-axis
    /// `a`, the cosine is bounded by `cosh(2 pi a / 2^r)`. A Chebyshev polynomial of degree `n` is
    /// bounded by `rho^n`, where `rho` belongs to an ellipse around `[-k, k]` that contains the
    /// first one, also after a shift by 1/4 to the left.
    fn errors(&self, coefficients: &[Inner], sum: f64, shift: f64) -> Vec<f64> {
        let k = f64::from(self.intervals.k);
        let shift = many_bits(shift, self.bits) / many_bits(k, self.bits);
        let m = self.samples_each / 3;
        let log2_distance = |a: f64| {
            let rho = ellipse(a, self.intervals.epsilon);
            let outer = ellipse(1.0 + a / k, 1.0);
            let cosine = TAU * a * (-f64::from(self.doublings)).exp2() * LOG2_E;
            let size =
                (sum.log2() + outer.log2() * (coefficients.len() - 1) as f64).max(cosine) + 1.0;
            1.0 + size - rho.log2() * m as f64 - (rho - 1.0).log2()
        };
        let distance = (0..40)
            .map(|j| self.intervals.epsilon * f64::from(j + 2).exp2().sqrt())
            .take_while(|a| *a < 4.0)
            .map(log2_distance)
            .fold(f64::INFINITY, f64::min)
            .exp2();
        let degree = (coefficients.len() - 1) as f64;
        let errors: Vec<f64> = if !self.pairs.is_empty()
            && degree * degree * sum <= MAX_GROWTH_IN_PAIRS
        {
            let coefficients: Vec<DoubleDouble> =
                coefficients.iter().map(DoubleDouble::from).collect();
            let shift = DoubleDouble::from(&shift);
            let error = |(y, value): &(DoubleDouble, DoubleDouble)| {
                newton::evaluate_in_pairs(&coefficients, y.sub(shift)).sub(*value).to_f64()
            };
            self.pairs.iter().map(error).collect()
        } else {
            let error = |(y, value): &(Inner, Inner)| {
                (newton::evaluate(coefficients, &(y - &shift), self.bits) - value).to_f64().value()
            };
            self.samples.iter().map(error).collect()
        };
        let largest = |interval: &[f64]| {
            interval.iter().fold(0.0, |largest: f64, error| largest.max(error.abs()))
        };
        let intervals = errors.chunks(self.samples_each).map(largest);
        intervals.map(|largest| from_samples(largest, self.samples_each, m, distance)).collect()
    }
}

/// Returns the parameter of the ellipse with major semi-axis `a` around an interval of half-length
/// `half`: the sum of its semi-axes divided by `half`.
fn ellipse(a: f64, half: f64) -> f64 {
    (a + (a * a - half * half).sqrt()) / half
}

/// Returns `cos(2 pi (x - shift) / 2^r)`. `constants` caches pi between calls.
fn value(x: f64, shift: f64, doublings: u32, bits: usize, constants: &mut ConstCache) -> Inner {
    let turns = many_bits(x, bits) - many_bits(shift, bits);
    let angle = turns * many_bits((1.0 - f64::from(doublings)).exp2(), bits);
    let cosine = angle.context().cos_pi(angle.repr(), Some(constants));
    // Only infinite angles have no cosine.
    cosine.map_or(Inner::ZERO, |cosine| cosine.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the bound from samples with the theoretical bound and with values at points that
    /// are not nodes.
    #[test]
    fn errors_lie_between_what_is_seen_and_what_theory_says() {
        for (k, log2_epsilon, doublings, degree) in [
            (1, -3.0, 0, 5),
            (4, -5.0, 0, 25),
            (12, -10.0, 2, 40),
            (9, -8.0, 3, 21),
            (16, -2.0, 2, 50),
        ] {
            let cosine = Cosine::new(k, log2_epsilon, doublings, -60.0).unwrap();
            let have = cosine.interpolate(degree).unwrap();
            assert_eq!(have.polynomial.degree(), degree);
            assert_eq!(have.nodes.iter().sum::<usize>(), degree + 1);
            let mut seen = 0f64;
            for i in cosine.intervals.middles() {
                for s in -7..=7 {
                    let x = i + cosine.intervals.epsilon * f64::from(s) / 7.0;
                    let angle = TAU * (x - 0.25) / f64::from(doublings).exp2();
                    let mut y = have.polynomial.evaluate(x);
                    assert!((y - angle.cos()).abs() < 0.1);
                    for _ in 0..doublings {
                        y = 2.0 * y * y - 1.0;
                    }
                    seen = seen.max((y - (TAU * x).sin()).abs());
                }
            }
            let what = format!("{k} {log2_epsilon} {doublings} {degree}: {seen:e} {have:?}");
            assert!(seen <= have.error + 1e-13 && seen + 1e-13 > 0.3 * have.error, "{what}");
            assert!(have.exact_error <= have.error);
            let mut allocation = cosine.allocation();
            (0..=degree).for_each(|_| allocation.add_node());
            let factorial: f64 = (1..=degree + 1).map(|n| (n as f64).log2()).sum();
            let derivative = (degree + 1) as f64 * (TAU.log2() - f64::from(doublings)) - factorial;
            let theory = (derivative + allocation.largest()).exp2();
            assert!(have.exact_error < 1.2 * theory, "{what} {theory:e}");
            assert_eq!(cosine.bounded_degree(Nodes::NearIntegers, theory * 1.000_001), degree);
        }
    }

    /// Errors computed in 106 bits equal those computed in more bits.
    #[test]
    fn errors_in_fewer_bits_are_the_same() {
        for (k, log2_epsilon, doublings, degree) in
            [(4, -5.0, 0, 40), (12, -10.0, 2, 50), (17, -9.0, 2, 70)]
        {
            let short = Cosine::new(k, log2_epsilon, doublings, -68.0).unwrap();
            let long = Cosine { pairs: vec![], ..short.clone() };
            assert!(
                !short.pairs.is_empty()
                    && Cosine::new(k, log2_epsilon, doublings, -71.0).unwrap().pairs.is_empty()
            );
            for nodes in [Nodes::Everywhere, Nodes::Even] {
                let error = |cosine: &Cosine| {
                    let have = cosine.finish(cosine.coefficients(nodes, degree).unwrap()).unwrap();
                    assert!(
                        degree as f64 * degree as f64 * have.coefficient_sum < MAX_GROWTH_IN_PAIRS
                    );
                    have.exact_error
                };
                let (short, long) = (error(&short), error(&long));
                assert!((short - long).abs() <= (-66f64).exp2(), "{k}: {short}, {long}");
                assert!(short < 1e-3 && short != 0.0, "{k}: {short}");
            }
        }
    }

    #[test]
    fn nodes_are_added_where_the_bound_is_largest() {
        let intervals = Intervals { k: 3, epsilon: 0.125 };
        let mut allocation = Allocation::new(intervals, vec![0.0; 5]);
        for total in 0..20 {
            assert_eq!(allocation.counts.iter().sum::<usize>(), total);
            let nodes = intervals.nodes(&allocation.counts);
            assert!(nodes.len() == total && nodes.windows(2).all(|w| w[0] < w[1]));
            let mut largest = [0f64; 5];
            for (largest, i) in largest.iter_mut().zip(intervals.middles()) {
                for s in -16..=16 {
                    let x = i + intervals.epsilon * f64::from(s) / 16.0;
                    *largest = largest.max(nodes.iter().map(|node| (x - node).abs()).product());
                }
            }
            let good = largest
                .iter()
                .zip(&allocation.bounds)
                .all(|(seen, bound)| *seen <= bound.exp2() * 1.000_001);
            assert!(good, "{largest:?} {allocation:?}");
            let worst = allocation.largest();
            let before = allocation.clone();
            allocation.add_node();
            let grown = (0..5).find(|&i| allocation.counts[i] > before.counts[i]).unwrap();
            assert_eq!(before.bounds[grown], worst);
        }
    }

    #[test]
    fn arguments_out_of_range_are_refused() {
        for (k, e, r) in
            [(0, -5.0, 0), (513, -5.0, 0), (4, -1.0, 0), (4, f64::NAN, 0), (4, -5.0, 13)]
        {
            assert!(Cosine::new(k, e, r, -60.0).is_err());
        }
        assert!(
            Cosine::new(2, -5.0, 1, 1.0)
                .unwrap_err()
                .to_string()
                .contains("smallest error is 2^1,")
        );
        let error = Cosine::new(2, -5.0, 1, -60.0).unwrap().interpolate(1024).unwrap_err();
        assert!(error.to_string().contains("degree 1024 is too high"), "{error}");
    }

    #[test]
    fn ellipses_have_the_sum_of_their_axes() {
        let rho = ellipse(1.25, 1.0);
        assert!((rho - 2.0).abs() < 1e-12);
    }
}
