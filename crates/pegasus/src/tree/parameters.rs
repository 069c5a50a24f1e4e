//! What trees are evaluated with.

use hippocrene_fhew::{LweParameters, Preset, RotationParameters};
use hippocrene_ring::SIGMA;
use hippocrene_rlwe::Noise;

use crate::SwitchingDigits;

/// How many deviations states of blocks and numbers of classes are away from the next: more happens once in `10^10` times.
pub(super) const CERTAIN: f64 = 6.5;

/// The share of the `N` positions that is kept free at either end: an error leads into it, and not to the other end.
const GUARD: f64 = 1.0 / 32.0;

/// The parameters of trees: those of blind rotations, whose input's secret queries are encrypted by, and the gadget of the key from the ring of the rotations back to that secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeParameters {
    rotation: RotationParameters,
    back: SwitchingDigits,
}

impl TreeParameters {
    /// Rotations of these parameters, and keys of these digits: their security is that of the former.
    pub fn new(rotation: RotationParameters, back: SwitchingDigits) -> Self {
        TreeParameters { rotation, back }
    }

    /// What goes with the tables of `preset`, as in [`crate::PegasusLiteral::of`].
    pub fn of(preset: &Preset) -> Self {
        let (base_log2, count) = preset.switching_digits();
        let back = SwitchingDigits { base_log2: base_log2 / 2, count: 2 * count };
        TreeParameters { rotation: preset.rotation(), back }
    }

    /// What rotations are computed with. Queries are of the ring with the dimension, the modulus and the secret of their input.
    pub fn rotation(&self) -> RotationParameters {
        self.rotation
    }

    /// The digits of the key back.
    pub fn back(&self) -> SwitchingDigits {
        self.back
    }

    /// What queries are encrypted by: they are modulo `2N`, whose residues are the exponents of rotations, so that nothing of a feature is rounded away and its error is a fresh ciphertext's.
    /// (An input of rotations that is rounded to them has an error of variance `(1 + |s - 1/2|^2)/12`, 21 for a binary secret of dimension 1024, where this has 10.)
    pub fn query(&self) -> LweParameters {
        let exponents = 2 * self.rotation.ring().dimension() as u64;
        let input = self.rotation.input();
        // Nothing is encrypted by them where they are beyond the modulus of the input: `LweSecretKey::encrypt_coefficients` refuses.
        LweParameters::insecure(input.dimension(), exponents, input.secret())
            .expect("rings of rotations have degree 2^6 to 2^17")
    }

    /// The number of positions `N`.
    pub(super) fn positions(&self) -> f64 {
        self.rotation.ring().dimension() as f64
    }

    /// The position in `[0, N)` of what is at a share of its range.
    pub(super) fn position(&self, share: f64) -> f64 {
        self.positions() * (GUARD + share.clamp(0.0, 1.0) * (1.0 - 2.0 * GUARD))
    }

    /// The width of one position, as a share of the range of a feature: values that are nearer to
    /// each other than this can have the same position.
    pub fn resolution(&self) -> f64 {
        1.0 / (self.positions() * (1.0 - 2.0 * GUARD))
    }

    /// The standard deviation of the error by which a feature is off at comparisons, as a share of its range: that of fresh ciphertexts, and of the rounding of features and of thresholds
    /// to positions. A feature that is `k` deviations from a threshold is taken to be at the other side of it with the probability that a normal number exceeds `k`.
    pub fn comparison_deviation(&self) -> f64 {
        let off = Noise::from_std(SIGMA).plus(Noise::from_std(6f64.sqrt().recip()));
        off.log2_std().exp2() * self.resolution()
    }
}
