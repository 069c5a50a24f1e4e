//! The cosine near the integers, interpolated as HK20 does.

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

/// The function `cos(2 pi (x - 1/4) / 2^r)` where `x` is within `epsilon` of an integer of absolute
/// value below `k`. Doubled `r` times, `y -> 2 y^2 - 1`, it is `sin(2 pi x)`.
///
/// A polynomial needs to agree with it there only, and so has a lower degree than one that agrees
/// on the whole of `[-k, k]` (HK20): its nodes are shared out among the intervals by Algorithm 1,
/// and the difference of function and polynomial of degree `n` is at most `(2 pi / 2^r)^(n+1) /
/// (n+1)! max |prod (x - node)|`.
#[derive(Debug, Clone)]
pub struct Cosine {
    intervals: Intervals,
    doublings: u32,
    /// Function values at so many Chebyshev nodes in each interval, from left to right.
    samples: Vec<(Inner, Inner)>,
    /// The same in 106 bits, where these do.
    pairs: Vec<(DoubleDouble, DoubleDouble)>,
    samples_each: usize,
    /// Of the numbers that errors are computed from.
    bits: usize,
}

/// A polynomial in the place of a [`Cosine`].
#[derive(Debug, Clone)]
pub struct CosineInterpolation {
    /// The polynomial, its coefficients rounded to `f64`, in the Chebyshev basis of `[-k, k]`: of
    /// `x`, or where it is even of `x - 1/4`.
    pub polynomial: Polynomial,
    /// The number of nodes nearest to each integer, from `-(k - 1)` to `k - 1`.
    pub nodes: Vec<usize>,
    /// The sum of the absolute values of the coefficients: what an error of the Chebyshev
    /// polynomials is multiplied by at most. It is large where the polynomial swings wildly between
    /// the intervals.
    pub coefficient_sum: f64,
    /// A bound of the error of `sin(2 pi x)` after the doublings, with coefficients that are not
    /// rounded.
    pub exact_error: f64,
    /// The same with coefficients rounded to `f64`.
    pub error: f64,
}

/// Where the nodes of an interpolation are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nodes {
    /// In the intervals, shared out by Algorithm 1.
    NearIntegers,
    /// Those of Chebyshev on `[-k, k]`: there are no wild swings, and the degree is higher where
    /// there are few doublings.
    Everywhere,
    /// The same for `x - 1/4`, of which the cosine is an even function.
    Even,
}

impl Nodes {
    /// What is taken from `x`.
    fn shift(self) -> f64 {
        if self == Nodes::Even { 0.25 } else { 0.0 }
    }
}

/// An interpolation before its error is known.
pub(super) struct Coefficients {
    shift: f64,
    nodes: Vec<usize>,
    exact: Vec<Inner>,
    rounded: Vec<f64>,
    /// Of the absolute values.
    pub(super) sum: f64,
}

const OPERATION: &str = "approximate a cosine";

/// Errors down to `2^-70` are told from 0 in 106 bits ..
const LEAST_OF_PAIRS: f64 = -70.0;

/// .. where `n^2 sum |c_i|`, of a polynomial of degree `n`, is not larger: what they are off by is
/// below `2^-78` ([`newton::evaluate_in_pairs`]).
const MOST_OF_PAIRS: f64 = 4_194_304.0;

impl Cosine {
    /// The function; errors down to `2^log2_least` are told from 0.
    ///
    /// # Errors
    /// [`CkksError::Argument`] unless `1 <= k <= 512`, `-40 <= log2_epsilon <= -2`, `doublings <=
    /// 12` and `-1000 <= log2_least <= 0`.
    pub fn new(
        k: u32,
        log2_epsilon: f64,
        doublings: u32,
        log2_least: f64,
    ) -> Result<Self, CkksError> {
        let fail = |what: String| Err(CkksError::Argument { operation: OPERATION, what });
        if !(1..=512).contains(&k) {
            return fail(format!("integers up to k = {k} are asked for: k is 1 to 512"));
        }
        if !(-40.0..=-2.0).contains(&log2_epsilon) {
            return fail(format!("epsilon = 2^{log2_epsilon}: it is 2^-40 to 2^-2"));
        }
        if doublings > 12 {
            return fail(format!("{doublings} doublings: they are 12 at most"));
        }
        if !(-1000.0..=0.0).contains(&log2_least) {
            return fail(format!(
                "errors down to 2^{log2_least} are asked for: 2^-1000 to 1 are possible"
            ));
        }
        let intervals = Intervals { k, epsilon: log2_epsilon.exp2() };
        let bits = 120 + (-log2_least) as usize;
        // An ellipse that reaches to the middle between two integers.
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
        let pairs =
            if log2_least < LEAST_OF_PAIRS { vec![] } else { samples.iter().map(pair).collect() };
        Ok(Cosine { intervals, doublings, samples, pairs, samples_each, bits })
    }

    /// The interpolation with `degree + 1` nodes, shared out as HK20 does.
    ///
    /// # Errors
    /// [`CkksError::Argument`] when the degree is above 1023.
    pub fn interpolate(&self, degree: usize) -> Result<CosineInterpolation, CkksError> {
        self.finish(self.coefficients(Nodes::NearIntegers, degree)?)
    }

    /// The interpolation with `degree + 1` nodes. An even one has no coefficients of odd degree.
    pub(super) fn coefficients(
        &self,
        nodes: Nodes,
        degree: usize,
    ) -> Result<Coefficients, CkksError> {
        if degree > 1023 {
            let what = format!("degree {degree}: it is 1023 at most");
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
        // A divided difference of d nodes of an interval loses d log2(1/epsilon) bits, one of all
        // nodes a few bits for each.
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
            // They are as small as the nodes are symmetric.
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

    /// Bounds the error.
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

    /// The least degree at which the bound of the theory puts the error of `sin(2 pi x)`, to first
    /// order, below `error > 0`.
    pub(super) fn bounded_degree(&self, nodes: Nodes, error: f64) -> usize {
        let mut allocation = self.allocation();
        let weight = allocation.largest();
        // log2 of (2 pi / 2^r)^count / count!
        let (mut count, mut derivative) = (0f64, 0f64);
        loop {
            // log2 of |prod (x - node)|, and of what the doublings do.
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

    /// The sum of the absolute values of the coefficients of the cosine's own Chebyshev series on
    /// `[-k, k]`, roughly: Bessel functions, of which about as many count as the argument is large.
    pub(super) fn natural_sum(&self) -> f64 {
        1.0 + (TAU * f64::from(self.intervals.k) / f64::from(self.doublings).exp2()).sqrt()
    }

    fn allocation(&self) -> Allocation {
        let small = f64::MIN_POSITIVE.sqrt();
        let weights =
            self.intervals.middles().map(|i| (self.doubled(i, small) / small).log2()).collect();
        Allocation::new(self.intervals, weights)
    }

    /// What becomes of an error `e` near the integer `i` when it is doubled: `y -> 2 y^2 - 1` makes
    /// `4 |y| e + 2 e^2` of it.
    fn doubled(&self, i: f64, mut e: f64) -> f64 {
        let mut step = TAU * (-f64::from(self.doublings)).exp2();
        for _ in 0..self.doublings {
            let y = (((i - 0.25) * step).cos().abs() + step * self.intervals.epsilon).min(1.0);
            e = 4.0 * y * e + 2.0 * e * e;
            step *= 2.0;
        }
        e
    }

    /// A bound of the polynomial's error in each interval.
    ///
    /// Function and polynomial are entire, and bounded on an ellipse around the interval whose
    /// major semi-axis is `a`: the cosine by `cosh(2 pi a / 2^r)`; a Chebyshev polynomial of degree
    /// `n` by `rho^n`, where `rho` belongs to an ellipse around `[-k, k]` which that one lies in, a
    /// quarter to the left as well.
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
        let errors: Vec<f64> = if !self.pairs.is_empty() && degree * degree * sum <= MOST_OF_PAIRS {
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

/// The parameter of the ellipse of major semi-axis `a` around an interval of half the length
/// `half`: the sum of its semi-axes over `half`.
fn ellipse(a: f64, half: f64) -> f64 {
    (a + (a * a - half * half).sqrt()) / half
}

/// `cos(2 pi (x - shift) / 2^r)`; pi is kept from one call to the next.
fn value(x: f64, shift: f64, doublings: u32, bits: usize, constants: &mut ConstCache) -> Inner {
    let turns = many_bits(x, bits) - many_bits(shift, bits);
    let angle = turns * many_bits((1.0 - f64::from(doublings)).exp2(), bits);
    let cosine = angle.context().cos_pi(angle.repr(), Some(constants));
    // Only what is infinite has no cosine.
    cosine.map_or(Inner::ZERO, |cosine| cosine.value())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bound of the theory, and values at points that are nobody's nodes, against the bound
    /// from samples.
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

    /// Errors in 106 bits, where that is how they are had, are those of more bits.
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
                    assert!(degree as f64 * degree as f64 * have.coefficient_sum < MOST_OF_PAIRS);
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
    fn what_is_out_of_range_is_named() {
        for (k, e, r) in
            [(0, -5.0, 0), (513, -5.0, 0), (4, -1.0, 0), (4, f64::NAN, 0), (4, -5.0, 13)]
        {
            assert!(Cosine::new(k, e, r, -60.0).is_err());
        }
        assert!(
            Cosine::new(2, -5.0, 1, 1.0).unwrap_err().to_string().contains("2^1 are asked for")
        );
        let error = Cosine::new(2, -5.0, 1, -60.0).unwrap().interpolate(1024).unwrap_err();
        assert_eq!(error.to_string(), "approximate a cosine: degree 1024: it is 1023 at most");
    }

    #[test]
    fn ellipses_have_the_sum_of_their_axes() {
        let rho = ellipse(1.25, 1.0);
        assert!((rho - 2.0).abs() < 1e-12);
    }
}
