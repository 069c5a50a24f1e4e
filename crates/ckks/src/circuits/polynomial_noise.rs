//! What the roundings inside of an evaluation of a polynomial add to its result.

use std::collections::BTreeMap;

use super::{
    Polynomial,
    polynomial::split,
    polynomial_evaluation::{Steps, depth_of, is_leaf, split_power},
    trace::{Step, Trace},
};

/// How an error in the argument and the roundings inside of an evaluation come out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gains {
    /// `|p'(x)|`.
    pub(crate) argument: f64,
    /// The variance of what the roundings of each depth add, from 0 for the argument, in units of
    /// that of a single rounding at the scale that products of this depth have.
    pub(crate) roundings: Vec<f64>,
}

impl Polynomial {
    /// What [`Evaluator::polynomial`](crate::Evaluator::polynomial) makes of errors at the argument
    /// `x`: with `r_j` the rounding errors of products, of sums of powers, and of powers that are
    /// brought to smaller moduli, the roundings add the sum of the squares of `dp/dr_j` as a
    /// variance.
    pub(crate) fn gains(&self, x: f64) -> Gains {
        let mut gains = self.gains_at(&[x]);
        gains.swap_remove(0)
    }

    /// [`Polynomial::gains`] at each of several arguments.
    pub(crate) fn gains_at(&self, arguments: &[f64]) -> Vec<Gains> {
        let Steps { squared, coefficients, depth, chebyshev, baby } = Steps::of(self);
        let first = usize::from(squared);
        let (powers, lowered) = (BTreeMap::from([(1, 0)]), BTreeMap::new());
        let (trace, depths) = (Trace::new(), vec![None]);
        let mut evaluation = Evaluation { chebyshev, baby, first, trace, depths, powers, lowered };
        let mut argument = 0;
        if let Some((a, b)) = self.affine() {
            let mut affine = Step::multiple(a, 0);
            affine.constant = b;
            argument = evaluation.push(affine, 0);
        }
        if squared {
            argument = evaluation.push(Step::square(argument, chebyshev), first);
        }
        evaluation.powers.insert(1, argument);
        let none = Gains { argument: 0.0, roundings: vec![0.0; first + depth + 1] };
        if coefficients.len() == 1 {
            return vec![none; arguments.len()];
        }
        let result = evaluation.evaluate(&coefficients, depth);
        let at = |x: &f64| {
            let derivatives = evaluation.trace.derivatives(result, (*x).into());
            let mut roundings = none.roundings.clone();
            for (derivative, depth) in derivatives.iter().zip(&evaluation.depths) {
                if let Some(depth) = depth {
                    roundings[*depth] += derivative.norm_sqr();
                }
            }
            Gains { argument: derivatives[0].norm(), roundings }
        };
        arguments.iter().map(at).collect()
    }
}

/// The evaluation of `polynomial_evaluation.rs`, step by step.
struct Evaluation {
    chebyshev: bool,
    baby: usize,
    /// The depth of what the powers are of.
    first: usize,
    trace: Trace,
    /// At which depth the rounding of each step is; none is that of the argument.
    depths: Vec<Option<usize>>,
    powers: BTreeMap<usize, usize>,
    /// Powers brought to the modulus that squarings would have reached by now, by how many.
    lowered: BTreeMap<(usize, usize), usize>,
}

impl Evaluation {
    /// A step with a rounding at that depth, from 0 for the argument.
    fn push(&mut self, step: Step, depth: usize) -> usize {
        self.depths.push(Some(depth));
        self.trace.push(step)
    }

    /// A step with a rounding at the depth, from 0 for what the powers are of.
    fn rounded(&mut self, step: Step, depth: usize) -> usize {
        self.push(step, self.first + depth)
    }

    /// A polynomial that is not constant.
    fn evaluate(&mut self, coefficients: &[f64], depth: usize) -> usize {
        let mut step = Step::default();
        if is_leaf(coefficients, depth, self.baby) {
            step.constant = coefficients[0];
            for (i, c) in coefficients.iter().enumerate().skip(1).filter(|(_, c)| **c != 0.0) {
                step.terms.push((*c, self.power(i)));
            }
            return self.rounded(step, depth);
        }
        let (m, q, r) = split(coefficients, self.chebyshev);
        let power = self.lowered(m, depth - 1);
        match q[..] {
            [q] => step.terms.push((q, power)),
            _ => step.products.push((1.0, self.evaluate(&q, depth - 1), power)),
        }
        match r[..] {
            [r] => step.constant = r,
            _ => step.terms.push((1.0, self.evaluate(&r, depth))),
        }
        self.rounded(step, depth)
    }

    fn lowered(&mut self, n: usize, place: usize) -> usize {
        if depth_of(n) == place {
            return self.power(n);
        }
        if let Some(lowered) = self.lowered.get(&(n, place)) {
            return *lowered;
        }
        let power = self.power(n);
        let lowered = self.rounded(Step::multiple(1.0, power), place);
        self.lowered.insert((n, place), lowered);
        lowered
    }

    fn power(&mut self, n: usize) -> usize {
        if let Some(power) = self.powers.get(&n) {
            return *power;
        }
        let (a, b) = split_power(n, self.chebyshev);
        let depth = depth_of(n);
        let step = if a == b {
            Step::square(self.power(a), self.chebyshev)
        } else {
            let (left, right) = (self.lowered(a, depth - 1), self.lowered(b, depth - 1));
            let mut product = Step::product(left, right, self.chebyshev);
            if self.chebyshev {
                let first = self.power(1);
                product.terms.push((-1.0, self.rounded(Step::multiple(1.0, first), depth)));
            }
            product
        };
        let power = self.rounded(step, depth);
        self.powers.insert(n, power);
        power
    }
}
