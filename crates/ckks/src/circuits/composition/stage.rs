//! One polynomial of a composition, with the scale that it is evaluated at.

use hippocrene_rlwe::Parameters;

use crate::circuits::Polynomial;

/// By how many standard deviations of the noise a margin is left: the probability that a slot
/// leaves it is about `2^-32`.
///
/// In a slot a rounding is off by `r + r' s(zeta)`, Gaussian with a variance that goes with
/// `|s(zeta)|^2`, and this is exponentially distributed over slots and secrets. So the error of a
/// real part is distributed as Laplace's: it exceeds `k` deviations with the probability
/// `exp(-sqrt(2) k)`.
pub(in crate::circuits) const DEVIATIONS: f64 = 16.0;

/// Scales have at least so many bits, or coefficients would be little more than 0 and 1.
const LEAST_SCALE: f64 = 10.0;

/// One polynomial of a composition, with the scale that it is evaluated at.
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

    /// log2 of the scale near which all its products are.
    pub fn scale_bits(&self) -> f64 {
        self.scale_bits
    }

    /// The bits of capacity that it takes: those of its scale for every product in a row.
    pub fn bits(&self) -> f64 {
        self.scale_bits * self.polynomial.depth() as f64
    }

    /// What its own roundings may add to a value: [`Stage::scale_bits`] is chosen such that their
    /// standard deviation is a sixteenth of it. The stages that follow are made for values that are
    /// off by so much.
    pub fn margin(&self) -> f64 {
        self.margin
    }

    /// Bounds of the absolute values that it leaves, below and above, for arguments that are off by
    /// the margin of the stage before; without its own.
    pub fn range(&self) -> (f64, f64) {
        self.range
    }
}

/// What noise there is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::circuits) struct Unit {
    /// log2 of the standard deviation of a slot's error that one rounding makes at the scale 1.
    pub(in crate::circuits) log2_std: f64,
    /// The variance that taking the imaginary part away adds, in units of that of a rounding: the
    /// conjugation adds another one, at twice the scale, and what its key adds, which is no less.
    pub(in crate::circuits) conjugation: f64,
    /// The scale that all stages have, as log2, where they cannot choose.
    pub(in crate::circuits) fixed: Option<f64>,
    /// The standard deviation of the error that values have after a refresh, for which margins have
    /// room where scales do not say how large they are.
    pub(in crate::circuits) refreshed: f64,
}

impl Unit {
    /// That of ciphertexts of so many slots.
    pub(in crate::circuits) fn new(
        parameters: &Parameters,
        slots: usize,
        fixed: Option<f64>,
    ) -> Self {
        let rounding = (1.0 + parameters.secret_weight()) / 12.0;
        let key = (2.0 * parameters.largest_switching_noise().log2_std()).exp2() / rounding;
        let conjugation = 0.25 * (1.0 + key.max(1.0));
        Unit {
            log2_std: 0.5 * (slots as f64 * rounding).log2(),
            conjugation,
            fixed,
            refreshed: 0.0,
        }
    }

    /// What the roundings of a stage of that gain may add at a scale, and a refresh after it.
    pub(in crate::circuits) fn margin(self, gain: f64, scale_bits: f64) -> f64 {
        DEVIATIONS * (gain * (self.log2_std - scale_bits).exp2()).hypot(self.refreshed)
    }

    /// The scale at which they add no more than `margin`.
    pub(in crate::circuits) fn scale_bits(self, gain: f64, margin: f64) -> f64 {
        (self.log2_std + (DEVIATIONS * gain / margin).log2()).max(LEAST_SCALE)
    }
}
