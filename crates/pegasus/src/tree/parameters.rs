//! The parameters of private decision trees.

use hippocrene_fhew::{LweParameters, Preset, RotationParameters};
use hippocrene_ring::SIGMA;
use hippocrene_rlwe::Noise;

use crate::SwitchingDigits;

/// The required distance between neighbouring block states or class numbers, in standard deviations
/// (chosen).
///
/// An error is larger in one of `10^10` cases.
pub(super) const MIN_GATE_DEVIATIONS: f64 = 6.5;

/// The fraction of the `N` positions that is kept free at either end of the first digit (chosen).
///
/// An error then leads into the free positions, and not to the other end.
const GUARD_FRACTION: f64 = 1.0 / 32.0;

/// The number of digits of a feature in a query, if there are enough positions for several.
///
/// The number is chosen. With five digits, `lut11` distinguishes values that differ by `7e-9` of
/// the range, which includes most neighbouring float32 numbers.
const MAX_DIGITS: usize = 5;

/// The parameters of private decision trees. See [`TreePlan`](super::TreePlan) for an example.
///
/// They are those of blind rotations, and the gadget of the switching key back. Queries are
/// encrypted with the secret of the rotation's input. The switching key leads from the ring of the
/// rotations back to that secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeParameters {
    rotation: RotationParameters,
    back: SwitchingDigits,
}

impl TreeParameters {
    /// Combines parameters of rotations and digits of keys. The security is that of the rotations.
    pub fn new(rotation: RotationParameters, back: SwitchingDigits) -> Self {
        TreeParameters { rotation, back }
    }

    /// The parameters for the tables of `preset`, as in [`crate::PegasusLiteral::of`].
    pub fn of(preset: &Preset) -> Self {
        let (base_log2, count) = preset.switching_digits();
        let back = SwitchingDigits { base_log2: base_log2 / 2, count: 2 * count };
        TreeParameters { rotation: preset.rotation(), back }
    }

    /// The parameters of the rotations.
    ///
    /// Queries use the ring with the dimension, the modulus and the secret of their input.
    pub fn rotation(&self) -> RotationParameters {
        self.rotation
    }

    /// The digits of the switching key back.
    pub fn back(&self) -> SwitchingDigits {
        self.back
    }

    /// The parameters that queries are encrypted with.
    ///
    /// Their modulus is `2N`, whose residues are the exponents of rotations. So nothing of a
    /// feature is rounded away, and its error is that of a fresh ciphertext. An input that is
    /// rounded to these exponents would have an error of variance `(1 + |s - 1/2|^2)/12`. That is
    /// 21 for a binary secret of dimension 1024, instead of 10 here.
    pub fn query(&self) -> LweParameters {
        let exponents = 2 * self.rotation.ring().dimension() as u64;
        let input = self.rotation.input();
        // If this modulus exceeds that of the input, `LweSecretKey::encrypt_coefficients` refuses
        // to encrypt.
        LweParameters::insecure(input.dimension(), exponents, input.secret())
            .expect("rings of rotations have degree 2^6 to 2^17")
    }

    /// The number of positions `N`.
    pub(super) fn positions(&self) -> f64 {
        self.rotation.ring().dimension() as f64
    }

    /// The number of digits of each feature in a query.
    ///
    /// It is five, or one in rings whose refinement is smaller than the margin.
    pub fn digits(&self) -> usize {
        if self.refinement() >= self.margin() { MAX_DIGITS } else { 1 }
    }

    /// The number of positions of a digit between a value and a threshold that makes their
    /// comparison certain.
    ///
    /// It is 6.5 standard deviations of a fresh ciphertext's error, plus 1/2 for rounding, rounded
    /// up.
    pub fn margin(&self) -> f64 {
        (MIN_GATE_DEVIATIONS * SIGMA + 0.5).ceil()
    }

    /// The ratio of the resolutions of successive digits.
    ///
    /// The bounds of a digit leave the answer to the next digit up to `2 margin + 2` positions from
    /// the threshold. There the next digit must be certain. Its period is `2N` of its own
    /// positions, so it is certain up to `N - 2 margin - 2` positions from the threshold.
    pub(super) fn refinement(&self) -> f64 {
        (self.positions() / (2.0 * self.margin() + 2.0)).floor() - 1.0
    }

    /// The number of positions in the range of a feature, for the digit with this number, from 0.
    pub(super) fn scale(&self, digit: usize) -> f64 {
        self.positions() * (1.0 - 2.0 * GUARD_FRACTION) * self.refinement().powi(digit as i32)
    }

    /// The position of the smallest value of a feature. In the first digit, guard positions come
    /// before it.
    pub(super) fn start(&self, digit: usize) -> f64 {
        if digit == 0 { self.positions() * GUARD_FRACTION } else { 0.0 }
    }

    /// The width of one position of the last digit, as a share of the range of a feature.
    ///
    /// `digits` is the number of digits. Values that are nearer to each other than this width can
    /// have the same position.
    pub fn resolution(&self, digits: usize) -> f64 {
        1.0 / self.scale(digits.saturating_sub(1))
    }

    /// The standard deviation of a feature's error when `digits` of its digits are compared, as a
    /// share of its range.
    ///
    /// It includes the error of fresh ciphertexts, and the rounding of features and thresholds to
    /// positions.
    ///
    /// A feature that is `k` deviations from a threshold ends up on the wrong side with the
    /// probability that a normal number exceeds `k`.
    pub fn comparison_deviation(&self, digits: usize) -> f64 {
        let error = Noise::from_std(SIGMA).plus(Noise::from_std(6f64.sqrt().recip()));
        error.log2_std().exp2() * self.resolution(digits)
    }
}
