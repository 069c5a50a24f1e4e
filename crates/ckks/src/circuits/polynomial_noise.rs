//! What the roundings inside of an evaluation of a polynomial add to its result.

use std::collections::BTreeMap;

use super::{
    Polynomial,
    polynomial_evaluation::{Steps, depth_of, is_leaf, split, split_power},
};

/// How an error in the argument and the roundings inside of an evaluation come out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gains {
    /// `|p'(x)|`.
    pub(crate) argument: f64,
    /// The variance of what the roundings of each depth add, from 0 for the argument, in units of that of a single rounding at the scale that products of this depth have.
    pub(crate) roundings: Vec<f64>,
}

impl Polynomial {
    /// What [`Evaluator::polynomial`](crate::Evaluator::polynomial) makes of errors at the argument `x`: with `r_j` the rounding errors of products, of sums of powers, and of
    /// powers that are brought to smaller moduli, the roundings add the sum of the squares of `dp/dr_j` as a variance. The same operations on plain numbers, with the
    /// derivative by each error taken along, so that errors which meet again on several ways are counted as what they are: one.
    pub(crate) fn gains(&self, x: f64) -> Gains {
        let Steps { squared, coefficients, depth, chebyshev, baby } = Steps::of(self);
        let mut x = Traced { value: x, derivatives: vec![1.0] };
        let mut sources = vec![];
        if let Some((a, b)) = self.affine() {
            x = Traced { value: a * x.value + b, derivatives: vec![a, 1.0] };
            sources.push(0);
        }
        let first = usize::from(squared);
        let (powers, lowered) = (BTreeMap::from([(1, x)]), BTreeMap::new());
        let mut evaluation = Evaluation { chebyshev, baby, first, sources, powers, lowered };
        if squared {
            let square = evaluation.squared(1, 0);
            evaluation.powers.insert(1, square);
        }
        let derivatives = evaluation.evaluate(&coefficients, depth).derivatives;
        let (argument, own) = derivatives.split_first().unwrap_or((&0.0, &[]));
        let mut roundings = vec![0.0; first + depth + 1];
        for (derivative, depth) in own.iter().zip(&evaluation.sources) {
            roundings[*depth] += derivative * derivative;
        }
        Gains { argument: argument.abs(), roundings }
    }
}

/// A number with its derivatives by the rounding errors so far; those that are not there are 0.
#[derive(Clone)]
struct Traced {
    value: f64,
    derivatives: Vec<f64>,
}

impl Traced {
    fn constant(value: f64) -> Self {
        Traced { value, derivatives: Vec::new() }
    }

    /// `self += other factor`.
    fn add(&mut self, other: &Traced, factor: f64) {
        self.value += other.value * factor;
        if self.derivatives.len() < other.derivatives.len() {
            self.derivatives.resize(other.derivatives.len(), 0.0);
        }
        self.derivatives.iter_mut().zip(&other.derivatives).for_each(|(d, e)| *d += e * factor);
    }

    fn times(&self, other: &Traced) -> Traced {
        let mut out = Traced::constant(0.0);
        out.add(self, other.value);
        out.add(other, self.value);
        out.value = self.value * other.value;
        out
    }
}

/// The evaluation of `polynomial_evaluation.rs`, step by step.
struct Evaluation {
    chebyshev: bool,
    baby: usize,
    /// The depth of what the powers are of.
    first: usize,
    /// At which depth each rounding error is made.
    sources: Vec<usize>,
    powers: BTreeMap<usize, Traced>,
    /// Powers brought to the modulus that squarings would have reached by now, by how many.
    lowered: BTreeMap<(usize, usize), Traced>,
}

impl Evaluation {
    /// The number with one more error, made at that depth.
    fn rounded(&mut self, mut a: Traced, depth: usize) -> Traced {
        self.sources.push(self.first + depth);
        a.derivatives.resize(self.sources.len(), 0.0);
        a.derivatives.push(1.0);
        a
    }

    fn evaluate(&mut self, coefficients: &[f64], depth: usize) -> Traced {
        if coefficients.len() == 1 {
            return Traced::constant(coefficients[0]);
        }
        if is_leaf(coefficients, depth, self.baby) {
            let mut sum = Traced::constant(coefficients[0]);
            for (i, c) in coefficients.iter().enumerate().skip(1).filter(|(_, c)| **c != 0.0) {
                sum.add(&self.power(i), *c);
            }
            return self.rounded(sum, depth);
        }
        let (m, q, r) = split(coefficients, self.chebyshev);
        let factor = self.evaluate(&q, depth - 1);
        let power = self.lowered(m, depth - 1);
        let mut product = self.rounded(factor.times(&power), depth);
        product.add(&self.evaluate(&r, depth), 1.0);
        product
    }

    fn lowered(&mut self, n: usize, place: usize) -> Traced {
        if depth_of(n) == place {
            return self.power(n);
        }
        if let Some(lowered) = self.lowered.get(&(n, place)) {
            return lowered.clone();
        }
        let power = self.power(n);
        let lowered = self.rounded(power, place);
        self.lowered.insert((n, place), lowered.clone());
        lowered
    }

    fn power(&mut self, n: usize) -> Traced {
        if let Some(power) = self.powers.get(&n) {
            return power.clone();
        }
        let (a, b) = split_power(n, self.chebyshev);
        let power = if a == b { self.squared(a, depth_of(n)) } else { self.product(a, b, depth_of(n)) };
        self.powers.insert(n, power.clone());
        power
    }

    /// `x^2n` or `T_2n`.
    fn squared(&mut self, n: usize, depth: usize) -> Traced {
        let half = self.power(n);
        let mut power = self.rounded(self.multiple(half.times(&half)), depth);
        if self.chebyshev {
            power.value -= 1.0;
        }
        power
    }

    fn product(&mut self, a: usize, b: usize, depth: usize) -> Traced {
        let (left, right) = (self.lowered(a, depth - 1), self.lowered(b, depth - 1));
        let mut power = self.rounded(self.multiple(left.times(&right)), depth);
        if self.chebyshev {
            let first = self.power(1);
            let first = self.rounded(first, depth);
            power.add(&first, -1.0);
        }
        power
    }

    /// The product that is in `x^(a + b)`, or in `T_(a + b)`.
    fn multiple(&self, mut product: Traced) -> Traced {
        if self.chebyshev {
            let one = product.clone();
            product.add(&one, 1.0);
        }
        product
    }
}
