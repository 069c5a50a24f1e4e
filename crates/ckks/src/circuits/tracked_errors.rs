//! The noise of a polynomial's evaluation. Each error is tracked separately up to the result.

use std::f64::consts::PI;

use hippocrene_rlwe::{Noise, noise::log2};
use num_complex::Complex64;

use super::{
    Basis, Polynomial,
    trace::{Step, Trace},
};
use crate::Ciphertext;

/// A ciphertext that a step has computed. Its error is recorded with that step, so its own noise
/// estimate is empty.
pub(super) struct TrackedCiphertext {
    pub(super) ciphertext: Ciphertext,
    pub(super) step: usize,
    /// Whether it is exactly 0, whatever the key: all of its factors are 0 at their scale.
    pub(super) is_zero: bool,
}

/// The values that slots may hold within their bound.
///
/// [`Evaluator::polynomials`](crate::Evaluator::polynomials) states its noise for them:
///
/// ```
/// use hippocrene_ckks::{Ciphertext, CkksError, Evaluator, circuits::{Polynomial, SlotValues}};
///
/// /// Returns the sine and the cosine of real numbers up to 1.
/// fn circle(evaluator: &Evaluator, x: &Ciphertext) -> Result<Vec<Ciphertext>, CkksError> {
///     let functions = [f64::sin, f64::cos];
///     let polynomials = functions.map(|f| Polynomial::approximate(f, -1.0, 1.0, 7));
///     let polynomials = polynomials.into_iter().collect::<Result<Vec<_>, _>>()?;
///     evaluator.polynomials(x, &polynomials, SlotValues::Real, x.scale())
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotValues {
    /// Real numbers.
    Real,
    /// Any complex numbers.
    Complex,
}

/// The steps of an evaluation on ciphertexts, with the errors that they add.
pub(super) struct ErrorTracker {
    trace: Trace,
    /// log2 of the standard deviation of each step's error in a coefficient, divided by the scale.
    log2: Vec<f64>,
    /// The arguments at which the noise is evaluated.
    sample_arguments: Vec<Complex64>,
    /// The share of the argument's error that is the same in all slots ([`Noise::common_share`]).
    common: f64,
}

impl ErrorTracker {
    /// Starts to track an evaluation of `argument`. `sample_arguments` returns the arguments that
    /// may have the most noise, given the standard deviation of the argument's error.
    pub(super) fn new(
        argument: Ciphertext,
        degree: usize,
        sample_arguments: impl FnOnce(f64) -> Vec<Complex64>,
    ) -> (Self, TrackedCiphertext) {
        let common = argument.inner().noise().common_share();
        let mut errors = ErrorTracker {
            trace: Trace::new(),
            log2: Vec::new(),
            sample_arguments: Vec::new(),
            common,
        };
        let argument = errors.record(argument, 0);
        errors.sample_arguments =
            sample_arguments(errors.log2[0].exp2() * (0.5 * degree as f64).sqrt());
        (errors, argument)
    }

    /// Records a step on earlier values, with the ciphertext that it computed.
    pub(super) fn track(&mut self, ciphertext: Ciphertext, step: Step) -> TrackedCiphertext {
        let step = self.trace.push(step);
        self.record(ciphertext, step)
    }

    /// Moves the noise estimate of a ciphertext into the record of its step.
    fn record(&mut self, mut ciphertext: Ciphertext, step: usize) -> TrackedCiphertext {
        self.log2.push(ciphertext.inner().noise().log2_std() - ciphertext.scale().log2());
        ciphertext.inner_mut().set_noise(Noise::NONE);
        TrackedCiphertext { ciphertext, step, is_zero: false }
    }

    /// Returns the noise of a step's value at the worst of the arguments. The errors `e_i` of all
    /// earlier steps are independent, and the error of `v` is `sum_i dv/de_i e_i`.
    pub(super) fn noise(&self, of: &TrackedCiphertext) -> Noise {
        let largest = self.log2.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            return Noise::NONE;
        }
        let sizes: Vec<f64> = self.log2.iter().map(|log2| (log2 - largest).exp2()).collect();
        // A value that overflows doubles counts as infinite noise.
        let worse = |a: f64, b: f64| if b.is_nan() { f64::INFINITY } else { b.max(a) };
        let (mut worst, mut of_argument) = (0.0, 0.0);
        for x in &self.sample_arguments {
            let derivatives = self.trace.derivatives(of.step, *x);
            let errors = || derivatives.iter().zip(&sizes).map(|(d, size)| d.norm() * size);
            worst = worse(worst, errors().fold(0.0, f64::hypot));
            of_argument = worse(of_argument, errors().next().unwrap_or(0.0));
        }
        let noise =
            |size: f64| Noise::from_log2_std(log2(size) + largest + of.ciphertext.scale().log2());
        noise(worst).with_common(noise(of_argument * self.common))
    }
}

impl Polynomial {
    /// Returns the arguments of the basis at which the noise has to be evaluated, if slots hold
    /// values up to `bound` with errors of standard deviation `error`.
    ///
    /// For a polynomial of degree `d`, the derivatives by errors have degree at most `d - 1`. On an
    /// interval, the sum of their squares is at most twice as large elsewhere as at the `4 d + 1`
    /// extrema of `T_4d`. This follows from Ehlich and Zeller (1964): a polynomial of degree `n` is
    /// at most `1/cos(pi n/2m)` times its maximum at the extrema of `T_m`. Complex values are worst
    /// on the circle around all of them, where the same holds for `2 d + 1` points on a half of it.
    /// An error `e` whose square matters, as in `(x + e)^2 = x^2 + 2 x e + e^2`, makes the interval
    /// and the circle larger: the radius `r` becomes `hypot(r, error)`.
    pub(super) fn noise_arguments(
        &self,
        bound: f64,
        slots: SlotValues,
        error: f64,
    ) -> Vec<Complex64> {
        let (low, high) = match (self.basis(), slots) {
            (Basis::Chebyshev { low, high }, _) => {
                let (a, b) = self.affine().unwrap_or((1.0, 0.0));
                let within = (low.max(-bound), high.min(bound));
                let (low, high) = if within.0 <= within.1 { within } else { (low, high) };
                (a * low + b, a * high + b)
            }
            (Basis::Monomial, SlotValues::Real) => (-bound, bound),
            (Basis::Monomial, SlotValues::Complex) => {
                let (radius, n) = (bound.hypot(error), 2 * self.degree());
                return (0..=n)
                    .map(|k| Complex64::from_polar(radius, PI * k as f64 / n as f64))
                    .collect();
            }
        };
        let (middle, half, n) =
            (0.5 * (low + high), (0.5 * (high - low)).hypot(error), 4 * self.degree());
        (0..=n).map(|k| (middle + half * (PI * k as f64 / n as f64).cos()).into()).collect()
    }
}
