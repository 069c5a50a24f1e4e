//! The noise of an evaluation of a polynomial, with each of its errors followed to the result.

use std::f64::consts::PI;

use hippocrene_rlwe::{Noise, noise::log2};
use num_complex::Complex64;

use super::{
    Basis, Polynomial,
    trace::{Step, Trace},
};
use crate::Ciphertext;

/// A ciphertext that a step has made. Its error is that step's, and the ciphertext states none.
pub(super) struct Followed {
    pub(super) ciphertext: Ciphertext,
    pub(super) step: usize,
    /// Whether it is 0 to the bit, whoever holds the key: of factors that are 0 at their scale.
    pub(super) is_zero: bool,
}

/// What slots may hold within their bound.
#[derive(Clone, Copy)]
pub(super) enum Slots {
    Real,
    Complex,
}

/// The steps of an evaluation on ciphertexts, with the errors that they make.
pub(super) struct Errors {
    trace: Trace,
    /// log2 of the standard deviation of each one's, in a coefficient, over the scale.
    log2: Vec<f64>,
    places: Vec<Complex64>,
    /// How much of the argument's error is the same in all slots ([`Noise::common_share`]).
    common: f64,
}

impl Errors {
    /// Of an evaluation that starts from an `argument`, looked at for arguments at the `places`
    /// that are worst where it is off by a standard deviation.
    pub(super) fn new(
        argument: Ciphertext,
        degree: usize,
        places: impl FnOnce(f64) -> Vec<Complex64>,
    ) -> (Self, Followed) {
        let common = argument.inner().noise().common_share();
        let mut errors =
            Errors { trace: Trace::new(), log2: Vec::new(), places: Vec::new(), common };
        let argument = errors.taken(argument, 0);
        errors.places = places(errors.log2[0].exp2() * (0.5 * degree as f64).sqrt());
        (errors, argument)
    }

    /// The ciphertext that a step on others has made.
    pub(super) fn follow(&mut self, ciphertext: Ciphertext, step: Step) -> Followed {
        let step = self.trace.push(step);
        self.taken(ciphertext, step)
    }

    fn taken(&mut self, mut ciphertext: Ciphertext, step: usize) -> Followed {
        self.log2.push(ciphertext.inner().noise().log2_std() - ciphertext.scale().log2());
        ciphertext.inner_mut().set_noise(Noise::NONE);
        Followed { ciphertext, step, is_zero: false }
    }

    /// The noise of what a step has made, where values are at the worst of the places: the errors
    /// `e_i` of all steps on the way are independent, and `v` is off by `sum_i dv/de_i e_i`.
    pub(super) fn noise(&self, of: &Followed) -> Noise {
        let largest = self.log2.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            return Noise::NONE;
        }
        let sizes: Vec<f64> = self.log2.iter().map(|log2| (log2 - largest).exp2()).collect();
        // Beyond what doubles can say nothing is known.
        let worse = |a: f64, b: f64| if b.is_nan() { f64::INFINITY } else { b.max(a) };
        let (mut worst, mut of_argument) = (0.0, 0.0);
        for x in &self.places {
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
    /// Arguments of the basis at which errors are looked at, where the values of slots are up to
    /// `bound` and off by `error`.
    ///
    /// Of a polynomial of degree `d` the derivatives by errors are of degree `d - 1` at most. On an
    /// interval the sum of their squares is no more than twice as large elsewhere as at the `4 d +
    /// 1` extrema of `T_4d`, and complex values are worst on the circle around all, of which a half
    /// with `2 d + 1` points says the same (Ehlich and Zeller 1964: polynomials of degree `n` are
    /// up to `1/cos(pi n/2m)` times what they are at the extrema of `T_m`). Errors `e` whose
    /// squares count, as in `(x + e)^2 = x^2 + 2 x e + e^2`, make the interval and the circle
    /// larger: to `hypot(r, error)` from the middle.
    pub(super) fn places(&self, bound: f64, slots: Slots, error: f64) -> Vec<Complex64> {
        let (low, high) = match (self.basis(), slots) {
            (Basis::Chebyshev { low, high }, _) => {
                let (a, b) = self.affine().unwrap_or((1.0, 0.0));
                let within = (low.max(-bound), high.min(bound));
                let (low, high) = if within.0 <= within.1 { within } else { (low, high) };
                (a * low + b, a * high + b)
            }
            (Basis::Monomial, Slots::Real) => (-bound, bound),
            (Basis::Monomial, Slots::Complex) => {
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
