//! How the errors of single steps reach the result of a computation of sums and products.

use num_complex::Complex64;

/// One step of a computation: `constant + sum_i c_i v_i + sum_j c_j u_j w_j + e`, where `v_i`,
/// `u_j` and `w_j` are the values of earlier steps, given by their positions, and `e` is an error
/// of this step.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) constant: f64,
    /// The pairs `(c_i, v_i)` of the first sum.
    pub(super) terms: Vec<(f64, usize)>,
    /// The triples `(c_j, u_j, w_j)` of the second sum.
    pub(super) products: Vec<(f64, usize, usize)>,
}

impl Step {
    /// `factor v`.
    pub(super) fn multiple(factor: f64, of: usize) -> Self {
        Step { terms: vec![(factor, of)], ..Self::default() }
    }

    /// `u w`, or `2 u w` for Chebyshev polynomials.
    pub(super) fn product(u: usize, w: usize, chebyshev: bool) -> Self {
        let factor = if chebyshev { 2.0 } else { 1.0 };
        Step { products: vec![(factor, u, w)], ..Self::default() }
    }

    /// `v^2`, or `2 v^2 - 1` for Chebyshev polynomials, which turns `T_n` into `T_2n`.
    pub(super) fn square(of: usize, chebyshev: bool) -> Self {
        let constant = if chebyshev { -1.0 } else { 0.0 };
        Step { constant, ..Self::product(of, of, chebyshev) }
    }
}

/// The steps of a computation, the argument first.
#[derive(Debug)]
pub(super) struct Trace {
    steps: Vec<Step>,
}

impl Trace {
    /// Starts a trace with the argument as step 0.
    pub(super) fn new() -> Self {
        Trace { steps: vec![Step::default()] }
    }

    /// Adds a step and returns its position.
    pub(super) fn push(&mut self, step: Step) -> usize {
        self.steps.push(step);
        self.steps.len() - 1
    }

    /// Returns the derivatives `dv/de_i` of the value `v` of step `of` by the errors of all steps
    /// up to it, at the argument `x`.
    ///
    /// They are computed backwards from `dv/dv = 1`. An error that reaches the value along several
    /// paths counts as one error.
    pub(super) fn derivatives(&self, of: usize, x: Complex64) -> Vec<Complex64> {
        let steps = &self.steps[..=of];
        let mut values = Vec::with_capacity(steps.len());
        values.push(x);
        for step in &steps[1..] {
            let mut value = Complex64::from(step.constant);
            step.terms.iter().for_each(|(c, v)| value += values[*v] * c);
            step.products.iter().for_each(|(c, u, w)| value += values[*u] * values[*w] * c);
            values.push(value);
        }
        let mut out = vec![Complex64::ZERO; steps.len()];
        out[of] = Complex64::ONE;
        for (i, step) in steps.iter().enumerate().rev() {
            let after = out[i];
            step.terms.iter().for_each(|(c, v)| out[*v] += after * c);
            for (c, u, w) in &step.products {
                out[*u] += after * values[*w] * c;
                out[*w] += after * values[*u] * c;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `2 y^2 - 1 + 3 x - x y` with `y = x^2`.
    #[test]
    fn errors_that_meet_again_are_one() {
        let mut trace = Trace::new();
        let square = trace.push(Step::square(0, false));
        let mut last = Step::square(square, true);
        last.terms.push((3.0, 0));
        last.products.push((-1.0, 0, square));
        let of = trace.push(last);
        let x = Complex64::new(0.7, -0.3);
        let expected = [8.0 * x * x * x + 3.0 - 3.0 * x * x, 4.0 * x * x - x, Complex64::ONE];
        for (got, expected) in trace.derivatives(of, x).into_iter().zip(expected) {
            assert!((got - expected).norm() < 1e-14, "{got} {expected}");
        }
        assert_eq!(trace.derivatives(square, x), [2.0 * x, Complex64::ONE]);
    }
}
