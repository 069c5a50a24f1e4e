//! What trees are evaluated with.

use hippocrene_fhew::{LweParameters, Preset, RotationParameters};
use hippocrene_ring::SIGMA;
use hippocrene_rlwe::Noise;

use crate::SwitchingDigits;

/// How many deviations states of blocks and numbers of classes are away from the next: more happens
/// once in `10^10` times.
pub(super) const CERTAIN: f64 = 6.5;

/// The share of the `N` positions that is kept free at either end of the first digit: an error
/// leads into it, and not to the other end.
const GUARD: f64 = 1.0 / 32.0;

/// The number of digits of a feature in a query, where the positions are enough for several.
/// Chosen: with five, `lut11` tells apart values that are `7e-9` of the range apart, so that most
/// neighbours in float32 are.
const DIGITS: usize = 5;

/// The parameters of trees: those of blind rotations, whose input's secret queries are encrypted
/// by, and the gadget of the key from the ring of the rotations back to that secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeParameters {
    rotation: RotationParameters,
    back: SwitchingDigits,
}

impl TreeParameters {
    /// Rotations of these parameters, and keys of these digits: their security is that of the
    /// former.
    pub fn new(rotation: RotationParameters, back: SwitchingDigits) -> Self {
        TreeParameters { rotation, back }
    }

    /// What goes with the tables of `preset`, as in [`crate::PegasusLiteral::of`].
    pub fn of(preset: &Preset) -> Self {
        let (base_log2, count) = preset.switching_digits();
        let back = SwitchingDigits { base_log2: base_log2 / 2, count: 2 * count };
        TreeParameters { rotation: preset.rotation(), back }
    }

    /// What rotations are computed with. Queries are of the ring with the dimension, the modulus
    /// and the secret of their input.
    pub fn rotation(&self) -> RotationParameters {
        self.rotation
    }

    /// The digits of the key back.
    pub fn back(&self) -> SwitchingDigits {
        self.back
    }

    /// What queries are encrypted by: they are modulo `2N`, whose residues are the exponents of
    /// rotations, so that nothing of a feature is rounded away and its error is a fresh
    /// ciphertext's. (An input of rotations that is rounded to them has an error of variance `(1 +
    /// |s - 1/2|^2)/12`, 21 for a binary secret of dimension 1024, where this has 10.)
    pub fn query(&self) -> LweParameters {
        let exponents = 2 * self.rotation.ring().dimension() as u64;
        let input = self.rotation.input();
        // Nothing is encrypted by them where they are beyond the modulus of the input:
        // `LweSecretKey::encrypt_coefficients` refuses.
        LweParameters::insecure(input.dimension(), exponents, input.secret())
            .expect("rings of rotations have degree 2^6 to 2^17")
    }

    /// The number of positions `N`.
    pub(super) fn positions(&self) -> f64 {
        self.rotation.ring().dimension() as f64
    }

    /// The number of digits that a query has for each feature: five, and one with rings whose
    /// refinement is smaller than the margin.
    pub fn digits(&self) -> usize {
        if self.refinement() >= self.margin() { DIGITS } else { 1 }
    }

    /// The number of positions of a digit between a value and a threshold that makes their
    /// comparison certain: 6.5 deviations of the error of a fresh ciphertext, and 1/2 for rounding.
    pub fn margin(&self) -> f64 {
        (CERTAIN * SIGMA + 0.5).ceil()
    }

    /// The factor by which each digit is finer than the one before.
    ///
    /// Where the bounds of a digit leave the answer to the next one, up to `2 margin + 2` positions
    /// of the former from the threshold, the next one must be certain: its period is `2N` of its
    /// own positions, so that it is certain up to `N - 2 margin - 2` positions from the threshold.
    pub(super) fn refinement(&self) -> f64 {
        (self.positions() / (2.0 * self.margin() + 2.0)).floor() - 1.0
    }

    /// The number of positions in the range of a feature, of the digit with this number from 0 on.
    pub(super) fn scale(&self, digit: usize) -> f64 {
        self.positions() * (1.0 - 2.0 * GUARD) * self.refinement().powi(digit as i32)
    }

    /// The position of the least value of a feature: in the first digit there is a guard before it.
    pub(super) fn start(&self, digit: usize) -> f64 {
        if digit == 0 { self.positions() * GUARD } else { 0.0 }
    }

    /// The width of one position of the last of so many digits, as a share of the range of a
    /// feature. Values that are nearer to each other than this can have the same position.
    pub fn resolution(&self, digits: usize) -> f64 {
        1.0 / self.scale(digits.saturating_sub(1))
    }

    /// The standard deviation of the error by which a feature is off when so many of its digits are
    /// compared, as a share of its range: that of fresh ciphertexts, and of the rounding of
    /// features and of thresholds to positions.
    ///
    /// A feature that is `k` deviations from a threshold is taken to be at the other side of it
    /// with the probability that a normal number exceeds `k`.
    pub fn comparison_deviation(&self, digits: usize) -> f64 {
        let off = Noise::from_std(SIGMA).plus(Noise::from_std(6f64.sqrt().recip()));
        off.log2_std().exp2() * self.resolution(digits)
    }
}
