//! One polynomial of a composition, with its scale.

use hippocrene_rlwe::Parameters;

use crate::circuits::Polynomial;

/// Number of standard deviations of noise that a margin holds. The error of a slot exceeds the
/// margin with a probability of about `2^-32`.
///
/// A rounding adds an error of `r + r' s(zeta)` to a slot. It is Gaussian with a variance
/// proportional to `|s(zeta)|^2`, which is exponentially distributed over slots and secrets. So the
/// real part of the error has a Laplace distribution: it exceeds `k` deviations with probability
/// `exp(-sqrt(2) k)`.
pub(in crate::circuits) const DEVIATIONS: f64 = 16.0;

/// Smallest scale in bits. Coefficients at smaller scales would round to little more than 0 and 1.
/// Chosen.
const MIN_SCALE_BITS: f64 = 10.0;

/// One polynomial of a composition, with its scale. See
/// [`SignPlan`](super::super::comparison::SignPlan) for an example.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    pub(in crate::circuits) polynomial: Polynomial,
    pub(in crate::circuits) scale_bits: f64,
    pub(in crate::circuits) margin: f64,
    pub(in crate::circuits) range: (f64, f64),
}

impl Stage {
    /// The polynomial.
    pub fn polynomial(&self) -> &Polynomial {
        &self.polynomial
    }

    /// log2 of the scale of its products, approximately.
    pub fn scale_bits(&self) -> f64 {
        self.scale_bits
    }

    /// The bits of capacity that it uses: the bits of its scale times its depth.
    pub fn bits(&self) -> f64 {
        self.scale_bits * self.polynomial.depth() as f64
    }

    /// The largest error that the roundings of this stage may add to a value.
    ///
    /// [`Stage::scale_bits`] is chosen so that the standard deviation of that error is a sixteenth
    /// of the margin. The later stages are made for values with errors up to the margin.
    pub fn margin(&self) -> f64 {
        self.margin
    }

    /// Bounds of the absolute values of its results, from below and above, for arguments with
    /// errors up to the margin of the stage before. Its own margin comes on top.
    pub fn range(&self) -> (f64, f64) {
        self.range
    }
}

/// The sizes of the errors that a composition has to tolerate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::circuits) struct ErrorModel {
    /// log2 of the standard deviation of the error that one rounding at scale 1 makes in a slot.
    pub(in crate::circuits) log2_std: f64,
    /// Variance that removing the imaginary part adds, in units of the variance of a rounding. The
    /// conjugation adds one rounding at twice the scale, and the noise of its key, which is at
    /// least as large.
    pub(in crate::circuits) conjugation: f64,
    /// log2 of the scale of all stages, if they have to share one.
    pub(in crate::circuits) common_scale_bits: Option<f64>,
    /// Standard deviation of the error of values after a refresh, if margins have to leave room for
    /// it because all stages share one scale.
    pub(in crate::circuits) refresh_std: f64,
}

impl ErrorModel {
    /// Returns the sizes of errors for ciphertexts of `slots` slots.
    pub(in crate::circuits) fn new(
        parameters: &Parameters,
        slots: usize,
        common_scale_bits: Option<f64>,
    ) -> Self {
        let rounding = (1.0 + parameters.secret_weight()) / 12.0;
        let key = (2.0 * parameters.largest_switching_noise().log2_std()).exp2() / rounding;
        let conjugation = 0.25 * (1.0 + key.max(1.0));
        ErrorModel {
            log2_std: 0.5 * (slots as f64 * rounding).log2(),
            conjugation,
            common_scale_bits,
            refresh_std: 0.0,
        }
    }

    /// Returns the margin that a stage needs at a scale, for its own roundings and a refresh after
    /// it. `gain` is the factor of the roundings.
    pub(in crate::circuits) fn margin(self, gain: f64, scale_bits: f64) -> f64 {
        DEVIATIONS * (gain * (self.log2_std - scale_bits).exp2()).hypot(self.refresh_std)
    }

    /// Returns the scale in bits at which the roundings add no more than `margin`.
    pub(in crate::circuits) fn scale_bits(self, gain: f64, margin: f64) -> f64 {
        (self.log2_std + (DEVIATIONS * gain / margin).log2()).max(MIN_SCALE_BITS)
    }
}
