//! How the roundings inside of a polynomial's evaluation affect its result.

use std::collections::BTreeMap;

use super::{
    Basis, Polynomial,
    polynomial::split,
    polynomial_evaluation::{EvaluationShape, depth_of, is_leaf, split_power},
    trace::{Step, Trace},
};

/// The factors by which an error of the argument and the roundings of an evaluation are multiplied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gains {
    /// Factor of the argument's error: `|p'(x)|`.
    pub(crate) argument: f64,
    /// Variance that the roundings of each depth add to the result, starting with depth 0 for the
    /// argument. The unit is the variance of a single rounding at the scale of products of this
    /// depth.
    pub(crate) roundings: Vec<f64>,
}

/// Number of arguments for each degree at which [`Polynomial::rounding_gain`] samples. Chosen.
const ARGUMENTS_FOR_EACH_DEGREE: usize = 4;

impl Polynomial {
    /// Returns the largest factor between the rounding error of one product and the error of the
    /// result, if all products of the evaluation have the same scale.
    ///
    /// The factor is sampled on the interval of the basis, or on `[-1, 1]` for powers.
    pub fn rounding_gain(&self) -> f64 {
        let (low, high) = match self.basis() {
            Basis::Chebyshev { low, high } => (low, high),
            Basis::Monomial => (-1.0, 1.0),
        };
        let count = ARGUMENTS_FOR_EACH_DEGREE * (self.degree() + 1);
        let argument = |k: usize| {
            let angle = std::f64::consts::PI * k as f64 / count as f64;
            low.midpoint(high) - 0.5 * (high - low) * angle.cos()
        };
        let arguments: Vec<f64> = (0..=count).map(argument).collect();
        let variance = |gains: &Gains| gains.roundings.iter().sum::<f64>();
        self.gains_at(&arguments).iter().map(variance).fold(0.0, f64::max).sqrt()
    }

    /// Returns the factors of errors in [`Evaluator::polynomial`](crate::Evaluator::polynomial) at
    /// each of these arguments.
    ///
    /// Let `r_j` be the rounding errors of products, of sums of powers, and of powers that are
    /// moved to smaller moduli. Together they add a variance of the sum of the squares of
    /// `dp/dr_j`.
    pub(crate) fn gains_at(&self, arguments: &[f64]) -> Vec<Gains> {
        let squared = self.is_squared();
        let EvaluationShape { coefficients, depth, chebyshev, leaf_size } =
            EvaluationShape::of(self, squared);
        let first = usize::from(squared);
        let (powers, lowered) = (BTreeMap::from([(1, 0)]), BTreeMap::new());
        let (trace, depths) = (Trace::new(), vec![None]);
        let mut evaluation =
            Evaluation { chebyshev, leaf_size, first, trace, depths, powers, lowered };
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

/// The steps of the evaluation in `polynomial_evaluation.rs`, without ciphertexts.
struct Evaluation {
    chebyshev: bool,
    leaf_size: usize,
    /// The depth of the argument of the powers: 1 if the polynomial is evaluated in the square, 0
    /// otherwise.
    first: usize,
    trace: Trace,
    /// The depth of each step's rounding. It is `None` for the argument.
    depths: Vec<Option<usize>>,
    powers: BTreeMap<usize, usize>,
    /// The powers that were moved to another modulus, by power and depth of that modulus.
    lowered: BTreeMap<(usize, usize), usize>,
}

impl Evaluation {
    /// Adds a step with a rounding at a depth that counts from the argument of the polynomial.
    fn push(&mut self, step: Step, depth: usize) -> usize {
        self.depths.push(Some(depth));
        self.trace.push(step)
    }

    /// Adds a step with a rounding at a depth that counts from the argument of the powers.
    fn rounded(&mut self, step: Step, depth: usize) -> usize {
        self.push(step, self.first + depth)
    }

    /// Adds the steps of a polynomial that is not constant, and returns the position of its value.
    fn evaluate(&mut self, coefficients: &[f64], depth: usize) -> usize {
        let mut step = Step::default();
        if is_leaf(coefficients, depth, self.leaf_size) {
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

    /// Returns the position of power `n` at the modulus of depth `place`.
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

    /// Returns the position of power `n`, and adds its steps if it is new.
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
