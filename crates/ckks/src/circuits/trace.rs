//! How errors that are made on the way reach the result of sums and products.

use num_complex::Complex64;

/// `constant + sum_i c_i v_i + sum_j c_j u_j w_j + e`, of the values of earlier steps, which are
/// named by their places, with an error `e` of its own.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) constant: f64,
    /// `(c_i, v_i)`.
    pub(super) terms: Vec<(f64, usize)>,
    /// `(c_j, u_j, w_j)`.
    pub(super) products: Vec<(f64, usize, usize)>,
}

impl Step {
    /// `factor v`.
    pub(super) fn multiple(factor: f64, of: usize) -> Self {
        Step { terms: vec![(factor, of)], ..Self::default() }
    }

    /// `u w`, and twice that for Chebyshev polynomials.
    pub(super) fn product(u: usize, w: usize, chebyshev: bool) -> Self {
        let factor = if chebyshev { 2.0 } else { 1.0 };
        Step { products: vec![(factor, u, w)], ..Self::default() }
    }

    /// `v^2`, or `2 v^2 - 1`, which makes `T_2n` of `T_n`.
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
    /// Of an argument to which nothing has been done yet, step 0.
    pub(super) fn new() -> Self {
        Trace { steps: vec![Step::default()] }
    }

    /// One more step, of those that there are; its place.
    pub(super) fn push(&mut self, step: Step) -> usize {
        self.steps.push(step);
        self.steps.len() - 1
    }

    /// `dv/de_i`, the derivatives of the value of a step by the errors of all steps up to it, at
    /// the argument `x`: backwards from `dv/dv = 1`. Errors that reach it by several ways are
    /// counted as what they are: one.
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
